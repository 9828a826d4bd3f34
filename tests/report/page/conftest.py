"""Runs and reports written by hand."""

import json
import math

import pytest

from toydepth.results.report_record import RegimeRecord

DEPTHS = (3, 6, 12, 24)


def _write_run(
    folder, kind="shared", *, seed=0, temperature=None, rate=0.008, tests=10, **settings
):
    """One finished ladder with loss = depth^-alpha, and its tests; returns its folder."""
    alpha = 3.0 if kind == "shared" else 1.0
    heat = 1.0 if temperature is None else temperature
    objective = "mse" if temperature is None else "kl"
    rungs, lines = [], []
    for place, depth in enumerate(DEPTHS):
        wobble = 1 + 0.05 * math.sin(17 * seed + 5 * place + 3 * heat + 900 * rate)
        loss = heat**0.3 * depth**-alpha * wobble
        common = {"size": depth, "replica": 0, "temperature": temperature}
        rungs.append(
            common
            | {"loss": loss, "loss_stderr": 0.01 * loss, "steps": 1000, "parameters": 10 * depth}
            | {"converged": place < 3, "status": "completed"}
        )
        for step in range(10, 1001, 10):
            now = loss * (1 + 30 / step)
            lines.append(common | {"kind": "train", "step": step, "loss": now})
            if step % (1000 // tests) == 0:
                lines.append(
                    common | {"kind": "test", "step": step, "loss": now, "loss_stderr": 0.01 * now}
                )
    fixed = {"seed": 0, "student.block": "residual", "student.width": 16, "train.steps": 1000,
             "train.method": "continuation", "optimizer.learning_rate": rate}  # fmt: skip
    result = {
        "schema": 2, "status": "completed", "axis": "depth",
        "teacher": {"kind": kind, "depth": 64, "width": 16, "seed": seed}, "objective": objective,
        "temperature": temperature, "settings": fixed | settings, "rungs": rungs,
    }  # fmt: skip
    (folder / ".hydra").mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps(result))
    (folder / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = [f"teacher={kind}", f"teacher.seed={seed}", f"optimizer.learning_rate={rate}"]
    (folder / ".hydra" / "overrides.yaml").write_text("".join(f"- {word}\n" for word in words))
    return folder


def _regime(kind="shared", **changes):
    """A report's entry, with no more said than has to be."""
    known = {
        "label": kind, "axis": "depth", "teacher": {"kind": kind, "depth": 64, "width": 16},
        "student": {}, "objective": "mse", "head": None, "temperature": None,
        "learning_rate": None, "sizes": DEPTHS, "losses": [d**-1.0 for d in DEPTHS],
        "loss_stderr": [None] * len(DEPTHS), "replicas": 1, "points": [], "not_converged": [],
        "floor": None, "verdict": "words",
    }  # fmt: skip
    return RegimeRecord(**known | changes)


def _many_regimes(count):
    """A report's entries without any run: both teachers at ten temperatures and more."""
    regimes = []
    for number in range(count):
        kind, heat = ("shared", "independent")[number % 2], round(0.1 * 1.3 ** (number // 20), 3)
        rate = (number // 2 % 10 + 1) / 1000
        value = (3.0, 1.0)[number % 2] + 0.003 * number
        alpha = {"value": value, "stderr": 0.05, "low": value - 0.2, "high": value + 0.2}
        losses = [heat * depth**-value for depth in DEPTHS]
        points = [
            {"size": depth, "replica": 0, "teacher_seed": 0, "seed": 0, "loss": loss,
             "loss_stderr": 0.01 * loss, "converged": depth < 24, "status": "completed",
             "temperature": heat, "steps": 1000, "parameters": 8, "run": f"{number:03}"}
            for depth, loss in zip(DEPTHS, losses, strict=True)
        ]  # fmt: skip
        regimes.append(_regime(
            label=f"{kind}, T = {heat}, optimizer.learning_rate = {rate}", kind=kind,
            temperature=heat, alpha=alpha, learning_rate=rate, losses=losses,
            loss_stderr=[0.01 * loss for loss in losses], points=points,
            local_alpha=[{"start": a, "stop": 2 * a, "value": value, "stderr": 0.05}
                         for a in DEPTHS[:-1]],
            not_converged=[24], verdict="not converged at depth 24",
            alpha_over_training=[{"share": n / 20, "steps": None} | alpha for n in range(1, 21)],
        ))  # fmt: skip
    return regimes


@pytest.fixture(scope="session")
def write_run():
    return _write_run


@pytest.fixture(scope="session")
def regime_record():
    return _regime


@pytest.fixture(scope="session")
def many_regimes():
    return _many_regimes
