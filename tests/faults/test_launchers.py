"""Who runs the jobs of a sweep: what is refused, and Joblib against one job after another."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from toydepth.commands import command_line, launchers
from toydepth.engine.devices import cores
from toydepth.settings import SettingError
from toydepth.train import training_command

EXTRA = [name for name in launchers.PLUGINS]


def refused(*words):
    with pytest.raises(SettingError) as error:
        command_line.read_command(training_command.VERB, words)
    return str(error.value)


@pytest.mark.parametrize("launcher", EXTRA)
def test_a_launcher_that_is_not_installed_is_a_line_that_names_the_extra(launcher, monkeypatch):
    monkeypatch.setattr(launchers, "find_spec", lambda name: None)
    assert refused(f"launcher={launcher}") == (
        f"launcher={launcher} is not allowed: it needs pip install 'toydepth[cluster]'"
    )
    command_line.read_command(training_command.VERB, ["launcher=local"])


def test_a_sweep_has_one_launcher_and_its_folder_is_a_sweep_s(need):
    need(launchers.find_spec("hydra_plugins"), "toydepth[cluster] not installed")
    assert "it has one value" in refused("launcher=local,joblib")
    assert "joblib, local, ray, slurm" in refused("launcher=pbs")
    assert "hydra.sweep.dir" in refused("launcher=joblib", "hydra.run.dir=here")


@pytest.mark.parametrize("launcher", EXTRA)
def test_a_launcher_makes_a_sweep_of_any_command(launcher, need):
    need(launchers.find_spec("hydra_plugins"), "toydepth[cluster] not installed")
    one = command_line.read_command(training_command.VERB, [f"launcher={launcher}"])
    assert (one.launcher, one.multirun, len(one.jobs)) == (launcher, True, 1)
    two = command_line.read_command(
        training_command.VERB, [f"launcher={launcher}", "experiment=fig5"]
    )
    assert [e.teacher.kind for e in two.jobs] == ["shared", "independent"]
    assert command_line.read_command(training_command.VERB, ["teacher=shared"]).launcher == "local"


def test_a_job_takes_no_more_cores_than_it_is_told(monkeypatch):
    monkeypatch.setenv("NPROC", "1")
    assert cores() == 1
    monkeypatch.delenv("NPROC")
    assert cores() == len(os.sched_getaffinity(0))


def test_jobs_can_share_a_gpu():
    """JAX is set up by now, and was told not to take the memory before it is needed."""
    assert os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"


def report(folder):
    found = json.loads((folder / "report.json").read_text())
    keep = ("teacher", "objective", "sizes", "losses", "alpha", "local_alpha", "replicas")
    return [{name: regime[name] for name in keep} for regime in found["regimes"]]


@pytest.fixture
def joblib(need):
    need(launchers.find_spec("hydra_plugins"), "toydepth[cluster] not installed")
    return ["launcher=joblib", "hydra.launcher.n_jobs=2"]


SWEEP = ["-m", "teacher=shared,independent", "teacher.seed=0,1", "student.depth=[2,3,6]"]


@pytest.mark.slow
def test_joblib_reports_what_one_job_after_another_does(joblib, command, tmp_path, tiny):
    words = [*tiny, *SWEEP, "train.steps=10", "train.method=scratch"]
    for folder, launcher in (("one", []), ("two", [*joblib, "tracker=wandb"])):
        done = command(*words, *launcher, f"hydra.sweep.dir={folder}")
        assert done.returncode == 0, done.stderr
    assert report(tmp_path / "two") == report(tmp_path / "one")
    for number in range(4):
        assert f"job {number} · rung" in done.stderr
        assert f"job {number}: " in done.stderr
        assert len(list((tmp_path / "two" / str(number) / "wandb").glob("offline-run-*"))) == 1


@pytest.mark.slow
def test_what_fails_and_what_diverges_is_named_at_once_and_sets_the_status(
    joblib, command, tmp_path, tiny
):
    """A teacher too large for this machine's memory, a rate too high, and a job that is well."""
    tiny = [*tiny, "student.depth=2", "train.steps=5"]
    words = [word for word in tiny if not word.startswith("student.width")]
    big = command("-m", "student.width=8,60000", *words, *joblib, "hydra.sweep.dir=big")
    assert big.returncode == 1 and "Traceback" not in big.stderr
    assert "| job 1: failed: " in big.stderr
    assert [regime["teacher"]["width"] for regime in report(tmp_path / "big")] == [8]
    rates = "optimizer.learning_rate=1e-3,1e12"
    wild = command("-m", rates, *tiny, *joblib, "hydra.sweep.dir=wild")
    assert wild.returncode == 3, wild.stderr


@pytest.fixture
def running(joblib, tmp_path, tiny):
    """A sweep by Joblib of two jobs without end, and what it has said so far."""
    words = [*tiny, "-m", "teacher=shared,independent", "train.steps=10000000", *joblib]
    words += ["student.depth=2", "hydra.sweep.dir=sweep"]
    with open(tmp_path / "said", "w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "toydepth.train", *words],
            cwd=tmp_path,
            stderr=out,
            stdout=out,
        )
    said = (tmp_path / "said").read_text
    deadline = time.monotonic() + 300
    histories = [tmp_path / "sweep" / number / "history.jsonl" for number in "01"]
    while not all(path.exists() and path.stat().st_size > 1000 for path in histories):
        assert process.poll() is None and time.monotonic() < deadline, said()
        time.sleep(0.05)
    yield process, said
    process.kill()
    process.wait()


@pytest.mark.slow
def test_sigterm_is_passed_on_and_every_job_leaves_a_checkpoint(running, tmp_path):
    process, said = running
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == 143, said()
    assert said().count("stopping when the chunk in hand is done") >= 2
    for number in "01":
        assert list((tmp_path / "sweep" / number / "checkpoints").glob("[0-9]*"))


@pytest.mark.slow
def test_a_worker_that_is_killed_ends_the_sweep_with_a_line_and_a_report(running, tmp_path):
    process, said = running
    lock = (tmp_path / "sweep" / "1" / ".lock").read_text()
    os.kill(int(lock.split()[1]), signal.SIGKILL)
    assert process.wait(timeout=60) == 1, said()
    assert "Traceback" not in said() and "TerminatedWorkerError" in said()
    assert json.loads((tmp_path / "sweep" / "report.json").read_text())["unfinished"]


def test_no_launcher_s_file_is_left_out():
    conf = Path(__file__).parents[2] / "conf" / "launcher"
    assert {path.stem for path in conf.glob("*.yaml")} == {"local", *launchers.PLUGINS}
