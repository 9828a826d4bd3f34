"""The exponent along training, from runs of a head, and from a history written by hand."""

import dataclasses

import numpy as np
import pytest

from toydepth.engine import Checkpoints, Progress, layout, learning_rates, prepare_job, run
from toydepth.engine.loop import log_parts
from toydepth.results.regimes import Regime
from toydepth.results.report_record import Point
from toydepth.results.time_exponents import along_training, binned, trained_in
from toydepth.toy import problem_of

HEAD = {
    "teacher": {"kind": "head", "depth": 0},
    "student": {"block": "head", "depth": [0], "width": 8, "scale": 0.0},
    "objective": {"kind": "kl", "head": "learned", "vocabulary": 12},
    "target": {"temperature": [0.01, 1.0]},
    "optimizer": {"learning_rate": [0.02, 0.2], "depth_exponent": 0.0, "weight_decay": 0.01},
    "train": {"method": "scratch", "batch_size": 64, "steps": 60, "test_batches": 2, "tests": 2},
    "engine": {"chunk": 20},
}


def trained(make, folder, changes=None):
    cfg = {name: dict(values) for name, values in HEAD.items()}
    for group, values in (changes or {}).items():
        cfg[group] = cfg.get(group, {}) | values if isinstance(values, dict) else values
    e = make(cfg)
    records = []
    job = prepare_job(e, problem_of(e), layout(1, replicas=e.replicas, batch=64))
    with Checkpoints(folder) as checkpoints:
        at = run(
            job,
            checkpoints,
            Progress(),
            record=records.append,
            show=lambda *_: None,
            keep=lambda *_: None,
        )
    return e, at.rungs, records


@pytest.mark.slow
def test_temperatures_and_rates_train_as_runs_of_their_own(make, tmp_path):
    _, together, _ = trained(make, tmp_path / "all")
    assert len(together) == 4
    for temperature in (0.01, 1.0):
        for rate in (0.02, 0.2):
            alone = {"target": {"temperature": temperature}, "optimizer": {"learning_rate": rate}}
            _, (rung,), _ = trained(make, tmp_path / f"{temperature}-{rate}", alone)
            cell = next(
                r for r in together if (r["temperature"], r["peak_rate"]) == (temperature, rate)
            )
            assert cell["loss"] == pytest.approx(rung["loss"], rel=1e-5)
            assert "peak_rate" not in rung
            names = ("gradient_norm", "weight_norm")
            assert [cell["observed"][n] for n in names] == pytest.approx(
                [rung["observed"][n] for n in names], rel=1e-4
            )


def test_lines_tell_the_sum_of_the_rates(make, tmp_path):
    changes = {"schedule": {"warmup": 0.1, "constant": 0.2, "final": 0.05, "fall": "cosine"}}
    changes |= {"train": {"converge": True, "max_doublings": 1}}
    e, _, records = trained(make, tmp_path, changes)
    own = dataclasses.replace(e.optimizer, learning_rate=0.2)
    first, second = (
        learning_rates(own, e.schedule, np.arange(steps), size=8, steps=steps)
        for steps in (60, 120)
    )
    assert first.argmax() == 6 and first[-1] < 0.06 * 0.2 + 1e-3
    taus = np.cumsum(np.concatenate([first, second], dtype=float))
    lines = [
        r
        for r in records
        if r["kind"] == "train" and (r["temperature"], r["peak_rate"]) == (1.0, 0.2)
    ]
    assert lines[-1]["step"] == 180
    for line in lines:
        assert line["tau"] == pytest.approx(taus[line["step"] - 1], rel=1e-6)
        assert line["total_step"] == line["step"]


def test_early_steps_are_written_down_in_finer_parts():
    parts = log_parts(0, 100)
    assert parts[:6] == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)]
    assert [stop for _, stop in parts][-4:] == [50, 63, 79, 100]
    assert log_parts(1000, 1100) == [(1000, 1100)]
    assert log_parts(1200, 1300) == [(1200, 1259), (1259, 1300)]


def history(exponent, replicas=(0, 1), chunk=50, steps=2000):
    """The stretches that a run of a loss steps^-exponent would write down."""
    losses = np.maximum(np.arange(steps), 1.0) ** -exponent
    lines = []
    for replica in replicas:
        for begin in range(0, steps, chunk):
            for start, stop in log_parts(begin, begin + chunk):
                line = {"kind": "train", "size": 8, "replica": replica, "temperature": 0.1}
                line |= {"step": stop, "tau": 0.5 * stop, "learning_rate": 0.5}
                line |= {"loss": float(losses[start:stop].mean())}
                lines.append(line)
    return lines + [{"kind": "test", "size": 8}]


def test_a_known_exponent_comes_back_against_steps_and_tau():
    known = {"size": 8, "temperature": 0.1, "loss": 1.0, "loss_stderr": None, "steps": 2000}
    known |= {"parameters": 8, "converged": None, "status": "completed", "seed": 0, "run": "run"}
    points = [Point(**known, replica=r, teacher_seed=r) for r in (0, 1)]
    regime = Regime({"T": 0.1, "student.block": "head"}, points)
    entry, data = along_training(regime, lambda _: trained_in(history(1 / 3)))
    assert entry.replicas == 2 and data.losses.shape[0] == 2
    for name in ("steps", "tau"):
        course = getattr(entry, name)
        assert course.window.exponent.value == pytest.approx(1 / 3, abs=0.01)
        assert course.last_decade == pytest.approx(1 / 3, abs=0.005)
        assert "consistent with 1/3" in course.verdict
    np.testing.assert_allclose(data.taus / data.steps, 0.5)
    deep = Regime({"T": 0.1, "student.block": "residual"}, points)
    assert along_training(deep, lambda _: trained_in(history(1 / 3))) is None
    assert along_training(regime, lambda _: trained_in([])) is None


def test_bins_weigh_steps_not_lines():
    curves = trained_in(history(0.5, replicas=(0,)))
    data = binned(list(curves.values()))
    # A mean over a bin of a tenth of a decade is the loss at its middle to a part in a thousand.
    np.testing.assert_allclose(data.losses[0][5:], data.steps[5:] ** -0.5, rtol=4e-3)
