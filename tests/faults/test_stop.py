"""SIGTERM and SIGINT: a checkpoint, one line that says how to go on, and a status of their own."""

import os
import random
import signal
import time

import pytest

LONG = ["student.depth=[2,3]", "train.steps=1000000"]
STATUS = {signal.SIGTERM: 143, signal.SIGINT: 130}


def wait_for(process, words):
    """Returns when the process has said so."""
    deadline = time.monotonic() + 300
    while words not in process.said():
        assert process.is_alive() and time.monotonic() < deadline, process.said()
        time.sleep(0.02)


def trains(folder):
    """Returns when the run in the folder has measured something."""
    deadline = time.monotonic() + 300
    while not (folder / "history.jsonl").exists() or not (folder / "history.jsonl").stat().st_size:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def signalled(process, number):
    """Sends a signal to a process, which is to leave within ten seconds."""
    os.kill(process.pid, number)
    process.join(timeout=10)
    assert process.exitcode == STATUS[number], process.said()
    return process.said()


@pytest.mark.parametrize("number", STATUS)
def test_a_signal_ends_the_chunk_in_hand_with_a_checkpoint(number, start, tmp_path, tiny):
    # So seldom a checkpoint that only the signal's is there.
    words = [*tiny, *LONG, "engine.checkpoint_seconds=1e6", "hydra.run.dir=run"]
    process = start(*words)
    trains(tmp_path / "run")
    said = signalled(process, number)
    lines = [line for line in said.splitlines() if line.startswith("toydepth.train")]
    assert len(lines) == 1 and lines[0].endswith("the same command with resume=run goes on")
    assert "Traceback" not in said and not (tmp_path / "run" / "result.json").exists()
    (checkpoint,) = (tmp_path / "run" / "checkpoints").glob("[0-9]*")
    again = start(*words, "resume=run")
    wait_for(again, f"going on from step {checkpoint.name}")
    signalled(again, number)


def test_a_second_sigint_leaves_at_once(start, tiny):
    """The first comes while the process is where nothing can be asked of it."""
    process = start(*tiny, *LONG, "hydra.run.dir=run", fault={"stuck": 30})
    wait_for(process, "stuck")
    os.kill(process.pid, signal.SIGINT)
    wait_for(process, "SIGINT: stopping")
    assert process.is_alive()
    signalled(process, signal.SIGINT)


@pytest.mark.slow
def test_where_the_chunk_in_hand_takes_too_long_it_leaves_with_the_last_checkpoint(
    start, tiny, tmp_path
):
    process = start(*tiny, *LONG, "hydra.run.dir=run", fault={"stuck": 30})
    wait_for(process, "stuck")
    said = signalled(process, signal.SIGTERM)
    assert "left with the last checkpoint" in said
    assert list((tmp_path / "run" / "checkpoints").glob("[0-9]*"))


def test_in_a_sweep_no_further_job_starts(start, tiny, tmp_path):
    words = ["-m", *tiny, "student.depth=2,3,4", "hydra.sweep.dir=sweep"]
    process = start(*words, "train.steps=1000000")
    trains(tmp_path / "sweep" / "0")
    said = signalled(process, signal.SIGTERM)
    assert "the same command with resume=sweep goes on\n" in said
    assert [folder.name for folder in (tmp_path / "sweep").glob("[0-9]")] == ["0"]
    assert not (tmp_path / "sweep" / "0" / "result.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("number, seed", [(signal.SIGTERM, 1), (signal.SIGINT, 2)])
def test_at_random_moments(number, seed, start, finish, numbers, tmp_path, tiny, ladders):
    """Ten of each: the run ends by the signal within ten seconds, and goes on to its numbers."""
    words = [*tiny, *ladders["converge"]]
    started = time.monotonic()
    finish(*words, "hydra.run.dir=whole")
    seconds, whole = time.monotonic() - started, numbers(tmp_path / "whole")
    draw = random.Random(seed)
    stopped = ended = 0
    while stopped < 10:
        started = time.monotonic()
        process = start(*words, f"hydra.run.dir=cut-{ended}", "resume=true")
        process.join(timeout=draw.uniform(0.2, 0.9) * seconds)
        if process.is_alive():
            signalled(process, number)
            stopped += 1
            continue
        assert process.exitcode == 0, process.said()
        assert numbers(tmp_path / f"cut-{ended}") == whole
        seconds = time.monotonic() - started  # as fast as this machine is by now
        ended += 1
    finish(*words, f"hydra.run.dir=cut-{ended}", "resume=true")
    assert numbers(tmp_path / f"cut-{ended}") == whole
