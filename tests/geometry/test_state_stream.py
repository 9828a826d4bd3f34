import tracemalloc

import numpy as np
import pytest
from scipy import stats

from toydepth.geometry import QUANTILES, Measures, Stream, measure, middle
from toydepth.geometry.histogram import Bins, Histogram
from toydepth.geometry.moments import join, moments
from toydepth.geometry.reservoir import Reservoir

LAYERS, TOKENS = 8, 1000


@pytest.fixture(scope="module")
def states():
    random = np.random.default_rng(0)
    walk = random.normal(size=(LAYERS + 1, TOKENS, 24)).cumsum(axis=0)
    return (walk * random.lognormal(sigma=2, size=(TOKENS, 1))).astype(np.float32)


def streamed(states, size, order=None, **settings):
    stream = Stream(**settings)
    starts = np.arange(0, states.shape[1], size)
    for start in starts if order is None else starts[order]:
        part = states[:, start : start + size]
        stream.add(part, range(start, start + part.shape[1]))
    return stream


def test_agrees_with_the_whole(states):
    summary = streamed(states, 64).summary()
    assert summary.tokens == TOKENS
    width = dict.fromkeys(Measures._fields, 0.001) | {"projection": 0.002}
    for name, values in measure(states)._asdict().items():
        found = getattr(summary, name)
        assert np.all(found.count == TOKENS)
        np.testing.assert_allclose(found.mean, values.mean(1), rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(found.std, values.std(1, ddof=1), rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(found.stderr, found.std / np.sqrt(TOKENS))
        expected = np.quantile(values, QUANTILES, axis=1, method="inverted_cdf")
        assert found.quantiles.shape == expected.shape
        if name in ("norms", "update_norms"):
            np.testing.assert_allclose(found.quantiles, expected, rtol=0.019)
        else:
            inside = (expected > -4) & (expected < 5)
            np.testing.assert_allclose(
                found.quantiles[inside], expected[inside], atol=width[name], rtol=0
            )


def test_middle_step(states):
    summary = streamed(states, 100).summary()
    assert summary.middle == (2, 6)
    steps = measure(states).theta[2:6].mean(axis=0)
    assert summary.middle_step == pytest.approx(steps.mean(), rel=1e-12)
    assert summary.middle_step_stderr == pytest.approx(stats.sem(steps), rel=1e-12)
    other = streamed(states, 100, middle=(0.5, 1.0)).summary()
    assert other.middle == (4, 8)
    assert other.middle_step == pytest.approx(measure(states).theta[4:].mean(), rel=1e-12)
    assert middle(LAYERS) == slice(2, 6)


@pytest.mark.parametrize("size", [1, 7, 300, TOKENS])
def test_chunks_change_nothing(states, size):
    one, other = streamed(states, 50), streamed(states, size)
    same(one.summary(), other.summary())
    for a, b in zip(one.sample(), other.sample(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_order_of_chunks_does_not_change_statistics(states):
    same(
        streamed(states, 50).summary(),
        streamed(states, 50, order=np.random.default_rng(1).permutation(TOKENS // 50)).summary(),
    )


def same(one, other):
    assert one.tokens == other.tokens
    assert one.middle_step == pytest.approx(other.middle_step, rel=1e-12)
    assert one.middle_step_stderr == pytest.approx(other.middle_step_stderr, rel=1e-12)
    for name in Measures._fields:
        a, b = getattr(one, name), getattr(other, name)
        np.testing.assert_allclose(a.mean, b.mean, rtol=1e-12, err_msg=name)
        np.testing.assert_allclose(a.std**2, b.std**2, rtol=1e-12, err_msg=name)
        np.testing.assert_array_equal(a.quantiles, b.quantiles, err_msg=name)


def test_undefined_values_are_counted_and_left_out(states):
    states = states.copy()
    states[3, :10] = 0
    states[-1, 10:15] = states[0, 10:15]
    stream = streamed(states, 64, sample=2 * TOKENS)
    summary, values = stream.summary(), measure(states)
    assert np.all(summary.norms.count == TOKENS)
    assert summary.theta.count.tolist() == [TOKENS - 10 * (layer in (2, 3)) for layer in range(8)]
    assert np.all(summary.projection.count == TOKENS - 5)
    np.testing.assert_allclose(summary.theta.mean, np.nanmean(values.theta, 1), rtol=1e-12)
    assert summary.middle_step == pytest.approx(np.mean(values.theta[2:6, 10:]), rel=1e-12)
    assert stream.sample().indices.tolist() == [*range(10, TOKENS)]


def test_nothing_defined_is_nan():
    stream = Stream()
    stream.add(np.zeros((4, 3, 5)))
    summary = stream.summary()
    assert summary.tokens == 3 and np.all(summary.theta.count == 0)
    assert np.isnan(summary.theta.mean).all() and np.isnan(summary.theta.quantiles).all()
    assert np.isnan(summary.middle_step) and np.isnan(summary.middle_step_stderr)
    assert np.all(summary.norms.mean == 0) and np.all(summary.norms.quantiles == 0)
    assert len(stream.sample().indices) == 0 and stream.sample().theta.shape == (0, 3)


def test_one_token_has_no_error(states):
    summary = streamed(states[:, :1], 1).summary()
    assert np.all(np.isfinite(summary.theta.mean)) and np.isnan(summary.theta.stderr).all()


def test_memory_does_not_grow(states):
    def peak(times):
        tracemalloc.start()
        stream = Stream(sample=50)
        for _ in range(times):
            stream.add(states[:, :200], range(200))
        held, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return np.array([held, highest])

    few, many = peak(5), peak(50)
    assert np.all(many < few + 50_000)


def test_sample_is_of_the_stream(states):
    sample = streamed(states, 64, sample=40).sample()
    assert len(sample.indices) == 40 and np.all(np.diff(sample.indices) > 0)
    assert sample.tokens == sample.indices.tolist()  # `streamed` calls each by its place
    whole = measure(states)
    np.testing.assert_allclose(sample.theta, whole.theta.T[sample.indices], rtol=1e-12)
    np.testing.assert_allclose(
        sample.theta_updates, whole.theta_updates.T[sample.indices], rtol=1e-12
    )
    other = streamed(states, 64, sample=40, seed=1).sample()
    assert sample.indices.tolist() != other.indices.tolist()
    unnamed = Stream()
    unnamed.add(states[:, :3])
    assert unnamed.sample().tokens == [None] * 3


def test_every_token_is_as_likely():
    tokens, size, seeds = 60, 12, 2000
    drawn = np.zeros(tokens)
    for seed in range(seeds):
        reservoir = Reservoir(size, seed)
        for part in (1, 20, 4, 35):
            reservoir.add(np.zeros((2, part)), np.zeros((1, part)))
        drawn[reservoir.sample().indices] += 1
    assert drawn.sum() == seeds * size
    # Without replacement counts vary less than a multinomial's, by (1 - 1/5) 60/59.
    expected = seeds * size / tokens
    chi_square = np.sum((drawn - expected) ** 2 / expected) / (1 - size / tokens)
    chi_square *= (tokens - 1) / tokens
    assert 0.001 < stats.chi2.sf(chi_square, tokens - 1) < 0.999


def test_moments_of_parts_join_far_from_zero():
    values = np.random.default_rng(0).normal(1e6, 1.0, size=(1, 10_000))
    joined = moments(values[:, :0])
    for part in np.split(values, 1000, axis=1):
        joined = join(joined, moments(part))
    assert joined.known[0] == 10_000
    assert joined.squares[0] / 1e4 == pytest.approx(np.var(values), rel=1e-9)
    assert joined.mean[0] == pytest.approx(values.mean(), rel=1e-14)


def test_histogram_quantiles_within_a_bin_and_beyond_the_bins():
    random = np.random.default_rng(0)
    values = np.stack([random.uniform(-3, 4, 5001), np.full(5001, 0.37), np.full(5001, np.nan)])
    histogram = Histogram(Bins(-1.0, 1.0, 100), 3)
    for part in np.array_split(values, 7, axis=1):
        histogram.add(part)
    shares = np.linspace(0, 1, 101)
    found = histogram.quantiles(shares)
    expected = np.quantile(values[0], shares, method="inverted_cdf")
    inside = np.abs(expected) < 1
    assert np.abs(found[inside, 0] - expected[inside]).max() < 0.02
    # Outside: as if evenly spread up to the extremes, which here they are.
    assert np.abs(found[:, 0] - expected).max() < 0.1
    assert found[0, 0] == values[0].min() and found[-1, 0] == values[0].max()
    assert np.all(found[:, 1] == 0.37)
    assert np.isnan(found[:, 2]).all()


def test_logarithmic_bins_hold_zero():
    histogram = Histogram(Bins(1e-3, 1e3, 600, logarithmic=True), 1)
    values = np.append(np.zeros(100), np.geomspace(2e-3, 500, 900))[None]
    histogram.add(values)
    found = histogram.quantiles([0.05, 0.5, 0.9])
    expected = np.quantile(values, [0.05, 0.5, 0.9], method="inverted_cdf", axis=1)
    assert 0 <= found[0] < 1e-3  # below the bins, no more is known
    np.testing.assert_allclose(found[1:], expected[1:], rtol=0.0233)


def test_refuses(states):
    stream = Stream()
    for ask in (stream.summary, stream.sample):
        with pytest.raises(ValueError, match="no token was added yet"):
            ask()
    stream.add(states[:, :5])
    with pytest.raises(ValueError, match="5 tokens but 4 names"):
        stream.add(states[:, :5], "abcd")
    with pytest.raises(ValueError, match="states of 7 layers after states of 8"):
        stream.add(states[1:, :5])
    with pytest.raises(ValueError, match=r"states\[2, 0\]"):
        stream.add(np.where(np.indices(states[:, :5].shape)[0] == 2, [[np.nan]], states[:, :5]))
    assert stream.summary().tokens == 5
    with pytest.raises(ValueError, match="sample of 0 tokens"):
        Stream(sample=0)
    with pytest.raises(ValueError, match="0 <= start < stop <= 1"):
        Stream(middle=(0.7, 0.2)).add(states)
