"""Data that a fit may meet and that say little: no crash, no warning of NumPy's, no nan."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toydepth.scaling import (
    Law,
    bootstrap,
    compare,
    fit_law,
    folds,
    held_out,
    profile_intervals,
    warnings,
)

pytestmark = pytest.mark.filterwarnings("error")

FREE = Law({"width": None, "depth": None, "data": None})
ONE = Law({"depth": None})
STRAIGHT = Law({"depth": None}, floor=False)
DEPTHS = np.geomspace(3, 96, 12)
NOISE = np.random.default_rng(0).normal(size=12)
FALLING = (1 / DEPTHS + 0.5) * np.exp(0.01 * NOISE)


def check(fit, sizes, losses, grouped=False):
    """What holds of every fit, however little the data say."""
    assert np.isfinite(fit.solution.cost) and np.isfinite(fit.residuals).all()
    assert not np.isnan(fit.covariance).any()
    for name, found in fit.parameters.items():
        kind, _, variable = name.partition("_")
        if np.isnan(found.value):  # an exponent of a term that is not there
            assert kind == "exponent" and fit.parameters[f"coefficient_{variable}"].value == 0
            assert found.low is None
        elif found.low is not None:
            assert found.low <= found.value <= found.high and not np.isnan(found.stderr)
    loss, low, high = fit.predict(sizes)
    steepest = max(abs(fit.parameters[f"exponent_{v}"].value) for v in fit.law.variables)
    if not grouped and not steepest > 20:  # beyond, the solver's parts end at e^-300
        np.testing.assert_allclose(np.log(losses / loss), fit.residuals, atol=1e-6)
    if low is not None:
        assert np.all(low <= loss) and np.all(loss <= high)
    assert all("nan" not in sentence for sentence in warnings(fit))


def check_all(law, sizes, losses, **options):
    """Every interval and comparison as well."""
    sizes, losses = {v: np.asarray(x, float) for v, x in sizes.items()}, np.asarray(losses, float)
    fit = fit_law(law, sizes, losses, starts=3, **options)
    check(fit, sizes, losses, "groups" in options)
    for name, (low, high) in profile_intervals(fit).items():
        value = fit.parameters[name].value
        near = 1e-9 * abs(value)
        assert low is None or low <= value + near
        assert high is None or high >= value - near
    if fit.degrees_of_freedom > 0:
        for low, high in bootstrap(fit, 10).intervals().values():
            assert low is None or high is None or low <= high
    free = law.freed()
    if free != law and len(losses) > len(free.fitted) + len(set(options.get("groups", []))):
        other = fit_law(free, sizes, losses, starts=3, **options)
        found = compare(fit, other)
        assert 0 <= found.p_value <= 1 and np.isfinite(found.f)
        found = held_out(fit, other, folds(len(losses), 2, 0))
        assert np.isfinite([found.fixed, found.free, found.stderr]).all()
    return fit


CASES = {
    "three rows": (ONE, {"depth": [2, 4, 8]}, [1.6, 1.3, 1.15]),
    "two rows": (STRAIGHT, {"depth": [2, 4]}, [1, 0.5]),
    "equal losses": (ONE, {"depth": DEPTHS}, np.ones(12)),
    "equal losses, no floor": (STRAIGHT, {"depth": DEPTHS}, np.full(12, 7.0)),
    "equal losses, fixed": (Law({"depth": 1}), {"depth": DEPTHS}, np.ones(12)),
    "rising": (ONE, {"depth": DEPTHS}, DEPTHS**0.5 * np.exp(0.05 * NOISE)),
    "rising, fixed": (Law({"depth": 1}), {"depth": DEPTHS}, DEPTHS**0.5),
    "one high loss": (ONE, {"depth": DEPTHS}, 1 + (DEPTHS < 3.5)),
    "falling to a line": (ONE, {"depth": DEPTHS}, 10 - np.log(DEPTHS)),
    "hardly an exponent": (ONE, {"depth": DEPTHS}, DEPTHS**-0.01 + 0.01 * np.exp(0.1 * NOISE)),
    "steep": (ONE, {"depth": DEPTHS}, (DEPTHS / 9) ** -10 + np.exp(0.01 * NOISE)),
    "fixed and steep": (Law({"depth": 30.0}), {"depth": DEPTHS}, FALLING),
    "noise alone": (ONE, {"depth": DEPTHS * 1e15}, 1 + 0.1 * NOISE),
    "small sizes": (ONE, {"depth": DEPTHS * 1e-12}, FALLING * 1e-12),
    "large sizes": (ONE, {"depth": DEPTHS * 1e15}, FALLING * 1e9),
    "large and steep": (STRAIGHT, {"depth": 1e15 * DEPTHS}, DEPTHS**-25.0 * np.exp(0.1 * NOISE)),
    "small and steep": (STRAIGHT, {"depth": 1e-12 * DEPTHS}, DEPTHS**-30.0 * np.exp(0.1 * NOISE)),
    "noise of a thousand": (ONE, {"depth": DEPTHS}, np.exp(7 * NOISE)),
    "rows many times": (ONE, {"depth": np.tile(DEPTHS, 20)}, np.tile(FALLING, 20)),
    "no noise": (ONE, {"depth": DEPTHS}, 1 / DEPTHS + 0.5),
    "no noise, fixed": (Law({"depth": 0.9}), {"depth": DEPTHS}, 1 / DEPTHS + 0.5),
    "one size twice": (STRAIGHT, {"depth": [4, 4, 8]}, [1, 1.1, 0.5]),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_hard_data(case):
    check_all(*case)


@pytest.mark.parametrize("huber", [1e-9, 1e-3, 1e9])
@pytest.mark.parametrize("name", ["rising", "equal losses", "one high loss"])
def test_hard_data_with_huber_s_loss(name, huber):
    check_all(*CASES[name], huber=huber)


def test_huber_s_loss_far_out_is_squares():
    fit, other = (fit_law(ONE, {"depth": DEPTHS}, FALLING, huber=h) for h in (None, 1e9))
    np.testing.assert_allclose(other.values, fit.values, rtol=1e-6)
    np.testing.assert_allclose(other.covariance, fit.covariance, rtol=1e-6)


def test_huber_s_loss_at_its_smallest_is_the_absolute_value():
    """The sum of absolute residuals is the least, and intervals are not those of delta."""
    fit = fit_law(STRAIGHT, {"depth": DEPTHS}, FALLING, huber=1e-9)
    logs = np.log(DEPTHS)
    least = min(
        np.abs(np.log(FALLING) - a * logs - (np.log(FALLING[i]) - a * logs[i])).sum()
        for i in range(12)
        for j in range(i)
        for a in [np.log(FALLING[i] / FALLING[j]) / (logs[i] - logs[j])]
    )
    assert np.abs(fit.residuals).sum() == pytest.approx(least, rel=1e-4)
    squares = fit_law(STRAIGHT, {"depth": DEPTHS}, FALLING)
    ratio = fit.parameters["exponent_depth"].stderr / squares.parameters["exponent_depth"].stderr
    assert 0.3 < ratio < 3


@pytest.mark.parametrize("decades", [6, 12])
def test_weights_over_many_decades(decades):
    stderr = FALLING * np.logspace(-decades, 0, 12)[np.random.default_rng(1).permutation(12)]
    fit = check_all(ONE, {"depth": DEPTHS}, FALLING, stderr=stderr)
    assert fit.scale > 1


def test_groups_of_two_points():
    groups = (np.arange(12) // 2).tolist()
    check_all(ONE, {"depth": DEPTHS}, FALLING, groups=groups)
    # Each size in a group of its own: nothing tells the exponent.
    fit = check_all(STRAIGHT, {"depth": [2, 2, 4, 4]}, [1, 1.1, 0.5, 0.6], groups="aabb")
    assert "exponent_depth" in fit.unidentified


def test_thousands_of_rows():
    generator = np.random.default_rng(0)
    sizes = {v: np.exp(generator.uniform(0, 6, 5000)) for v in FREE.variables}
    truth = {"width": (2.0, 0.9), "depth": (1.0, 1.3), "data": (3.0, 0.3)}
    losses = 1.0 + sum(c * sizes[v] ** -a for v, (c, a) in truth.items())
    losses = losses * np.exp(0.01 * generator.normal(size=5000))
    fit = fit_law(FREE, sizes, losses, starts=3)
    check(fit, sizes, losses)
    assert fit.solution.agreeing == 3
    for variable, (_, exponent) in truth.items():
        found = fit.parameters[f"exponent_{variable}"]
        assert found.value == pytest.approx(exponent, abs=4 * found.stderr)


def test_a_coefficient_too_large_for_a_number_still_predicts():
    law, sizes, losses = CASES["large and steep"]
    fit = fit_law(law, sizes, losses)
    assert fit.parameters["coefficient_depth"].value == np.inf
    loss, low, high = fit.predict(sizes)
    assert np.isfinite(loss).all() and np.isfinite(low).all() and np.isfinite(high).all()
    assert fit.predict({"depth": [1e-300]})[0] == np.inf


def test_a_flat_valley_is_followed_to_its_end():
    """Three losses that fall nearly as a logarithm: exponent and floor hide each other."""
    sizes = {"depth": [1181158.07275807, 8739352.53631234, 6673308.27230119]}
    losses = [10.482314835039578, 10.434474770195871, 10.44063454155321]
    for seed in range(4):
        fit = fit_law(ONE, sizes, losses, starts=1, seed=seed)
        np.testing.assert_allclose(fit.predict(sizes)[0], losses, rtol=1e-9)
        assert fit.parameters["exponent_depth"].value == pytest.approx(0.0521946, rel=1e-4)


def nasty(seed):
    """A random law, sizes, losses and options, most of them unfit for one another."""
    g = np.random.default_rng(seed)
    variables = list(FREE.variables)[: g.integers(1, 4)]
    law = Law(
        {v: None if g.random() < 0.7 else g.choice([1 / 3, 1, 3, 10]) for v in variables},
        bool(g.random() < 0.7),
    )
    rows, count = int(g.choice([4, 6, 8, 12, 20, 50, 200])), len(variables)
    logs = g.uniform(0, 1, (rows, count))
    logs = (np.round(3 * logs) / 3 if g.random() < 0.3 else logs) * g.choice([0.2, 2, 7, 14])
    exponents, centred = np.exp(g.uniform(-4, 2.3, count)), logs - logs.mean(0)
    kinds = {
        "law": np.exp(np.clip(-exponents * centred, -50, 50)).sum(1) + g.choice([0, 0.01, 1, 10]),
        "equal": np.ones(rows),
        "rising": np.exp(centred * exponents / 10).sum(1),
        "random": np.exp(5 * g.normal(size=rows)),
        "step": 1.0 + (logs[:, 0] == logs[:, 0].min()),
        "line": 10 - 9 * logs[:, 0] / logs[:, 0].max() + 1e-3,
    }
    losses = kinds[g.choice(["law", "law", "law", *kinds])]
    losses = losses * np.exp(g.choice([0, 1e-8, 1e-3, 0.1, 1]) * g.normal(size=rows))
    losses = losses * 10.0 ** g.choice([-12, 0, 0, 9])
    options = {}
    if g.random() < 0.25:
        options["stderr"] = losses * 10.0 ** g.uniform(-g.choice([1, 6]), 0, rows)
    if g.random() < 0.25:
        options["groups"] = g.integers(0, g.choice([2, 5]), rows).tolist()
    if g.random() < 0.3:
        options["huber"] = 10.0 ** g.choice([-3, -1, 3])
    units = 10.0 ** g.choice([-12, -6, 0, 0, 6, 15], size=count)
    return law, dict(zip(variables, (np.exp(logs) * units).T, strict=True)), losses, options


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
@example(3195528)  # an exponent ran away to 4496, and the loss to infinity
def test_nasty_data(seed):
    law, sizes, losses, options = nasty(seed)
    try:
        fit = fit_law(law, sizes, losses, starts=2, **options)
    except ValueError as error:
        assert "distinct size" in str(error) or "cannot give" in str(error)
        return
    check(fit, sizes, losses, "groups" in options)
    if fit.degrees_of_freedom > 0:
        bootstrap(fit, 3).intervals()
