"""Fits of laws against published minima, SciPy's solvers and laws that are known."""

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from toydepth.scaling import Law, fit_law, profile_intervals, warnings
from toydepth.scaling.fit import by_clusters

FREE = Law({"width": None, "depth": None, "data": None})
ONE = Law({"depth": None})


def values(fit):
    return {name: found.value for name, found in fit.parameters.items()}


def formula(law, sizes, parameters):
    """The law's losses, written out; `parameters` are ordered as `law.fitted`."""
    found = dict(zip(law.fitted, parameters, strict=True))
    losses = found.get("floor", 0.0)
    for variable, exponent in law.exponents.items():
        exponent = found[f"exponent_{variable}"] if exponent is None else exponent
        losses = losses + np.exp(
            found[f"log_coefficient_{variable}"] - exponent * np.log(sizes[variable])
        )
    return losses


def scipy_fit(law, sizes, losses, start, **options):
    """SciPy's own minimum in the user's units, with derivatives by differences."""
    return scipy.optimize.least_squares(
        lambda p: np.log(losses) - np.log(formula(law, sizes, p)),
        start,
        jac="3-point",
        x_scale="jac",
        **{"method": "trf", "gtol": 1e-14, "xtol": 1e-15, "ftol": 1e-15, **options},
    )


# Published runs.


def test_chinchilla_free(chinchilla):
    fit = fit_law(FREE, *chinchilla)
    known = {
        "exponent_width": 0.9455,
        "exponent_depth": 1.3251,
        "exponent_data": 0.2991,
        "floor": 1.7536,
    }
    logs = {"width": 5.616, "depth": 1.905, "data": 2.139}
    for name, value in known.items():
        assert fit.parameters[name].value == pytest.approx(value, abs=1e-3)
    for variable, value in logs.items():
        assert np.log(fit.parameters[f"coefficient_{variable}"].value) == pytest.approx(
            value, abs=1e-3
        )
    stderrs = {"width": (0.085, 5e-4), "depth": (0.287, 5e-4), "data": (0.0139, 5e-5)}
    for variable, (stderr, rounding) in stderrs.items():
        found = fit.parameters[f"exponent_{variable}"].stderr
        assert found == pytest.approx(stderr, abs=rounding)
    assert fit.parameters["floor"].stderr == pytest.approx(0.024, abs=5e-4)
    assert len(fit.residuals) == 203 and fit.degrees_of_freedom == 196
    assert fit.mean_squared_log_residual == pytest.approx(3.0274e-5, abs=5e-10)
    assert fit.solution.gradient < 1e-10
    assert fit.solution.agreeing == fit.solution.starts == 16
    assert warnings(fit) == []


def test_chinchilla_free_is_scipy_s_minimum(chinchilla):
    fit = fit_law(FREE, *chinchilla)
    found = scipy_fit(FREE, *chinchilla, [0.5, 0.5, 0.5, 4.0, 1.0, 2.0, 1.0])
    np.testing.assert_allclose(fit.values, found.x, rtol=1e-5)
    assert fit.solution.cost == pytest.approx(found.cost, rel=1e-9)
    # The covariance by a Jacobian of finite differences.
    expected = np.linalg.inv(found.jac.T @ found.jac) * 2 * found.cost / 196
    np.testing.assert_allclose(
        np.sqrt(np.diag(fit.covariance)), np.sqrt(np.diag(expected)), rtol=1e-4
    )


def test_chinchilla_from_any_start(chinchilla):
    for seed in range(100):
        fit = fit_law(FREE, *chinchilla, starts=1, seed=seed)
        assert fit.mean_squared_log_residual <= 3.02745e-5


def test_chinchilla_universal(chinchilla):
    sizes, losses = chinchilla
    fit = fit_law(FREE.universal(), sizes, losses)
    found = values(fit)
    assert found["coefficient_width"] == pytest.approx(387.64, rel=1e-3)
    assert found["coefficient_depth"] == pytest.approx(3.2527, rel=1e-3)
    assert found["coefficient_data"] == pytest.approx(10.643, rel=1e-3)
    assert found["floor"] == pytest.approx(1.7777, rel=1e-3)
    assert fit.mean_squared_log_residual == pytest.approx(3.1686e-5, abs=1e-9)
    ratio = found["coefficient_width"] / (2 * found["coefficient_depth"])
    assert ratio == pytest.approx(59.6, abs=0.1)
    less = fit_law(FREE.universal(), sizes | {"depth": sizes["depth"] - 2}, losses)
    found = values(less)
    ratio = found["coefficient_width"] / (2 * found["coefficient_depth"])
    assert ratio == pytest.approx(71.1, abs=0.1)


def test_gemstones(gemstones):
    free, universal = fit_law(FREE, *gemstones), fit_law(FREE.universal(), *gemstones)
    assert np.sum(universal.residuals**2) == pytest.approx(2 * 0.0829, rel=1e-3)
    assert np.sum(free.residuals**2) == pytest.approx(2 * 0.00894, rel=1e-3)
    found = [free.parameters[f"exponent_{v}"].value for v in FREE.variables]
    np.testing.assert_allclose(found, [0.32, 0.17, 0.58], atol=0.01)


# Known laws.


@st.composite
def known_laws(draw):
    """(law, sizes, losses, exponents, coefficients, floor) without noise."""
    count = draw(st.integers(1, 3))
    variables = ["width", "depth", "data"][:count]
    floor = draw(st.booleans())
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    units = 10.0 ** generator.integers(-12, 15, count)
    logs = generator.uniform(0, np.log(1000), (60, count))
    exponents = generator.uniform(0.2, 2, count)
    parts = np.exp(generator.uniform(-1, 1, count))  # of the loss, at the typical size
    level = float(np.exp(generator.uniform(-2, 1))) if floor else 0.0
    losses = np.exp(-exponents * (logs - logs.mean(0))) @ parts + level
    coefficients = parts * np.exp(exponents * (logs.mean(0) + np.log(units)))
    fixed = generator.random(count) < 0.3
    law = Law(
        {v: float(a) if f else None for v, a, f in zip(variables, exponents, fixed, strict=True)},
        floor,
    )
    sizes = dict(zip(variables, (np.exp(logs) * units).T, strict=True))
    return law, sizes, losses, exponents, coefficients, level


@settings(max_examples=40, deadline=None)
@given(known_laws())
def test_finds_a_law_that_is_there(case):
    law, sizes, losses, exponents, coefficients, floor = case
    fit = fit_law(law, sizes, losses, starts=4)
    for variable, exponent, coefficient in zip(law.variables, exponents, coefficients, strict=True):
        assert fit.parameters[f"exponent_{variable}"].value == pytest.approx(exponent, rel=1e-6)
        found = fit.parameters[f"coefficient_{variable}"].value
        assert np.log(found) == pytest.approx(np.log(coefficient), abs=1e-4)
    assert fit.floor == pytest.approx(floor, rel=1e-6)
    loss, low, high = fit.predict(sizes)
    np.testing.assert_allclose(loss, losses, rtol=1e-9)
    assert np.all(low <= loss) and np.all(loss <= high)


LAWS = [
    FREE,
    Law({"width": 1, "depth": None, "data": 1 / 3}),
    Law({"width": None, "depth": None, "data": None}, floor=False),
    Law({"width": None, "depth": 1, "data": None}),
]


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("huber", [None, 0.01])
def test_agrees_with_scipy(grid, law, huber):
    """Student's noise of two degrees of freedom: some residuals are ten times the others."""
    noise = np.random.default_rng(3).standard_t(2, len(grid.losses))
    losses = grid.losses * np.exp(0.01 * noise)
    fit = fit_law(law, grid.sizes, losses, huber=huber)
    options = {} if huber is None else {"loss": "huber", "f_scale": huber}
    start = fit.values * np.linspace(0.95, 1.05, len(fit.values))
    lower = np.where(np.array(law.fitted) == "floor", 0, -np.inf)
    found = scipy_fit(law, grid.sizes, losses, start, bounds=(lower, np.inf), **options)
    assert fit.solution.cost == pytest.approx(found.cost, rel=1e-8)
    assert fit.solution.cost <= found.cost * (1 + 1e-12)
    np.testing.assert_allclose(fit.values, found.x, rtol=1e-3, atol=1e-4)
    assert fit.solution.gradient < 1e-6


@pytest.mark.parametrize("noise", [0.03, 0.001])  # more and less than the given errors
def test_weights_agree_with_curve_fit(grid, noise):
    losses = grid.draw(5, noise)
    relative = np.geomspace(0.004, 0.04, len(losses))[np.random.default_rng(0).permutation(150)]
    fit = fit_law(FREE, grid.sizes, losses, stderr=relative * losses)
    truth = [np.log(v) if n.startswith("coeff") else v for n, v in grid.parameters.items()]
    parameters, covariance = scipy.optimize.curve_fit(
        lambda _, *p: np.log(formula(FREE, grid.sizes, p)),
        np.zeros(len(losses)),
        np.log(losses),
        p0=truth,
        sigma=relative,
        absolute_sigma=True,
        xtol=1e-12,
        ftol=1e-14,
    )
    chi2 = np.sum((np.log(losses / formula(FREE, grid.sizes, parameters)) / relative) ** 2)
    assert (chi2 > 143) == (noise > 0.01)
    np.testing.assert_allclose(fit.values, parameters, rtol=1e-4)
    expected = np.sqrt(np.diag(covariance) * max(1.0, chi2 / 143))
    np.testing.assert_allclose(np.sqrt(np.diag(fit.covariance)), expected, rtol=1e-3)


def test_equal_weights_change_nothing_but_the_least_error(grid):
    losses = grid.draw(6)
    plain = fit_law(FREE, grid.sizes, losses)
    weighted = fit_law(FREE, grid.sizes, losses, stderr=1e-5 * losses)
    np.testing.assert_allclose(weighted.values, plain.values, rtol=1e-7)
    np.testing.assert_allclose(weighted.covariance, plain.covariance, rtol=1e-5)
    np.testing.assert_allclose(weighted.residuals, plain.residuals, atol=1e-9)


def test_groups_agree_with_explicit_factors(grid):
    """One factor per group beside the law; coefficients are those of the mean of their logs."""
    member = np.random.default_rng(1).permutation(np.arange(150) % 3)
    factors = np.array([1.0, 2.0, 0.3])
    losses = grid.draw(7) * factors[member]
    fit = fit_law(FREE, grid.sizes, losses, groups=[("teacher", int(g)) for g in member])

    def residuals(p):
        return np.log(losses / formula(FREE, grid.sizes, p[:7])) - np.append(0, p[7:])[member]

    start = np.append(fit.values, np.log(factors[1:]))
    found = scipy.optimize.least_squares(
        residuals, start, x_scale="jac", gtol=1e-14, xtol=1e-15, ftol=1e-15
    )
    assert fit.solution.cost == pytest.approx(found.cost, rel=1e-9)
    assert fit.degrees_of_freedom == 150 - 9
    mean = np.append(0, found.x[7:]).mean()
    expected = np.append(found.x[:3], found.x[3:6] + mean)
    np.testing.assert_allclose(fit.values[:6], expected, rtol=1e-4)
    assert fit.floor == pytest.approx(found.x[6] * np.exp(mean), rel=1e-4)
    covariance = np.linalg.inv(found.jac.T @ found.jac) * 2 * found.cost / 141
    np.testing.assert_allclose(
        np.sqrt(np.diag(fit.covariance))[:3], np.sqrt(np.diag(covariance))[:3], rtol=1e-3
    )
    # Without them, what tells the groups apart would count as noise.
    assert np.std(fit_law(FREE, grid.sizes, losses).residuals) > 20 * np.std(fit.residuals)


def test_groups_of_one_label_are_no_groups(grid):
    losses = grid.draw(8)
    one = fit_law(FREE, grid.sizes, losses, groups=["teacher"] * 150)
    np.testing.assert_array_equal(one.values, fit_law(FREE, grid.sizes, losses).values)


# What must not matter.


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(LAWS), st.floats(-15, 15), st.floats(-12, 12), st.integers(0, 2**32 - 1))
def test_units_change_only_coefficients(grid, law, size_unit, loss_unit, seed):
    losses, size_unit, loss_unit = grid.draw(seed), 10.0**size_unit, 10.0**loss_unit
    fit = fit_law(law, grid.sizes, losses, starts=2)
    sizes = grid.sizes | {"data": grid.sizes["data"] * size_unit}
    scaled = fit_law(law, sizes, losses * loss_unit, starts=2)
    for name, found in fit.parameters.items():
        other, factor = scaled.parameters[name], 1.0
        if name == "floor" or name.startswith("coefficient_"):
            factor = loss_unit
        if name == "coefficient_data":
            factor *= size_unit ** fit.parameters["exponent_data"].value
        assert other.value == pytest.approx(found.value * factor, rel=1e-5)
        if name != "coefficient_data" and found.stderr is not None:
            assert other.stderr == pytest.approx(found.stderr * factor, rel=1e-4)
    np.testing.assert_allclose(scaled.residuals, fit.residuals, atol=1e-8)


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(LAWS), st.integers(0, 2**32 - 1))
def test_order_of_rows_and_of_terms_is_irrelevant(grid, law, seed):
    losses = grid.draw(seed)
    fit = fit_law(law, grid.sizes, losses, starts=2)
    order = np.random.default_rng(seed).permutation(len(losses))
    terms = list(law.exponents.items())[::-1]
    sizes = {v: x[order] for v, x in grid.sizes.items()} | {"experts": np.full(150, -1.0)}
    other = fit_law(Law(dict(terms), law.floor), sizes, losses[order], starts=2)
    assert set(other.parameters) == set(fit.parameters)
    for name, found in fit.parameters.items():
        assert other.parameters[name].value == pytest.approx(found.value, rel=1e-5)
        if found.stderr is not None:
            assert other.parameters[name].stderr == pytest.approx(found.stderr, rel=1e-4)
    np.testing.assert_allclose(other.residuals, fit.residuals[order], atol=1e-8)
    place = [other.law.fitted.index(name) for name in law.fitted]
    assert other.covariance[np.ix_(place, place)] == pytest.approx(
        fit.covariance, rel=1e-3, abs=1e-6 * np.abs(fit.covariance).max()
    )


def test_more_starts_are_never_worse(grid):
    losses = grid.draw(9, noise=0.3)
    costs = [fit_law(FREE, grid.sizes, losses, starts=n).solution.cost for n in (1, 2, 4, 8, 16)]
    assert all(
        after <= before * (1 + 1e-9) for before, after in zip(costs, costs[1:], strict=False)
    )


# The bound of the floor, and terms that are not there.


def falls_below_zero(seed):
    """A power law with noise whose best floor would be negative, by SciPy without a bound."""
    depths = np.geomspace(3, 100, 12)
    noise = np.random.default_rng(seed).normal(size=12)
    losses = 2 * depths**-1.0 * np.exp(0.05 * noise)
    free = scipy_fit(ONE, {"depth": depths}, losses, [1.0, 0.7, 0.0])
    return depths, losses, free.x[2]


def test_a_floor_of_zero_is_the_constrained_minimum():
    seen = 0
    for seed in range(12):
        depths, losses, unbounded = falls_below_zero(seed)
        fit = fit_law(ONE, {"depth": depths}, losses, starts=4)
        assert (fit.floor == 0) == (unbounded < 0)
        if unbounded > 0:
            continue
        seen += 1
        straight = fit_law(Law({"depth": None}, floor=False), {"depth": depths}, losses)
        assert fit.solution.cost == pytest.approx(straight.solution.cost, rel=1e-12)
        np.testing.assert_allclose(fit.values[:2], straight.values, rtol=1e-7)
        slopes = fit.model.jacobian(fit.solution.theta).T @ fit.model.residuals(fit.solution.theta)
        assert slopes[2] > 0  # the cost would rise with the floor
        np.testing.assert_allclose(slopes[:2], 0, atol=1e-7)
        assert fit.parameters["floor"].low == 0 and fit.parameters["floor"].high > 0
    assert seen >= 3


@pytest.mark.parametrize("seed", [0, 2])
def test_a_floor_of_zero_beside_other_terms(grid, seed):
    losses = grid.draw(seed) / grid.losses * (grid.losses - 1.7)
    fit = fit_law(FREE, grid.sizes, losses)
    assert fit.floor == 0
    start = np.append(fit.values[:6], 0.01)
    bounds = ([-np.inf] * 6 + [0.0], np.inf)
    found = scipy_fit(FREE, grid.sizes, losses, start, bounds=bounds)
    assert fit.solution.cost <= found.cost * (1 + 1e-9)
    assert scipy_fit(FREE, grid.sizes, losses, start).x[6] < 0
    slopes = fit.model.jacobian(fit.solution.theta).T @ fit.model.residuals(fit.solution.theta)
    assert slopes[6] > 0
    np.testing.assert_allclose(slopes[:6], 0, atol=1e-7)


def test_a_term_that_is_not_there(grid):
    losses = grid.sizes["width"] ** -1.0 * grid.draw(2) / grid.losses
    law = Law({"width": None, "depth": None}, floor=False)
    losses = losses * (1 + 1e-3 * np.log(grid.sizes["depth"]))  # rises with depth, a little
    fit = fit_law(law, grid.sizes, losses)
    assert fit.parameters["coefficient_depth"].value == 0
    assert np.isnan(fit.parameters["exponent_depth"].value)
    for name in ("coefficient_depth", "exponent_depth"):
        found = fit.parameters[name]
        assert (found.stderr, found.low, found.high) == (None, None, None)
    alone = fit_law(Law({"width": None}, floor=False), grid.sizes, losses)
    assert fit.parameters["exponent_width"].value == pytest.approx(
        alone.parameters["exponent_width"].value, rel=1e-9
    )
    loss, low, high = fit.predict(grid.sizes)
    np.testing.assert_allclose(loss, alone.predict(grid.sizes)[0], rtol=1e-9)
    assert np.isfinite(low).all() and np.isfinite(high).all()
    np.testing.assert_array_equal(fit.parts(grid.sizes)["depth"], 0)


# What is made of a fit.


def test_the_band_is_the_delta_method(grid):
    fit = fit_law(FREE, grid.sizes, grid.draw(1))
    sizes = {"width": [512.0, 8192.0], "depth": [24.0, 100.0], "data": [1e9, 1e13]}
    loss, low, high = fit.predict(sizes)
    np.testing.assert_allclose(loss, formula(FREE, sizes, fit.values), rtol=1e-12)
    steps = 1e-6 * np.eye(7)
    gradient = np.stack(
        [
            (
                np.log(formula(FREE, sizes, fit.values + step))
                - np.log(formula(FREE, sizes, fit.values - step))
            )
            / 2e-6
            for step in steps
        ],
        axis=1,
    )
    half = scipy.stats.t(143).ppf(0.975) * np.sqrt(
        np.einsum("pi,ij,pj->p", gradient, fit.covariance, gradient)
    )
    np.testing.assert_allclose(np.log(high / loss), half, rtol=1e-5)
    np.testing.assert_allclose(np.log(loss / low), half, rtol=1e-5)
    parts = fit.parts(sizes)
    np.testing.assert_allclose(sum(parts.values()) + fit.floor, loss, rtol=1e-12)


def test_intervals_are_student_s(grid):
    fit = fit_law(FREE, grid.sizes, grid.draw(1))
    quantile = scipy.stats.t(143).ppf(0.975)
    for i, name in enumerate(FREE.fitted):
        stderr = np.sqrt(fit.covariance[i, i])
        found = fit.parameters[name.removeprefix("log_")]
        ends = fit.values[i] + quantile * stderr * np.array([-1, 1])
        if name.startswith("log_"):
            ends, stderr = np.exp(ends), stderr * found.value
        assert found.stderr == pytest.approx(stderr)
        assert (found.low, found.high) == pytest.approx(tuple(ends))
    assert fit.scale == pytest.approx(np.sum(fit.residuals**2) / 143)


def test_no_degree_of_freedom_no_intervals():
    fit = fit_law(ONE, {"depth": [2, 4, 8]}, [1.6, 1.3, 1.15])
    assert values(fit) == pytest.approx(
        {"exponent_depth": 1.0, "coefficient_depth": 1.2, "floor": 1.0}, rel=1e-6
    )
    assert all(p.stderr is p.low is p.high is None for p in fit.parameters.values())
    loss, low, high = fit.predict({"depth": [16]})
    assert loss == pytest.approx([1.075]) and low is None and high is None
    assert profile_intervals(fit) == {}


def test_errors_by_clusters(grid):
    """By hand, and with one point per cluster White's errors."""
    fit = fit_law(FREE, grid.sizes, grid.draw(1))
    shapes = list(zip(grid.sizes["width"], grid.sizes["depth"], strict=True))
    clustered = by_clusters(fit, shapes)
    jacobian = scipy_fit(FREE, grid.sizes, grid.draw(1), fit.values).jac
    bread = np.linalg.inv(jacobian.T @ jacobian)
    scores = jacobian * fit.residuals[:, None]
    summed = np.array(
        [scores[[s == shape for s in shapes]].sum(0) for shape in dict.fromkeys(shapes)]
    )
    small = 30 / 29 * 149 / 143
    expected = small * bread @ summed.T @ summed @ bread
    np.testing.assert_allclose(
        np.sqrt(np.diag(clustered.covariance)), np.sqrt(np.diag(expected)), rtol=1e-3
    )
    found = clustered.parameters["exponent_width"]
    assert clustered.interval_freedom == 29
    assert found.high - found.value == pytest.approx(scipy.stats.t(29).ppf(0.975) * found.stderr)
    np.testing.assert_array_equal(clustered.values, fit.values)
    white = by_clusters(fit, range(150))
    expected = 150 / 143 * bread @ scores.T @ scores @ bread
    np.testing.assert_allclose(
        np.sqrt(np.diag(white.covariance)), np.sqrt(np.diag(expected)), rtol=1e-3
    )


# What it refuses.


@pytest.mark.parametrize(
    "law, sizes, losses, options, words",
    [
        (ONE, {"width": [1, 2, 3]}, [1, 1, 1], {}, "depends on depth, but there are no such sizes"),
        (ONE, {"depth": [1, 2, -3]}, [1, 1, 1], {}, r"depth\[2\] is -3; it must be positive"),
        (ONE, {"depth": [1, np.nan, 3]}, [1, 1, 1], {}, r"depth\[1\] is nan"),
        (ONE, {"depth": [1, 2, 3]}, [1, 0, 1], {}, r"losses\[1\] is 0"),
        (ONE, {"depth": [1, 2, 3]}, [1, np.inf, 1], {}, r"losses\[1\] is inf"),
        (ONE, {"depth": [1, 2, 3]}, [1, 1], {}, "3 depth but 2 losses"),
        (ONE, {"depth": ["a", 2, 3]}, [1, 1, 1], {}, "depth holds something that is not a number"),
        (ONE, {"depth": []}, [], {}, r"depth has shape \(0,\)"),
        (ONE, {"depth": [1, 2, 3]}, [1, 1, 1], {"stderr": [1, 1, 0]}, r"stderr\[2\] is 0"),
        (ONE, {"depth": [1, 2, 3]}, [1, 1, 1], {"stderr": [1]}, "3 depth but 1 stderr"),
        (ONE, {"depth": [1, 2, 3]}, [1, 1, 1], {"groups": "ab"}, "3 depth but 2 groups"),
        (ONE, {"depth": [4, 8, 8]}, [1, 1, 1], {}, "depth has 2 distinct sizes; its term needs 3"),
        (ONE, {"depth": [4, 4, 4]}, [1, 1, 1], {}, "depth has 1 distinct size; its term needs 3"),
        (Law({"depth": 1}), {"depth": [4, 4]}, [1, 1], {}, "distinct size; its term needs 2"),
        (Law({"depth": None}, False), {"depth": [4]}, [1], {}, "distinct size; its term needs 2"),
        (
            FREE,
            {v: [1, 2, 3] for v in FREE.variables},
            [1, 1, 1],
            {},
            "3 points cannot give 7 parameters",
        ),
        (
            ONE,
            {"depth": [1, 2, 3]},
            [1, 1, 1],
            {"groups": "aab"},
            "3 points cannot give 4 parameters",
        ),
        (ONE, {"depth": [1, 2, 3]}, [1, 1, 1], {"huber": 0}, "huber is 0; it must be positive"),
        (ONE, {"depth": [1, 2, 3]}, [1, 1, 1], {"huber": np.nan}, "huber is nan"),
        (ONE, {"depth": [1, 2, 3]}, [1, 1, 1], {"starts": 0}, "starts is 0"),
    ],
)
def test_refuses(law, sizes, losses, options, words):
    with pytest.raises(ValueError, match=words):
        fit_law(law, sizes, losses, **options)


def test_predict_and_clusters_refuse(grid):
    fit = fit_law(FREE, grid.sizes, grid.draw(0), starts=1)
    with pytest.raises(ValueError, match=r"\[1\] is 0; it must be positive"):
        fit.predict({"width": [1, 1], "depth": [1, 0], "data": [1, 1]})
    with pytest.raises(ValueError, match="150 points but 2 clusters"):
        by_clusters(fit, ["a", "b"])
    with pytest.raises(ValueError, match="all points are in one cluster"):
        by_clusters(fit, ["a"] * 150)
