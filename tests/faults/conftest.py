"""Commands in processes of their own at a fraction of the price: forked from one that has imported
everything, and in which no device is set up yet."""

import json
import multiprocessing
import os
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

TINY = [
    "teacher.depth=4",
    "student.width=4",
    "train.batch_size=8",
    "train.test_batches=2",
    "train.tests=3",
    "engine.chunk=5",
    "engine.checkpoint_seconds=0",
    "tracker=none",
    "parallel.devices=1",
]
# Three ways through the loop: rungs side by side, one from another, and doublings of one's steps.
LADDERS = {
    "scratch": ["student.depth=[2,3,5]", "train.method=scratch", "train.steps=30"],
    "continuation": ["student.depth=[2,3,6]", "train.steps=[10,20,15]", "replicas=2"],
    "converge": [
        "student.depth=[2,4]",
        "train.steps=10",
        "train.converge=true",
        "train.max_doublings=2",
        "train.tolerance=1e-6",
    ],
}
ROOMS = ["train.job", "engine", "toy.problems", "results.outcome", "results.weights"]
ROOMS += ["tracking.start", "report.report_command", "figures"]


@pytest.fixture
def tiny():
    return TINY


@pytest.fixture
def ladders():
    return LADDERS


@pytest.fixture(scope="session")
def fuzz():
    """The module beside, which no package holds."""
    return SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("fuzz.py"))))


@pytest.fixture(scope="session")
def need():
    """need(found, words): skips a test of something that is not here, but not in `.ci/run`."""

    def call(found, words):
        if not found and os.environ.get("CI"):
            pytest.fail(words)
        if not found:
            pytest.skip(words)

    return call


@pytest.fixture(scope="session")
def processes():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([f"toydepth.{room}" for room in ROOMS])
    return context


@pytest.fixture
def start(processes, tmp_path):
    """start(argument, ..., fault={...}) starts `toydepth.train` in the test's own folder.

    The process returned has `exitcode` and `said`, a function for what it has printed so far.
    """
    running = []

    def call(*arguments, folder=tmp_path, fault=()):
        out = tmp_path / f"said-{len(running)}"
        known = {"ARGUMENTS": [*map(str, arguments)], "FOLDER": str(folder), "OUT": str(out)}
        known["FAULT"] = dict(fault)
        process = processes.Process(
            target=runpy.run_path, args=(str(Path(__file__).with_name("child.py")), known)
        )
        process.start()
        process.said = lambda: out.read_text() if out.exists() else ""
        running.append(process)
        return process

    yield call
    for process in running:
        if process.is_alive():
            process.kill()
        process.join()


@pytest.fixture
def finish(start):
    """finish(argument, ...) runs one to its end, which is a good one, and returns what it said."""

    def call(*arguments, status=0, **more):
        process = start(*arguments, **more)
        process.join(timeout=300)
        assert process.exitcode == status, process.said()
        return process.said()

    return call


@pytest.fixture
def numbers():
    """numbers(folder) -> result.json and history.jsonl without what is of the clock."""
    return _numbers


def _numbers(folder):
    result = json.loads((folder / "result.json").read_text())
    for name in ("seconds", "compile_seconds"):
        result.pop(name)
    lines = [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]
    timeless = [{k: v for k, v in line.items() if k not in ("seconds", "time")} for line in lines]
    return result, timeless
