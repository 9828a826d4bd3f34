"""Run, stop, resume, finish with the real W&B client; what it wrote is read by the client itself.

`wandb sync` is W&B's own reader of `.wandb` files. A run that is resumed offline has two of them
under one id. The second holds the whole history, so the server ends with it, whether `wandb sync`
sends both, in order, or the last one alone. (toydepth.sync needs none of them.)
"""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import wandb

from toydepth import config, sync
from toydepth.files import History, read_history
from toydepth.tracking.start import start_tracker

LADDER = ["teacher.depth=6", "student.width=8", "student.depth=[2,3,6]", "train.batch_size=32"]
LADDER += ["train.steps=100", "train.tests=2", "engine.chunk=10", "engine.checkpoint_seconds=0"]
LADDER += ["parallel.devices=1", "tracker.artifact=true", "hydra.run.dir=run"]


def line(number):
    kind = ("train", "test")[number % 2]
    where = {"kind": kind, "rung": 0, "size": 6, "replica": 0, "temperature": None}
    clock = {"seconds": number / 10, "time": 1.7e9 + number}
    return where | {"step": number, "total_step": 2 * number, "loss": 1 / (number + 1)} | clock


def track(folder, keep, until, resumed):
    """A part of a run, as train goes about it."""
    words = {"group": "regime", "name": "a name", "config": {"teacher": {"kind": "shared"}}}
    history = History.open(folder, keep)
    tracker = start_tracker(config.Tracker(), folder, resumed=resumed, **words)
    with history:
        for number in range(keep, until):
            history.append(line(number))
            tracker.log(line(number))
    return tracker


def read_by_the_client(folders):
    """`wandb sync` in a process of its own."""
    command = [sys.executable, "-m", "wandb", "sync", *map(str, folders)]
    quiet = {"capture_output": True, "text": True, "timeout": 120}
    done = subprocess.run(command, cwd=os.environ["HOME"], env=os.environ, **quiet)
    assert done.returncode == 0, done.stderr


def check(page, history):
    """Every measurement once and in order."""
    lines = [row for row in page.history if "record" in row]
    assert [row["record"] for row in lines] == list(range(1, len(history) + 1))
    for number, (row, record) in enumerate(zip(lines, history, strict=True)):
        assert row["_step"] == number and row["_timestamp"] == record["time"]
        assert (row["step"], row["total_step"]) == (record["step"], record["total_step"])
        name = f"{record['kind']}/depth_{record['size']:02d}/loss"
        assert row[name] == pytest.approx(record["loss"], rel=1e-12)


@pytest.mark.parametrize("sent", ["both", "last"])
def test_a_run_stopped_and_resumed_offline_is_whole(server, tmp_path, sent):
    track(tmp_path, 0, 7, resumed=False).finish({"status": "stopped"})
    time.sleep(1.1)  # W&B names its folders by the second
    rungs = [{"size": 6, "replica": 0, "loss": 0.1, "loss_stderr": 0.01}]
    alpha = {"value": 1.5, "stderr": 0.1, "low": 1.3, "high": 1.7}
    tracker = track(tmp_path, 5, 12, resumed=True)  # the last checkpoint knew five records
    tracker.finish({"status": "completed", "alpha": alpha, "rungs": rungs})
    wandb.teardown()
    files = sorted(tmp_path.glob("wandb/offline-run-*"))
    assert len(files) == 2
    for folder in files if sent == "both" else files[1:]:
        read_by_the_client([folder])

    [(key, page)] = server.pages.items()
    assert "/".join(key) == (tmp_path / "wandb_run_id").read_text()
    check(page, [line(number) for number in range(12)])
    assert page.config["teacher"] == {"kind": "shared"}
    assert (page.settings["groupName"], page.settings["displayName"]) == ("regime", "a name")
    assert (page.summary["alpha"], page.summary["loss/depth_06"]) == (1.5, 0.1)
    assert page.summary["status"] == "completed" and page.exits[-1] == 0
    assert page.summary["loss_by_depth_table"]["nrows"] == 1


def test_a_run_resumed_online_sends_what_the_server_lacks(server, tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "online")
    wandb.teardown()
    track(tmp_path, 0, 7, resumed=False).finish({"status": "stopped"})
    [page] = server.pages.values()
    assert page.exits == [130]
    track(tmp_path, 5, 12, resumed=True).finish({"status": "completed", "rungs": []})
    check(page, [line(number) for number in range(12)])
    assert page.sent == 12 and page.exits == [130, 0] and page.summary["status"] == "completed"


@pytest.mark.slow
def test_train_killed_and_resumed(server, tmp_path):
    """The command itself, killed with all its processes in its second rung."""
    arguments = [sys.executable, "-m", "toydepth.train", *LADDER]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    child = subprocess.Popen(arguments, cwd=tmp_path, start_new_session=True, **quiet)
    folder = tmp_path / "run"
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline:
        if any(record["size"] == 3 for record in read_history(folder)):
            break
        time.sleep(0.02)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    done = subprocess.run([*arguments, "resume=true"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    files = sorted(folder.glob("wandb/offline-run-*"))
    assert len(files) == 2
    # The last holds all. The first was cut anywhere, which the client's reader does not stand.
    read_by_the_client(files[-1:])
    [page] = server.pages.values()
    history = read_history(folder)
    result = json.loads((folder / "result.json").read_text())

    check(page, history)
    assert page.settings["groupName"] == "shared-mse-width=8"
    assert page.settings["displayName"] == "shared mse, depth 2-3-6, width 8, teacher seed 0"
    assert page.config["student"]["depth"] == [2, 3, 6]
    assert page.summary["alpha"] == pytest.approx(result["alpha"]["value"])
    assert "result" in {artifact["artifactTypeName"] for artifact in page.artifacts}
    assert sum("training_share" in row for row in page.history) > 5

    before, sent = page.state(), page.sent
    assert sync.main([str(folder)]) == 0  # and there is nothing left to do
    assert page.state()[0] == before[0] and page.sent == sent
