"""The real W&B client, offline; what it wrote is read back from its own file."""

import json
import os
import struct
from pathlib import Path

import pytest
import wandb
import yaml
from wandb.proto import wandb_internal_pb2

from toydepth import config
from toydepth.files import History
from toydepth.tracking.start import start_tracker
from toydepth.tracking.wandb_lines import measurement, metrics, summary
from toydepth.tracking.wandb_tracker import NoTracker, start_wandb

RESULT = {
    "status": "completed",
    "alpha": {"value": 1.02, "stderr": 0.03, "low": 0.96, "high": 1.08},
    "rungs": [
        {"size": 6, "replica": 0, "loss": 0.2, "loss_stderr": 0.01},
        {"size": 12, "replica": 0, "loss": 0.1, "loss_stderr": 0.005},
    ],
}


def record(kind, step, **more):
    common = {"kind": kind, "rung": 2, "size": 12, "step": step, "total_step": 1000 + step}
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
    return start_wandb(folder, **(settings | {"config": {"teacher": {"depth": 4}}} | more))


def log_all(tracker, course=(), files=()):
    for each in RECORDS:
        tracker.log(each)
    tracker.finish(RESULT, course, files)


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


COURSE = [
    {"share": share, "steps": None, "value": share, "stderr": 0.1, "low": 0.0, "high": 2.0}
    | {"temperature": None}
    for share in (0.5, 1.0)
]


def test_an_offline_run_holds_each_record_once_and_the_result(tmp_path, capfd):
    log_all(start(tmp_path), COURSE)

    records = read_wandb(tmp_path)
    rows = [row for row in history_of(records) if "record" in row]
    assert [row["record"] for row in rows] == [1, 2, 3]
    assert [row["total_step"] for row in rows] == [1100, 1100, 1200]
    assert [row["step"] for row in rows] == [100, 100, 200]
    assert [row["_timestamp"] for row in rows] == [1.7e9] * 3  # the measurement's, not the upload's
    assert rows[0]["train/depth_12/loss"] == 0.01
    assert rows[0]["train/depth_12/learning_rate"] == 0.01
    assert rows[1]["test/depth_12/loss"] == 0.01
    assert rows[1]["test/depth_12/loss_stderr"] == 0.001
    assert rows[2]["train/depth_12/loss"] == 0.005

    final = summary_of(records)
    assert final["alpha"] == 1.02
    assert final["alpha_stderr"] == 0.03
    assert (final["alpha_low"], final["alpha_high"]) == (0.96, 1.08)
    assert (final["loss/depth_06"], final["loss/depth_12"]) == (0.2, 0.1)
    assert final["status"] == "completed"
    along = [row for row in history_of(records) if "training_share" in row]
    assert [row["training_share"] for row in along] == [0.5, 1.0]
    assert [row["alpha_over_training/value"] for row in along] == [0.5, 1.0]

    [table] = tmp_path.glob("wandb/offline-run-*/files/media/table/*.json")
    table = json.loads(table.read_text())
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["data"]]
    assert [(row["depth"], row["loss"], row["loss_stderr"]) for row in rows] == [
        (6, 0.2, 0.01),
        (12, 0.1, 0.005),
    ]

    axes = {r.metric.glob_name: r.metric.step_metric for r in records if r.HasField("metric")}
    assert axes["train/*"] == axes["test/*"] == "step"
    assert axes["alpha_over_training/*"] == "training_share"
    [run] = [r.run for r in records if r.HasField("run")][:1]
    assert (run.project, run.run_group, run.display_name) == ("toydepth", "g", "n")
    assert [r.exit.exit_code for r in records if r.HasField("exit")] == [0]

    printed = capfd.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert printed.err.endswith(f"python -m toydepth.sync {tmp_path}\n")


def test_the_configuration_is_nested_as_hydras(tmp_path):
    nested = {"teacher": {"kind": "shared", "seed": 0}, "replicas": 1}
    log_all(start(tmp_path, config=nested))
    [run] = [r.run for r in read_wandb(tmp_path) if r.HasField("run")][:1]
    found = {item.key: json.loads(item.value_json) for item in run.config.update}
    assert nested.items() <= found.items()


def test_files_are_an_artifact(tmp_path):
    for name in ("result.json", "loss.png"):
        (tmp_path / name).write_text(name)
    log_all(start(tmp_path), files=[tmp_path / "result.json", tmp_path / "loss.png"])
    requests = [r.request.log_artifact for r in read_wandb(tmp_path) if r.HasField("request")]
    artifacts = [r.artifact for r in read_wandb(tmp_path) if r.HasField("artifact")]
    [kept] = [a for a in [*artifacts, *(r.artifact for r in requests)] if a.type == "result"]
    assert sorted(entry.path for entry in kept.manifest.contents) == ["loss.png", "result.json"]


def test_a_resumed_offline_run_is_complete_in_its_new_file(tmp_path):
    with History.open(tmp_path) as history:
        for each in RECORDS[:2]:
            history.append(each)
    tracker = start(tmp_path, run_id="abc123", resume=True)
    assert tracker.address == ("abc123", "toydepth", None)
    tracker.log(RECORDS[2])
    tracker.finish(RESULT)
    rows = [row for row in history_of(read_wandb(tmp_path)) if "record" in row]
    assert [row["record"] for row in rows] == [1, 2, 3]
    assert [row["total_step"] for row in rows] == [1100, 1100, 1200]


@pytest.mark.parametrize("status, code", [("failed", 1), ("diverged", 3), ("stopped", 130)])
def test_a_run_that_did_not_complete_ends_as_failed(tmp_path, status, code):
    tracker = start(tmp_path)
    tracker.finish({"status": status, "error": "why"})
    records = read_wandb(tmp_path)
    assert [r.exit.exit_code for r in records if r.HasField("exit")] == [code]
    assert summary_of(records)["status"] == status and summary_of(records)["error"] == "why"
    assert "alpha" not in summary_of(records)


def test_what_breaks_the_tracker_is_said_once_and_the_run_is_told_how_it_ended(tmp_path, capfd):
    tracker = start(tmp_path)
    for _ in range(2):
        tracker.log({"kind": "train", "loss": 1.0})
    tracker.finish(RESULT)
    assert capfd.readouterr().err.count("stopped taking records") == 1
    records = read_wandb(tmp_path)
    assert [r.exit.exit_code for r in records if r.HasField("exit")] == [0]


def test_two_runs_in_one_process_have_each_their_file(tmp_path, capfd):
    for folder in (tmp_path / "0", tmp_path / "1 \x1b[31m"):
        folder.mkdir()
        log_all(start(folder))
        assert len([row for row in history_of(read_wandb(folder)) if "record" in row]) == 3
    printed = capfd.readouterr().err  # what can be typed, and nothing that a terminal would obey
    assert f"python -m toydepth.sync '{tmp_path}/1 \\x1b[31m'\n" in printed


def test_a_name_and_a_group_of_the_environment_win(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_NAME", "theirs")
    monkeypatch.setenv("WANDB_RUN_GROUP", "all")
    wandb.teardown()
    log_all(start(tmp_path))
    [run] = [r.run for r in read_wandb(tmp_path) if r.HasField("run")][:1]
    assert (run.display_name, run.run_group) == ("theirs", "all")


def track(folder, resumed=False):
    words = {"group": "g", "name": "n", "config": {"teacher": {"kind": "shared", "depth": 4}}}
    return start_tracker(config.Tracker(), folder, **words, resumed=resumed)


def test_an_agents_run_has_the_id_and_the_project_of_its_sweep(tmp_path, monkeypatch, capfd):
    parameters = {"wandb_version": 1, "teacher": {"value": "shared"}, "teacher.seed": {"value": 2}}
    (tmp_path / "parameters.yaml").write_text(yaml.safe_dump(parameters))
    monkeypatch.setenv("WANDB_SWEEP_PARAM_PATH", str(tmp_path / "parameters.yaml"))
    for name, value in {"SWEEP_ID": "sweep1", "RUN_ID": "agent7", "PROJECT": "p"}.items():
        monkeypatch.setenv(f"WANDB_{name}", value)
    wandb.teardown()
    folder = tmp_path / "run"
    folder.mkdir()
    log_all(track(folder))
    assert (folder / "wandb_run_id").read_text() == "p/agent7"
    records = read_wandb(folder)
    [run] = [r.run for r in records if r.HasField("run")][:1]
    assert (run.run_id, run.sweep_id, run.project) == ("agent7", "sweep1", "p")
    # What a sweep calls `teacher` hides the group of that name; its settings keep dotted names.
    kept = {i.key: json.loads(i.value_json) for r in records for i in r.config.update}
    assert kept["teacher.kind"] == "shared" and kept["teacher.depth"] == 4

    other = tmp_path / "another job of the same process"
    other.mkdir()
    assert isinstance(track(other), NoTracker)
    assert "a job before this one has taken it" in capfd.readouterr().err


def test_a_run_that_starts_again_in_its_folder_keeps_its_page(tmp_path):
    log_all(track(tmp_path))
    first = (tmp_path / "wandb_run_id").read_text()
    log_all(track(tmp_path))  # killed before its first checkpoint, say
    assert (tmp_path / "wandb_run_id").read_text() == first


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
    assert "toydepth.sync" in printed[1]
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
    wide = {"kind": "train", "size": 64, "replica": 0, "loss": 2.0}
    assert metrics(wide, "width", replicas=1) == {"train/width_64/loss": 2.0}


def test_a_line_says_where_and_when_it_was_measured():
    line = measurement(record("test", 5), 7, "depth", replicas=1)
    assert line == {"test/depth_12/loss": 0.2, "step": 5, "total_step": 1005} | {
        "seconds": 1.5,
        "_timestamp": 1.7e9,
        "record": 7,
    }


def test_the_summary_averages_replicas_and_leaves_out_what_is_unknown():
    rungs = [{"size": 6, "loss": 1.0}, {"size": 6, "loss": 2.0}, {"size": 8, "loss": None}]
    assert summary({"alpha": None, "rungs": rungs}, "depth") == {"loss/depth_06": 1.5}


def test_temperatures_are_told_apart():
    heats = (0.1, 1.0)
    rungs = [{"size": 6, "loss": heat, "temperature": heat} for heat in heats]
    course = [COURSE[n] | {"temperature": heat, "value": heat} for n in (0, 1) for heat in heats]
    found = summary({"alpha": None, "rungs": rungs}, "depth", course)
    assert (found["loss/depth_06/T=0.1"], found["loss/depth_06/T=1"]) == heats
    assert (found["alpha/T=0.1"], found["alpha/T=1"]) == heats
    assert "alpha" not in found and "loss/depth_06" not in found
    one = summary({"alpha": None, "rungs": rungs[:1]}, "depth")
    assert one == {"loss/depth_06": 0.1}


def test_no_tracker_takes_everything():
    log_all(NoTracker())
