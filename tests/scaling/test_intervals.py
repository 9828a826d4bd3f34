"""Intervals by Jacobian, profile and bootstrap: how often they hold the truth, where they end."""

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

from toydepth.scaling import Interval, Law, bootstrap, compare, fit_law, profile_intervals
from toydepth.scaling.bootstrap import Draws, percentiles

FREE = Law({"width": None, "depth": None, "data": None})
ONE = Law({"depth": None})
TRUE_ONE = {"exponent_depth": 0.7, "coefficient_depth": 3.0, "floor": 0.5}


def one(seed, points=20, noise=0.01):
    """(depths, losses) of 3 / depth^0.7 + 0.5."""
    depths = np.geomspace(10, 1000, points)
    generator = np.random.default_rng(seed)
    return depths, (3 / depths**0.7 + 0.5) * np.exp(noise * generator.normal(size=points))


def covered(intervals, truth):
    return {
        name: sum(
            (low is None or low <= value) and (high is None or value <= high)
            for low, high in (found[name] for found in intervals)
        )
        for name, value in truth.items()
    }


def by_jacobian(fit):
    return {name: Interval(found.low, found.high) for name, found in fit.parameters.items()}


def binomial(count):
    """What a 95 % interval covers of `count`, but in one of a thousand cases."""
    return scipy.stats.binom(count, 0.95).interval(0.999)


# How often they hold the truth.


def test_jacobian_intervals_of_a_study(grid):
    fits = [fit_law(FREE, grid.sizes, grid.draw(seed), starts=1) for seed in range(200)]
    hits = covered([by_jacobian(fit) for fit in fits], grid.parameters)
    assert all(180 <= count <= 198 for count in hits.values()), hits


@pytest.mark.parametrize("huber", [1e-2, 1e-3])
def test_huber_intervals_and_test(huber):
    """Also where the loss is nearly absolute: nine of ten residuals are beyond 1e-3."""
    found, rejected = [], 0
    for seed in range(60):
        depths, losses = one(seed)
        fit = fit_law(ONE, {"depth": depths}, losses, starts=1, huber=huber)
        fixed = fit_law(Law({"depth": 0.7}), {"depth": depths}, losses, huber=huber)
        found.append(by_jacobian(fit))
        rejected += compare(fixed, fit).p_value < 0.05
    hits = covered(found, TRUE_ONE)
    low, high = binomial(60)
    assert all(low <= count <= high for count in hits.values()), hits
    assert 60 - high <= rejected <= 60 - low


def test_weighted_intervals():
    """Errors over a decade, given to the fit."""
    found = []
    for seed in range(200):
        depths, _ = one(0)
        generator = np.random.default_rng(seed)
        relative = np.geomspace(0.003, 0.03, 20)[generator.permutation(20)]
        losses = (3 / depths**0.7 + 0.5) * np.exp(relative * generator.normal(size=20))
        fit = fit_law(ONE, {"depth": depths}, losses, stderr=relative * losses, starts=1)
        found.append(by_jacobian(fit))
    hits = covered(found, TRUE_ONE)
    # The variance is never taken below what is given, so that more than 95 % are covered.
    assert all(183 <= count <= 200 for count in hits.values()), hits


@pytest.mark.slow
def test_profile_and_bootstrap_intervals():
    """3 % noise: the profiles are curved, and a bootstrap of 30 points is somewhat narrow."""
    profile, resampled = [], []
    for seed in range(40):
        depths, losses = one(seed, points=30, noise=0.03)
        fit = fit_law(ONE, {"depth": depths}, losses, starts=2)
        profile.append(profile_intervals(fit))
        resampled.append(bootstrap(fit, 60, seed=seed).intervals())
    low, high = binomial(40)
    hits = covered(profile, TRUE_ONE)
    assert all(low <= count <= high for count in hits.values()), hits
    hits = covered(resampled, TRUE_ONE)
    assert all(low - 2 <= count <= high for count in hits.values()), hits


# Where a profile ends.


def held(fit, sizes, losses, index, value):
    """SciPy's least sum of squares with one of `fit.values` held; the others start from theirs."""
    logs = np.log(np.stack(list(sizes.values()), axis=1))
    count = len(sizes)
    free = np.delete(np.arange(len(fit.values)), index)

    def residuals(moved):
        p = np.full(len(fit.values), value)
        p[free] = moved
        parts = np.exp(p[count : 2 * count] - logs * p[:count]).sum(1)
        return np.log(losses) - np.log(parts + p[-1])

    lower = np.full(len(fit.values), -np.inf)
    lower[-1] = 0.0
    # Along the tangent of the valley, for a start.
    slope = fit.covariance[free, index] / fit.covariance[index, index]
    start = fit.values[free] + slope * (value - fit.values[index])
    if index != len(fit.values) - 1:
        start[-1] = max(start[-1], 1e-6)
    found = scipy.optimize.least_squares(
        residuals,
        start,
        "3-point",
        bounds=(lower[free], np.inf),
        x_scale="jac",
        gtol=1e-14,
        xtol=1e-14,
        ftol=1e-14,
    )
    return 2 * found.cost


def test_profile_ends_where_scipy_s_refit_reaches_the_threshold(grid):
    losses = grid.draw(11)
    fit = fit_law(FREE, grid.sizes, losses)
    rise = fit.scale * scipy.stats.t(143).ppf(0.975) ** 2
    found = profile_intervals(fit)
    assert set(found) == set(fit.parameters)
    for i, name in enumerate(FREE.fitted):
        ends = found[name.removeprefix("log_")]
        for end in np.log(ends) if name.startswith("log_") else ends:
            expected = 2 * fit.solution.cost + rise
            assert held(fit, grid.sizes, losses, i, end) == pytest.approx(expected, rel=1e-4)


def test_profile_of_a_straight_line_is_student_s():
    """Without a floor log L is linear in its parameters, and both intervals are the same."""
    depths, losses = one(0)
    for law in (Law({"depth": None}, floor=False), Law({"depth": 0.5}, floor=False)):
        fit = fit_law(law, {"depth": depths}, losses)
        for name, (low, high) in profile_intervals(fit).items():
            assert low == pytest.approx(fit.parameters[name].low, rel=1e-4)
            assert high == pytest.approx(fit.parameters[name].high, rel=1e-4)


def test_profile_says_where_there_is_no_bound():
    depths = np.geomspace(3, 12, 8)
    noise = np.random.default_rng(2).normal(size=8)
    losses = (1 / depths + 0.5) * np.exp(0.05 * noise)
    fit = fit_law(ONE, {"depth": depths}, losses)
    found = profile_intervals(fit)
    low, high = found["exponent_depth"]
    assert 0 < low < fit.parameters["exponent_depth"].value and high is None
    assert found["coefficient_depth"].high is None
    # However steep the term is: it is then there for the least depth alone.
    steep = fit_law(Law({"depth": 60.0}), {"depth": depths}, losses)
    rise = fit.scale * scipy.stats.t(5).ppf(0.975) ** 2
    assert 2 * (steep.solution.cost - fit.solution.cost) < rise
    # A floor of 0 is within the threshold, and nothing is below it.
    bare = fit_law(Law({"depth": None}, floor=False), {"depth": depths}, losses)
    assert 2 * (bare.solution.cost - fit.solution.cost) < rise
    assert found["floor"].low == 0 and found["floor"].high > fit.floor


def test_profile_of_a_floor_of_zero():
    depths = np.geomspace(3, 100, 20)
    losses = 2 * depths**-0.5 * np.exp(-0.01 * depths)
    fit = fit_law(ONE, {"depth": depths}, losses)
    assert fit.floor == 0
    low, high = profile_intervals(fit)["floor"]
    assert low == 0 and high > 0
    rise = fit.scale * scipy.stats.t(17).ppf(0.975) ** 2
    expected = 2 * fit.solution.cost + rise
    assert held(fit, {"depth": depths}, losses, 2, high) == pytest.approx(expected, rel=1e-4)


def test_profile_of_rising_losses_holds_the_exponent():
    """Its exponent is negative, which is not its lowest end."""
    depths = np.geomspace(3, 100, 20)
    losses = depths**0.5 * np.exp(0.05 * np.random.default_rng(0).normal(size=20))
    fit = fit_law(Law({"depth": None}, floor=False), {"depth": depths}, losses)
    low, high = profile_intervals(fit)["exponent_depth"]
    assert low < fit.parameters["exponent_depth"].value < high < 0


def test_profile_of_a_law_of_one_coefficient():
    """Nothing is left to fit where the coefficient is held."""
    depths, losses = one(3)
    fit = fit_law(Law({"depth": 1}, floor=False), {"depth": depths}, losses)
    assert list(profile_intervals(fit)) == ["coefficient_depth"]


def test_profile_of_exact_data_is_empty():
    depths, losses = one(0, noise=0.0)
    assert profile_intervals(fit_law(ONE, {"depth": depths}, losses)) == {}


# Draws.


def test_bootstrap_refits_what_was_drawn():
    """By hand, with the same draws."""
    depths, losses = one(5)
    fit = fit_law(ONE, {"depth": depths}, losses)
    draws = bootstrap(fit, 8, seed=3).parameters
    generator = np.random.default_rng(3)
    for i in range(8):
        rows = generator.integers(20, size=20)
        again = fit_law(ONE, {"depth": depths[rows]}, losses[rows])
        for name, found in again.parameters.items():
            assert draws[name][i] == pytest.approx(found.value, rel=1e-5)


def test_bootstrap_keeps_a_fixed_exponent_and_tells_its_progress():
    depths, losses = one(5)
    told = []
    draws = bootstrap(fit_law(Law({"depth": 1}), {"depth": depths}, losses), 3, show=told.append)
    assert told == [1, 2, 3]
    assert draws.parameters["exponent_depth"] == 1.0
    assert list(draws.intervals()) == ["coefficient_depth", "floor"]


def test_bootstrap_of_clusters_draws_them_whole():
    depths, losses = one(5)
    depths, losses = np.repeat(depths, 2), np.repeat(losses, 2)
    fit = fit_law(ONE, {"depth": depths}, losses)
    whole = bootstrap(fit, 5, seed=1, clusters=depths.tolist()).parameters
    single = bootstrap(fit_law(ONE, {"depth": depths[::2]}, losses[::2]), 5, seed=1).parameters
    for name in ("exponent_depth", "coefficient_depth", "floor"):
        np.testing.assert_allclose(whole[name], single[name], rtol=1e-6)


def test_bootstrap_where_groups_are_missing():
    """Teachers with losses of their own: a missing one must not move the law."""
    depths, losses = one(5)
    factors = np.array([1.0, 3.0, 0.2])
    depths, member = np.tile(depths, 3), np.repeat([0, 1, 2], 20)
    noise = np.random.default_rng(1).normal(size=60)
    losses = np.tile(3 / depths[:20] ** 0.7 + 0.5, 3) * factors[member] * np.exp(0.01 * noise)
    fit = fit_law(ONE, {"depth": depths}, losses, groups=member.tolist())
    draws = bootstrap(fit, 30, clusters=member.tolist()).parameters
    for name in ("exponent_depth", "coefficient_depth", "floor"):
        assert np.std(draws[name]) < 2 * fit.parameters[name].stderr
        np.testing.assert_allclose(draws[name], fit.parameters[name].value, rtol=0.1)


def test_percentiles():
    draws = np.arange(1.0, 1001.0)
    assert percentiles(draws) == (25, 975)
    assert percentiles(np.append(draws[:980], np.full(20, np.inf))).high == 975
    assert percentiles(np.append(draws[:900], np.full(100, np.inf))) == (25, None)
    assert percentiles(np.append(draws[:900], np.full(100, np.nan))) == (None, None)
    assert percentiles(np.full(3, np.nan)) == (None, None)
    assert Draws({"floor": np.zeros(0)}).intervals() == {"floor": (None, None)}


def test_bootstrap_refuses():
    depths, losses = one(0)
    fit = fit_law(ONE, {"depth": depths}, losses, starts=1)
    with pytest.raises(ValueError, match="20 points but 2 clusters"):
        bootstrap(fit, 1, clusters=["a", "b"])
    with pytest.raises(ValueError, match="all points are in one cluster"):
        bootstrap(fit, 1, clusters=["a"] * 20)
    with pytest.raises(ValueError, match="no degree of freedom"):
        bootstrap(fit_law(ONE, {"depth": depths[:3]}, losses[:3], starts=1), 1)
