"""Fits against closed forms and against SciPy's own."""

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from toydepth.scaling import fit_power_law

DEPTHS = np.array([3, 4, 6, 8, 12, 16, 24, 32])


def noisy(seed, alpha=2.0, noise=0.1, sizes=DEPTHS):
    generator = np.random.default_rng(seed)
    return 0.7 * sizes.astype(float) ** -alpha * np.exp(noise * generator.normal(size=len(sizes)))


def test_agrees_with_linregress():
    losses = noisy(0)
    law = fit_power_law(DEPTHS, losses)
    line = scipy.stats.linregress(np.log(DEPTHS), np.log(losses))
    quantile = scipy.stats.t(len(DEPTHS) - 2).ppf(0.975)
    assert law.alpha.value == pytest.approx(-line.slope)
    assert law.alpha.stderr == pytest.approx(line.stderr)
    assert law.alpha.low == pytest.approx(-line.slope - quantile * line.stderr)
    assert law.alpha.high == pytest.approx(-line.slope + quantile * line.stderr)
    assert law.log_coefficient.value == pytest.approx(line.intercept)
    assert law.log_coefficient.stderr == pytest.approx(line.intercept_stderr)
    assert law.degrees_of_freedom == 6
    assert law.reason is None and law.floor is None and law.floor_comparison is None
    np.testing.assert_allclose(
        law.residuals, np.log(losses) - line.intercept - line.slope * np.log(DEPTHS)
    )


@pytest.mark.parametrize("noise", [0.3, 0.001])  # more and less than the given errors
def test_weights_agree_with_curve_fit(noise):
    losses = noisy(1, noise=noise)
    stderr = losses * np.linspace(0.02, 0.1, len(losses))
    law = fit_power_law(DEPTHS, losses, stderr)
    parameters, covariance = scipy.optimize.curve_fit(
        lambda x, c, a: c - a * x,
        np.log(DEPTHS),
        np.log(losses),
        sigma=stderr / losses,
        absolute_sigma=True,
    )
    chi2 = np.sum(
        (np.log(losses) - parameters[0] + parameters[1] * np.log(DEPTHS)) ** 2
        * (losses / stderr) ** 2
    )
    scale = max(1.0, chi2 / 6)
    assert (scale > 1) == (noise > 0.1)
    assert law.alpha.value == pytest.approx(parameters[1], rel=1e-6)
    assert law.alpha.stderr == pytest.approx(np.sqrt(covariance[1, 1] * scale), rel=1e-5)
    assert law.log_coefficient.stderr == pytest.approx(np.sqrt(covariance[0, 0] * scale), rel=1e-5)


def test_groups_are_the_within_group_slope():
    """The closed form of the fixed-effects estimator: centre each group, then one slope."""
    sizes = np.tile(DEPTHS, 3)
    groups = np.repeat(["a", "b", "c"], len(DEPTHS))
    losses = noisy(2, sizes=sizes) * np.repeat([1.0, 5.0, 0.1], len(DEPTHS))
    law = fit_power_law(sizes, losses, groups=groups)
    x = np.tile(np.log(DEPTHS) - np.log(DEPTHS).mean(), 3)
    y = np.concatenate([part - part.mean() for part in np.split(np.log(losses), 3)])
    slope = x @ y / (x @ x)
    freedom = 24 - 3 - 1
    assert law.degrees_of_freedom == freedom
    assert law.alpha.value == pytest.approx(-slope)
    assert law.alpha.stderr == pytest.approx(
        np.sqrt(np.sum((y - slope * x) ** 2) / freedom / (x @ x))
    )
    # Without the groups, what tells the replicas apart would count as noise.
    assert fit_power_law(sizes, losses).alpha.stderr > 5 * law.alpha.stderr


def test_groups_may_be_unbalanced():
    """A group that lacks the deep sizes does not tilt the slope."""
    sizes = np.concatenate([DEPTHS, DEPTHS[:3]])
    losses = np.concatenate([DEPTHS**-2.0, 100 * DEPTHS[:3] ** -2.0])
    law = fit_power_law(sizes, losses, groups=[0] * 8 + [1] * 3)
    assert law.alpha.value == pytest.approx(2.0)


def test_prediction_band_is_the_textbook_one():
    losses = noisy(3)
    law = fit_power_law(DEPTHS, losses)
    x, new = np.log(DEPTHS), np.log([5.0, 100.0])
    line = scipy.stats.linregress(x, np.log(losses))
    deviation = np.sqrt(np.sum(law.residuals**2) / 6)
    half = (
        scipy.stats.t(6).ppf(0.975)
        * deviation
        * np.sqrt(1 / 8 + (new - x.mean()) ** 2 / np.sum((x - x.mean()) ** 2))
    )
    loss, low, high = law.predict([5, 100])
    np.testing.assert_allclose(np.log(loss), line.intercept + line.slope * new)
    np.testing.assert_allclose(np.log(high / loss), half)
    np.testing.assert_allclose(np.log(loss / low), half)


def test_floor_agrees_with_curve_fit():
    losses = noisy(4, noise=0.02) + 2e-3
    law = fit_power_law(DEPTHS, losses, floor=True)
    parameters, covariance = scipy.optimize.curve_fit(
        lambda s, log_c, a, floor: np.log(np.exp(log_c) * s**-a + floor),
        DEPTHS.astype(float), np.log(losses), p0=[0, 2, 1e-3], x_scale=[1, 1, 1e-3], method="trf",
        bounds=([-np.inf, -np.inf, 0], np.inf), ftol=1e-14, xtol=1e-14, gtol=1e-14,
    )  # fmt: skip
    found = (law.log_coefficient, law.alpha, law.floor)
    np.testing.assert_allclose([e.value for e in found], parameters, rtol=1e-5)
    np.testing.assert_allclose([e.stderr for e in found], np.sqrt(np.diag(covariance)), rtol=1e-3)
    assert law.degrees_of_freedom == 5
    assert law.floor_comparison.supported and law.floor_comparison.p_value < 0.05
    assert law.floor_comparison.aicc_difference > 0
    # The F test, from the two fits' residuals.
    before, after = np.sum(fit_power_law(DEPTHS, losses).residuals ** 2), np.sum(law.residuals**2)
    assert law.floor_comparison.p_value == pytest.approx(
        scipy.stats.f(1, 5).sf((before - after) / (after / 5))
    )
    aicc = [
        8 * np.log(r / 8) + 2 * k + 2 * k * (k + 1) / (8 - k - 1)
        for r, k in ((before, 3), (after, 4))
    ]
    assert law.floor_comparison.aicc_difference == pytest.approx(aicc[0] - aicc[1])


@pytest.mark.parametrize("alpha, floor", [(1.0, 1e-2), (3.0, 1e-4), (2.0, 0.3), (0.5, 0.1)])
def test_floor_is_recovered_exactly(alpha, floor):
    law = fit_power_law(DEPTHS, 2 * DEPTHS**-alpha + floor, floor=True)
    assert law.alpha.value == pytest.approx(alpha, rel=1e-5)
    assert law.floor.value == pytest.approx(floor, rel=1e-5)
    np.testing.assert_allclose(law.predict(DEPTHS)[0], 2 * DEPTHS**-alpha + floor, rtol=1e-6)


def test_floor_in_groups():
    sizes, factor = np.tile(DEPTHS, 2), np.repeat([1.0, 4.0], 8)
    law = fit_power_law(sizes, factor * (sizes**-1.5 + 1e-3), groups=factor, floor=True)
    assert law.alpha.value == pytest.approx(1.5, rel=1e-5)
    assert law.floor.value == pytest.approx(2e-3, rel=1e-5)  # the geometric mean of 1 and 4 is 2
    assert law.degrees_of_freedom == 16 - 2 - 2


def test_floor_is_zero_where_none_is_wanted():
    """Losses that fall ever faster: the best floor is 0, and it is not supported."""
    losses = DEPTHS**-1.0 * np.exp(-0.02 * DEPTHS)
    law = fit_power_law(DEPTHS, losses, floor=True)
    assert law.floor.value == 0 and law.floor.low == 0 and law.floor.high > 0
    assert law.alpha.value == pytest.approx(fit_power_law(DEPTHS, losses).alpha.value)
    assert not law.floor_comparison.supported
    assert law.floor_comparison.sentence.startswith("the data do not support a floor")


def test_rising_losses_have_no_floor():
    losses = DEPTHS**0.5
    law = fit_power_law(DEPTHS, losses, floor=True)
    assert law.alpha.value == pytest.approx(-0.5) and law.alpha.low is None
    assert law.floor.value == 0 and "do not fall" in law.reason
    np.testing.assert_allclose(law.predict(DEPTHS)[0], losses)


@pytest.mark.slow
def test_floor_false_positives_are_rare():
    """No floor in the data: the F test at 5 % must seldom find one."""
    found = [
        fit_power_law(DEPTHS, noisy(seed), floor=True).floor_comparison.supported
        for seed in range(100)
    ]
    assert sum(found) <= 10


def test_too_few_points_for_aicc_are_said():
    law = fit_power_law(DEPTHS[:5], noisy(0, sizes=DEPTHS[:5]), floor=True)
    assert law.floor_comparison.aicc_difference is None
    assert "too few points for AICc" in law.floor_comparison.sentence


def test_two_sizes_give_a_value_without_interval():
    law = fit_power_law([2, 4, 4], [8.0, 1.0, 1.0])
    assert law.alpha.value == pytest.approx(3)
    assert (law.alpha.stderr, law.alpha.low, law.alpha.high) == (None, None, None)
    assert law.covariance is None and "needs three" in law.reason
    loss, low, high = law.predict([8])
    assert loss == pytest.approx([0.125]) and low is None and high is None


def test_no_degree_of_freedom_gives_no_interval():
    law = fit_power_law([2, 4, 4, 8], [8, 1, 1, 0.1], groups=[0, 0, 1, 1])
    assert law.degrees_of_freedom == 1 and law.reason is None
    law = fit_power_law([2, 4, 16], [8, 1, 0.1], groups=[0, 0, 1])
    assert law.alpha.low is None and law.reason


@pytest.mark.parametrize("with_stderr", [False, True])
def test_interval_covers(with_stderr):
    """95 % means 95 %: the true alpha lies within in 92 to 98 % of 400 ladders.

    With stderr the interval may be wider: its scale is never below what is given.
    """
    generator = np.random.default_rng(0)
    sizes, groups = np.tile(DEPTHS[:6], 2), np.repeat([0, 1], 6)
    hits = 0
    for _ in range(400):
        level = np.exp(generator.normal(size=2))[groups]
        losses = level * sizes**-2.5 * np.exp(0.1 * generator.normal(size=12))
        law = fit_power_law(sizes, losses, 0.1 * losses if with_stderr else None, groups)
        hits += law.alpha.low <= 2.5 <= law.alpha.high
    assert 0.92 <= hits / 400 <= (1.0 if with_stderr else 0.98)


ladders = st.lists(
    st.tuples(st.integers(1, 200), st.floats(1e-6, 1e3)),
    min_size=4,
    max_size=12,
    unique_by=lambda pair: pair[0],
)


@settings(max_examples=50, deadline=None)
@given(ladders, st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_scale_changes_only_the_coefficient(ladder, size_scale, loss_scale):
    sizes, losses = np.array(ladder, float).T
    law = fit_power_law(sizes, losses)
    scaled = fit_power_law(sizes * size_scale, losses * loss_scale)
    assert scaled.alpha.value == pytest.approx(law.alpha.value, rel=1e-6, abs=1e-6)
    assert scaled.alpha.stderr == pytest.approx(law.alpha.stderr, rel=1e-6, abs=1e-6)
    expected = law.log_coefficient.value + np.log(loss_scale) + law.alpha.value * np.log(size_scale)
    assert scaled.log_coefficient.value == pytest.approx(expected, rel=1e-6, abs=1e-5)


@settings(max_examples=50, deadline=None)
@given(ladders, st.randoms(use_true_random=False))
def test_row_order_is_irrelevant(ladder, random):
    rows = [(size, loss, 0.1 * loss, size % 2) for size, loss in ladder] * 2
    shuffled = random.sample(rows, len(rows))
    try:
        law = fit_power_law(*map(list, zip(*rows, strict=True)))
    except ValueError:
        with pytest.raises(ValueError):
            fit_power_law(*map(list, zip(*shuffled, strict=True)))
        return
    other = fit_power_law(*map(list, zip(*shuffled, strict=True)))
    assert other.alpha.value == pytest.approx(law.alpha.value, rel=1e-6, abs=1e-6)
    assert (other.alpha.stderr is None) == (law.alpha.stderr is None)
    if law.alpha.stderr is not None:
        assert other.alpha.stderr == pytest.approx(law.alpha.stderr, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    "arguments, words",
    [
        (([1, 2, -3], [1, 1, 1]), r"sizes\[2\] is -3"),
        (([1, 2, 3], [1, 0, 1]), r"losses\[1\] is 0"),
        (([1, 2, 3], [1, float("nan"), 1]), r"losses\[1\] is nan"),
        (([1, float("inf"), 3], [1, 1, 1]), r"sizes\[1\] is inf"),
        (([1, 2, 3], [1, 1, 1], [1, 1, 0]), r"stderr\[2\] is 0"),
        (([1, 2, 3], [1, 1]), "3 sizes but 2 losses"),
        (([1, 2, 3], [1, 1, 1], [1, 1]), "3 sizes but 2 stderr"),
        (([1, 2, 3], [1, 1, 1], None, [0]), "3 sizes but 1 groups"),
        (([], []), "one or more numbers"),
        ((["a", "b"], [1, 1]), "not a number"),
        (([4, 4], [1, 2]), "one distinct size"),
        (([4, 8], [1, 2], None, [0, 1]), "no group holds two"),
        (([1, 2, 3], [1, 0.5, 0.3], None, None, True), "3 distinct sizes: a floor needs four"),
    ],
)
def test_refuses(arguments, words):
    with pytest.raises(ValueError, match=words):
        fit_power_law(*arguments)


def test_predict_refuses():
    with pytest.raises(ValueError, match=r"sizes\[0\] is 0"):
        fit_power_law(DEPTHS, noisy(0)).predict([0])
