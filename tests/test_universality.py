"""Three exponents on one page, from results and histories written by hand."""

import csv
import json
import subprocess
from collections import namedtuple

import pytest

from toydepth.commands.command_line import read_command
from toydepth.law import law_command
from toydepth.universality import law_words, main, universality

Done = namedtuple("Done", "returncode")


def test_each_exponent_has_its_row_and_the_ladder_of_both_its_table(three, capsys, monkeypatch):
    fitted = []
    monkeypatch.setattr(subprocess, "run", lambda words: fitted.append(words) or Done(0))
    assert main([str(three)]) == 0
    assert "consistent with 1/3" in capsys.readouterr().out
    # The law gets the exponents that were measured, as settings that it takes.
    (words,) = fitted
    command = read_command(law_command.VERB, words[3:])
    assert command.jobs[0].law.depth == pytest.approx(1, abs=0.03)
    assert command.jobs[0].law.time == pytest.approx(1 / 3, abs=0.01)
    answer = json.loads((three / "universality.json").read_text())
    rows = {row["label"].split(" (")[0]: row for row in answer["exponents"]}
    assert [rows[k]["against"] for k in ("shared", "independent", "features", "head")] == [
        "depth", "depth", "width", "time"
    ]  # fmt: skip
    for row in rows.values():
        assert row["value"] == pytest.approx(row["expected"], abs=0.03)
        assert row["low"] <= row["value"] <= row["high"]
    assert (three / answer["figures"]["universality"]).read_bytes().startswith(b"\x89PNG")
    with (three / answer["depth_and_time"]).open() as file:
        table = list(csv.DictReader(file))
    assert {row["depth"] for row in table} == {"1", "2", "4"}
    for row in table:
        depth, time, loss = (float(row[name]) for name in ("depth", "time", "loss"))
        assert time >= 1000
        assert loss == pytest.approx(0.05 / depth + 2 * time ** (-1 / 3), rel=2e-3)


def test_what_it_cannot_read_is_said_in_a_line(tmp_path, capsys):
    for words in ([str(tmp_path / "none")], ["a", "b"], ["train.steps=-1"], ["teacher=shared"]):
        assert main(words) == 2
    assert capsys.readouterr().err.count("\n") == 4


def test_of_two_ladders_of_depth_and_time_there_is_no_table(three):
    other = json.loads((three / "both" / "result.json").read_text())
    other["settings"]["train.batch_size"] = 7
    (three / "again").mkdir()
    (three / "again" / "result.json").write_text(json.dumps(other))
    answer = universality(three)
    assert answer["depth_and_time"] is None
    assert any("several ladders" in note for note in answer["notes"])


def test_what_is_left_out_is_said(three, capsys):
    (three / "stopped" / ".hydra").mkdir(parents=True)
    failed = json.loads((three / "width" / "result.json").read_text())
    failed |= {"status": "failed", "error": "OSError: no disk", "rungs": []}
    (three / "width" / "result.json").write_text(json.dumps(failed))
    notes = universality(three)["notes"]
    assert "unfinished: stopped" in notes
    assert "unfinished: width failed: OSError: no disk" in notes
    (three / "time" / "history.jsonl").write_text('{"kind": "train", "tau": 1}\n{}\n')
    assert main([str(three)]) == 2
    assert "KeyError" in capsys.readouterr().err


def test_exponents_that_are_not_known_are_fitted():
    assert law_words([])[-2:] == ["law.depth=free", "law.time=free"]
