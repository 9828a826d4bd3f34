"""Reading a command line: what it composes to, what is refused in a line, and how Hydra gets it."""

import dataclasses
import json
import re
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from toydepth import config, toy
from toydepth.commands import command_line
from toydepth.commands.spec import groups
from toydepth.settings import SettingError, meanings
from toydepth.train.resume import resolve, sign
from toydepth.train.training_command import VERB

read_command = partial(command_line.read_command, VERB)
FIGURES = ["fig3b", "fig4", "fig5", "midpoint", "teacher24"]
LADDER = (6, 12, 16, 24, 32, 48)
TEMPERATURES = tuple(np.logspace(-2, 0, 16))
CONSTANT, FALLING = config.Schedule(0.0, 1.0, 1.0), config.Schedule(0.0, 0.8, 0.1)


def same(command):
    """A command without the time of day in its folder."""
    return command._replace(folder=None)


@pytest.mark.parametrize("name", FIGURES)
def test_a_published_preset_is_what_was_published(name):
    command = read_command([f"experiment={name}"])
    assert command.multirun and command.folder_setting == "hydra.sweep.dir"
    is_kl = name in ("fig3b", "fig4")
    rate, exponent = {"fig3b": (6e-4, 0.0), "fig4": (24e-4, 0.5)}.get(name, (12e-4, 0.5))
    expected = config.Experiment(
        teacher=config.Teacher("shared", depth=24 if name == "teacher24" else 128, seed=0),
        student=config.Student(
            block="midpoint" if name == "midpoint" else "residual",
            depth=(3, 6, 8, 12, 16, 24) if name == "midpoint" else LADDER,
            width=32,
        ),
        objective=config.Objective(
            kind="kl" if is_kl else "mse",
            head={"fig3b": "learned", "fig4": "frozen"}.get(name),
            vocabulary=128 if is_kl else None,
        ),
        target=config.Target(TEMPERATURES if is_kl else (1.0,)),
        train=config.Train(
            method="scratch",
            steps=(40_000,) if name in ("fig3b", "teacher24") else (80_000,),
            batch_size=1024,
        ),
        optimizer=config.Optimizer(
            learning_rate=rate, depth_exponent=exponent, b1=0.9, b2=0.999, eps=1e-8
        ),
        schedule=CONSTANT if name == "fig3b" else FALLING,
        replicas=3,
    )
    other = config.Teacher("independent", depth=expected.teacher.depth, seed=0)
    assert command.jobs == [expected, dataclasses.replace(expected, teacher=other)]
    only = read_command([f"experiment={name}", "teacher=independent", "replicas=1"])
    assert [(job.teacher, job.replicas) for job in only.jobs] == [(other, 1)]


def test_the_quickstart_is_one_ladder_by_depth_continuation():
    command = read_command(["experiment=quickstart"])
    (e,) = command.jobs
    assert not command.multirun and command.folder_setting == "hydra.run.dir"
    assert (e.student.depth, e.train.steps) == ((3, 6, 12, 24), (5000, 8000, 12000, 20000))
    assert (e.train.method, e.optimizer.learning_rate) == ("continuation", 4e-3)


def test_the_schema_knows_the_kinds_and_blocks_that_there_are():
    allowed = {name: words for name, _, _, words in meanings(config.Experiment)}
    kinds = [*toy.KINDS, *(teacher for teacher, _ in config.LAYERLESS.values()), "own"]
    blocks = [*toy.BLOCKS, *config.LAYERLESS, "own"]
    assert allowed["teacher.kind"] == "one of " + ", ".join(kinds)
    assert allowed["student.block"] == "one of " + ", ".join(blocks)
    for group, names in (("teacher", kinds), ("student", blocks)):
        assert set(groups(VERB)[group]) == set(names) - {"own"}  # which is given in Python alone


@pytest.mark.parametrize(
    "name, axis, last", [("crossover", "rho", 1), ("crossover_length", "correlation_length", "inf")]
)
def test_a_crossover_is_a_dozen_teachers_of_three_seeds(name, axis, last):
    jobs = read_command([f"experiment={name}"]).jobs
    values = [getattr(job.teacher, axis) for job in jobs]
    assert len(set(values)) == 12 and values[-1] == last
    assert values == sorted(values, key=float)
    assert {(job.replicas, job.student.depth) for job in jobs} == {(3, (3, 6, 12, 24))}


def test_what_a_preset_sweeps_over_can_be_given():
    command = read_command(["-m", "experiment=crossover", "teacher.rho=0.25,0.75", "replicas=1"])
    assert [job.teacher.rho for job in command.jobs] == [0.25, 0.75]
    assert read_command(["experiment=crossover", "teacher.rho=0.25"]).jobs[0].teacher.rho == 0.25


REFUSED = {  # the command: what the line must say
    "-m teacher=glob(*)": "teacher=glob(*) is not allowed: several values are a list",
    "-m seed=glob(*)": "a list, a,b,c, or a range",
    "-m seed=interval(0,1)": "a list, a,b,c, or a range",
    "-m seed=range(0,3,0)": "a list, a,b,c, or a range",
    "-m seed=range(3,0)": "a list, a,b,c, or a range",
    "-m seed=shuffle(range(0,10**12))": "seed=shuffle",
    "-m seed=shuffle(0,1)": "in order",
    "-m seed=range(0,1000000000000)": "at most 10000 jobs",
    "-m experiment=fig5,midpoint": "run them one by one",
    "-m experiment=quickstart,null": "experiment=null",
    "-m hydra.run.dir=x": "the folder of a sweep is hydra.sweep.dir",
    "experiment=fig5 hydra.run.dir=x": "the folder of a sweep is hydra.sweep.dir",
    "hydra.sweep.dir=x": "the folder of one run is hydra.run.dir",
    "-m hydra.sweep.dir=a,b": "hydra.sweep.dir=a,b is not allowed: it has one value",
    "hydra.run.dir=": "the path of a folder",
    "-m hydra.sweep.dir=": "the path of a folder",
    "hydra.run.dir=${nothing}": "nothing",
    r"hydra.run.dir=\${x}": "without ${",
    "hydra.run.dir=it's": "quotes of its own",
    "-m hydra.sweep.subdir=x": "hydra.sweep.subdir=x is not allowed: of Hydra's settings there are",
    "hydra.output_subdir=null": "of Hydra's settings there are hydra.run.dir",
    "hydra.searchpath=[file:///tmp/code]": "of Hydra's settings there are",
    "hydra.job_logging={root:{level:DEBUG}}": "of Hydra's settings there are",
    "hydra/job_logging=default": "of Hydra's settings there are",
    "hydra.job.env_copy=[HF_TOKEN]": "of Hydra's settings there are",
    "hydra.runx.dir=x": "of Hydra's settings there are",
    "hydra.launcher._target_=x": "code is not named",
    "hydra.launcher={_target_:x}": "code is not named",
    "tracker.project=${oc.env:HF_TOKEN}": "the environment and Hydra's own settings are not read",
    "tracker.project=${hydra:runtime.cwd}": "Hydra's own settings are not read",
    "seed=${nothing}": "seed=${nothing} is not allowed: it must be a whole number from 0 to",
    "hydra.mode=both": "hydra.mode=both is not allowed",
    "=3": "=3 is not allowed: it is written name=value",
    "seed": "seed= is not allowed: it is written name=value",
    "teacher@x=shared": "not added, moved or removed",
    "experiment=null": "one of crossover",
    "teacher.kind=???": "teacher.kind=???",
    "teacher=mixed teacher.rho=1.01": "at least 0 and at most 1",
    "teacher=mixed teacher.rho=-0.01": "at least 0 and at most 1",
    "teacher=mixed teacher.rho=nan": "teacher.rho=nan is not allowed",
    "teacher=mixed teacher.rho=null": "teacher=mixed needs one",
    "teacher=shared teacher.rho=0.5": "teacher=shared has none; teacher=mixed has",
    "teacher=correlated teacher.correlation_length=0": "a number above 0, or inf",
    "teacher=correlated teacher.correlation_length=-4": "a number above 0, or inf",
    "teacher=correlated teacher.correlation_length=-inf": "a number above 0, or inf",
    "teacher=correlated teacher.correlation_length=nan": "teacher.correlation_length=nan",
    "teacher=mixed teacher.correlation_length=4": "teacher=correlated has",
    "experiment=crossover teacher=shared": "teacher=shared has none",
    "seed=1 seed=x": "seed=x",
    "--bogus": "flag=--bogus is not allowed: the flags are",
    "--config-dir x": "flag=--config-dir",
    "--config-dir=x": "flag=--config-dir=x",
    "--config-name x": "flag=--config-name",
    "--config-path x": "flag=--config-path",
    "--package x --cfg job": "flag=--package",
    "--experimental-rerun x": "flag=--experimental-rerun",
    "--run": "flag=--run",
    "-cd x": "-cd",
    "--multi seed=1": "flag=--multi",
    "--resolve": "it goes with --cfg",
    "--cfg": "expected one argument",
    "--cfg all_of_it": "invalid choice",
    "-m --cfg job": "not allowed with",
    "--cfg job seed=1,2": "-m",
    "--cfg job experiment=fig5 seed=1,2": "one job is shown",
    "--cfg job student.dept=3": "did you mean student.depth",
    "--info config seed=x": "seed=x",
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_not_allowed_is_one_line(words, capsys):
    with pytest.raises(SettingError, match=re.escape(REFUSED[words])) as refused:
        read_command(words.split())
    assert "\n" not in str(refused.value)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "words, alike",
    [
        ("teacher=shared teacher=shared", "teacher=shared"),
        ("seed=1 seed=2", "seed=2"),
        ("-m seed=0,1,2 seed=5,6", "-m seed=5,6"),
        ("-m teacher=shared,independent teacher=shared", "-m teacher=shared"),
        ("seed=1 -m student.depth=3,6", "-m seed=1 student.depth=3,6"),
    ],
)
def test_of_a_setting_given_twice_the_last_counts(words, alike):
    assert same(read_command(words.split())) == same(read_command(alike.split()))


def test_sweeps_of_presets_that_lose_nothing():
    sweep = read_command("-m experiment=fig5,midpoint teacher=shared".split())
    assert [job.student.block for job in sweep.jobs] == ["residual", "midpoint"]
    assert {job.teacher.kind for job in sweep.jobs} == {"shared"}
    lists = read_command(["-m", "student.depth=[3,6],[6,12]", "seed=range(0,2)"])
    assert [(job.student.depth, job.seed) for job in lists.jobs] == [
        ((3, 6), 0),
        ((3, 6), 1),
        ((6, 12), 0),
        ((6, 12), 1),
    ]


ODD = ["it's", 'a "b" c', "a=b,c", "[1]", "{x:y}", "über ☃", " a ", "back\\", "\\'", "a\tb"]
ODD += ["$x", "null", "1e3", "a#b", "~", "(", "glob(*)", "x\\\\'y", "$(ls)"]


@pytest.mark.parametrize("name", ODD)
def test_hydra_gets_a_folder_s_name_as_it_is(name):
    """What `launch` says of the folder is read back as the same folder."""
    command = read_command([])._replace(folder=Path("out") / name)
    for multirun in (False, True):
        where = command_line._where(command._replace(multirun=multirun))
        assert read_command([*(["-m"] * multirun), where]).folder == command.folder


@pytest.mark.parametrize("mode", [[], ["-m"]])
def test_a_job_runs_in_a_folder_with_an_odd_name(monkeypatch, tmp_path, mode):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["train"])
    seen = []
    command = read_command([*mode, "seed=3"])._replace(folder=Path("it's = [a], $b"))
    command_line.launch(VERB, lambda cfg: seen.append(cfg.seed), command)
    assert seen == [3]
    (folder,) = tmp_path.iterdir()
    assert folder.name == command.folder.name
    assert (folder / ("0" if mode else "") / ".hydra" / "config.yaml").is_file()


def test_asking_hydra_to_show_something(monkeypatch, capsys):
    words = ["seed=4", "--cfg", "job", "student.depth=7"]
    assert command_line.is_about_configuration(words)
    assert not command_line.is_about_configuration(["-m", "seed=4"])
    assert read_command(words).jobs[0].student.depth == (7,)
    monkeypatch.setattr(sys, "argv", ["train", *words])
    command_line.main(VERB, lambda cfg: None)
    shown = capsys.readouterr().out
    assert "depth: 7" in shown and "seed: 4" in shown
    for words in ("--hydra-help", "--info", "--shell-completion install=bash", "-sc uninstall=zsh"):
        assert command_line.is_about_configuration(words.split()) and read_command(words.split())
    with pytest.raises(SystemExit) as end:
        read_command(["--version"])
    assert end.value.code == 0 and capsys.readouterr().out.startswith("toydepth ")


def test_a_configuration_from_before_a_setting_existed_has_its_default():
    """What a run left behind is still read, and resumed, after the schema has grown."""
    assert config.experiment({"teacher": {"kind": "shared"}}) == config.experiment({})
    with pytest.raises(SettingError, match="seed=null is not allowed"):
        config.experiment({"seed": None})


def test_a_run_whose_record_lacks_a_setting_is_another_run(tmp_path):
    words = ["teacher=independent", f"resume={tmp_path}"]
    sign(tmp_path, read_command(words).jobs[0])
    assert resolve(read_command(words)).folder == tmp_path
    signed = json.loads((tmp_path / "settings.json").read_text())
    del signed["schedule.fall"]
    (tmp_path / "settings.json").write_text(json.dumps(signed))
    with pytest.raises(SettingError, match=r"has schedule.fall=null, not linear$"):
        resolve(read_command(words))
