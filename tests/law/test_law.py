"""The command line of the second verb: its settings, what is its own, and how its jobs end."""

import dataclasses
import json
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from toydepth.commands import command_line
from toydepth.commands.spec import groups, help_text
from toydepth.law import law_command, law_settings
from toydepth.settings import SettingError, defaults, meanings
from toydepth.train import resume, training_command


def study(*words):
    """The study that a command of one job asks for."""
    (job,) = command_line.read_command(law_command.VERB, words).jobs
    return job


def test_the_defaults():
    s = study("data.path=runs.csv")
    assert (s.data.source, s.data.path, s.data.units) == ("table", "runs.csv", law_settings.Units())
    assert s.law == law_settings.Law("free", "free", "free", None, None, floor=True)
    assert s.robustness.exclude == (1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
    assert s.robustness.depth_offsets == (0, 2) and s.plan.compute == (1e20, 1e22, 1e24)
    assert s.plan.target_loss == s.export == () and s.tracker.kind == "none"


def test_the_presets():
    assert groups(law_command.VERB) == {
        "data": ["chinchilla", "gemstones", "table"],
        "law": ["chinchilla", "free", "universal"],
        "tracker": ["none", "wandb"],
    }
    for source, unit in (("chinchilla", 1e6), ("gemstones", 1e9)):
        s = study(f"data={source}", "data.exclude_highest=40")
        assert (s.data.source, s.data.exclude_highest) == (source, 40)
        assert s.data.units == law_settings.Units(data=unit)
    jobs = command_line.read_command(
        law_command.VERB, ["-m", "data=chinchilla", "law=free,universal,chinchilla"]
    ).jobs
    free = jobs[0].law
    assert [job.law for job in jobs] == [
        law_settings.Law(),
        dataclasses.replace(free, width=1.0, depth=1.0, data=1 / 3),
        dataclasses.replace(free, width=None, depth=None, parameters="free"),
    ]


@pytest.mark.parametrize(
    "word, value",
    [
        ("plan.compute=1e21", (1e21,)),
        ("plan.compute=[1e21,2e21]", (1e21, 2e21)),
        ("plan.compute=null", ()),
        ("plan.compute=[]", ()),
        ("plan.target_loss=2.5", (2.5,)),
        ("robustness.exclude=null", ()),
        ("robustness.exclude=0", (0,)),
        ("robustness.depth_offsets=[0,1.5]", (0, 1.5)),
        ("export=latex", ("latex",)),
        ("export=[latex,csv]", ("latex", "csv")),
        ("law.width=0.5", 0.5),
        ("law.width=null", None),
        ("bootstrap.resamples=0", 0),
        ("bootstrap.resamples=20", 20),
        ("plan.vocabulary=32000", 32000),
        ("data.columns.loss='final loss'", "final loss"),
    ],
)
def test_a_setting_is_read_as(word, value):
    found = study("data=chinchilla", word)
    for name in word.partition("=")[0].split("."):
        found = getattr(found, name)
    assert found == value


REFUSED = {  # the command's words: what the line must say
    "": "data.path=null is not allowed: data.source=table needs the file of a table",
    "data=chinchilla law.width=null law.depth=null law.data=null": "a law needs a term",
    "law.width=0": "law.width=0 is not allowed: it must be free, or a finite number above 0",
    "law.depth=21": "at most 20",
    "law.data=fitted": "law.data=fitted",
    "law.time=true": "law.time=true",
    "law.floor=1": "true or false",
    "data.source=pythia": "one of chinchilla, gemstones, table",
    "data.units.data=0": "data.units.data=0",
    "data.units.loss=2": "data.units.loss=2 is not allowed: there is no such setting",
    "data.exclude_highest=-1": "a whole number from 0",
    "data.exclude_highest=1.5": "data.exclude_highest=1.5",
    "data.drop_invalid=maybe": "data.drop_invalid=maybe",
    "data.depth_offset=-2": "at least 0",
    "data.columns.loss=1": "printable text, or null",
    "fit.loss=absolute": "one of squares, huber",
    "fit.huber_delta=0": "above 0",
    "fit.huber_delta=11": "at most 10",
    "fit.starts=0": "from 1 to 10000",
    "bootstrap.resamples=19": "0 or a whole number from 20 to 1000000",
    "errors=layers": "one of rows, shapes",
    "compare.folds=1": "from 2 to 1000",
    "robustness.exclude=[1,1]": "a list of different ones, or null for none",
    "robustness.exclude=-1": "robustness.exclude=-1",
    "robustness.depth_offsets=-1": "robustness.depth_offsets=-1",
    "plan.compute=[0]": "plan.compute=[0]",
    "plan.compute=[null]": "plan.compute=",
    "plan.target_loss=inf": "plan.target_loss=inf",
    "plan.width_multiple=0": "from 1",
    "plan.vocabulary=1.5": "or null",
    "export=pdf": "one of latex, csv, or a list of different ones, or null for none",
    "law=copied": "one of chinchilla, free, universal",
    "law.widht=1": "did you mean law.width",
    "teacher=shared": "teacher=shared is not allowed: there is no such setting",
    "experiment=fig5": "there is no such setting",
    "resume=true": "there is no such setting",
    "law=free,universal": "several values need -m",
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_not_allowed_is_one_line_and_status_2(words, monkeypatch, tmp_path, capsys):
    path = ["data.path=runs.csv"] if words else []
    assert end(monkeypatch, tmp_path, *path, *words.split()) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert err.startswith("toydepth.law: ") and REFUSED[words] in err
    assert list(tmp_path.iterdir()) == []


def end(monkeypatch, folder, *words):
    """The exit status of the verb's `main` in a folder."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["law", *words])
    with pytest.raises(SystemExit) as exit:
        law_command.main()
    return exit.value.code


@pytest.mark.parametrize("word", ["law=free", "data=table", "data.path=runs.csv", "law.width=1"])
def test_train_has_no_settings_of_law(word):
    with pytest.raises(SettingError, match="there is no such setting; see --help"):
        command_line.read_command(training_command.VERB, [word])


def test_a_hint_names_only_what_the_verb_has():
    for verb, word, hint in (
        (training_command.VERB, "dat=1", "see --help"),
        (law_command.VERB, "dat=1", "mean data"),
    ):
        with pytest.raises(SettingError, match=hint):
            command_line.read_command(verb, [word])


def test_the_help_of_a_verb_lists_its_own():
    told = {
        verb.name: help_text(verb, "usage") for verb in (training_command.VERB, law_command.VERB)
    }
    for verb, other in ((training_command.VERB, "law"), (law_command.VERB, "train")):
        for name, *_ in meanings(verb.schema):
            assert f"  {name}=" in told[verb.name]
        alone = {*groups(verb), *(name for name, *_ in meanings(verb.schema))}
        alone = {name for name in alone if not name.startswith(("tracker", "seed"))}
        assert not [name for name in alone if f"\n  {name}=" in told[other]]
    assert "  law=chinchilla|free|universal" in told["law"]
    assert "[1e+20, 1e+22, 1e+24]" in told["law"]  # a list as it is typed


def test_the_verb_needs_no_jax_before_its_job():
    code = "import sys; sys.argv = ['law', '--help']; "
    code += "from toydepth.law.law_command import main; main();"
    code += "assert not {'jax', 'flax', 'wandb', 'matplotlib'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


@pytest.mark.parametrize("words", ["--hydra-help", "--shell-completion install=bash", "--version"])
def test_what_asks_for_no_job_needs_no_data(words, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(sys, "argv", ["law", *words.split()])
    if words == "--version":
        assert end(monkeypatch, tmp_path, words) == 0
    else:
        assert command_line.read_command(law_command.VERB, words.split()).jobs == []


@pytest.fixture
def studies(monkeypatch):
    """Stands in for `toydepth.law.study`: the data called bad.csv is, and law=chinchilla fails."""

    def prepare(study):
        if study.data.path == "bad.csv":
            raise SettingError("data.path", study.data.path, "row 3 has no loss")
        if study.data.path == "odd.csv":
            raise ValueError("odd.csv: it cannot\nbe used")

    def run(study, folder, cfg, brief):
        if study.law.parameters:
            raise ArithmeticError("no minimum")
        assert cfg == json.loads(json.dumps(cfg)) and cfg["data"]["path"] == study.data.path
        answer = {"width": study.law.width}
        (folder / "law.json").write_text(json.dumps(answer))
        return answer

    fake = SimpleNamespace(prepare=prepare, run=run, sentence=lambda found: "fitted")
    monkeypatch.setitem(sys.modules, "toydepth.law.study", fake)


@pytest.mark.parametrize(
    "words, line",
    [
        ("data.path=bad.csv", "data.path=bad.csv is not allowed: row 3 has no loss"),
        ("-m data.path=good.csv,bad.csv", "data.path=bad.csv is not allowed: row 3 has no loss"),
        ("data.path=odd.csv", "odd.csv: it cannot be used"),
        ("data.path=good.csv hydra.run.dir=/proc/no/law", "/proc/no/law is not allowed: cannot"),
    ],
)
def test_bad_data_leaves_nothing(studies, words, line, monkeypatch, tmp_path, capsys):
    assert end(monkeypatch, tmp_path, *words.split()) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and line in err
    assert list(tmp_path.iterdir()) == []


def test_a_study_leaves_its_law_where_it_is_looked_for(studies, monkeypatch, tmp_path, capsys):
    assert end(monkeypatch, tmp_path, "data.path=good.csv", "law.width=2") == 0
    (folder,) = tmp_path.glob("outputs/*/*-law")
    assert json.loads((folder / "law.json").read_text()) == {"width": 2}
    assert (folder / ".hydra" / "config.yaml").is_file()
    assert capsys.readouterr().err == ""
    # A second study may not write over the first, and train does not go on with either.
    assert end(monkeypatch, tmp_path, "data.path=good.csv", f"hydra.run.dir={folder}") == 2
    assert "it holds a run; name another folder" in capsys.readouterr().err
    for mode in ([], ["-m"]):
        command = command_line.read_command(training_command.VERB, [*mode, "resume=true"])
        assert resume.resolve(command) == command


def test_a_job_that_fails_leaves_the_others(studies, monkeypatch, tmp_path, capsys):
    laws = "law=free,chinchilla,universal"
    assert end(monkeypatch, tmp_path, "-m", laws, "data.path=good.csv") == 1
    (folder,) = tmp_path.glob("outputs/*/*-laws")
    assert [(folder / n / "law.json").is_file() for n in "012"] == [True, False, True]
    assert "Traceback" in (folder / "1" / "error.txt").read_text()
    first, line, last = capsys.readouterr().err.splitlines()
    place = r"toydepth.law: 1 of 3 jobs, about \d+:\d\d left \| job 0: fitted -> "
    assert re.fullmatch(place + re.escape(str(folder / "0")), first)
    failure = "job 1: failed: ArithmeticError: no minimum (more in error.txt)"
    assert line.endswith(f"| {failure} -> {folder / '1'}")
    assert last == f"toydepth.law: 3 of 3 jobs | job 2: fitted -> {folder / '2'}"
    command = command_line.read_command(training_command.VERB, ["-m", "resume=true"])
    assert resume.resolve(command) == command


def test_an_interrupted_study_ends_with_130(studies, monkeypatch, tmp_path, capsys):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    for name in ("run", "prepare"):
        monkeypatch.setattr(sys.modules["toydepth.law.study"], name, interrupt)
        assert end(monkeypatch, tmp_path, "data.path=good.csv") == 130
        assert capsys.readouterr().err == "toydepth.law: interrupted\n"


def test_a_configuration_is_read_without_hydra_too():
    cfg = defaults(law_settings.Study)
    cfg["data"]["path"] = "runs.csv"
    cfg["tracker"]["kind"] = "none"
    assert law_settings.study(cfg) == study("data.path=runs.csv")
    with pytest.raises(SettingError, match=re.escape("law=free is not allowed: it holds the")):
        law_settings.study(cfg | {"law": "free"})
