"""Five hundred command lines that nobody should write: each composes, or is refused in one line."""

import json
import re

import pytest

from toydepth.commands import command_line
from toydepth.law import law_command
from toydepth.probe import probe_command
from toydepth.settings import SettingError, printable
from toydepth.train import training_command

VERBS = {verb.name: verb for verb in (training_command.VERB, law_command.VERB, probe_command.VERB)}


@pytest.fixture(scope="session")
def commands(fuzz):
    return fuzz.commands


# In parts, so that the machine's cores share them.
@pytest.mark.parametrize("part", range(5))
@pytest.mark.parametrize("verb, count", [("train", 48), ("law", 32), ("probe", 20)])
def test_a_command_composes_or_is_refused_in_one_line(
    verb, count, part, commands, monkeypatch, tmp_path, capsys
):
    monkeypatch.chdir(tmp_path)
    accepted = 0
    for words in commands(VERBS[verb], count, seed=100 * part + len(verb)):
        try:
            command = command_line.read_command(VERBS[verb], words)
        except SettingError as refused:
            is_named(words, str(refused))
        else:
            accepted += 1
            assert command.jobs and all(isinstance(j, VERBS[verb].schema) for j in command.jobs)
        assert capsys.readouterr() == ("", ""), words
    assert 0 < accepted < count
    assert list(tmp_path.iterdir()) == []


def is_named(words: list[str], line: str) -> None:
    """A refusal in one printable line: a setting of the command, its value, what is allowed."""
    assert line.isprintable() and len(line) < 1000, (words, line)
    found = re.match(r"(.*?)=(.*?) is not allowed: (.{5,})", line)
    assert found, (words, line)
    name = found[1]
    given = [printable(word) for word in words]
    # A bound that joins two settings may name the other one first.
    joined = name in ("train.batch_size", "parallel.devices", "model", "data.path")
    names = [word.split("=")[0].strip("+~ ") for word in given]
    joined |= any(n and (n in found[3] or f"{n.split('.')[0]}=" in found[3]) for n in names)
    assert (
        name in ("flag", "multirun", "command")
        or joined
        or any(
            name.split("=")[0][:60] in word or word.split("=")[0].strip() in name for word in given
        )
    ), (words, line)


@pytest.mark.slow
def test_a_command_runs_or_is_refused_in_one_line(commands, start, tmp_path, tiny):
    """Two dozen as a person would: no traceback, no hang, no folder left behind."""
    sizes = [*tiny, "train.steps=5", "student.depth=[2,3]", "replicas=1", "teacher.seed=1"]
    for number, words in enumerate(commands(training_command.VERB, 24, seed=7)):
        here = tmp_path / str(number)
        here.mkdir()
        held = {word.partition("=")[0].strip("~+ ") for word in words}
        own = [word for word in sizes if word.partition("=")[0] not in held]
        process = start(*own, *words, folder=here)
        process.join(timeout=120)
        said = process.said()
        assert process.exitcode in (0, 1, 2, 3), (words, said)
        assert "Traceback" not in said, (words, said)
        if process.exitcode == 2:
            assert said.count("\n") == 1 and list(here.iterdir()) == [], (words, said)
            is_named([*own, *words], said.removeprefix("toydepth.train: ").rstrip("\n"))
        else:
            results = [json.loads(path.read_text()) for path in here.rglob("result.json")]
            assert results, (words, said)
