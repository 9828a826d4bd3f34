"""The real W&B client, offline; what it wrote is read back from its own file."""

import json
import os
import struct
from pathlib import Path

import pytest
import wandb
from PIL import Image
from wandb.proto import wandb_internal_pb2

from toydepth.tracking import History, NoTracker, start_wandb
from toydepth.tracking.wandb_tracker import metrics, summary

RESULT = {
    "status": "completed",
    "alpha": {"value": 1.02, "stderr": 0.03, "low": 0.96, "high": 1.08},
    "rungs": [
        {"depth": 6, "replica": 0, "loss": 0.2, "loss_stderr": 0.01},
        {"depth": 12, "replica": 0, "loss": 0.1, "loss_stderr": 0.005},
    ],
}


def record(kind, step, **more):
    common = {"kind": kind, "rung": 2, "depth": 12, "step": step, "total_step": 1000 + step}
    common |= {"seconds": 1.5, "time": 1.7e9, "replica": 0, "temperature": None, "loss": 1 / step}
    return common | more


RECORDS = [
    record("train", 100, learning_rate=0.01),
    record("test", 100, loss_stderr=0.001),
    record("train", 200, learning_rate=0.005),
]


@pytest.fixture(autouse=True)
def a_stranger(monkeypatch, tmp_path_factory):
    """Someone without a key, without W&B settings, without a netrc file."""
    for name in [name for name in os.environ if name.startswith("WANDB_")] + ["NETRC"]:
        monkeypatch.delenv(name, raising=False)
    home = tmp_path_factory.mktemp("home")
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(home))
    # start_wandb sets it for offline runs; set here so that it goes when the test ends.
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    wandb.teardown()  # W&B reads the environment once per process
    yield
    wandb.teardown()


def start(folder, **more):
    settings = dict(project=None, entity=None, group="g", name="n")
    return start_wandb(folder, config={"teacher": {"depth": 4}}, **(settings | more))


def log_all(tracker, figures=()):
    for each in RECORDS:
        tracker.log(each)
    tracker.finish(RESULT, list(figures))


def read_wandb(folder):
    """The protobuf records of the one offline run under `folder`.

    The file is a LevelDB log after a header of 7 bytes: blocks of 32 KiB, each of chunks with
    checksum (4 bytes), length (2) and type (1: whole record, 2, 3, 4: its first, middle, last
    part). The client's own reader is not part of the Python package any more.
    """
    wandb.teardown()  # W&B's own process closes the file a moment after the run has finished
    [path] = folder.glob("wandb/offline-run-*/run-*.wandb")
    data = path.read_bytes()
    assert data[:4] == b":W&B"
    records, parts, at = [], b"", 7
    while at + 7 <= len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        length, kind = struct.unpack("<HB", data[at + 4 : at + 7])
        parts += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):
            records.append(wandb_internal_pb2.Record.FromString(parts))
            parts = b""
    return records


def history_of(records):
    rows = []
    for each in records:
        if each.WhichOneof("record_type") == "history":
            items = each.history.item
            rows.append({i.key or "/".join(i.nested_key): json.loads(i.value_json) for i in items})
    return rows


def summary_of(records):
    found = {}
    for each in records:
        for item in each.summary.update:
            found[item.key or "/".join(item.nested_key)] = json.loads(item.value_json)
    return found


def test_an_offline_run_holds_each_record_once_and_the_result(tmp_path, capfd):
    figure = tmp_path / "loss.png"
    Image.new("RGB", (4, 3)).save(figure)
    log_all(start(tmp_path), [figure])

    records = read_wandb(tmp_path)
    rows = [row for row in history_of(records) if "record" in row]
    assert [row["record"] for row in rows] == [1, 2, 3]
    assert [row["total_step"] for row in rows] == [1100, 1100, 1200]
    assert rows[0]["train/depth_12/loss"] == 0.01
    assert rows[0]["train/depth_12/learning_rate"] == 0.01
    assert rows[1]["test/depth_12/loss"] == 0.01
    assert rows[1]["test/depth_12/loss_stderr"] == 0.001
    assert rows[2]["train/depth_12/loss"] == 0.005

    final = summary_of(records)
    assert final["alpha"] == 1.02
    assert final["alpha_stderr"] == 0.03
    assert (final["loss/depth_06"], final["loss/depth_12"]) == (0.2, 0.1)

    [table] = tmp_path.glob("wandb/offline-run-*/files/media/table/*.json")
    assert json.loads(table.read_text()) == {
        "columns": ["depth", "replica", "loss", "loss_stderr"],
        "data": [[6, 0, 0.2, 0.01], [12, 0, 0.1, 0.005]],
    }
    assert list(tmp_path.glob("wandb/offline-run-*/files/media/images/figures/*.png"))

    axes = {r.metric.glob_name: r.metric.step_metric for r in records if r.HasField("metric")}
    assert axes["train/*"] == axes["test/*"] == "total_step"
    [run] = [r.run for r in records if r.HasField("run")][:1]
    assert (run.project, run.run_group, run.display_name) == ("toydepth", "g", "n")
    assert [r.exit.exit_code for r in records if r.HasField("exit")] == [0]

    printed = capfd.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert "wandb sync" in printed.err


def test_a_resumed_offline_run_is_complete_in_its_new_file(tmp_path):
    with History.open(tmp_path) as history:
        for each in RECORDS[:2]:
            history.append(each)
    tracker = start(tmp_path, run_id="abc123", resume=True)
    assert tracker.run_id == "abc123"
    tracker.log(RECORDS[2])
    tracker.finish(RESULT, [])
    rows = [row for row in history_of(read_wandb(tmp_path)) if "record" in row]
    assert [row["record"] for row in rows] == [1, 2, 3]
    assert [row["total_step"] for row in rows] == [1100, 1100, 1200]


def test_a_run_that_did_not_complete_ends_as_failed(tmp_path):
    tracker = start(tmp_path)
    tracker.finish({"status": "diverged"}, [])
    records = read_wandb(tmp_path)
    assert [r.exit.exit_code for r in records if r.HasField("exit")] == [1]
    assert "alpha" not in summary_of(records)


def test_two_runs_in_one_process_have_each_their_file(tmp_path):
    for folder in (tmp_path / "0", tmp_path / "1"):
        folder.mkdir()
        log_all(start(folder))
        assert len([row for row in history_of(read_wandb(folder)) if "record" in row]) == 3


def test_the_environment_decides_folder_and_project(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("WANDB_PROJECT", "theirs")
    monkeypatch.setenv("WANDB_ENTITY", "lab")
    (tmp_path / "elsewhere").mkdir()
    wandb.teardown()
    log_all(start(tmp_path))
    [run] = [r.run for r in read_wandb(tmp_path / "elsewhere") if r.HasField("run")][:1]
    assert (run.project, run.entity) == ("theirs", "lab")
    assert not (tmp_path / "wandb").exists()


def test_a_project_that_was_set_wins_over_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_PROJECT", "theirs")
    wandb.teardown()
    log_all(start(tmp_path, project="mine"))
    [run] = [r.run for r in read_wandb(tmp_path) if r.HasField("run")][:1]
    assert run.project == "mine"


def test_online_without_a_key_does_not_ask_for_one(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("WANDB_MODE", "online")
    wandb.teardown()
    log_all(start(tmp_path))
    assert "needs a key" in capfd.readouterr().err
    assert read_wandb(tmp_path)


@pytest.mark.parametrize("key", ["too-short", "a" * 40])
def test_a_server_out_of_reach_means_offline(tmp_path, monkeypatch, capfd, key):
    monkeypatch.setenv("WANDB_API_KEY", key)
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")  # nobody listens there
    monkeypatch.setattr("toydepth.tracking.wandb_tracker._START_SECONDS", 2)
    wandb.teardown()
    log_all(start(tmp_path))
    printed = capfd.readouterr().err.splitlines()
    assert printed[0].startswith("W&B cannot be used online, going on offline: ")
    assert "wandb sync" in printed[1]
    assert len(printed) == 2
    rows = [row for row in history_of(read_wandb(tmp_path)) if "record" in row]
    assert [row["record"] for row in rows] == [1, 2, 3]


def test_a_netrc_entry_is_a_key(tmp_path, monkeypatch, capfd):
    (Path.home() / ".netrc").write_text(f"machine 127.0.0.1:9 login user password {'a' * 40}\n")
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setattr("toydepth.tracking.wandb_tracker._START_SECONDS", 1)
    wandb.teardown()
    log_all(start(tmp_path))
    assert "cannot be used online" in capfd.readouterr().err  # so it was tried


def test_a_disabled_run_writes_and_says_nothing(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("WANDB_MODE", "disabled")
    wandb.teardown()
    log_all(start(tmp_path))
    assert not (tmp_path / "wandb").exists()
    assert capfd.readouterr().err == ""


def test_metric_names():
    names = metrics(record("test", 1, loss_stderr=None), "depth", replicas=1)
    assert names == {"test/depth_12/loss": 1.0}
    names = metrics(record("train", 1, temperature=0.1, replica=1), "depth", replicas=2)
    assert names == {"train/depth_12/loss/T=0.1/replica_1": 1.0}
    wide = {"kind": "train", "width": 64, "replica": 0, "loss": 2.0}
    assert metrics(wide, "width", replicas=1) == {"train/width_64/loss": 2.0}


def test_the_summary_averages_replicas_and_leaves_out_what_is_unknown():
    rungs = [{"depth": 6, "loss": 1.0}, {"depth": 6, "loss": 2.0}, {"depth": 8, "loss": None}]
    assert summary({"alpha": None, "rungs": rungs}, "depth") == {"loss/depth_06": 1.5}


def test_no_tracker_takes_everything():
    log_all(NoTracker())
