"""Fits of laws against SciPy, against truth, and against what must not change them."""

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from toydepth.scaling import (
    Law,
    alike,
    bootstrap,
    by_clusters,
    compare,
    fit_law,
    held_out,
    percentiles,
    profile_intervals,
    warnings,
)
from toydepth.scaling.model import model

FREE = Law({"width": None, "depth": None, "data": None})
TRUTH = {
    "exponent_width": 1.0,
    "exponent_depth": 1.0,
    "exponent_data": 1 / 3,
    "coefficient_width": 400.0,
    "coefficient_depth": 3.0,
    "coefficient_data": 10.0,
    "floor": 1.8,
}


def design():
    """Widths, depths and millions of tokens on a grid, as one would lay out a study."""
    grid = np.meshgrid([128, 256, 512, 1024, 2048], [4, 8, 16, 32, 64], [1e3, 3e3, 1e4, 1e5, 1e6])
    return dict(zip(FREE.variables, (axis.ravel().astype(float) for axis in grid), strict=True))


def law(sizes):
    terms = [TRUTH[f"coefficient_{v}"] / sizes[v] ** TRUTH[f"exponent_{v}"] for v in FREE.variables]
    return sum(terms) + TRUTH["floor"]


def noisy(seed, noise=0.01):
    sizes = design()
    generator = np.random.default_rng(seed)
    return sizes, law(sizes) * np.exp(noise * generator.normal(size=len(sizes["width"])))


@pytest.mark.slow
def test_intervals_cover_the_truth():
    """200 data sets with 1 % noise: each 95 % interval covers its truth in 90 to 99 % of them."""
    hits = {(name, kind): 0 for name in TRUTH for kind in ("jacobian", "profile")}
    for seed in range(200):
        fit = fit_law(FREE, *noisy(seed), starts=2)
        profile = profile_intervals(fit)
        for name, truth in TRUTH.items():
            estimate = fit.parameters[name]
            hits[name, "jacobian"] += estimate.low <= truth <= estimate.high
            low, high = profile[name]
            hits[name, "profile"] += low <= truth <= high
    assert all(0.90 <= count / 200 <= 0.99 for count in hits.values()), hits


@pytest.mark.slow
def test_bootstrap_intervals_cover_the_truth():
    """40 data sets: a right interval covers 34 to 40 of them, but in 1 of 100 cases."""
    hits = dict.fromkeys(TRUTH, 0)
    for seed in range(40):
        draws = bootstrap(fit_law(FREE, *noisy(seed), starts=2), 100, seed=seed)
        for name, (low, high) in draws.intervals().items():
            hits[name] += low <= TRUTH[name] <= high
    assert all(count >= 33 for count in hits.values()), hits


def test_profile_is_where_the_fit_is_worse_by_the_threshold():
    sizes, losses = noisy(0)
    fit = fit_law(FREE, sizes, losses)
    threshold = fit.scale * scipy.stats.t(fit.degrees_of_freedom).ppf(0.975) ** 2
    for end in profile_intervals(fit)["exponent_depth"]:
        held = fit_law(Law({**FREE.exponents, "depth": end}), sizes, losses)
        rise = 2 * (held.solution.cost - fit.solution.cost)
        assert rise == pytest.approx(threshold, rel=1e-3)


def test_noiseless_laws_are_recovered():
    generator = np.random.default_rng(0)
    for _ in range(20):
        sizes = design()
        exponents = generator.uniform(0.2, 1.5, 3)
        at = {v: np.exp(np.log(x).mean()) for v, x in sizes.items()}
        shares = generator.uniform(0.2, 1, 4)
        losses = shares[3] + sum(
            share * (sizes[v] / at[v]) ** -a
            for v, a, share in zip(sizes, exponents, shares[:3], strict=True)
        )
        fit = fit_law(FREE, sizes, losses, starts=2)
        np.testing.assert_allclose(fit.values[:3], exponents, rtol=1e-5)
        assert fit.floor == pytest.approx(shares[3], rel=1e-5)
        np.testing.assert_allclose(fit.predict(sizes)[0], losses, rtol=1e-7)


@pytest.mark.parametrize("huber", [None, 0.005])
def test_agrees_with_scipy(huber):
    sizes, losses = noisy(1)
    fit = fit_law(FREE, sizes, losses, huber=huber)
    logs = np.log(np.stack(list(sizes.values()), 1))

    def residuals(theta):
        return np.log(losses) - np.log(np.exp(theta[3:6] - logs * theta[:3]).sum(1) + theta[6])

    options = {} if huber is None else {"loss": "huber", "f_scale": huber}
    start = [*fit.values[:3] * 1.1, *fit.values[3:6] + 0.1, fit.values[6] * 0.95]
    found = scipy.optimize.least_squares(
        residuals, start, "3-point", x_scale="jac", gtol=1e-14, xtol=1e-14, ftol=1e-14, **options
    )
    np.testing.assert_allclose(fit.solution.cost, found.cost, rtol=1e-6)
    np.testing.assert_allclose(fit.values, found.x, rtol=1e-3)


def test_curvature_is_the_second_derivative():
    sizes, losses = noisy(2)
    for law in (FREE, Law({"width": 1, "depth": None, "data": 1 / 3}), Law({"depth": None}, False)):
        member = np.arange(len(losses)) % 3
        columns = np.stack([sizes[v] for v in law.variables], 1)
        problem = model(law, columns, losses, member=member)
        theta = np.full(problem.size, 0.3)

        def slope(theta, problem=problem):
            return problem.jacobian(theta).T @ problem.residuals(theta)

        for i, step in enumerate(np.eye(problem.size) * 1e-6):
            up, down = problem.residuals(theta + step), problem.residuals(theta - step)
            np.testing.assert_allclose(problem.jacobian(theta)[:, i], (up - down) / 2e-6, atol=1e-6)
        numeric = [
            (slope(theta + step) - slope(theta - step)) / 2e-6
            for step in np.eye(problem.size) * 1e-6
        ]
        jacobian = problem.jacobian(theta)
        exact = jacobian.T @ jacobian + problem.curvature(theta, problem.residuals(theta))
        np.testing.assert_allclose(numeric, exact, rtol=1e-5, atol=1e-4)


@settings(max_examples=15, deadline=None)
@given(
    st.floats(1e-9, 1e9),
    st.floats(1e-3, 1e3),
    st.permutations(["width", "depth", "data"]),
    st.randoms(use_true_random=False),
)
def test_units_order_and_other_columns_change_nothing(unit, level, variables, random):
    sizes, losses = noisy(3)
    base = fit_law(FREE, sizes, losses, starts=1)
    order = list(range(len(losses)))
    random.shuffle(order)
    changed = {v: x[order] for v, x in sizes.items()} | {"colour": losses * 0}
    changed["data"] = changed["data"] * unit
    law = Law(dict.fromkeys(variables))
    fit = fit_law(law, changed, losses[order] * level, starts=1)
    for v in FREE.variables:
        one, other = (f.parameters[f"exponent_{v}"] for f in (base, fit))
        assert other.value == pytest.approx(one.value, rel=1e-6)
        assert other.stderr == pytest.approx(one.stderr, rel=1e-5)
        factor = level * (unit**one.value if v == "data" else 1)
        one, other = (f.parameters[f"coefficient_{v}"].value for f in (base, fit))
        assert other == pytest.approx(one * factor, rel=1e-4)
    assert fit.floor == pytest.approx(base.floor * level, rel=1e-6)
    np.testing.assert_allclose(fit.residuals, base.residuals[order], atol=1e-8)


def test_a_floor_that_would_be_negative_is_0():
    """The constrained minimum: lower with no other floor, and the slope points below 0."""
    depth = np.geomspace(3, 100, 20)
    losses = 2 * depth**-0.5 * np.exp(-0.01 * depth)
    fit = fit_law(Law({"depth": None}), {"depth": depth}, losses)
    assert fit.floor == 0 and fit.parameters["floor"].low == 0
    line = fit_law(Law({"depth": None}, floor=False), {"depth": depth}, losses)
    assert fit.solution.cost == pytest.approx(line.solution.cost, rel=1e-9)
    residuals, jacobian = fit.model.residuals, fit.model.jacobian
    assert (jacobian(fit.solution.theta).T @ residuals(fit.solution.theta))[-1] > 0
    assert "the best floor is 0, the least that is allowed" in warnings(fit)


def test_a_good_design_gives_no_warnings():
    for seed in range(10):
        fit = fit_law(FREE, *noisy(seed), starts=4)
        assert warnings(fit, profile_intervals(fit)) == []


def test_width_proportional_to_depth_is_said():
    sizes, _ = noisy(0)
    sizes["width"] = 64 * sizes["depth"]
    losses = law(sizes) * np.exp(0.01 * np.random.default_rng(0).normal(size=len(sizes["width"])))
    for tried in (FREE, FREE.universal()):
        found = warnings(fit_law(tried, sizes, losses))
        assert any("width and depth grow together" in words for words in found)


def test_terms_that_are_not_there():
    """Losses that do not depend on depth: no exponent, no interval, a sentence."""
    sizes, _ = noisy(0)
    noise = 0.01 * np.random.default_rng(4).normal(size=len(sizes["width"]))
    losses = (400 / sizes["width"] + 2 + 0.02 * np.log(sizes["depth"])) * np.exp(noise)
    fit = fit_law(Law({"width": None, "depth": None}), sizes, losses)
    assert fit.parameters["coefficient_depth"].value == 0
    assert np.isnan(fit.parameters["exponent_depth"].value)
    assert fit.parameters["exponent_depth"].low is None
    assert fit.parts(sizes)["depth"].max() == 0 and np.all(np.isfinite(fit.predict(sizes)[0]))
    assert any("no term in depth" in words for words in warnings(fit))


def clustered(seed, groups=20, rows=11, effect=0.01, noise=0.003):
    """A true universal law whose shapes err together."""
    generator = np.random.default_rng(seed)
    width = np.repeat(generator.choice([128, 256, 512, 1024, 2048], groups), rows).astype(float)
    depth = np.repeat(generator.choice([4, 6, 8, 12, 16, 24, 32, 64], groups), rows).astype(float)
    sizes = {"width": width, "depth": depth, "data": np.tile(np.geomspace(1e3, 1e6, rows), groups)}
    errors = effect * np.repeat(generator.normal(size=groups), rows)
    errors += noise * generator.normal(size=groups * rows)
    labels = np.repeat(np.arange(groups), rows).tolist()
    return sizes, law(sizes) * np.exp(errors), labels


def test_errors_alike_within_shapes_do_not_reject_a_true_law():
    by_rows = by_shapes = 0
    for seed in range(40):
        sizes, losses, labels = clustered(seed)
        free, fixed = (
            fit_law(tried, sizes, losses, starts=2) for tried in (FREE, FREE.universal())
        )
        assert alike(free, labels) > 0.3
        by_rows += compare(fixed, free).verdict == "rejected"
        by_shapes += compare(fixed, free, labels).verdict == "rejected"
    assert by_rows > 5 and by_shapes <= 2


def test_independent_errors_are_seldom_called_alike():
    called = 0
    for seed in range(100):
        sizes, losses, labels = clustered(seed, effect=0.0, noise=0.01)
        called += alike(fit_law(FREE.universal(), sizes, losses), labels) is not None
    assert called <= 2


def test_clusters_of_one_point_are_the_usual_sandwich():
    sizes, losses = noisy(5)
    fit = fit_law(FREE.universal(), sizes, losses)
    robust = by_clusters(fit, list(range(len(losses))))
    for name in ("coefficient_width", "floor"):
        same = robust.parameters[name].stderr
        assert same == pytest.approx(fit.parameters[name].stderr, rel=0.25)


def test_a_true_law_holds_and_a_false_one_is_rejected():
    held = rejected = 0
    for seed in range(40):
        sizes, losses = noisy(seed)
        free, fixed = (
            fit_law(tried, sizes, losses, starts=2) for tried in (FREE, FREE.universal())
        )
        held += compare(fixed, free).verdict == "holds"
        wrong = fit_law(Law({"width": 1, "depth": 2, "data": 1 / 3}), sizes, losses)
        rejected += compare(wrong, free).verdict == "rejected"
    assert held >= 34 and rejected == 40


def test_held_out_is_a_refit_without_the_group():
    sizes, losses = noisy(6)
    groups = np.arange(len(losses)) % 4
    free, fixed = (fit_law(tried, sizes, losses) for tried in (FREE, FREE.universal()))
    found = held_out(fixed, free, groups.tolist())
    errors = np.empty((2, len(losses)))
    for group in range(4):
        rest, left = groups != group, groups == group
        for i, tried in enumerate((FREE.universal(), FREE)):
            fit = fit_law(tried, {v: x[rest] for v, x in sizes.items()}, losses[rest])
            predicted = fit.predict({v: x[left] for v, x in sizes.items()})[0]
            errors[i, left] = np.log(losses[left] / predicted) ** 2
    assert [found.fixed, found.free] == pytest.approx(errors.mean(1).tolist(), rel=1e-5)


def test_percentiles_of_draws_without_a_number():
    draws = np.arange(1.0, 101.0)
    assert percentiles(draws) == (3, 98)
    draws[:10] = np.inf  # more than any number
    assert percentiles(draws) == (13, None)
    draws[:10] = np.nan  # could be anything
    assert percentiles(draws) == (None, None)


def test_clusters_are_drawn_whole():
    sizes, losses, labels = clustered(0)
    fit = fit_law(FREE.universal(), sizes, losses)

    def width(draws):
        low, high = draws.intervals()["coefficient_width"]
        return high - low

    assert width(bootstrap(fit, 100, clusters=labels)) > 1.5 * width(bootstrap(fit, 100))


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda s, y: Law({}), "a law needs a term"),
        (lambda s, y: Law({"depth": -1.0}), "exponent of depth is -1"),
        (lambda s, y: fit_law(Law({"time": None}), s, y), "there are no such sizes"),
        (lambda s, y: fit_law(FREE, s, y[:-1]), "124 losses"),
        (lambda s, y: fit_law(FREE, s | {"depth": -s["depth"]}, y), r"depth\[0\] is -4"),
        (lambda s, y: fit_law(FREE, s | {"depth": s["depth"] * 0 + 3}, y), "1 distinct size;"),
        (lambda s, y: fit_law(FREE, {v: x[::21] for v, x in s.items()}, y[::21]), "cannot give 7"),
        (lambda s, y: compare(fit_law(FREE, s, y), fit_law(FREE, s, y)), "more parameters"),
        (lambda s, y: by_clusters(fit_law(FREE, s, y), [0] * 125), "in one cluster"),
        (lambda s, y: by_clusters(fit_law(FREE, s, y), [0, 1]), "2 clusters"),
        (lambda s, y: bootstrap(fit_law(FREE, s, y), 5, clusters=[0]), "1 clusters"),
        (
            lambda s, y: bootstrap(
                fit_law(FREE.universal(), {v: x[::41] for v, x in s.items()}, y[::41]), 5
            ),
            "no degree of freedom",
        ),
    ],
)
def test_refusals(call, words):
    with pytest.raises(ValueError, match=words):
        call(*noisy(0))
