import numpy as np
import pytest

from toydepth.scaling import local_alpha


def test_pure_power_law_is_level_in_any_order():
    pairs = local_alpha([12, 3, 24, 6], np.array([12, 3, 24, 6]) ** -3.0)
    assert [(pair.start, pair.stop) for pair in pairs] == [(3, 6), (6, 12), (12, 24)]
    assert [pair.value for pair in pairs] == pytest.approx([3, 3, 3])
    assert all(pair.stderr is None for pair in pairs)


def test_joins_points_of_one_size_by_geometric_mean():
    (pair,) = local_alpha([2, 2, 4], [1.0, 4.0, 1.0])
    assert pair.value == pytest.approx(1.0)  # 2 -> 1 over a doubling


def test_stderr_agrees_with_simulation():
    generator = np.random.default_rng(0)
    sizes, losses = [3, 3, 6], np.array([1.0, 2.0, 0.5])
    stderr = np.array([0.02, 0.05, 0.01])
    (pair,) = local_alpha(sizes, losses, stderr)
    draws = [
        local_alpha(sizes, losses + stderr * generator.normal(size=3))[0].value for _ in range(2000)
    ]
    assert pair.stderr == pytest.approx(np.std(draws), rel=0.06)


def test_groups_compare_within_a_group():
    # The second group is 100 times higher and lacks size 8.
    pairs = local_alpha([2, 4, 8, 2, 4], [1, 0.5, 0.25, 100, 50], groups=["a", "a", "a", "b", "b"])
    assert [pair.value for pair in pairs] == pytest.approx([1, 1])


def test_sizes_without_a_common_group_are_left_out():
    pairs = local_alpha([2, 4, 8, 16], [1, 0.5, 9, 4.5], groups=[0, 0, 1, 1])
    assert [(pair.start, pair.stop) for pair in pairs] == [(2, 4), (8, 16)]
    assert local_alpha([5], [1.0]) == []


def test_refuses():
    with pytest.raises(ValueError, match=r"losses\[1\] is -1"):
        local_alpha([1, 2], [1, -1])
