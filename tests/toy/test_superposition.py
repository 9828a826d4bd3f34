"""Sparse features in superposition: their statistics, the decay of rows, and their geometry."""

import jax
import numpy as np
import pytest

from toydepth.settings import SettingError
from toydepth.toy import Purpose, problem_of
from toydepth.toy.superposition import geometry, growth, probabilities

FEATURES = {
    "teacher": {"kind": "features", "depth": 0, "features": 40, "skew": 0.5, "active": 1.5},
    "student": {"block": "autoencoder", "depth": [0], "width": [2, 4, 8], "scale": 1.0},
    "optimizer": {"weight_decay": -1.0},
    "train": {"method": "scratch", "batch_size": 4096},
}


def test_features_are_as_often_there_and_as_large_as_they_should_be(make):
    problem = problem_of(make(FEATURES))
    teacher = problem.teacher(3)
    x = jax.jit(problem.inputs)(problem.key(Purpose.TRAIN), 5, np.arange(4096))
    features = np.asarray(jax.jit(problem.targets)(teacher, x))
    expected = 1.5 * np.arange(1, 41) ** -1.5 / np.sum(np.arange(1, 41) ** -1.5)
    np.testing.assert_allclose(np.sort(teacher)[::-1], expected, rtol=1e-5)
    assert not np.allclose(teacher, problem.teacher(4))  # another order
    there = features > 0
    spread = np.sqrt(expected.sum() / 4096)
    assert there.sum(axis=1).mean() == pytest.approx(1.5, abs=4 * spread)
    frequent = int(np.argmax(teacher))
    p = float(teacher[frequent])
    assert there[:, frequent].mean() == pytest.approx(p, abs=4 * np.sqrt(p / 4096))
    values = features[there]
    assert 0 < values.min() and values.max() < 2
    assert values.mean() == pytest.approx(1, abs=0.03)
    assert values.std() == pytest.approx(12**-0.5 * 2, abs=0.03)


def test_rows_decay_or_grow_to_length_one():
    w = np.array([[0.3, 0.4], [3.0, 4.0], [0.6, 0.8]], np.float32)
    params = {"w": w, "b": np.ones(3, np.float32)}
    rate = 0.1
    grown = w - rate * np.asarray(growth(params, -1.0)["w"])
    length = np.linalg.norm(w, axis=1, keepdims=True)
    np.testing.assert_allclose(grown, w + rate * -1.0 * w * (1 - 1 / length), rtol=1e-5)
    assert np.linalg.norm(grown, axis=1) == pytest.approx([0.55, 4.6, 1.0])
    decayed = w - rate * np.asarray(growth(params, 0.5)["w"])
    np.testing.assert_allclose(decayed, w * (1 - rate * 0.5), rtol=1e-5)
    assert not np.any(growth(params, -1.0)["b"])
    assert np.all(np.isfinite(growth({"w": np.zeros((2, 2)), "b": np.zeros(2)}, -1.0)["w"]))


def test_random_rows_overlap_by_one_over_the_width():
    w = np.random.default_rng(0).normal(size=(500, 20)).astype(np.float32)
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    w[:100] *= 0.3  # not represented
    found = jax.jit(geometry)(w)
    assert found["represented"] == pytest.approx(0.8)
    cosines = (w[100:] @ w[100:].T)[np.triu_indices(400, 1)]
    assert found["overlap"] == pytest.approx(np.mean(cosines**2), rel=1e-4)
    assert found["overlap"] == pytest.approx(1 / 20, rel=0.05)
    assert jax.jit(geometry)(np.eye(4, dtype=np.float32))["overlap"] == pytest.approx(0, abs=1e-7)


def test_the_loss_is_the_squared_error_over_features(make):
    problem = problem_of(make(FEATURES))
    params = problem.start(4)
    x = jax.jit(problem.inputs)(problem.key(Purpose.TEST), 0, np.arange(32))
    target = jax.jit(problem.targets)(problem.teacher(0), x)
    w, b, t = (np.asarray(a, float) for a in (params["w"], params["b"], target))
    expected = np.mean(np.sum((np.maximum(t @ w @ w.T + b, 0) - t) ** 2, axis=1))
    loss = jax.jit(problem.loss)(params, problem.teacher(0), 0.0, x, target)
    assert loss == pytest.approx(expected, rel=1e-5)
    assert w.shape == (40, 4) and w.std() == pytest.approx(0.5, abs=0.1)


def test_a_rare_feature_keeps_its_probability():
    p = np.asarray(probabilities(1000, 1.0, 1.0), float)
    assert p.sum() == pytest.approx(1, rel=1e-5)
    assert p[-1] == pytest.approx(p[0] * 1e-6, rel=1e-4)


@pytest.mark.parametrize(
    "group, changes, words",
    [
        ("student", {"width": [2, 40]}, "student.width=[2, 40]"),
        ("student", {"width": 64}, "student.width=64"),
        ("optimizer", {"weight_decay": float("nan")}, "optimizer.weight_decay=nan"),
        ("teacher", {"features": None}, "teacher.features=null"),
        ("teacher", {"active": 30.0, "skew": 3.0}, "teacher.active=30.0"),
        ("objective", {"kind": "kl", "head": "learned", "vocabulary": 8}, "objective.kind=kl"),
    ],
)
def test_what_features_cannot_be_is_refused(make, group, changes, words):
    cfg = {name: dict(values) for name, values in FEATURES.items()}
    cfg[group] = cfg.get(group, {}) | changes
    with pytest.raises(SettingError) as caught:
        make(cfg)
    assert str(caught.value).startswith(words + " is not allowed")


def test_other_teachers_have_no_features(make):
    with pytest.raises(SettingError, match="teacher.skew=0.5"):
        make({"teacher": {"skew": 0.5}})
