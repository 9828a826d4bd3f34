"""Teachers between the regimes: their limits to the bit, and their distribution in between."""

import numpy as np
import pytest
from scipy import stats

from toydepth.toy import draw_teacher

WIDTH, DEPTH = 32, 48
BOUND = WIDTH**-0.5


def layers(kind, seed=0, **drawn_by):
    sizes = {"width": WIDTH, "depth": DEPTH, "vocabulary": 0}
    return draw_teacher(kind, seed, head=None, **sizes, **drawn_by).layers


def rows(weights):
    """A row for each layer."""
    return np.asarray(weights.w_in, np.float64).reshape(DEPTH, -1) / BOUND


@pytest.mark.parametrize(
    "limit, kind, drawn_by",
    [
        ("shared", "mixed", {"rho": 1.0}),
        ("shared", "correlated", {"correlation_length": "inf"}),
        ("shared", "correlated", {"correlation_length": 1e17}),
        ("independent", "mixed", {"rho": 0.0}),
        ("independent", "correlated", {"correlation_length": 1e-9}),
        ("independent", "correlated", {"correlation_length": 5e-324}),
    ],
)
@pytest.mark.parametrize("seed", [0, 7])
def test_limits_are_the_two_teachers_to_the_bit(limit, kind, drawn_by, seed):
    for found, expected in zip(layers(kind, seed, **drawn_by), layers(limit, seed), strict=True):
        assert np.asarray(found).tobytes() == np.asarray(expected).tobytes()


@pytest.mark.parametrize(
    "near, limit, drawn_by",
    [
        ("mixed", "shared", {"rho": 1 - 1e-9}),
        ("correlated", "shared", {"correlation_length": 1e10}),
        ("correlated", "independent", {"correlation_length": 0.06}),
    ],
)
def test_limits_are_approached_with_the_same_draws(near, limit, drawn_by):
    for found, expected in zip(layers(near, **drawn_by), layers(limit), strict=True):
        assert np.abs(found - expected).max() < 1e-3 * np.abs(expected).max()


@pytest.mark.parametrize("rho", [0.1, 0.5, 0.9])
def test_any_two_layers_of_a_mixture_have_the_correlation_rho(rho):
    its = rows(layers("mixed", rho=rho))
    covariance = its @ its.T / its.shape[1]
    np.testing.assert_allclose(np.diag(covariance), 1 / 3, rtol=0.1)  # the first layer's too
    off = covariance[~np.eye(DEPTH, dtype=bool)].reshape(DEPTH, -1) * 3
    np.testing.assert_allclose(off, rho, atol=0.08)
    assert off.mean() == pytest.approx(rho, abs=0.02)


@pytest.mark.parametrize("length", [1, 4, 32])
def test_a_correlated_teacher_s_normal_scores_follow_an_ornstein_uhlenbeck_process(length):
    z = stats.norm.ppf((rows(layers("correlated", correlation_length=length)) + 1) / 2)
    for lag in (1, 2, 8):
        found = np.mean(z[lag:] * z[:-lag])
        assert found == pytest.approx(np.exp(-lag / length), abs=0.025)
    innovations = z[1:] - np.exp(-1 / length) * z[:-1]
    assert np.mean(innovations[1:] * z[:-2]) == pytest.approx(0, abs=0.01)  # it is Markov


@pytest.mark.parametrize("layer", [0, 1, DEPTH - 1])
def test_each_layer_of_a_correlated_teacher_is_uniform_by_itself(layer):
    found = stats.kstest(
        rows(layers("correlated", correlation_length=8))[layer], stats.uniform(-1, 2).cdf
    )
    assert found.pvalue > 1e-3
