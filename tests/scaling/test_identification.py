"""What a fit cannot tell is said; what it can tell is not called into doubt."""

import dataclasses

import numpy as np
import pytest

from toydepth.scaling import Interval, Law, alike, fit_law, profile_intervals, warnings

FREE = Law({"width": None, "depth": None, "data": None})
ONE = Law({"depth": None})


def said(found, *words):
    return any(all(word in sentence for word in words) for sentence in found)


def test_a_good_study_gives_no_warning(grid):
    for seed in range(20):
        for law in (FREE, FREE.universal()):
            fit = fit_law(law, grid.sizes, grid.draw(seed), starts=2)
            assert warnings(fit) == []
    assert warnings(fit, profile_intervals(fit)) == []


def test_width_that_grows_with_depth(grid):
    sizes = grid.sizes | {"width": 64 * grid.sizes["depth"]}
    losses = 300 / sizes["width"] ** 0.95 + 5 / sizes["depth"] ** 1.2 + 2
    losses = losses * np.exp(0.01 * np.random.default_rng(0).normal(size=150))
    law = Law({"width": None, "depth": None})
    for tried in (law, law.universal()):
        found = warnings(fit_law(tried, sizes, losses))
        assert said(found, "width and depth grow together", "1.000", "not identified")
    # With the exponents fixed and alike, only the sum of the two terms means anything.
    fit = fit_law(law.universal(), sizes, losses)
    total = fit.parts(sizes)["width"] + fit.parts(sizes)["depth"]
    alone = fit_law(Law({"depth": 1}), sizes, losses)
    np.testing.assert_allclose(total, alone.parts(sizes)["depth"], rtol=1e-6)


def test_width_against_depth_at_one_size(grid):
    """Models of one size: the deeper, the narrower."""
    sizes = grid.sizes | {"width": 4096 / np.sqrt(grid.sizes["depth"])}
    found = warnings(fit_law(FREE, sizes, grid.draw(0), starts=2))
    assert said(found, "width and depth grow together", "-1.000")


def test_parts_that_trade_off():
    """Half a decade of depths: the floor is what the term is not."""
    depths = np.geomspace(8, 24, 40)
    losses = (1 / depths**0.5 + 1) * np.exp(1e-3 * np.random.default_rng(0).normal(size=40))
    found = warnings(fit_law(ONE, {"depth": depths}, losses))
    assert said(found, "the part of depth and the floor trade off", "their sum is better known")
    wide = np.geomspace(2, 1000, 40)
    losses = (1 / wide + 1) * np.exp(1e-3 * np.random.default_rng(0).normal(size=40))
    assert warnings(fit_law(ONE, {"depth": wide}, losses)) == []


def test_a_term_that_is_not_there(grid):
    losses = (300 / grid.sizes["width"] + 2) * (1 + 0.01 * np.log(grid.sizes["depth"]))
    losses = losses * np.exp(1e-3 * np.random.default_rng(0).normal(size=150))
    found = warnings(fit_law(Law({"width": None, "depth": None}), grid.sizes, losses))
    assert said(found, "no term in depth", "coefficient is 0")
    assert not said(found, "no term in width") and not said(found, "no variable lowers the loss")
    assert not said(found, "depth is not identified")  # once is enough


def test_losses_that_rise_or_stay():
    depths = np.geomspace(2, 100, 30)
    noise = np.exp(0.01 * np.random.default_rng(0).normal(size=30))
    straight = Law({"depth": None}, floor=False)
    found = warnings(fit_law(straight, {"depth": depths}, depths**0.2 * noise))
    assert said(found, "the loss rises with depth") and said(found, "no variable lowers the loss")
    found = warnings(fit_law(straight, {"depth": depths}, noise))
    assert said(found, "the exponent of depth is hardly identified")


def test_a_floor_of_zero_beside_a_term_that_is_well():
    """It is not said that no variable lowers the loss."""
    depths = np.geomspace(3, 100, 20)
    losses = 2 * depths**-0.5 * np.exp(-0.01 * depths)
    found = warnings(fit_law(ONE, {"depth": depths}, losses))
    assert said(found, "the best floor is 0") and not said(found, "no variable lowers the loss")


def test_too_few_rows():
    depths = np.array([2.0, 4.0, 8.0, 16.0])
    losses = 1 / depths + 1 + 0.01 * np.array([1, -1, 1, -1])
    found = warnings(fit_law(ONE, {"depth": depths[:3]}, losses[:3]))
    assert said(found, "3 points for 3 parameters", "no degree of freedom", "no intervals")
    found = warnings(fit_law(ONE, {"depth": depths}, losses))
    assert said(found, "few degrees of freedom (1)")


def test_an_exponent_that_is_hardly_known():
    depths = np.geomspace(3, 12, 20)
    losses = (1 / depths + 0.5) * np.exp(0.1 * np.random.default_rng(1).normal(size=20))
    fit = fit_law(ONE, {"depth": depths}, losses)
    assert said(warnings(fit), "the exponent of depth is hardly identified")


def test_intervals_that_are_shown_decide(grid):
    """Not the fit's own, which the reader does not see."""
    fit = fit_law(FREE, grid.sizes, grid.draw(0), starts=2)
    found = warnings(fit, {"exponent_depth": Interval(0.3, None)})
    assert said(found, "the exponent of depth is hardly identified", "0.3 to no bound")
    assert len(found) == 1


def test_minima_that_are_none(grid):
    fit = fit_law(FREE, grid.sizes, grid.draw(0), starts=2)
    short = dataclasses.replace(fit.solution, gradient=1e-3)
    found = warnings(dataclasses.replace(fit, solution=short))
    assert said(found, "stopped short of a minimum (gradient 1.0e-03)")
    lonely = dataclasses.replace(fit.solution, starts=16, agreeing=1)
    found = warnings(dataclasses.replace(fit, solution=lonely))
    assert said(found, "only one of 16 starts")


# Residuals that are alike within a shape.


def shapes_of(sizes):
    return list(zip(sizes["width"], sizes["depth"], strict=True))


def test_residuals_alike_within_shapes(grid):
    shapes = shapes_of(grid.sizes)
    member = [list(dict.fromkeys(shapes)).index(shape) for shape in shapes]
    generator = np.random.default_rng(0)
    noise = 0.01 * generator.normal(size=30)[member] + 0.005 * generator.normal(size=150)
    fit = fit_law(FREE, grid.sizes, grid.losses * np.exp(noise))
    # By hand, between and within from their definitions.
    groups = [fit.residuals[np.array(member) == g] for g in range(30)]
    within = np.mean([np.var(group, ddof=1) for group in groups])
    between = 5 * np.var([group.mean() for group in groups], ddof=1)
    share = (between - within) / (between + 4 * within)
    assert alike(fit, shapes) == pytest.approx(share)
    assert 0.5 < share < 0.95


def test_independent_residuals_are_not_alike(grid):
    shapes = shapes_of(grid.sizes)
    law = Law({v: grid.parameters[f"exponent_{v}"] for v in grid.sizes})
    called = sum(
        alike(fit_law(law, grid.sizes, grid.draw(seed)), shapes) is not None for seed in range(300)
    )
    assert called <= 3  # 1 of 1000 by its own account


def test_nothing_to_compare_shapes_by(grid):
    fit = fit_law(FREE, grid.sizes, grid.draw(0), starts=1)
    assert alike(fit, ["one"] * 150) is None
    assert alike(fit, range(150)) is None
    exact = fit_law(FREE, grid.sizes, grid.losses, starts=1)
    assert alike(exact, shapes_of(grid.sizes)) is None


def test_gemstones_residuals_are_alike_within_shapes(gemstones):
    fit = fit_law(FREE, *gemstones)
    assert alike(fit, shapes_of(gemstones.sizes)) == pytest.approx(0.24, abs=0.02)
