"""Series of regimes between averaging and discretisation, from results written by hand."""

import json
import re

import numpy as np
import pytest

from toydepth.report.report_command import build_report, print_report
from toydepth.results.records import ResultError

DEPTHS = (3, 6, 12, 24)


def write(folder, kind, alpha, noise=0.01, settings=None, **drawn_by):
    generator = np.random.default_rng(0)
    losses = [d**-alpha * np.exp(noise * generator.normal()) for d in DEPTHS]
    teacher = {"kind": kind, "depth": 64, "seed": 0} | drawn_by
    result = {
        "schema": 2, "status": "completed", "axis": "depth",
        "teacher": teacher | {"width": 16}, "objective": "mse", "temperature": None,
        "settings": {"student.block": "residual", "student.width": 16, "seed": 0}
        | (settings or {}),
        "rungs": [
            {"size": d, "replica": 0, "loss": loss, "status": "completed", "steps": 100,
             "parameters": 8, "loss_stderr": 0.01 * loss, "converged": None}
            for d, loss in zip(DEPTHS, losses, strict=True)
        ],
    }  # fmt: skip
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps(result))


def test_alpha_over_rho(tmp_path, capsys):
    for rho, alpha in ((0.9, 1.8), (0.5, 1.1), (0.99, 2.5)):
        write(tmp_path / str(rho), "mixed", alpha, rho=rho)
    write(tmp_path / "s", "shared", 3)
    write(tmp_path / "i", "independent", 1)
    written = build_report([tmp_path])
    report = json.loads((tmp_path / "report.json").read_text())
    labels = [regime["label"] for regime in report["regimes"]]
    mixed = [f"mixed (rho = {rho})" for rho in (0.5, 0.9, 0.99)]
    assert labels == ["shared", "independent", *mixed]
    assert report["regimes"][-1]["teacher"] == {
        "kind": "mixed", "depth": 64, "width": 16, "rho": 0.99
    }  # fmt: skip
    (series,) = report["crossovers"]
    assert (series["axis"], series["label"]) == ("rho", "")
    assert series["values"] == [0.0, 0.5, 0.9, 0.99, 1.0]
    assert series["regimes"] == ["independent", *mixed, "shared"]
    assert [a["value"] for a in series["alpha"]] == pytest.approx([1, 1.1, 1.8, 2.5, 3], abs=0.05)
    assert [len(pairs) for pairs in series["local_alpha"]] == [3] * 5
    assert series["rises"] is True
    ends = (f"{series['alpha'][place]['value']:.2f}" for place in (0, -1))
    assert series["sentence"].startswith(
        "alpha rises from {} at rho 0 to {} at rho 1,".format(*ends)
    )
    # It is what the sweep asks, so it comes first.
    path = tmp_path / report["figures"]["alpha_over_rho"]
    assert path.read_bytes().startswith(b"\x89PNG")
    print_report(written)
    lines = capsys.readouterr().out.splitlines()
    assert f"over rho: {series['sentence']}" in lines and lines[-1] == str(path)
    headings = re.findall("<h2[^>]*>([^<]+)<", (tmp_path / "report.html").read_text())
    assert headings[:3] == ["Alpha against ρ", "Regimes", "Loss against depth"]


def test_alpha_over_the_correlation_length(tmp_path):
    for length, alpha in ((4, 1.2), ("inf", 3), (32, 2)):
        write(tmp_path / str(length), "correlated", alpha, correlation_length=length)
    write(tmp_path / "s", "shared", 2.9)  # the series has its own infinity
    report = build_report([tmp_path]).record
    (series,) = report.crossovers
    assert (series.axis, series.values) == ("correlation_length", (4, 32, "inf"))
    assert series.regimes[-1] == "correlated (correlation length = inf)"
    assert "alpha_over_correlation_length" in report.figures


def test_series_that_differ_in_something_else_are_apart(tmp_path):
    for rate in (0.1, 0.2):
        for rho in (0, 0.5, 1):
            settings = {"optimizer.learning_rate": rate}
            write(tmp_path / f"{rate}-{rho}", "mixed", 1 + rho, settings=settings, rho=rho)
    report = build_report([tmp_path]).record
    assert [series.label for series in report.crossovers] == [
        "optimizer.learning_rate = 0.1",
        "optimizer.learning_rate = 0.2",
    ]
    assert {"alpha_over_rho", "alpha_over_rho_2"} <= set(report.figures)


@pytest.mark.parametrize(
    "alphas, noise, rises, words",
    [
        ((1, 2, 1.5), 0.01, False, "alpha falls from 2.0"),
        ((1, 1, 1.05), 0.2, False, "their intervals overlap"),
        ((1, 2, 1.95), 0.05, True, "falls nowhere beyond its intervals"),
    ],
)
def test_a_verdict_on_the_rise(tmp_path, alphas, noise, rises, words):
    for rho, alpha in zip((0, 0.5, 1), alphas, strict=True):
        write(tmp_path / str(rho), "mixed", alpha, noise, rho=rho)
    (series,) = build_report([tmp_path]).record.crossovers
    assert series.rises is rises and words in series.sentence


def test_two_regimes_and_the_limits_alone_are_no_series(tmp_path):
    write(tmp_path / "s", "shared", 3)
    write(tmp_path / "i", "independent", 1)
    assert build_report([tmp_path]).record.crossovers == ()


def test_a_mixture_of_unknown_rho_is_refused(tmp_path):
    write(tmp_path / "m", "mixed", 2)
    with pytest.raises(ResultError, match="teacher.rho is missing"):
        build_report([tmp_path])
