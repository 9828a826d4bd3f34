"""What a study stands on: profile intervals that cover, and shapes whose rows err together."""

import numpy as np
import pytest

from toydepth.scaling import Law, alike, compare, fit_law, profile_intervals

FREE = Law({"width": None, "depth": None, "data": None})
DEPTH_FREE = Law({"width": 1, "depth": None, "data": 1 / 3})
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
def test_profiles_cover_the_truth():
    """200 data sets with 1 % noise: each 95 % interval covers its truth in 90 to 99 % of them."""
    hits = dict.fromkeys(("exponent_depth", *list(TRUTH)[3:]), 0)
    for seed in range(200):
        profile = profile_intervals(fit_law(DEPTH_FREE, *noisy(seed), starts=1))
        for name, (low, high) in profile.items():
            hits[name] += low <= TRUTH[name] <= high
    assert all(0.90 <= count / 200 <= 0.99 for count in hits.values()), hits


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
