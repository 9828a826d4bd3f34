"""Training curves: one plot for each regime, one line for each rung."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from toydepth.report.page import plot
from toydepth.report.page.found import RungCurve
from toydepth.report.page.looks import Look, look
from toydepth.report.page.plot import Plot
from toydepth.results.report_record import RegimeRecord


def curves(regimes: Sequence[RegimeRecord], found: Mapping[int, Sequence[RungCurve]]) -> list[Plot]:
    """Lines are losses on training batches, marks losses on the test batches."""
    return [_of(number, regimes[number], rungs) for number, rungs in found.items()]


def _of(number: int, regime: RegimeRecord, rungs: Sequence[RungCurve]) -> Plot:
    axis = regime.axis
    sizes = sorted({rung.size for rung in rungs})
    looks = {size: look(place) for place, size in enumerate(sizes)}
    steps = [step for rung in rungs for step in rung.steps + rung.test_steps]
    every = [loss for rung in rungs for loss in rung.losses + rung.test_losses]
    ends = [(rung.size, (rung.test_losses or rung.losses)[-1]) for rung in rungs]
    words = plot.listed([f"{axis} {size} ends at {loss:.2g}" for size, loss in ends])
    margin = 0.02 * math.log10(max(steps) / min(steps)) or 0.1
    x = plot.log_axis(
        "training steps of the rung",
        math.log10(min(steps)) - margin,
        math.log10(max(steps)) + margin,
    )
    count = len(regime.points)
    note = "" if len(rungs) == count else f"{len(rungs)} of {count} rungs are drawn. "
    return Plot(
        f"curves{number}",
        regime.label,
        f"Loss of {regime.label} while it trains: {words}",
        [trace for rung in rungs for trace in _rung(rung, axis, looks[rung.size])],
        plot.layout(x, plot.loss_axis("loss", every)),
        [plot.entry(f"d{size}", f"{axis} {size}", looks[size]) for size in sizes],
        note + "Lines: training batches; marks: test batches.",
    )


def _rung(rung: RungCurve, axis: str, its: Look) -> list[dict[str, Any]]:
    key, name = f"d{rung.size}", f"{axis} {rung.size}"
    line = {"color": its.colour, "dash": its.dash, "width": 1.2}
    skip = {"mode": "lines", "line": line, "opacity": 0.75, "hoverinfo": "skip"}
    tests = plot.trace(
        key,
        name,
        rung.test_steps,
        rung.test_losses,
        mode="markers",
        marker=plot.marks(its, size=6),
        customdata=[plot.plain(rung.about)] * len(rung.test_steps),
        hovertemplate="step %{x}, test loss %{y:.3g}<br>%{customdata}",
    )
    return [plot.trace(key, name, rung.steps, rung.losses, **skip), tests]
