"""The commands as a person types them: a ladder, a multirun, and every refusal."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

QUICK = [
    "teacher.depth=6",
    "student.width=8",
    "train.batch_size=32",
    "train.steps=40",
    "train.tests=2",
    "engine.chunk=10",
    "tracker=none",
    "parallel.devices=1",
]


def result(folder):
    return json.loads((folder / "result.json").read_text())


def history(folder):
    return [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]


def test_a_ladder(command, tmp_path):
    done = command("teacher=shared", "student.depth=[6,2,3]", *QUICK, "hydra.run.dir=run")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    found = result(tmp_path / "run")
    assert found["schema"] == 2 and found["status"] == "completed"
    assert found["teacher"] == {"kind": "shared", "depth": 6, "width": 8, "seed": 0}
    assert [r["size"] for r in found["rungs"]] == [2, 3, 6]
    assert all(r["loss"] > 0 and r["loss_stderr"] > 0 and r["steps"] == 40 for r in found["rungs"])
    assert found["rungs"][0]["parameters"] == 2 * (8 * 32 + 32 + 32 * 8)
    assert found["alpha"]["low"] < found["alpha"]["value"] < found["alpha"]["high"]
    assert [(a["start"], a["stop"]) for a in found["local_alpha"]] == [(2, 3), (3, 6)]
    assert found["versions"]["jax"] and found["seconds"] > 0
    kept = sorted(path.name for path in (tmp_path / "run" / "rungs").iterdir())
    assert kept == ["depth_02.npz", "depth_03.npz", "depth_06.npz"]
    lines = history(tmp_path / "run")
    assert [line["size"] for line in lines if line["kind"] == "test"] == [2, 2, 3, 3, 6, 6]
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report["regimes"][0]["alpha"]["value"] == pytest.approx(found["alpha"]["value"])
    assert (tmp_path / "run" / report["figures"]["loss_against_depth"]).stat().st_size > 10_000


@pytest.mark.slow
def test_one_depth_is_reached_through_a_ramp_and_outputs_go_where_they_are_looked_for(
    command, tmp_path
):
    done = command("student.depth=8", *QUICK)
    assert done.returncode == 0, done.stderr
    (folder,) = tmp_path.glob("outputs/*/*-shared")
    found = result(folder)
    assert [r["size"] for r in found["rungs"]] == [8]
    assert found["alpha"] is None and "three" in found["alpha_reason"]
    assert sorted({line["size"] for line in history(folder)}) == [2, 4, 8]
    scratch = command("student.depth=8", "train.method=scratch", *QUICK, "hydra.run.dir=scratch")
    assert scratch.returncode == 0, scratch.stderr
    assert {line["size"] for line in history(tmp_path / "scratch")} == {8}


@pytest.mark.slow
def test_a_multirun_gathers_its_jobs(command, tmp_path):
    sweep = ["-m", "teacher=shared,independent", "student.depth=2,3,6", *QUICK]
    done = command(*sweep, "hydra.sweep.dir=sweep")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "sweep" / "report.json").read_text())
    assert [r["teacher"]["kind"] for r in report["regimes"]] == ["shared", "independent"]
    assert all(r["sizes"] == [2, 3, 6] and r["alpha"] for r in report["regimes"])
    assert report["unfinished"] == []
    assert "loss_against_depth.png" in done.stdout and "95 % interval" in done.stdout
    ends = [line for line in done.stderr.splitlines() if "| job " in line]
    assert [f"toydepth.train: {n} of 6 jobs" in ends[n - 1] for n in range(1, 7)] == [True] * 6
    assert ["left |" in line for line in ends] == [True] * 5 + [False]

    # The same jobs by way of the report, and one of them gone.
    (tmp_path / "sweep" / "3" / "result.json").unlink()
    reported = command("sweep", "output=elsewhere", verb="report")
    assert reported.returncode == 0, reported.stderr
    assert "unfinished: ../sweep/3" in reported.stdout


def test_a_diverged_rung_ends_with_status_3_and_a_result(command, tmp_path):
    args = ["student.depth=[2,3,6]", *QUICK, "optimizer.learning_rate=1e12", "hydra.run.dir=run"]
    done = command(*args)
    assert done.returncode == 3, done.stderr
    found = result(tmp_path / "run")
    assert found["status"] == "diverged"
    assert [r["status"] for r in found["rungs"]] == ["diverged"] * 3
    assert all(0 < r["diverged_step"] < 40 and r["loss"] is None for r in found["rungs"])


def test_two_runs_that_start_in_the_same_second_have_folders_of_their_own(monkeypatch, tmp_path):
    from toydepth.commands.command_line import Command
    from toydepth.commands.folder import claim

    monkeypatch.chdir(tmp_path)
    asked = Command([], Path("outputs/day/time-shared"), False, False, [])
    folders = [claim(asked).folder for _ in range(3)]
    assert [f.name for f in folders] == ["time-shared", "time-shared-2", "time-shared-3"]
    assert all(f.is_dir() for f in folders)


@pytest.mark.slow
def test_a_tracker_that_breaks_does_not_take_the_run_with_it(command, tmp_path):
    """W&B has nowhere to put its files."""
    tracked = [word for word in QUICK if not word.startswith("tracker")]
    env = {"HOME": "/proc/nohome", "WANDB_DATA_DIR": "/proc/nodata", "WANDB_DIR": "/proc/nodir"}
    done = command("student.depth=[2,3]", *tracked, "hydra.run.dir=run", env=env)
    assert result(tmp_path / "run")["status"] == "completed", done.stderr
    assert done.returncode == 0 and "Traceback" not in done.stderr


REFUSED = {  # the command's words: what the line must name
    "student.depth=0": "student.depth=0",
    "student.depth=-3": "student.depth=-3",
    "student.depth=[3,3]": "student.depth=[3, 3]",
    "student.depth=[]": "student.depth=[]",
    "student.depth=1.5": "student.depth=1.5",
    "student.depth=true": "student.depth=true",
    "student.depth=3,6": "-m",
    "student.dept=3": "student.depth",
    "student.depth=[3": "student.depth=[3",
    "objective=kl target.temperature=0": "target.temperature=0",
    "objective=kl target.temperature=-1": "target.temperature=-1",
    "objective=kl target.temperature=nan": "target.temperature=nan",
    "objective=kl target.temperature=inf": "target.temperature=inf",
    "objective=mse target.temperature=0.1": "target.temperature=0.1",
    "objective.head=frozen": "objective.head=frozen",
    "teacher=smooth": "independent, mixed, shared",
    "experiment=fig99": "fig5",
    "train.batch_size=7 parallel.devices=2": "train.batch_size=7",
    "parallel.devices=0": "parallel.devices=0",
    "train.steps=0": "train.steps=0",
    "train.steps=[5,5] student.depth=[2,3,4]": "train.steps=[5, 5]",
    "hydra.run.dir=/proc/no/run": "/proc/no/run",
    "resume=nowhere": "resume=nowhere",
    "+extra=1": "extra=1",
    "~seed": "seed",
    "hydra.callbacks.gather._target_=os.system": "_target_",
    "hydra.launcher={_target_:os.system}": "code is not named",
    "hydra.launcher._target_=os.system": "code is not named",
    "seed=9999999999999": "seed=9999999999999",
    "teacher={kind:shared,rho:1}": "teacher",
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_not_allowed_is_one_line_and_status_2(words, monkeypatch, tmp_path, capsys):
    """In this process, since the check comes before Hydra and before any device work."""
    from toydepth.train import training_command

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["train", *words.split()])
    with pytest.raises(SystemExit) as exit:
        training_command.main()
    assert exit.value.code == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert err.startswith("toydepth.train: ") and REFUSED[words] in err
    assert list(tmp_path.iterdir()) == []


def test_a_refusal_is_a_command_s_too(command, tmp_path):
    done = command("student.depth=0")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    swept = command("-m", "student.depth=2,0", *QUICK)
    assert swept.returncode == 2 and "student.depth=0" in swept.stderr
    assert list(tmp_path.iterdir()) == []


def test_help_needs_no_jax():
    code = "import sys; sys.argv = ['train', '--help']; "
    code += "from toydepth.train.training_command import main; main();"
    code += "assert not {'jax', 'flax', 'wandb', 'matplotlib'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_help_and_cfg_show_every_setting(command):
    from toydepth import config, settings

    told, composed = command("--help"), command("--cfg", "job", "student.depth=[3,6]")
    assert told.returncode == composed.returncode == 0
    for name, *_ in settings.meanings(config.Experiment):
        assert f"  {name}=" in told.stdout
        assert f"{name.split('.')[-1]}:" in composed.stdout
