"""Windows of power laws along courses whose exponents are known."""

import numpy as np
import pytest

from toydepth.scaling import course_verdict, read_course

TIMES = np.geomspace(1, 1e4, 41)


def verdict(course):
    return course_verdict(course, 1 / 3, "1/3")


def test_a_power_law_is_found_from_end_to_end():
    generator = np.random.default_rng(0)
    losses = TIMES ** (-1 / 3) * np.exp(0.01 * generator.normal(size=(3, 41)))
    course = read_course(TIMES, losses)
    window = course.window
    assert window.decades == pytest.approx(4)
    assert (window.start, window.stop) == pytest.approx((1, 1e4))
    assert window.exponent.low < 1 / 3 < window.exponent.high
    assert window.exponent.value == pytest.approx(1 / 3, abs=0.005)
    assert course.last_decade == pytest.approx(1 / 3, abs=0.02)
    assert verdict(course) == "a power law over 4.0 decades: consistent with 1/3"


def test_the_window_ends_where_the_law_does():
    # An exponent of 1/3 up to 1,000, and of 2 beyond.
    losses = np.where(TIMES <= 1e3, TIMES ** (-1 / 3), 1e3 ** (5 / 3) * TIMES**-2.0)
    course = read_course(TIMES, losses)
    assert course.window.stop == pytest.approx(1e3, rel=0.3)
    assert course.window.exponent.value == pytest.approx(1 / 3, abs=0.01)
    assert course.last_decade == pytest.approx(2, abs=1e-6)
    assert "it ends" in verdict(course) and "faster there" in verdict(course)


@pytest.mark.parametrize(
    "losses, words",
    [(np.exp(-TIMES / 500), "ever faster"), (1 + 3 / TIMES, "ever slower")],
    ids=["faster than any power", "a floor"],
)
def test_what_is_no_power_law_has_no_window(losses, words):
    course = read_course(TIMES, losses)
    assert course.window is None
    assert words in verdict(course)


def test_an_exponent_that_drifts_widens_the_interval():
    steady = read_course(TIMES, TIMES ** (-1 / 3))
    x = np.log(TIMES)
    drifting = read_course(TIMES, np.exp(-0.3 * x - 0.003 * x**2))
    width = [c.window.exponent.high - c.window.exponent.low for c in (steady, drifting)]
    assert width[0] == pytest.approx(0, abs=1e-9)
    assert width[1] > 0.01
    low, high = drifting.window.low, drifting.window.high
    assert low < drifting.window.exponent.value < high <= 1.35 * low


def test_another_exponent_is_told_apart():
    course = read_course(TIMES, TIMES**-0.5)
    assert verdict(course) == "a power law over 4.0 decades: above 1/3, which it excludes"


def test_short_and_wrong_courses():
    assert read_course(TIMES[:8], TIMES[:8] ** -0.5).last_decade is None
    assert verdict(read_course(TIMES[:3], TIMES[:3] ** -0.5)).startswith("too short")
    with pytest.raises(ValueError, match="rise"):
        read_course([1, 3, 2], [[3.0, 2.0, 1.0]])
    with pytest.raises(ValueError, match="positive"):
        read_course([1, 2, 3], [[3.0, 2.0, 0.0]])
