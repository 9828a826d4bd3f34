"""The main figure: loss against depth or width, log-log, with the fits and their bands."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from toydepth.report.page import plot
from toydepth.report.page.looks import faint
from toydepth.report.page.plot import Plot
from toydepth.report.page.shown import BANDS, Shown
from toydepth.results.report_record import Point
from toydepth.results.verdicts import REFERENCES

POINTS = 3000  # of all regimes together


def losses(shown: Sequence[Shown], axis: str, note: str = "") -> Plot | None:
    """Every rung of this axis with its bar; hollow if not converged. None if none has a loss."""
    shown = [its for its in shown if its.regime.axis == axis]
    if not shown:
        return None
    banded = len(shown) <= BANDS
    traces, legend, sentences, every = [], [], [], []
    for its in shown:
        regime, label = its.regime, its.regime.label
        usable = [point for point in regime.points if point.has_logarithm]
        points = [usable[index] for index in plot.spread(len(usable), POINTS // len(shown))]
        every += [(point.size, point.loss) for point in points]
        traces += _fit(its, banded) + [_rungs(its, points)]
        alpha = plot.exponent(regime.alpha)
        line, kind = its.law is not None, regime.teacher.kind
        legend.append(plot.entry(its.key, f"{label}, {alpha}", its.look, kind, line=line))
        first, last = (f"{regime.losses[n]:.2g} at {axis} {regime.sizes[n]}" for n in (0, -1))
        sentences.append(f"{label}: loss {first}, {last}, {alpha}")
    sizes, values = zip(*every, strict=True)
    x, y = plot.size_axis(axis, sizes), plot.loss_axis("test loss", values)
    guides, names = _guides(x["range"], y["range"], min(sizes), REFERENCES[axis])
    if any(its.regime.not_converged for its in shown):
        note += "Hollow marks have not converged. "
    if not banded:
        note += f"With more than {BANDS} regimes the bands are left out. "
    return Plot(
        "losses" if axis == "depth" else f"losses_{axis}",
        f"Loss against {axis}",
        plot.listed(sentences),
        guides + traces,
        plot.layout(x, y, annotations=names),
        legend,
        note + ("Bars and bands: 95 %." if banded else "Bars: 95 %."),
    )


def _fit(its: Shown, banded: bool) -> list[dict[str, Any]]:
    if its.law is None:
        return []
    sizes = np.geomspace(min(its.regime.sizes), max(its.regime.sizes), 40)
    loss, low, high = its.law.predict(sizes)
    line = {"color": its.look.colour, "dash": its.look.dash, "width": 2}
    skip = {"mode": "lines", "line": line, "hoverinfo": "skip"}
    traces = [plot.trace(its.key, its.regime.label, sizes, loss, **skip)]
    if banded and low is not None:
        traces.insert(0, plot.band(its.key, sizes, low, high, faint(its.look.colour)))
    return traces


def _rungs(its: Shown, points: Sequence[Point]) -> dict[str, Any]:
    return plot.trace(
        its.key,
        its.regime.label,
        [point.size for point in points],
        [point.loss for point in points],
        mode="markers",
        marker=plot.marks(its.look, [point.converged is False for point in points]),
        error_y=plot.bars([point.loss_stderr for point in points], its.look.colour),
        customdata=[plot.plain(_about(point)) for point in points],
        hovertemplate=its.regime.axis + " %{x}, loss %{y:.3g}<br>%{customdata}",
    )


def _about(point: Point) -> str:
    parts = [f"teacher seed {point.teacher_seed}, seed {point.seed}"]
    if point.steps:
        parts.append(f"{point.steps} steps")
    if point.converged is not None:
        parts.append("converged" if point.converged else "not converged")
    return ", ".join([*parts, point.run])


def _guides(
    x: list[float], y: list[float], start: float, references: Sequence[tuple[float, str]]
) -> tuple[list[dict], list[dict]]:
    """A fan of lines such as l^-1 and l^-3 from the top left, with their names."""
    lines, names = [], []
    first = np.log10(start)
    for slope, name in references:
        # Where the line leaves the axes: on the right, or through the bottom.
        last = min(x[1], first + (y[1] - y[0]) / slope)
        ends = np.array([first, last])
        line = {"color": plot.GUIDE, "width": 1, "dash": "dot"}
        skip = {"mode": "lines", "line": line, "hoverinfo": "skip"}
        lines.append(plot.trace("", "", 10**ends, 10 ** (y[1] - slope * (ends - first)), **skip))
        at = first + 0.4 * (last - first)
        names.append(
            {"x": at, "y": y[1] - slope * (at - first), "text": f"slope −{slope}, {name}",
             "xanchor": "left", "yanchor": "bottom", "showarrow": False,
             "font": {"color": plot.GUIDE, "size": 11}}
        )  # fmt: skip
    return lines, names
