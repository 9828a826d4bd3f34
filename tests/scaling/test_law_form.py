"""What a law says of itself, and which laws are none."""

import math

import pytest

from toydepth.scaling import UNIVERSAL_EXPONENTS, Law

FREE = Law({"width": None, "depth": None, "data": None})


def test_names_what_is_fitted_in_the_order_of_the_covariance():
    law = Law({"width": 1, "depth": None, "data": None})
    assert law.variables == ("width", "depth", "data")
    assert law.free == ("depth", "data")
    assert law.fitted == (
        "exponent_depth",
        "exponent_data",
        "log_coefficient_width",
        "log_coefficient_depth",
        "log_coefficient_data",
        "floor",
    )
    assert Law({"depth": 0.5}, floor=False).fitted == ("log_coefficient_depth",)


def test_universal_and_freed_are_each_other_s_inverse():
    universal = FREE.universal()
    assert universal.exponents == {"width": 1.0, "depth": 1.0, "data": 1 / 3}
    assert universal.freed() == FREE
    assert not Law({"time": None}, floor=False).universal().floor
    assert not Law({"time": 1 / 3}, floor=False).freed().floor


def test_universal_knows_the_paper_s_variables_only():
    assert set(UNIVERSAL_EXPONENTS) == {"width", "depth", "data", "time", "parameters"}
    with pytest.raises(KeyError, match="experts"):
        Law({"experts": None}).universal()


def test_reads_as_a_formula():
    assert str(Law({"width": 1, "data": 1 / 3})) == "c/width^1 + c/data^0.333 + L0"
    assert str(Law({"depth": None}, floor=False)) == "c/depth^a"


@pytest.mark.parametrize(
    "exponents, words",
    [
        ({}, "a law needs a term"),
        ({"width": 0}, "exponent of width is 0; it must be positive"),
        ({"depth": None, "width": -1}, "exponent of width is -1; it must be positive"),
        ({"width": math.inf}, "exponent of width is inf"),
        ({"width": math.nan}, "exponent of width is nan"),
    ],
)
def test_refuses(exponents, words):
    with pytest.raises(ValueError, match=words):
        Law(exponents)
