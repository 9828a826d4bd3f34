import sys

import numpy as np
import pytest

from toydepth.geometry import clusters

LAYERS = 16


@pytest.fixture(autouse=True)
def needs_scikit_learn():
    pytest.importorskip("sklearn")


def planted(even=270, early=30, seed=0):
    """Tokens of which the last `early` stop after a quarter of the layers."""
    random = np.random.default_rng(seed)
    theta = np.full((even + early, LAYERS), 0.25)
    theta[:, [0, -1]] = 1.5
    theta[even:, 4:12] = 0.004
    return theta * random.lognormal(sigma=0.3, size=theta.shape)


def test_finds_those_that_stop_early():
    theta = planted()
    found = clusters(theta)
    assert sorted(found.early.members) == [*range(270, 300)]
    assert sorted(found.even.members) == [*range(270)]
    assert found.even.share == 0.9 and found.early.share == pytest.approx(0.1)
    assert found.share_stderr == pytest.approx(np.sqrt(0.09 / 300))
    np.testing.assert_allclose(found.early.trajectory, theta[270:].mean(axis=0))
    np.testing.assert_allclose(found.even.trajectory, theta[:270].mean(axis=0))
    assert found.even.kept == pytest.approx(1, rel=0.2)
    assert found.early.kept == pytest.approx(0.004 / 0.25, rel=0.2)
    assert found.silhouette > 0.5
    assert found.verdict.startswith("90.0% of the tokens (+- 1.7%) move evenly, 10.0% stop early")


def test_a_few_are_found_although_radians_scatter_more():
    assert sorted(clusters(planted(even=1990, early=10)).early.members) == [*range(1990, 2000)]


def test_the_most_typical_come_first():
    theta = planted()
    theta[7], theta[280] = 0.25, 0.004
    theta[[7, 280], 0] = theta[[7, 280], -1] = 1.5
    theta[280, 1:4] = theta[280, 12:-1] = 0.25
    found = clusters(theta)
    assert found.even.members[0] == 7 and found.early.members[0] == 280


def test_components_are_those_of_numpy_and_scikit_learn():
    from sklearn.decomposition import PCA

    theta = planted()
    found, logs = clusters(theta), np.log(theta)
    _, sizes, axes = np.linalg.svd(logs - logs.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(found.explained, (sizes**2 / np.sum(sizes**2))[:2])
    scores = (logs - logs.mean(axis=0)) @ axes[:2].T
    np.testing.assert_allclose(np.abs(found.scores), np.abs(scores), atol=1e-9)
    theirs = PCA(2).fit_transform(logs)
    np.testing.assert_allclose(np.abs(found.scores), np.abs(theirs), atol=1e-9)


def test_says_when_there_are_none():
    found = clusters(planted(even=300, early=0))
    assert found.silhouette < 0.25
    assert found.verdict.startswith("No clear clusters: silhouette 0.")


def test_a_pause_is_a_stop_and_a_smaller_step_is_none():
    """Tokens that stand still for a few layers; tokens that step half as far throughout."""
    theta = planted(early=0)
    theta[:10, 3:6] = 0.01
    found = clusters(theta)
    assert sorted(found.early.members) == [*range(10)] and "3.7% pause;" in found.verdict
    assert found.kind == "pause" and clusters(planted()).kind == "stop early"
    theta = planted(early=0)
    theta[:90, 1:-1] *= 0.4
    found = clusters(theta)
    assert found.early.share == pytest.approx(1 / 3) and "neither of which stands" in found.verdict
    assert found.kind is None


def test_is_repeatable_and_takes_steps_of_0():
    theta = planted()
    theta[290:, 4:12] = 0
    one, other = clusters(theta), clusters(theta)
    np.testing.assert_array_equal(one.even.members, other.even.members)
    assert 295 in one.early.members and np.isfinite(one.scores).all()


@pytest.mark.parametrize("shape", [(9, 16), (20, 1), (20,), (2, 20, 16)])
def test_refuses_too_few(shape):
    with pytest.raises(ValueError, match="at least 10 tokens and 2 layers"):
        clusters(np.ones(shape))


def test_refuses_one_trajectory():
    with pytest.raises(ValueError, match="all trajectories are the same"):
        clusters(np.tile([1.5, 0.2, 0.2, 1.0], (50, 1)))


@pytest.mark.parametrize("value", [np.nan, np.inf, -0.1])
def test_refuses_what_is_no_angle(value):
    theta = planted()
    theta[3, 5] = value
    with pytest.raises(ValueError, match=rf"trajectories\[3, 5\] is {value}"):
        clusters(theta)


def test_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "sklearn"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)
    with pytest.raises(ImportError, match=r"pip install 'toydepth\[llm\]'"):
        clusters(planted())
