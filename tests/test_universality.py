"""Three exponents on one page, from results and histories written by hand."""

import csv
import json

import pytest

from toydepth.universality import main, universality


def test_each_exponent_has_its_row_and_the_ladder_of_both_its_table(three, capsys):
    assert main([str(three)]) == 0
    assert "consistent with 1/3" in capsys.readouterr().out
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
    assert main([]) == 2 and main([str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.count("\n") == 2


def test_two_ladders_of_depth_and_time_are_refused(three):
    other = json.loads((three / "both" / "result.json").read_text())
    other["settings"]["train.batch_size"] = 7
    (three / "again").mkdir()
    (three / "again" / "result.json").write_text(json.dumps(other))
    with pytest.raises(ValueError, match="takes one"):
        universality(three)
