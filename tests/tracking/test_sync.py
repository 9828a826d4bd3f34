"""`python -m toydepth.sync` with the real W&B client, against a server on the loopback."""

import json
import os
import random
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import wandb
import yaml

from toydepth import config, settings, sync
from toydepth.files import History, read_history
from toydepth.results import outcome
from toydepth.results.records import write_record
from toydepth.tracking import wandb_private, wandb_upload
from toydepth.tracking.start import start_tracker

DEPTHS = (2, 3, 6)


def records(count=24, **more):
    """A continuation over DEPTHS, by turns a training and a test loss."""
    found = []
    for n in range(count):
        rung = n * len(DEPTHS) // count
        step = 10 * (n - rung * count // len(DEPTHS) + 1)
        kind = ("train", "test")[n % 2]
        line = {"kind": kind, "rung": rung, "size": DEPTHS[rung], "replica": 0}
        line |= {"temperature": None, "step": step, "total_step": 10 * (n + 1)}
        line |= {"seconds": 1.5 * n, "time": 1.7e9 + 2 * n, "loss": 1 / step / DEPTHS[rung]}
        line |= {"learning_rate": 0.1} if kind == "train" else {"loss_stderr": 1e-4}
        found.append(line | more)
    return found


def make_run(folder, status="completed", lines=None, **tracker):
    """A run folder as train leaves it; without a result if `status` is None."""
    cfg = settings.defaults(config.Experiment)
    cfg["student"]["depth"] = list(DEPTHS)
    cfg["tracker"] |= tracker
    write(folder / ".hydra" / "config.yaml", yaml.safe_dump(json.loads(json.dumps(cfg))))
    with History.open(folder) as history:
        for line in records() if lines is None else lines:
            history.append(line)
    if status:
        finish_run(folder, status)
    return folder


def finish_run(folder, status="completed"):
    e = config.experiment(yaml.safe_load((folder / ".hydra" / "config.yaml").read_text()))
    rungs = [
        {"size": depth, "replica": 0, "temperature": None, "loss": 1 / 80 / depth}
        | {"loss_stderr": 1e-4, "steps": 80, "parameters": 9, "converged": None}
        | {"status": "completed", "diverged_step": None, "loss_as_trained": None}
        | {"annealed": [], "reported": True}
        for depth in DEPTHS
    ]
    if status == "diverged":
        rungs[0] |= {"status": "diverged", "loss": None, "loss_stderr": None, "diverged_step": 5}
    if status == "failed":
        result = outcome.failure(e, "OSError: no disk")
    else:
        result = outcome.result(e, rungs).changed(status=status)
    write_record(folder / "result.json", result)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def measured(page):
    """The numbers of the measurements among the lines that the server has, in its order."""
    return [line["record"] for line in page.history if "record" in line]


def the_page(server):
    [page] = server.pages.values()
    return page


def test_a_run_arrives_whole_with_its_own_steps_and_times(server, tmp_path, capfd):
    folder = make_run(tmp_path / "run")
    assert sync.main([str(folder)]) == 0
    page = the_page(server)
    lines = page.history
    assert measured(page) == list(range(1, 25))
    assert [line["_step"] for line in lines] == list(range(len(lines)))
    for line, record in zip(lines, records(), strict=False):
        assert line["_timestamp"] == record["time"]
        assert line["_runtime"] == line["seconds"] == record["seconds"]
        assert (line["step"], line["total_step"]) == (record["step"], record["total_step"])
        assert line[f"{record['kind']}/depth_{record['size']:02d}/loss"] == record["loss"]
    result = json.loads((folder / "result.json").read_text())
    found = page.summary
    assert found["status"] == "completed" and page.exits == [0]
    assert found["alpha"] == pytest.approx(result["alpha"]["value"])
    assert found["alpha_low"] < found["alpha"] < found["alpha_high"]
    assert found["loss/depth_06"] == pytest.approx(1 / 80 / 6)
    assert found["test/depth_06/loss"] == records()[-1]["loss"]
    assert found["_wandb"]["runtime"] == int(records()[-1]["seconds"])
    assert found["loss_by_depth_table"]["_type"] == "table-file"
    [table] = [name for name in server.files if name.endswith("table.json") and "summ" not in name]
    assert [row[0] for row in json.loads(server.files[table])["data"]] == list(DEPTHS)
    course = [line for line in lines if "training_share" in line]
    assert course[-1]["training_share"] == 1 and len(course) > 5
    assert course[-1]["alpha_over_training/value"] == pytest.approx(found["alpha"], abs=0.01)
    assert page.config["student"]["depth"] == list(DEPTHS)
    assert page.settings["groupName"] == "shared-mse-width=16"
    assert page.settings["displayName"].startswith("shared mse, depth 2-3-6, width 16")
    [(project, name)] = server.pages
    assert (folder / "wandb_run_id").read_text() == f"lab/{project}/{name}"
    assert project == "toydepth"
    printed = capfd.readouterr()
    assert ": 24 measurements, 24 of them new, http" in printed.out
    assert len(printed.out.splitlines()) == 1
    assert printed.err == ""


def test_a_run_over_widths_has_its_widths_by_name(server, tmp_path, capfd):
    """An autoencoder's ladder: its axis, its group, its chart."""
    cfg = settings.defaults(config.Experiment)
    cfg["teacher"] |= {"kind": "features", "depth": 0, "features": 40, "skew": 0.0, "active": 1.0}
    cfg["student"] |= {"block": "autoencoder", "depth": [0], "width": [4, 8, 16], "scale": 1.0}
    cfg["train"] |= {"method": "scratch"}
    folder = tmp_path / "run"
    write(folder / ".hydra" / "config.yaml", yaml.safe_dump(json.loads(json.dumps(cfg))))
    e = config.experiment(cfg)
    widths = {2: 4, 3: 8, 6: 16}
    lines = [line | {"size": widths[line["size"]]} for line in records()]
    with History.open(folder) as history:
        for line in lines:
            history.append(line)
    rungs = [
        {"size": width, "replica": 0, "temperature": None, "loss": 1 / width, "steps": 80}
        | {"loss_stderr": 1e-4, "parameters": 9, "converged": None, "status": "completed"}
        | {"diverged_step": None, "loss_as_trained": None, "annealed": [], "observed": {}}
        | {"reported": True}
        for width in e.sizes
    ]
    write_record(folder / "result.json", outcome.result(e, rungs))
    assert sync.main([str(folder)]) == 0
    page = the_page(server)
    assert measured(page) == list(range(1, 25))
    for line, record in zip(page.history, lines, strict=False):
        assert line[f"{record['kind']}/width_{record['size']:02d}/loss"] == record["loss"]
    assert page.summary["alpha"] == pytest.approx(1)
    assert page.summary["loss/width_08"] == pytest.approx(1 / 8)
    assert page.summary["loss_by_width_table"]["_type"] == "table-file"
    assert page.settings["groupName"].endswith("mse-autoencoder")
    assert sync.main([str(folder)]) == 0 and ", 0 of them new" in capfd.readouterr().out


def test_twice_changes_nothing(server, tmp_path, capfd):
    folder = make_run(tmp_path / "run")
    assert sync.main([str(folder)]) == 0
    page = the_page(server)
    before, sent = page.state(), page.sent
    assert sync.main([str(folder)]) == 0
    assert page is the_page(server)
    assert page.state() == before and page.sent == sent
    assert ": 24 measurements, 0 of them new, http" in capfd.readouterr().out


def test_a_page_that_is_there_keeps_its_name_its_group_and_its_ending(
    server, tmp_path, monkeypatch, capfd
):
    folder = make_run(tmp_path / "run")
    with monkeypatch.context() as patch:
        patch.setattr("toydepth.results.alpha_over_training.measured_in", None)
        assert sync.main([str(folder)]) == 0
    assert "W&B is not told alpha along training: TypeError" in capfd.readouterr().err
    page = the_page(server)
    lines = page.history
    assert len(lines) == 25 and "loss_by_depth_table" in page.summary
    page.settings |= {"displayName": "my favourite", "groupName": "mine"}
    assert sync.main([str(folder)]) == 0  # now with a course, which would be lines in its middle
    assert page.history == lines
    assert (page.settings["displayName"], page.settings["groupName"]) == ("my favourite", "mine")


def test_an_old_copy_leaves_the_page_as_it_is(server, tmp_path, capfd):
    folder = make_run(tmp_path / "z", status=None, lines=records()[:10])
    assert sync.main([str(folder)]) == 0
    shutil.copytree(folder, tmp_path / "a")
    with History.open(folder, keep=10) as history:
        for line in records()[10:]:
            history.append(line)
    finish_run(folder)
    capfd.readouterr()
    assert sync.main([str(tmp_path)]) == 0
    printed = capfd.readouterr()
    assert f"{tmp_path / 'a'} is left out" in printed.err and len(printed.out.splitlines()) == 1
    page = the_page(server)
    before, sent = page.state(), page.sent
    assert before[1]["status"] == "completed"
    assert sync.main([str(tmp_path / "a")]) == 0
    assert page.state() == before and page.sent == sent
    assert "10 measurements so far, 0 of them new" in capfd.readouterr().out


def test_a_run_that_ends_while_it_is_uploaded_is_completed(server, tmp_path, monkeypatch):
    folder = make_run(tmp_path / "run", status=None)
    upload = wandb_upload.upload

    def and_meanwhile(run, opened):
        found = upload(run, opened)
        finish_run(folder)
        return found

    monkeypatch.setattr(wandb_upload, "upload", and_meanwhile)
    assert sync.main([str(folder)]) == 0
    assert the_page(server).summary["status"] == "completed" and the_page(server).exits == [0]


def test_a_run_still_going_is_uploaded_so_far_and_completed_later(server, tmp_path, capfd):
    folder = make_run(tmp_path / "run", status=None, lines=records()[:10])
    assert sync.main([str(tmp_path)]) == 0
    page = the_page(server)
    assert measured(page) == list(range(1, 11))
    assert page.exits == [] and page.summary["status"] == "unfinished"
    assert "so far" in capfd.readouterr().out
    with History.open(folder, keep=10) as history:
        for line in records()[10:]:
            history.append(line)
    finish_run(folder)
    assert sync.main([str(tmp_path)]) == 0
    assert measured(page) == list(range(1, 25)) and page.exits == [0]
    assert page.summary["status"] == "completed" and "alpha" in page.summary


@pytest.mark.parametrize("status, code", [("failed", 1), ("diverged", 3)])
def test_failed_and_diverged_runs_are_marked(server, tmp_path, status, code):
    make_run(tmp_path / "run", status)
    assert sync.main([str(tmp_path)]) == 0
    page = the_page(server)
    assert page.exits == [code] and page.summary["status"] == status
    assert measured(page) == list(range(1, 25))
    assert page.summary.get("error") == ("OSError: no disk" if status == "failed" else None)


def test_figures_and_result_are_an_artifact_on_request(server, tmp_path):
    folder = make_run(tmp_path / "run", artifact=True)
    write(folder / "figures" / "loss.png", "drawn")
    for _ in range(2):
        assert sync.main([str(folder)]) == 0
    found = [a for a in the_page(server).artifacts if a["artifactTypeName"] == "result"]
    assert len(found) == 2 and found[0]["digest"] == found[1]["digest"]  # one version, then


def test_project_and_entity_are_those_of_the_command_then_of_the_run(server, tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_PROJECT", "environment")
    wandb.teardown()
    make_run(tmp_path / "a" / "0", project="mine")
    make_run(tmp_path / "a" / "1")
    assert sync.main([str(tmp_path / "a")]) == 0
    assert {project for project, _ in server.pages} == {"mine", "environment"}
    assert sync.main([str(tmp_path / "a"), "project=theirs", "entity=group"]) == 0
    theirs = [page for (project, _), page in server.pages.items() if project == "theirs"]
    assert [page.settings["entity"] for page in theirs] == ["group"] * 2


def test_a_page_stays_where_it_is_whatever_the_environment_says(server, tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_PROJECT", "sweep")
    wandb.teardown()
    tracked, other = make_run(tmp_path / "tracked", lines=[]), make_run(tmp_path / "other")
    words = {"group": "g", "name": "n", "config": {}}
    tracker = start_tracker(config.Tracker(), tracked, **words)
    tracker.finish({"status": "stopped"})
    with History.open(tracked) as history:
        for line in records(time=1.8e9):
            history.append(line)
    assert sync.main([str(other)]) == 0
    monkeypatch.setenv("WANDB_PROJECT", "elsewhere")
    wandb.teardown()
    assert sync.main([str(tmp_path)]) == 0
    assert [project for project, _ in server.pages] == ["sweep"] * 2
    [name] = [name for _, name in server.pages if name != sync.address_of(other).run_id]
    assert sync.address_of(tracked) == (name, "sweep", "lab")
    (tracked / "wandb_run_id").write_text(f"lab/sweep/{name}\n")  # as an editor leaves it
    monkeypatch.setenv("WANDB_MODE", "online")
    tracker = start_tracker(config.Tracker(), tracked, **words)
    tracker.finish({"status": "stopped"})
    assert tracker.address == (name, "sweep", "lab") and len(server.pages) == 2


def interrupt_and_sync(server, folder, chance):
    """Syncs with three interruptions: each time the server stops after some lines."""
    for _ in range(3):
        server.break_after, before = chance.randrange(1, 20), server.refused
        done = sync.main([str(folder)])
        assert done == (1 if server.refused > before else 0)
    server.break_after = None
    assert sync.main([str(folder)]) == 0


def stopped_and_resumed(folder, chance, lines, monkeypatch):
    """A run that is stopped three times, tracked or not, on or off line, and goes back a little.

    What it measures again has another time. Returns all times of each line.
    """
    times = [set() for _ in lines]
    make_run(folder, status=None, lines=[])
    ends = [*sorted(chance.sample(range(1, len(lines)), 3)), len(lines)]
    kept = 0
    for start, end in enumerate(ends):
        mode = chance.choice(["none", "offline", "online"])
        monkeypatch.setenv("WANDB_MODE", mode)
        with History.open(folder, kept) as history:
            tracker = None
            if mode != "none":
                words = {"group": "g", "name": "n", "config": {}, "resumed": kept > 0}
                tracker = start_tracker(config.Tracker(), folder, **words)
            for number in range(kept, end):
                line = lines[number] | {"time": lines[number]["time"] + 100 * start}
                times[number].add(line["time"])
                history.append(line)
                if tracker:
                    tracker.log(line)
            if tracker:
                tracker.finish({"status": "stopped"})
        kept = max(0, end - chance.randrange(5)) if end < len(lines) else end
    finish_run(folder)
    return times


def check(page, lines, times=None):
    """Every measurement once, in order, with its values, its step and a time it was measured at."""
    times = times or [{line["time"]} for line in lines]
    assert measured(page) == list(range(1, len(lines) + 1))
    for n, (line, record) in enumerate(zip(page.history, lines, strict=False)):
        assert line["_step"] == n and line["total_step"] == record["total_step"]
        assert line["_timestamp"] in times[n]
        assert line[f"{record['kind']}/depth_{record['size']:02d}/loss"] == record["loss"]


def many(server, root, monkeypatch, count):
    """Runs and syncs that are interrupted three times each (benchmarks/sync_many.py: 100)."""
    chance = random.Random(0)
    for n in range(count):
        folder = root / str(n)
        lines = [line | {"time": line["time"] + 1000 * n} for line in records(48)]
        times = stopped_and_resumed(folder, chance, lines, monkeypatch)
        interrupt_and_sync(server, folder, chance)
        check(server.pages["toydepth", sync.address_of(folder).run_id], lines, times)
    assert len(server.pages) == count
    for page in server.pages.values():
        assert page.summary["status"] == "completed" and page.exits[-1] == 0
    before = [(page.state(), page.sent) for page in server.pages.values()]
    assert sync.main([str(root)]) == 0
    assert [(page.state(), page.sent) for page in server.pages.values()] == before


def test_however_often_runs_and_syncs_are_interrupted(server, tmp_path, monkeypatch, capfd):
    many(server, tmp_path, monkeypatch, count=3)


def sync_elsewhere(folder, place):
    """A sync in a process of its own, which leaves behind what it does in `place`."""
    env = {key: os.environ[key] for key in os.environ if key != "WANDB_SERVICE"}  # ours
    command = [sys.executable, "-m", "toydepth.sync", str(folder)]
    return subprocess.Popen(command, env=env | {"TMPDIR": str(place)}, start_new_session=True)


def test_two_syncs_at_once_leave_a_whole_page(server, tmp_path):
    folder = make_run(tmp_path / "run")
    children = [sync_elsewhere(folder, tmp_path) for _ in range(2)]
    assert [child.wait(60) for child in children] == [0, 0]
    check(the_page(server), records())
    assert the_page(server).summary["status"] == "completed"


def test_sync_that_is_killed_goes_on_where_it_was(server, tmp_path):
    folder = make_run(tmp_path / "run")
    server.held = threading.Event()
    child = sync_elsewhere(folder, tmp_path)
    assert server.stored.wait(60)
    os.killpg(child.pid, 9)
    child.wait()
    server.held.set()
    server.held = None
    assert sync.main([str(folder)]) == 0
    check(the_page(server), records())
    assert the_page(server).exits == [0]


def test_no_key_is_one_line_and_nothing_is_sent(server, tmp_path, monkeypatch, capfd):
    make_run(tmp_path / "run")
    monkeypatch.delenv("WANDB_API_KEY")
    wandb.teardown()
    assert sync.main([str(tmp_path)]) == 2
    printed = capfd.readouterr()
    assert "WANDB_API_KEY" in printed.err and len(printed.err.splitlines()) == 1
    assert not server.pages


def test_a_server_out_of_reach_is_one_line_and_nothing_is_lost(
    server, tmp_path, monkeypatch, capfd
):
    folder = make_run(tmp_path / "run")
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")  # nobody listens there
    monkeypatch.setattr("toydepth.tracking.wandb_upload._START_SECONDS", 1)
    wandb.teardown()
    assert sync.main([str(folder)]) == 1
    printed = capfd.readouterr()
    assert "sync again" in printed.err and len(printed.err.splitlines()) == 1
    assert read_history(folder) == records()
    monkeypatch.setenv("WANDB_BASE_URL", server.url)
    wandb.teardown()
    assert sync.main([str(folder)]) == 0
    check(the_page(server), records())


def test_a_folder_that_is_moved_or_copied_keeps_its_page(server, tmp_path):
    folder = make_run(tmp_path / "run")
    made = sync.address_of(folder)
    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy" / "wandb_run_id").unlink()
    assert sync.address_of(tmp_path / "copy") == sync.address_of(folder) == made
    other = make_run(tmp_path / "other", lines=records(time=1.8e9))
    assert sync.address_of(other) != made


def test_a_run_that_cannot_be_sent_is_named_and_the_others_go(server, tmp_path, monkeypatch, capfd):
    made = {
        name: make_run(tmp_path / name, lines=records(time=1.8e9 + n))
        for n, name in enumerate(["0 result", "1 yaml", "2 gone", "3 fine", "4 \x1b[31m \udcff"])
    }
    write(made["0 result"] / "result.json", "{")
    write(made["1 yaml"] / ".hydra" / "config.yaml", "teacher: [\n")
    monkeypatch.setattr("toydepth.tracking.wandb_upload._START_SECONDS", 4)  # W&B asks so long
    server.deleted.add(sync.address_of(made["2 gone"]).run_id)
    make_run(tmp_path / "5 no kind", lines=[{"size": 3, "loss": 1.0, "time": 5.0}])
    make_run(tmp_path / "6 list", lines=[[1]])
    make_run(tmp_path / "7 empty", status=None, lines=[])
    assert sync.main([str(tmp_path)]) == 1
    assert len(server.pages) == 2
    printed = capfd.readouterr()
    said = [line.removeprefix(f"toydepth.sync: {tmp_path}/") for line in printed.err.splitlines()]
    for line, words in zip(
        said,
        [
            "0 result is left out: ",
            "1 yaml is left out: while parsing",
            "2 gone: CommError: ",
            "5 no kind is left out: history.jsonl, line 1: no measurement of toydepth's (KeyError",
            "6 list is left out: history.jsonl, line 1: no measurement of toydepth's (Attr",
            "7 empty is left out: it has no measurement yet",
        ],
        strict=True,
    ):
        assert line.startswith(words)
    assert "0 result/result.json is not JSON" in said[0] and "created and deleted" in said[2]
    assert "/3 fine: 24 measurements, 24" in printed.out
    assert "/4 \\x1b[31m \\udcff: 24 measurements, 24" in printed.out


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], "RUN=null is not allowed"),
        (["nowhere"], "no such folder"),
        (["."], "no result.json below it"),
        ([".", "mode=online"], "argument=mode=online is not allowed"),
        ([".", "--force"], "argument=--force is not allowed"),
        ([".", "project= "], "project="),
        ([".", "project=a", "project=b"], "given once"),
        ([".", "project=a/b"], "project=a/b is not allowed: a W&B name"),
        ([".", "entity=a\x1b"], "printable"),
    ],
)
def test_what_is_not_allowed_is_one_line(arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert sync.main(arguments) == 2
    printed = capsys.readouterr().err
    assert words in printed and len(printed.splitlines()) == 1


def test_help_is_the_verbs_own(capsys):
    assert sync.main(["--help"]) == 0
    assert capsys.readouterr().out.strip() == sync.__doc__.strip()


def test_another_version_of_the_client_is_a_line_that_says_what_to_do(
    monkeypatch, capsys, tmp_path
):
    run = make_run(tmp_path / "run")
    monkeypatch.setattr(wandb, "__version__", "0.32.1")
    assert sync.main([str(run)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "0.32.1" in said
    assert said.endswith("pip install 'wandb>=0.31,<0.32'\n")


def test_the_version_that_is_installed_is_known():
    wandb_private.check_version()
    pins = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert f'"wandb>={wandb_private.KNOWN},<' in pins
