"""One job by several processes: the numbers of one process with as many devices, written once."""

import os
import signal
import socket
import sys
import time

import numpy as np
import pytest

from toydepth.config import Parallel
from toydepth.processes import Place, place


def test_a_process_stands_where_its_settings_or_its_slurm_step_say(monkeypatch):
    slurm = {"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "3", "SLURM_NTASKS": "9"}
    given = Parallel(processes=2, process_id=1, coordinator="node1:4000")
    assert place(Parallel()) == Place(1, 0)
    assert place(given) == Place(2, 1, "node1:4000")
    for name, value in slurm.items():
        monkeypatch.setenv(name, value)
    assert place(Parallel()) == Place(4, 3)
    assert place(given) == Place(2, 1, "node1:4000")
    assert place(Parallel(processes=1)) == Place(1, 0)
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "1")  # the jobs of launcher=slurm
    assert place(Parallel()) == Place(1, 0)


TWO = "parallel.processes=2 parallel.coordinator=localhost:4000 "
REFUSED = {
    "parallel.processes=2": "parallel.process_id=null",
    "parallel.processes=2 parallel.process_id=0": "parallel.coordinator=null",
    "parallel.process_id=0": "parallel.process_id=0 is not allowed: it goes with",
    "parallel.coordinator=localhost:4000": "parallel.coordinator=localhost:4000 is not allowed",
    TWO + "parallel.process_id=2": "below parallel.processes=2",
    TWO + "parallel.process_id=-1": "parallel.process_id=-1",
    TWO + "parallel.process_id=0 parallel.devices=3": "needs a multiple of 2",
    TWO + "parallel.process_id=0 parallel.coordinator=localhost": "HOST:PORT",
    TWO + "parallel.process_id=0 parallel.coordinator=localhost:70000": "HOST:PORT",
    TWO + "parallel.process_id=0 -m teacher.seed=0,1": "hydra.launcher.tasks_per_node",
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_not_allowed_is_one_line_and_status_2(words, monkeypatch, tmp_path, capsys):
    from toydepth.train import training_command

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["train", *words.split()])
    with pytest.raises(SystemExit) as exit:
        training_command.main()
    assert exit.value.code == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and REFUSED[words] in err
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def start_two(start):
    """start_two(argument, ...) -> the first process and the second, which is to write nothing."""

    def call(*arguments, folder="run", **more):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            where = f"127.0.0.1:{free.getsockname()[1]}"
        words = [*arguments, "parallel.devices=2", "parallel.processes=2"]
        words += [f"parallel.coordinator={where}"]
        second = start(*words, "parallel.process_id=1", "hydra.run.dir=nobody")
        first = start(*words, "parallel.process_id=0", f"hydra.run.dir={folder}", **more)
        return first, second

    return call


def end(first, second, statuses=(0, 0)):
    """Both end, with these statuses."""
    for process, status in zip((first, second), statuses, strict=True):
        process.join(timeout=600)
        assert process.exitcode == status, first.said() + second.said()


def wait_for(process, words):
    """Returns when the process has said so."""
    deadline = time.monotonic() + 600
    while words not in process.said():
        assert process.is_alive() and time.monotonic() < deadline, process.said()
        time.sleep(0.02)


@pytest.mark.slow
def test_two_processes_give_what_one_with_two_devices_gives(
    start_two, finish, numbers, tmp_path, tiny
):
    words = [*tiny, "student.depth=[2,3]", "train.method=scratch", "train.steps=20"]
    words += ["engine.checkpoint_seconds=1e6"]
    finish(*words, "parallel.devices=2", "hydra.run.dir=whole")
    first, second = start_two(*words)
    end(first, second)
    (found, history), (whole, whole_history) = (numbers(tmp_path / f) for f in ("run", "whole"))
    assert found["devices"] == whole["devices"] == 2
    assert [line["step"] for line in history] == [line["step"] for line in whole_history]
    for lines, expected in ((history, whole_history), (found["rungs"], whole["rungs"])):
        losses = [[line["loss"] for line in of] for of in (lines, expected)]
        np.testing.assert_allclose(*losses, rtol=1e-5)
    assert not (tmp_path / "nobody").exists()

    # There is nothing left to do, which the second process hears from the first.
    first, second = start_two(*words, "resume=true")
    end(first, second)
    assert "completed already" in first.said()


@pytest.mark.slow
def test_a_signal_to_one_process_stops_both_and_they_go_on_to_the_same_numbers(
    start_two, numbers, tmp_path, tiny
):
    words = [*tiny, "student.depth=[2,3]", "train.method=scratch", "train.steps=150"]
    words += ["engine.checkpoint_seconds=1e6"]
    end(*start_two(*words, folder="whole"))
    first, second = start_two(*words)
    wait_for(first, "/s")
    os.kill(second.pid, signal.SIGTERM)
    end(first, second, (1, 143))
    assert "another of its processes was asked to stop" in first.said()
    assert not (tmp_path / "run" / "result.json").exists()
    first, second = start_two(*words, "resume=true")
    end(first, second)
    assert "going on from step" in first.said()
    assert numbers(tmp_path / "run") == numbers(tmp_path / "whole")


@pytest.mark.slow
def test_a_process_that_is_lost_ends_the_other_with_a_line(start_two, tmp_path, tiny, ladders):
    words = [*tiny, *ladders["scratch"], "train.steps=1000000"]
    first, second = start_two(*words)
    history = tmp_path / "run" / "history.jsonl"
    deadline = time.monotonic() + 120
    while not history.exists() or history.stat().st_size < 10_000:
        assert first.is_alive() and time.monotonic() < deadline, first.said()
        time.sleep(0.02)
    os.kill(second.pid, signal.SIGKILL)
    first.join(timeout=120)
    assert first.exitcode == 1, first.said()
    assert "failed: " in first.said() and "Traceback" not in first.said()
    assert list((tmp_path / "run" / "checkpoints").glob("[0-9]*"))
