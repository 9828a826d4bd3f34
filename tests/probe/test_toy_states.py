"""Probes of runs: the two signatures, every rung, what is left out, every refusal."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from toydepth import config, settings
from toydepth.engine import Checkpoints, Progress, layout, prepare_job
from toydepth.engine import run as train
from toydepth.probe import probe_command
from toydepth.probe.probe_summary import verdict
from toydepth.results.weights import load_rung, rung_file, save_rung
from toydepth.toy import Purpose, depth_problem, hidden_states, new_student

SMALL = {"student": {"depth": [1, 2, 4], "width": 16}, "train": {"steps": 30, "batch_size": 64}}


def nothing(*_):
    """Neither shows nor keeps."""


@pytest.fixture(scope="module", params=["shared", "independent"])
def trained(request, tmp_path_factory):
    """A run folder as train leaves it, with the quickstart's teacher."""
    folder = tmp_path_factory.mktemp(request.param)
    cfg = settings.defaults(config.Experiment)
    for group, values in SMALL.items():
        cfg[group] |= values
    cfg["teacher"] |= {"kind": request.param, "depth": 64}
    cfg["replicas"] = 2
    e = config.experiment(cfg)
    job = prepare_job(e, depth_problem(e), layout(1, replicas=2, batch=64))
    with Checkpoints(folder) as checkpoints:
        train(job, checkpoints, Progress(), record=nothing, show=nothing,
              keep=lambda depth, params: save_rung(folder, "depth", depth, params))  # fmt: skip
    (folder / ".hydra").mkdir()
    (folder / ".hydra" / "config.yaml").write_text(json.dumps(cfg))  # JSON is YAML
    return request.param, folder, e


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """run("run=...") -> (exit status, probe.json or None, printed, said)."""
    monkeypatch.chdir(tmp_path)

    def call(*words):
        monkeypatch.setattr("sys.argv", ["probe", *map(str, words), "hydra.run.dir=out"])
        with pytest.raises(SystemExit) as stop:
            probe_command.main()
        printed, said = capsys.readouterr()
        path = tmp_path / "out" / "probe.json"
        found = json.loads(path.read_text()) if path.exists() else None
        return stop.value.code, found, printed, said

    return call


def test_the_two_signatures(run, trained):
    kind, folder, _ = trained
    status, found, printed, _ = run(f"run={folder}")
    assert status == 0 and found["schema"] == 2
    teachers = [s for s in found["subjects"] if s["kind"] == "teacher"]
    assert [t["facts"]["teacher_seed"] for t in teachers] == [0, 1]
    for teacher in teachers:
        angle = teacher["updates"]
        if kind == "shared":
            assert angle["value"] < 0.02 and "aligned" in angle["verdict"]
        else:
            assert angle["value"] == pytest.approx(0.5, abs=0.02)
            assert "orthogonal" in angle["verdict"]
        assert 0 < angle["stderr"] < 0.01 and angle["low"] < angle["value"] < angle["high"]
        assert teacher["depth"] == 64 == len(teacher["theta"]["mean"])
    students = [s for s in found["subjects"] if s["kind"] == "student"]
    assert [(s["depth"], s["facts"]["teacher_seed"]) for s in students] == [
        (2, 0), (2, 1), (4, 0), (4, 1)
    ]  # fmt: skip
    assert [note.split(" is left out")[0] for note in found["notes"]] == [
        "student of depth 1, teacher seed 0",
        "student of depth 1, teacher seed 1",
    ]
    assert f"{kind} teacher of depth 64" in printed
    for path in found["figures"].values():
        assert Path("out", path).stat().st_size > 10_000


def test_angles_are_those_of_the_states(trained, run):
    """Against a plain computation in double precision, of the teacher and of a rung."""
    kind, folder, e = trained
    _, found, _, _ = run(f"run={folder}", "tokens=100")
    problem = depth_problem(e)
    key = problem.key(Purpose.TEST)
    x = jnp.concatenate([problem.inputs(key, step, jnp.arange(64)) for step in (0, 1)])[:100]
    weights = load_rung(folder, 4, problem.start(4))
    student = new_student(e, 4)
    from flax import nnx

    nnx.update(student, jax.tree.map(lambda w: w[1, 0], weights))
    for label, states in (
        (f"{kind} teacher of depth 64, teacher seed 1",
         hidden_states(problem.teacher(1).layers, x, 64)),
        ("student of depth 4, teacher seed 1", student.hidden_states(x)),
    ):  # fmt: skip
        (subject,) = (s for s in found["subjects"] if s["label"] == label)
        h = np.asarray(states, np.float64)
        unit = h / np.linalg.norm(h, axis=-1, keepdims=True)
        theta = np.arccos(np.clip(np.sum(unit[1:] * unit[:-1], -1), -1, 1)) / np.pi
        np.testing.assert_allclose(subject["theta"]["mean"], theta.mean(1), rtol=1e-5, atol=1e-7)
        d = np.diff(h, axis=0)
        unit = d / np.linalg.norm(d, axis=-1, keepdims=True)
        turn = np.arccos(np.clip(np.sum(unit[1:] * unit[:-1], -1), -1, 1)) / np.pi
        assert subject["updates"]["value"] == pytest.approx(turn.mean(), rel=1e-3)
        assert subject["tokens"] == 100


def test_cells_that_diverged_are_left_out(trained, run, tmp_path):
    _, folder, e = trained
    shutil.copytree(folder, tmp_path / "run")
    weights = load_rung(folder, 4, depth_problem(e).start(4))
    broken = jax.tree.map(lambda w: w.copy(), weights)
    jax.tree.leaves(broken)[0][0] = np.nan
    save_rung(tmp_path / "run", "depth", 4, broken)
    status, found, _, _ = run("run=run")
    assert status == 0
    (note,) = (n for n in found["notes"] if n.startswith("student of depth 4"))
    assert note.startswith("student of depth 4, teacher seed 0 is left out")
    assert "student of depth 4, teacher seed 1" in [s["label"] for s in found["subjects"]]


@pytest.mark.slow
def test_a_ladder_that_diverged_still_has_its_teacher(command, run, tmp_path):
    words = ("student.depth=[2,3]", "teacher.depth=8", "train.steps=40", "train.batch_size=32")
    words += ("optimizer.learning_rate=1e12", "tracker=none", "hydra.run.dir=run")
    assert command(*words).returncode == 3
    status, found, _, _ = run("run=run")
    assert status == 0 and [s["kind"] for s in found["subjects"]] == ["teacher"]
    assert [note.split(":")[0] for note in found["notes"]] == [
        "student of depth 2", "student of depth 3"
    ]  # fmt: skip
    # The run's own folder is not written over.
    assert command("run=run", "hydra.run.dir=run", verb="probe").returncode == 2


def test_a_run_still_going_is_probed_as_far_as_it_is(trained, run, tmp_path):
    _, folder, _ = trained
    shutil.copytree(folder, tmp_path / "run")
    rung_file(tmp_path / "run", 4).unlink()
    status, found, _, _ = run("run=run")
    assert status == 0 and {s["depth"] for s in found["subjects"]} == {64, 2}
    assert "student of depth 4: it has no trained weights" in found["notes"][0]


def test_students_of_every_temperature(run, tmp_path):
    e_cfg = settings.defaults(config.Experiment)
    e_cfg["student"] |= {"depth": [2], "width": 8}
    e_cfg["objective"] |= {"kind": "kl", "head": "learned", "vocabulary": 8}
    e_cfg["target"] = {"temperature": [0.1, 1.0]}
    e_cfg["teacher"] |= {"depth": 4}
    e = config.experiment(e_cfg)
    params = depth_problem(e).start(2)
    (tmp_path / "run" / ".hydra").mkdir(parents=True)
    save_rung(
        tmp_path / "run", "depth", 2, jax.tree.map(lambda x: np.stack([[x, x]]) + 0.01, params)
    )
    (tmp_path / "run" / ".hydra" / "config.yaml").write_text(json.dumps(e_cfg))
    status, found, _, _ = run("run=run")
    assert status == 0
    labels = [s["label"] for s in found["subjects"][1:]]
    assert labels == ["student of depth 2, T = 0.1", "student of depth 2, T = 1"]


@pytest.mark.parametrize(
    "words, line",
    [
        (["run=nowhere"], "run=nowhere is not allowed: it is no folder of one run"),
        (["run=other"], "run=other is not allowed"),
        ([], "model=null is not allowed: give run=FOLDER"),
        (["run=a", "model=b"], "model=b is not allowed"),
        (["run=a", "text=b"], "text=b is not allowed: it is of language models"),
        (["run=a", "dtype=float16"], "dtype=float16 is not allowed: it is of language models"),
        (["run=a", "trace.prompt=b"], "trace.prompt=b is not allowed"),
        (["model=a", "trace.prompt=b"], "trace.subject=null is not allowed"),
        (["model=a", "middle_start=0.8"], "middle_stop=0.75 is not allowed"),
        (["model=a", "tokens=1"], "tokens=1 is not allowed"),
        (["teacher=shared"], "teacher=shared is not allowed"),
    ],
)
def test_refusals_are_one_line_and_leave_nothing(run, tmp_path, words, line):
    (tmp_path / "other" / ".hydra").mkdir(parents=True)
    (tmp_path / "other" / ".hydra" / "config.yaml").write_text("law: {width: free}\n")
    status, found, printed, said = run(*words)
    assert (status, found, printed) == (2, None, "")
    assert said.startswith("toydepth.probe: ") and said.count("\n") == 1 and line in said
    assert not (tmp_path / "out").exists()


def test_garbled_weights_are_refused(run, trained, tmp_path):
    _, folder, _ = trained
    shutil.copytree(folder, tmp_path / "run")
    rung_file(tmp_path / "run", 4).write_bytes(b"PK garbled")
    status, _, _, said = run("run=run")
    assert status == 2 and "depth_04.npz cannot be read" in said and said.count("\n") == 1


def test_an_error_of_an_earlier_try_is_forgotten(run, trained, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "error.txt").write_text("interrupted")
    status, _, _, _ = run(f"run={trained[1]}")
    assert status == 0 and not (tmp_path / "out" / "error.txt").exists()


@pytest.fixture
def probed(network_record, probe_record):
    def write(folder, steps, kind="model", facts=None, error=0.01):
        unknown = dict.fromkeys(("stderr", "low", "high"))
        subjects = [
            network_record(
                kind, f"{depth} layers", depth, facts or {},
                {"value": step, **unknown} | ({"stderr": error * step} if error else {}),
            )
            for depth, step in steps.items()
        ]  # fmt: skip
        folder.mkdir(parents=True)
        (folder / "probe.json").write_text(json.dumps(probe_record("model", subjects)))

    return write


def test_compare_fits_the_step_against_depth(tmp_path, probed):
    probed(tmp_path / "a" / "one", {6: 1.2 / 6, 12: 1.2 / 12})
    probed(tmp_path / "a" / "two", {24: 1.18 / 24, 48: 1.22 / 48})
    command = [sys.executable, "-m", "toydepth.probe", "compare", "a", "output=found"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found" / "compare.json").read_text())
    (group,) = found["groups"]
    assert group["exponent"]["value"] == pytest.approx(1, abs=0.05)
    assert group["exponent"]["low"] < 1 < group["exponent"]["high"]
    assert (
        "language models: about 1" in done.stdout
        and (tmp_path / "found" / found["figures"]["models"]).is_file()
    )


def test_compare_keeps_what_differs_apart(monkeypatch, tmp_path, capsys, probed):
    monkeypatch.chdir(tmp_path)
    for teacher, exponent in (("shared", 1.0), ("independent", 0.5)):
        facts = {"teacher": teacher, "objective": "mse", "block": "residual"}
        steps = {depth: depth**-exponent for depth in (2, 3, 6, 12)}
        probed(tmp_path / teacher, steps, "student", facts, error=None)
    monkeypatch.setattr("sys.argv", ["probe", "compare", "shared", "independent", "output=found"])
    probe_command.main()
    found = json.loads((tmp_path / "found" / "compare.json").read_text())
    exponents = {group["of"]: group["exponent"]["value"] for group in found["groups"]}
    assert exponents == {
        "students, shared teacher, mse": pytest.approx(1),
        "students, independent teacher, mse": pytest.approx(0.5),
    }
    assert len(found["left_out"]) == 2  # two layers have no middle of their own
    assert "language models" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "words, line",
    [
        ([], "no RESULT given"),
        (["nowhere"], "RESULT=nowhere is no probe"),
        (["bad"], "probe.json is not a toydepth probe: angles is missing"),
        (["odd"], "subjects[0].depth is 0, not a whole number, 1 or more"),
        (["still"], "no network of 3 layers or more has a middle step"),
        (["--all"], "--all is not known"),
        (["bad", "output="], "output= names no folder"),
    ],
)
def test_compare_refuses(monkeypatch, capsys, tmp_path, probed, words, line):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "probe.json").write_text('{"schema": 2, "status": "completed"}')
    probed(tmp_path / "odd", {0: 0.1}, "student")
    probed(tmp_path / "still", {6: 0.0})
    monkeypatch.setattr("sys.argv", ["probe", "compare", *words])
    with pytest.raises(SystemExit) as stop:
        probe_command.main()
    said = capsys.readouterr().err
    assert stop.value.code == 2 and line in said and said.count("\n") == 1


def test_verdicts():
    assert [verdict(angle).split(":")[0] for angle in (0.01, 0.25, 0.5, 0.9, np.nan)] == [
        "aligned", "between aligned and orthogonal", "orthogonal", "opposed", "undefined"
    ]  # fmt: skip
