"""Three exponents on one page, from results and histories written by hand."""

import csv
import json

import numpy as np
import pytest

from toydepth.engine.loop import log_parts
from toydepth.universality import main, universality


def rung(axis, size, loss, **more):
    known = {"replica": 0, "temperature": None, "loss": loss, "loss_stderr": 0.01 * loss}
    known |= {"steps": 2000, "parameters": 8, "converged": None, "status": "completed"}
    return {axis: size} | known | {"diverged_step": None} | more


def write(folder, kind, block, axis, rungs, settings=None, more=None):
    folder.mkdir(parents=True)
    depth = 0 if block in ("head", "autoencoder") else 8
    result = {
        "schema": 1, "axis": axis, "status": "completed", "error": None,
        "teacher": {"kind": kind, "depth": depth, "width": 16, "seed": 0} | (more or {}),
        "student": {"block": block, "width": 16}, "objective": "mse", "head": None,
        "settings": {"student.block": block, "train.method": "continuation"} | (settings or {}),
        "rungs": rungs, "ramp_diverged": [],
    }  # fmt: skip
    (folder / "result.json").write_text(json.dumps(result))


def history(folder, axis, sizes, temperature, loss_of):
    lines = []
    for size in sizes:
        losses = loss_of(size, np.maximum(np.arange(4000), 1.0))
        for begin in range(0, 4000, 100):
            for start, stop in log_parts(begin, begin + 100):
                line = {"kind": "train", axis: size, "replica": 0, "temperature": temperature}
                line |= {"step": stop, "tau": 0.1 * stop, "learning_rate": 0.1}
                lines.append(line | {"loss": float(losses[start:stop].mean())})
    (folder / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def runs(tmp_path):
    noise = {3: 1.02, 6: 0.98, 12: 1.01, 24: 0.99}
    for kind, alpha in (("shared", 3), ("independent", 1)):
        rungs = [rung("depth", d, e * d**-alpha) for d, e in noise.items()]
        write(tmp_path / kind, kind, "residual", "depth", rungs)
    widths = [rung("width", m, 1 / m) for m in (4, 8, 16)]
    own = {"features": 40, "skew": 0.0, "active": 1.0}
    write(tmp_path / "width", "features", "autoencoder", "width", widths, more=own)
    head = [rung("width", 32, 0.1, temperature=0.003)]
    write(tmp_path / "time", "head", "head", "width", head, {"train.method": "scratch"})
    history(tmp_path / "time", "width", [32], 0.003, lambda _, t: t ** (-1 / 3))
    both = [rung("depth", d, 0.1, temperature=0.01) for d in (1, 2, 4)]
    write(tmp_path / "both", "independent", "residual", "depth", both, {"train.method": "scratch"})
    history(tmp_path / "both", "depth", (1, 2, 4), 0.01, lambda d, t: 0.05 / d + 2 * t ** (-1 / 3))
    return tmp_path


def test_each_exponent_has_its_row_and_the_ladder_of_both_its_table(runs, capsys):
    assert main([str(runs)]) == 0
    assert "consistent with 1/3" in capsys.readouterr().out
    answer = json.loads((runs / "universality.json").read_text())
    rows = {row["label"].split(" (")[0]: row for row in answer["exponents"]}
    assert [rows[k]["against"] for k in ("shared", "independent", "features", "head")] == [
        "depth", "depth", "width", "time"
    ]  # fmt: skip
    for row in rows.values():
        assert row["value"] == pytest.approx(row["expected"], abs=0.03)
        assert row["low"] <= row["value"] <= row["high"]
    assert (runs / answer["figures"]["universality"]).read_bytes().startswith(b"\x89PNG")
    with (runs / answer["depth_and_time"]).open() as file:
        table = list(csv.DictReader(file))
    assert {row["depth"] for row in table} == {"1", "2", "4"}
    for row in table:
        depth, time, loss = (float(row[name]) for name in ("depth", "time", "loss"))
        assert time >= 1000
        assert loss == pytest.approx(0.05 / depth + 2 * time ** (-1 / 3), rel=2e-3)


def test_what_it_cannot_read_is_said_in_a_line(tmp_path, capsys):
    assert main([]) == 2 and main([str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.count("\n") == 2


def test_two_ladders_of_depth_and_time_are_refused(runs):
    other = json.loads((runs / "both" / "result.json").read_text())
    other["settings"]["train.batch_size"] = 7
    (runs / "again").mkdir()
    (runs / "again" / "result.json").write_text(json.dumps(other))
    with pytest.raises(ValueError, match="takes one"):
        universality(runs)
