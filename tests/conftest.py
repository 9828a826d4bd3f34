"""Tests run on eight virtual devices, and never reach for W&B's servers or the user's caches."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

os.environ["WANDB_MODE"] = "offline"
# The matrices of a fit are small, and threads over them only get in the way of the other tests.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Compiled programs are kept between tests, and between runs of the tests; all of them, as they are
# many and small.
os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "compiled")
)
os.environ.setdefault("JAX_COMPILATION_CACHE_MAX_SIZE", "-1")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

import jax  # noqa: E402
import numpy as np  # noqa: E402
from absl import logging as absl_logging  # noqa: E402

from toydepth import config  # noqa: E402
from toydepth.engine import prepare_devices  # noqa: E402
from toydepth.engine.loop import log_parts  # noqa: E402

prepare_devices(8)
jax.devices()  # what JAX has to say of backends it says here, and not in the midst of a test
# Hydra closes all handlers of logging, and absl's would take pytest's captured stderr with it.
absl_logging.get_absl_handler().python_handler.stream = sys.__stderr__


@pytest.fixture
def make():
    """make({"student": {"depth": 3}}) -> an Experiment: the defaults with some settings changed."""

    return lambda changes=None: config.experiment(changes or {})


@pytest.fixture
def command(tmp_path):
    """command("teacher=shared", ...) runs `python -m toydepth.train` in an empty folder."""

    def run(*arguments, verb="train", env=None, timeout=300):
        return subprocess.run(
            [sys.executable, "-m", f"toydepth.{verb}", *map(str, arguments)],
            cwd=tmp_path,
            env=os.environ | (env or {}),
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    return run


def _rung(size, loss, **more):
    known = {
        "size": size,
        "replica": 0,
        "temperature": None,
        "loss": loss,
        "loss_stderr": 0.01 * loss,
    }
    known |= {"steps": 2000, "parameters": 8, "converged": None, "status": "completed"}
    return known | more


def _write(folder, kind, block, axis, rungs, settings=None, more=None, objective="mse"):
    folder.mkdir(parents=True)
    depth = 0 if block in ("head", "autoencoder") else 8
    result = {
        "schema": 2, "axis": axis, "status": "completed",
        "teacher": {"kind": kind, "depth": depth, "width": 16, "seed": 0} | (more or {}),
        "objective": objective, "temperature": rungs[0]["temperature"], "rungs": rungs,
        "settings": {
            "student.block": block, "student.width": 16, "train.method": "continuation", "seed": 0,
            "objective.head": None if objective == "mse" else "learned",
        } | (settings or {}),
    }  # fmt: skip
    (folder / "result.json").write_text(json.dumps(result))


def _history(folder, sizes, temperature, loss_of):
    lines = []
    for size in sizes:
        losses = loss_of(size, np.maximum(np.arange(4000), 1.0))
        for begin in range(0, 4000, 100):
            for start, stop in log_parts(begin, begin + 100):
                line = {"kind": "train", "size": size, "replica": 0, "temperature": temperature}
                line |= {"step": stop, "tau": 0.1 * stop, "learning_rate": 0.1}
                lines.append(line | {"loss": float(losses[start:stop].mean())})
    (folder / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def three(tmp_path):
    """A folder of runs over depth, width, training time, and depth with time, written by hand."""
    noise = {3: 1.02, 6: 0.98, 12: 1.01, 24: 0.99}
    for kind, alpha in (("shared", 3), ("independent", 1)):
        rungs = [_rung(d, e * d**-alpha) for d, e in noise.items()]
        _write(tmp_path / kind, kind, "residual", "depth", rungs)
    scratch = {"train.method": "scratch"}
    widths = [
        _rung(m, 1 / m, observed={"represented": 0.9, "overlap": 0.8 / m}) for m in (4, 8, 16)
    ]
    own = {"features": 40, "skew": 0.0, "active": 1.0}
    _write(
        tmp_path / "width",
        "features",
        "autoencoder",
        "width",
        widths,
        {"optimizer.weight_decay": -1.0},
        own,
    )
    head = [_rung(32, 0.1, temperature=0.003)]
    _write(tmp_path / "time", "head", "head", "width", head, scratch, objective="kl")
    _history(tmp_path / "time", [32], 0.003, lambda _, t: t ** (-1 / 3))
    both = [_rung(d, 0.1, temperature=0.01) for d in (1, 2, 4)]
    _write(tmp_path / "both", "independent", "residual", "depth", both, scratch, objective="kl")
    _history(tmp_path / "both", (1, 2, 4), 0.01, lambda d, t: 0.05 / d + 2 * t ** (-1 / 3))
    return tmp_path


def _network_record(kind, label, depth, facts, middle_step, **measures):
    """A network of probe.json, with no more said than has to be."""
    empty = {"mean": [], "stderr": [], "std": [], "quantiles": {}, "tokens": []}
    names = ("theta", "theta_updates", "to_last", "norms", "update_norms", "projection")
    known = {name: empty | measures.pop(name, {}) for name in names}
    known |= {"kind": kind, "label": label, "depth": depth, "facts": facts, "width": 8}
    known |= {"tokens": 10, "middle_layers": {"first": 1, "last": 2}, "middle_step": middle_step}
    unknown = {"value": None, "stderr": None, "low": None, "high": None, "verdict": "words"}
    return known | {"updates": unknown} | measures


def _probe_record(name, subjects):
    """A probe.json."""
    return {
        "schema": 2, "status": "completed", "angles": "in units of pi", "name": name,
        "probed": {"settings": {}}, "subjects": subjects, "clusters": None, "readout": None,
        "trace": None, "notes": [], "seconds": 1.0, "versions": {},
    }  # fmt: skip


@pytest.fixture(scope="session")
def network_record():
    return _network_record


@pytest.fixture(scope="session")
def probe_record():
    return _probe_record
