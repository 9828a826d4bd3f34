"""Numbers at the ends of float32: finite losses, or the step at which a rung diverged."""

import json

import jax
import numpy as np
import pytest

from toydepth.engine import Checkpoints, Progress, layout, prepare_job, run
from toydepth.results.outcome import result
from toydepth.toy import depth_problem
from toydepth.toy.layers import rms_norm
from toydepth.toy.objectives import kl_divergence

SMALL = {
    "teacher": {"depth": 3},
    "student": {"depth": [2, 3, 4], "width": 4},
    "train": {"steps": 20, "batch_size": 8, "test_batches": 2, "tests": 2, "method": "scratch"},
    "engine": {"chunk": 10},
}
KL = {"objective": {"kind": "kl", "head": "frozen", "vocabulary": 8}}


def trained(make, tmp_path, changes):
    """The result of a tiny run, as it would be written."""
    groups = {name: dict(values) for name, values in SMALL.items()}
    for name, values in changes.items():
        groups[name] = groups.get(name, {}) | values
    e = make(groups)
    job = prepare_job(e, depth_problem(e), layout(1, replicas=1, batch=8))
    with Checkpoints(tmp_path) as checkpoints:
        at = run(job, checkpoints, Progress(), record=lambda line: None,
                 show=lambda *_: None, keep=lambda *_: None)  # fmt: skip
    answer = result(e, at.rungs).model_dump()
    json.dumps(answer, allow_nan=False)
    return answer


def settled(answer):
    """Whether each rung has a finite loss, or the step at which it diverged."""
    for rung in answer["rungs"]:
        if rung["status"] == "completed":
            assert np.isfinite(rung["loss"]) and np.isfinite(rung["loss_stderr"])
        else:
            assert rung["loss"] is None and rung["diverged_step"] >= 0
    return {rung["status"] for rung in answer["rungs"]}


@pytest.mark.parametrize("kind", ["shared", "independent"])
def test_a_teacher_of_a_hundred_thousand_layers_has_a_finite_state(make, kind):
    e = make({"teacher": {"kind": kind, "depth": 100_000}, "student": {"width": 4}})
    problem = depth_problem(e)
    x = problem.inputs(problem.key(1), 0, np.arange(4))
    target = np.asarray(problem.targets(problem.teacher(0), x))
    np.testing.assert_allclose(np.square(target).mean(-1), 1, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("temperature", [1e-6, 1e6])
@pytest.mark.parametrize("head", ["learned", "frozen"])
def test_the_coldest_and_the_hottest_targets_train(make, tmp_path, temperature, head):
    """At 1e-6 the softmax is one-hot; at 1e6 it is even to the last digit."""
    kl = {"objective": KL["objective"] | {"head": head}}
    answer = trained(make, tmp_path, kl | {"target": {"temperature": temperature}})
    assert settled(answer) == {"completed"}


def test_the_divergence_of_one_hot_logits_is_exact_and_finite():
    hot = np.array([[0.0, 1e8, -1e8]], np.float32)
    for student, expected in ((hot, 0.0), (-hot, 2e8)):
        loss, slope = jax.value_and_grad(kl_divergence)(student, hot)
        assert float(loss) == expected and np.isfinite(slope).all()


@pytest.mark.parametrize("rate", [1e5, 1e15, 1e30])
def test_a_rate_far_too_high_diverges_in_words(make, tmp_path, rate):
    answer = trained(make, tmp_path, {"optimizer": {"learning_rate": rate}})
    settled(answer)
    if rate > 1e6:
        assert answer["status"] == "diverged"


def test_an_epsilon_below_float32_is_settled(make, tmp_path):
    settled(trained(make, tmp_path, {"optimizer": {"eps": 1e-300}}))


def test_a_state_whose_square_overflows_is_no_number():
    """Or the norm would be zero, the loss finite, and a rung that has blown up pass for trained."""
    x = np.array([[3e19, 1.0], [3.0, 4.0], [1e-30, 0.0], [np.inf, 1.0]], np.float32)
    normed = np.asarray(rms_norm(x))
    assert np.isnan(normed[0]).all() and np.isnan(normed[3]).any()
    np.testing.assert_allclose(normed[1], np.array([3, 4]) / 12.5**0.5, rtol=1e-6)
    assert np.isfinite(normed[2]).all()
