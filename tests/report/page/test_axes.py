"""The page of runs over depth, width and training time, and of a crossover."""

import re

import pytest

from toydepth.report.page.crossover_plot import crossings
from toydepth.report.report_command import build_report
from toydepth.results.report_record import Crossover


def test_each_axis_has_its_question_its_card_and_its_figure(three):
    report = build_report([three], three).record
    html = (three / report.page).read_text(encoding="utf-8")
    text = " ".join(re.sub(r"<(script|style).*?</\1>|<[^>]+>", " ", html, flags=re.S).split())
    assert re.search(r"How does loss fall with depth and (width and time|time and width)\?", text)
    for words in ("Loss against depth", "Loss against width", "along training", "near 1/3"):
        assert words in text, words
    (along,) = [r.along_training for r in report.regimes if r.along_training]
    assert along.steps.window.exponent.value == pytest.approx(1 / 3, abs=0.01)
    assert along.steps.verdict in text
    (width,) = (r for r in report.regimes if r.axis == "width" and r.alpha)
    assert width.verdict in text and width.sizes == (4, 8, 16)
    assert width.features.overlap_exponent.value == pytest.approx(1)
    assert width.features.represented == pytest.approx([0.9] * 3)
    assert "Features in superposition" in text and "90.0% 90.0% 90.0%" in text
    assert {"loss_against_depth", "loss_against_width", "loss_over_training"} <= set(report.figures)


def test_a_crossover_is_drawn_from_independent_to_shared_layers():
    def pairs(value):
        return [{"start": d, "stop": 2 * d, "value": value, "stderr": 0.1} for d in (3, 6, 12)]

    values = [0.0, 0.5, 0.9, 0.99, 1.0]
    alphas = [1.0, None, 1.8, 2.5, 3.0]
    known = {
        "axis": "rho", "label": "T = 1", "values": values, "rises": True,
        "sentence": "alpha rises from 1.0 to 3.0",
        "alpha": [a and {"value": a, "stderr": 0.1, "low": a - 0.2, "high": a + 0.2}
                  for a in alphas],
        "local_alpha": [pairs(a or 1.1) for a in alphas], "regimes": list("abcde"),
    }  # fmt: skip
    series = Crossover(**known)
    (plot,) = crossings([series])
    every, *local = plot.traces
    assert every["y"] == [1.0, 1.8, 2.5, 3.0] and len(local) == 3
    assert all(len(trace["y"]) == 5 for trace in local)
    # By -log10(1 - rho), with the two limits on either side of the others.
    x = local[0]["x"]
    assert x == sorted(x) and x[2] == pytest.approx(1.0) and x[3] == pytest.approx(2.0)
    assert x[0] < x[1] and x[4] > x[3]
    assert "T = 1" in plot.title and "Alpha rises from 1.0 to 3.0." in plot.note
    lengths = series.changed(axis="correlation_length", values=[1, 4, 16, 64, "inf"])
    (plot,) = crossings([lengths])
    assert plot.traces[1]["x"] == sorted(plot.traces[1]["x"])
