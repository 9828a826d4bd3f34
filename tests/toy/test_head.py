"""A softmax head alone: its loss and gradient against formulas in double precision."""

import jax
import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from toydepth.settings import SettingError
from toydepth.toy import Purpose, problem_of

HEAD = {
    "teacher": {"kind": "head", "depth": 0},
    "student": {"block": "head", "depth": [0], "width": 8, "scale": 0.5},
    "objective": {"kind": "kl", "head": "learned", "vocabulary": 12},
    "target": {"temperature": [0.003, 0.5]},
    "optimizer": {"learning_rate": [0.01, 0.1]},
    "train": {"method": "scratch", "batch_size": 64},
}


@pytest.fixture
def problem(make):
    return problem_of(make(HEAD))


def batch(problem):
    x = jax.jit(problem.inputs)(problem.key(Purpose.TEST), 0, np.arange(64))
    teacher = problem.teacher(0)
    return x, teacher, jax.jit(problem.targets)(teacher, x)


def test_loss_and_gradient_are_those_of_kl(problem):
    x, teacher, target = batch(problem)
    params = problem.start(8)
    measure = jax.jit(jax.value_and_grad(problem.loss)), jax.jit(problem.observe)
    wide = [np.asarray(a, float) for a in (x, teacher, params["head"])]
    for condition, temperature in zip(problem.conditions, (0.003, 0.003, 0.5, 0.5), strict=True):
        log_p = log_softmax(wide[0] @ wide[1] / temperature, axis=1)
        log_q = log_softmax(wide[0] @ wide[2], axis=1)
        p, q = np.exp(log_p), np.exp(log_q)
        loss, gradient = measure[0](params, teacher, condition, x, target)
        assert loss == pytest.approx(np.mean(np.sum(p * (log_p - log_q), axis=1)), rel=1e-5)
        np.testing.assert_allclose(gradient["head"], wide[0].T @ (q - p) / 64, atol=1e-6)
        seen = measure[1](params, teacher, condition, x, target)
        assert seen["gradient_norm"] == pytest.approx(np.linalg.norm(gradient["head"]), rel=1e-5)
        assert seen["weight_norm"] == pytest.approx(np.linalg.norm(wide[2]), rel=1e-5)


def test_the_teacher_at_its_temperature_has_no_loss(problem):
    x, teacher, target = batch(problem)
    loss = jax.jit(problem.loss)({"head": teacher / 0.5}, teacher, problem.conditions[2], x, target)
    assert abs(float(loss)) < 1e-6
    p = softmax(np.asarray(x @ teacher / 0.003, float), axis=1)
    assert p.max(axis=1).mean() > 0.95  # a low temperature has peaked targets


def test_each_temperature_has_each_rate(problem):
    assert problem.rates == (0.01, 0.1, 0.01, 0.1)
    assert [label["temperature"] for label in problem.labels] == [0.003, 0.003, 0.5, 0.5]
    assert [label["peak_rate"] for label in problem.labels] == [0.01, 0.1, 0.01, 0.1]


@pytest.mark.parametrize(
    "group, changes, words",
    [
        ("objective", {"kind": "mse", "head": None, "vocabulary": None}, "objective.kind=mse"),
        ("objective", {"head": "frozen"}, "objective.head=frozen"),
        ("student", {"depth": [3]}, "student.depth=3"),
        ("student", {"block": "residual", "scale": None}, "student.block=residual"),
        ("student", {"width": [8, 16]}, "student.width=[8, 16]"),
        ("student", {"scale": None}, "student.scale=null"),
        ("teacher", {"depth": 4}, "teacher.depth=4"),
        ("teacher", {"kind": "shared", "depth": 4}, "student.block=head"),
        ("train", {"method": "continuation"}, "train.method=continuation"),
        ("train", {"precision": "bfloat16"}, "train.precision=bfloat16"),
        ("optimizer", {"weight_decay": -1.0}, "optimizer.weight_decay=-1.0"),
        ("optimizer", {"weight_decay": float("inf")}, "optimizer.weight_decay=inf"),
        ("optimizer", {"learning_rate": [0.1, 0.1]}, "optimizer.learning_rate=[0.1, 0.1]"),
        ("hessian", {"eigenvalues": 96}, "hessian.eigenvalues=96"),  # of 8 * 12 parameters
    ],
)
def test_what_a_head_cannot_be_is_refused(make, group, changes, words):
    cfg = {name: dict(values) for name, values in HEAD.items()}
    cfg[group] = cfg.get(group, {}) | changes
    with pytest.raises(SettingError) as caught:
        make(cfg)
    assert str(caught.value).startswith(words + " is not allowed")


def test_a_list_of_one_is_that_one(make):
    """One regime, whichever way it was written."""
    cfg = HEAD | {"optimizer": {"learning_rate": [0.1]}}
    cfg |= {"student": HEAD["student"] | {"width": [8]}}
    e = make(cfg)
    assert (e.optimizer.learning_rate, e.student.width) == (0.1, 8)
    assert all("peak_rate" not in label for label in problem_of(e).labels)


def test_students_with_layers_need_some(make):
    with pytest.raises(SettingError, match="student.depth=0"):
        make({"student": {"depth": 0}})
    with pytest.raises(SettingError, match="teacher.depth=0"):
        make({"teacher": {"depth": 0}})
