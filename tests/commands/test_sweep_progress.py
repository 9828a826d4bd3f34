"""What a multirun says of its place."""

import json
import os

from toydepth.commands.sweep_progress import Standing
from toydepth.train.sweep import sentence


def test_only_what_ended_since_the_start_counts_and_sets_the_pace(tmp_path, monkeypatch):
    folders = [tmp_path / str(number) for number in range(4)]
    standing = Standing(folders, "result.json", started=1000.0, before=2)
    monkeypatch.setattr("time.time", lambda: 1120.0)
    assert standing.words() == "2 of 6 jobs"
    for number, (name, time) in enumerate(
        [("result.json", 1060), ("error.txt", 1110), ("result.json", 900)]  # of an earlier try
    ):
        folders[number].mkdir()
        (folders[number] / name).touch()
        os.utime(folders[number] / name, (time, time))
    assert standing.words() == "4 of 6 jobs, about 2:00 left"  # two in two minutes, two to go
    for number in (2, 3):
        folders[number].mkdir(exist_ok=True)
        (folders[number] / "result.json").touch()
        os.utime(folders[number] / "result.json", (1119, 1119))
    assert standing.words() == "6 of 6 jobs"


def test_a_job_that_ended_is_told_in_one_line(tmp_path):
    rungs = [
        {"size": depth, "replica": replica, "loss": loss, "loss_stderr": None, "converged": None}
        | {"status": "diverged" if loss is None else "completed", "steps": 9, "parameters": 8}
        for depth, losses in {3: (0.2, 0.1, 0.15), 6: (0.02, None, 0.02), 12: (None,) * 3}.items()
        for replica, loss in enumerate(losses)
    ]
    teacher = {"kind": "mixed", "rho": 0.9, "seed": 4, "depth": 64, "width": 16}
    written = {"schema": 2, "status": "diverged", "teacher": teacher, "axis": "depth"}
    written |= {"objective": "mse", "temperature": None, "settings": {"seed": 0}, "rungs": rungs}
    losses = "loss at depth 3: 0.1 to 0.2, 6: 0.02 (1 of 3 diverged), 12: diverged"
    for alpha, words in {
        None: "",
        (None, None): "; alpha 2.50",
        (2.25, 2.75): "; alpha 2.50 (2.25 to 2.75)",
    }.items():
        written["alpha"] = alpha and {"value": 2.5, "low": alpha[0], "high": alpha[1]}
        (tmp_path / "result.json").write_text(json.dumps(written))
        told = f"mixed (rho = 0.9) teacher, seed 4, diverged{words}; {losses}"
        assert sentence(tmp_path) == told
    for alpha, words in (
        ({"value": 2.5, "low": 2.0, "high": None}, "not an estimate with both ends"),
        ({"low": 2.0, "high": 3.0}, "alpha.value is missing"),
        ("2.5", "alpha is '2.5', not an object"),
    ):
        (tmp_path / "result.json").write_text(json.dumps(written | {"alpha": alpha}))
        assert words in sentence(tmp_path)
    (tmp_path / "result.json").write_text("{")
    assert "is not JSON" in sentence(tmp_path)
