"""Fixed exponents against free ones: by hand, by refits, and how often the verdict is right."""

import dataclasses

import numpy as np
import pytest
import scipy.stats

from toydepth.scaling import Law, compare, fit_law, folds, held_out
from toydepth.scaling.fit import by_clusters

FREE = Law({"width": None, "depth": None, "data": None})


def true_law(grid):
    return Law({v: grid.parameters[f"exponent_{v}"] for v in grid.sizes})


def pair(grid, losses, fixed=None, **options):
    fixed = fixed or true_law(grid)
    return (
        fit_law(fixed, grid.sizes, losses, **options),
        fit_law(FREE, grid.sizes, losses, starts=2, **options),
    )


def test_by_hand(grid):
    fixed, free = pair(grid, grid.draw(0))
    before, after = (np.sum(fit.residuals**2) for fit in (fixed, free))
    found = compare(fixed, free)
    assert (found.numerator, found.denominator) == (3, 143)
    f = (before - after) / 3 / (after / 143)
    assert found.f == pytest.approx(f)
    assert found.p_value == pytest.approx(scipy.stats.f(3, 143).sf(f))
    gain = 150 * np.log(before / after)
    assert found.aic_difference == pytest.approx(gain - 2 * 3)
    assert found.bic_difference == pytest.approx(gain - 3 * np.log(150))
    assert found.clustered_p_value is None
    assert f"p = {found.p_value:.2g}" in found.sentence
    assert f"BIC {found.bic_difference:+.1f}" in found.sentence


def test_weights_and_groups_by_hand(grid):
    losses = grid.draw(1)
    relative = np.geomspace(1e-3, 1e-2, 150)
    groups = (np.arange(150) % 3).tolist()
    fixed, free = pair(grid, losses, stderr=relative * losses, groups=groups)
    before, after = (np.sum((fit.residuals / relative) ** 2) for fit in (fixed, free))
    found = compare(fixed, free)
    assert (found.numerator, found.denominator) == (3, 150 - 9)
    # The variance is never taken below what was given.
    assert found.f == pytest.approx((before - after) / 3 / max(1.0, after / 141))


def test_some_exponents_fixed(grid):
    losses = grid.draw(0)
    fixed = fit_law(Law({"width": 0.95, "depth": None, "data": None}), grid.sizes, losses)
    free = fit_law(FREE, grid.sizes, losses)
    assert compare(fixed, free).numerator == 1
    # One parameter: F is the square of Student's t, but for the curvature of the law.
    estimate = free.parameters["exponent_width"]
    assert compare(fixed, free).f == pytest.approx(
        ((estimate.value - 0.95) / estimate.stderr) ** 2, rel=0.2, abs=0.02
    )


def test_clusters_by_hand(grid):
    fixed, free = pair(grid, grid.draw(2))
    shapes = list(zip(grid.sizes["width"], grid.sizes["depth"], strict=True))
    found = compare(fixed, free, shapes)
    difference = free.values[:3] - np.array(list(fixed.law.exponents.values()))
    covariance = by_clusters(free, shapes).covariance[:3, :3]
    squared = difference @ np.linalg.solve(covariance, difference)
    f = squared * (30 - 3) / (3 * (30 - 1))  # Hotelling's
    assert found.clustered_p_value == pytest.approx(scipy.stats.f(3, 27).sf(f))
    assert "alike within shapes" in found.sentence
    assert compare(fixed, free, np.arange(150) % 3).clustered_p_value is None


# How often the verdict is right.


def test_a_true_law_holds(grid):
    verdicts, p_values = [], []
    for seed in range(100):
        found = compare(*pair(grid, grid.draw(seed)))
        verdicts.append(found.verdict)
        p_values.append(found.p_value)
    assert verdicts.count("holds") >= 93
    assert "rejected" not in verdicts
    assert scipy.stats.kstest(p_values, "uniform").pvalue > 1e-3


def test_a_false_law_is_rejected(grid):
    for seed in range(20):
        assert compare(*pair(grid, grid.draw(seed), FREE.universal())).verdict == "rejected"


@pytest.mark.parametrize("huber", [1e-2, 1e-3])
def test_huber_s_verdicts(grid, huber):
    p_values = []
    for seed in range(12):
        losses = grid.draw(seed)
        found = compare(*pair(grid, losses, huber=huber))
        assert found.aic_difference is found.bic_difference is None
        assert found.verdict != "rejected"
        p_values.append(found.p_value)
        false = compare(*pair(grid, losses, FREE.universal(), huber=huber))
        assert false.verdict == "rejected"
    assert 0.15 < np.median(p_values) < 0.85


def test_few_or_vague_data_cannot_tell():
    depths = np.geomspace(3, 30, 8)
    losses = (1 / depths + 0.5) * np.exp(0.001 * np.random.default_rng(0).normal(size=8))
    sizes = {"depth": depths}
    found = compare(
        fit_law(Law({"depth": 1}), sizes, losses), fit_law(Law({"depth": None}), sizes, losses)
    )
    assert found.verdict == "cannot tell" and "5 degrees of freedom are few" in found.sentence
    depths = np.geomspace(3, 6, 40)
    losses = (1 / depths + 0.5) * np.exp(0.05 * np.random.default_rng(0).normal(size=40))
    sizes = {"depth": depths}
    found = compare(
        fit_law(Law({"depth": 1}), sizes, losses), fit_law(Law({"depth": None}), sizes, losses)
    )
    assert found.verdict == "cannot tell" and "depth" in found.sentence


def test_exact_data(grid):
    found = compare(*pair(grid, grid.losses))
    assert found.f == 0 and found.p_value == 1 and found.verdict == "holds"
    assert np.isfinite([found.aic_difference, found.bic_difference]).all()
    # No residual at all, with weights, is still a number.
    sizes, losses = {"depth": [1.0, 2.0, 4.0, 8.0]}, np.ones(4)
    laws = (Law({"depth": 10.0}, floor=False), Law({"depth": None}, floor=False))
    fits = [fit_law(law, sizes, losses, stderr=np.full(4, 1e-9)) for law in laws]
    assert fits[1].solution.cost == 0 and np.isfinite(compare(*fits).aic_difference)
    found = compare(*pair(grid, grid.losses, FREE.universal()))
    assert found.p_value == 0 and found.verdict == "rejected"
    assert np.isfinite([found.f, found.aic_difference, found.bic_difference]).all()


def test_a_free_fit_that_stopped_above_the_fixed_one_tells_nothing(grid):
    fixed, free = pair(grid, grid.draw(0))
    stuck = dataclasses.replace(free.solution, cost=1.1 * fixed.solution.cost)
    found = compare(fixed, dataclasses.replace(free, solution=stuck))
    assert found.f == 0 and found.verdict == "cannot tell" and "more starts" in found.sentence


def test_published_verdicts(chinchilla, gemstones):
    fits = [fit_law(law, *gemstones) for law in (FREE.universal(), FREE)]
    found = compare(*fits)
    assert found.p_value < 1e-6 and found.verdict == "rejected"
    fits = [fit_law(law, *chinchilla) for law in (FREE.universal(), FREE)]
    found = compare(*fits)
    before, after = 203 * 3.1686e-5, 203 * 3.0274e-5
    assert found.f == pytest.approx((before - after) / 3 / (after / 196), rel=2e-3)
    assert found.verdict == "holds"


# Points that a fit has not seen.


def test_held_out_is_a_refit_of_the_rest(grid):
    fixed, free = pair(grid, grid.draw(4))
    losses = grid.draw(4)
    member = folds(150, 5, seed=1)
    assert sorted(np.bincount(member)) == [30] * 5
    told = []
    found = held_out(fixed, free, member.tolist(), show=told.append)
    errors = np.empty((2, 150))
    for i, law in enumerate((fixed.law, free.law)):
        for fold in range(5):
            rest, left = member != fold, member == fold
            sizes = {v: x[rest] for v, x in grid.sizes.items()}
            fit = fit_law(law, sizes, losses[rest])
            predicted, _, _ = fit.predict({v: x[left] for v, x in grid.sizes.items()})
            errors[i, left] = np.log(losses[left] / predicted) ** 2
    assert told == [1, 2, 3, 4, 5]
    assert found.groups == 5
    assert found.fixed == pytest.approx(errors[0].mean(), rel=1e-6)
    assert found.free == pytest.approx(errors[1].mean(), rel=1e-6)
    difference = errors[0] - errors[1]
    assert found.difference == pytest.approx(difference.mean(), rel=1e-4)
    # Folds of one size: the standard error of the mean of their means.
    means = [difference[member == fold].mean() for fold in range(5)]
    assert found.stderr == pytest.approx(np.std(means, ddof=1) / np.sqrt(5), rel=1e-4)


def test_held_out_prefers_what_is_true(grid):
    shapes = list(zip(grid.sizes["width"], grid.sizes["depth"], strict=True))
    found = held_out(*pair(grid, grid.draw(5), FREE.universal()), shapes)
    assert found.groups == 30
    assert found.difference > 3 * found.stderr
    found = held_out(*pair(grid, grid.draw(5)), shapes)
    assert abs(found.difference) < 3 * found.stderr


def test_folds_are_even_and_random():
    member = folds(11, 3, seed=0)
    assert sorted(np.bincount(member)) == [3, 4, 4]
    np.testing.assert_array_equal(member, folds(11, 3, seed=0))
    assert not np.array_equal(member, folds(11, 3, seed=1))


# What they refuse.


def test_compare_refuses(grid):
    losses = grid.draw(0)
    fixed, free = pair(grid, losses)
    other = fit_law(FREE, grid.sizes, grid.draw(1), starts=1)
    points = "different points or by different losses"
    with pytest.raises(ValueError, match=points):
        compare(fixed, other)
    few = {v: x[:-1] for v, x in grid.sizes.items()}
    with pytest.raises(ValueError, match=points):
        compare(fixed, fit_law(FREE, few, losses[:-1], starts=1))
    with pytest.raises(ValueError, match=points):
        compare(fixed, fit_law(FREE, grid.sizes, losses, huber=0.01, starts=1))
    with pytest.raises(ValueError, match=points):
        compare(fixed, fit_law(FREE, grid.sizes, losses, stderr=0.01 * losses, starts=1))
    with pytest.raises(ValueError, match="more parameters than the first, and fewer than points"):
        compare(free, fixed)
    with pytest.raises(ValueError, match="the two laws have different terms"):
        compare(fit_law(Law({"width": 1}), grid.sizes, losses), free)
    sizes, losses = {"depth": [2, 4, 8]}, [1.6, 1.3, 1.15]
    with pytest.raises(ValueError, match="more parameters than the first, and fewer than points"):
        compare(
            fit_law(Law({"depth": 1}), sizes, losses), fit_law(Law({"depth": None}), sizes, losses)
        )


def test_held_out_refuses(grid):
    fixed, free = pair(grid, grid.draw(0))
    for groups in (["a"] * 150, ["a", "b"]):
        with pytest.raises(ValueError, match="two or more groups are needed, and one label per"):
            held_out(fixed, free, groups)
