"""Alpha against what the teachers' layers are drawn by, from independent to shared ones."""

import math
from collections.abc import Sequence
from typing import Any

from toydepth.report.page import plot
from toydepth.report.page.looks import look
from toydepth.report.page.plot import Plot
from toydepth.results.report_record import Crossover
from toydepth.results.verdicts import REFERENCES

BEYOND = 0.5  # decades by which a limit stands beyond the others
LABELS = 8  # on an axis, as far as there is room on a phone
NAMES = {"rho": "ρ", "correlation_length": "correlation length"}
TITLES = {
    "rho": "correlation ρ of the teacher’s layers",
    "correlation_length": "correlation length of the teacher’s layers",
}


def crossings(series: Sequence[Crossover]) -> list[Plot]:
    """One plot for each series of the report's crossovers."""
    return [_of(number, its) for number, its in enumerate(series)]


def _of(number: int, its: Crossover) -> Plot:
    """The exponent of all depths, with its interval, and those of neighbouring ones."""
    values = [float(value) for value in its.values]
    places, name = _places(values, its.axis), NAMES[its.axis]
    words = ["∞" if math.isinf(value) else f"{value:g}" for value in values]
    rows = list(zip(places, words, its.alpha, its.local_alpha, strict=True))
    known = [(place, word, alpha) for place, word, alpha, _ in rows if alpha]
    traces, legend = [], []

    def draw(key: str, label: str, points: list[tuple[float, str, float]], **more: Any) -> None:
        own = look(len(legend))
        traces.append(
            plot.trace(
                key,
                label,
                [place for place, _, _ in points],
                [value for _, _, value in points],
                mode="lines+markers",
                line={"color": own.colour, "dash": own.dash, "width": 1.5},
                marker=plot.marks(own, size=7),
                customdata=[word for _, word, _ in points],
                hovertemplate=f"{label}, {name} = %{{customdata}}: α = %{{y:.2f}}",
                **more,
            )
        )
        legend.append(plot.entry(key, label, own))

    if known:
        ends = ([getattr(alpha, end) for _, _, alpha in known] for end in ("value", "low", "high"))
        bars = plot.intervals(*ends, look(0).colour)
        points = [(place, word, alpha.value) for place, word, alpha in known]
        draw("all", "every depth", points, error_y=bars)
    pairs = sorted({(p.start, p.stop) for _, _, _, local in rows for p in local})
    for start, stop in pairs:
        points = [
            (place, word, pair.value)
            for place, word, _, local in rows
            for pair in local
            if (pair.start, pair.stop) == (start, stop)
        ]
        draw(f"l{start:g}", f"depth {start:g} to {stop:g}", points)
    named = REFERENCES["depth"]
    every = [value for trace in traces for value in trace["y"] if value is not None]
    shown = plot.spread(len(places), LABELS)
    x = {
        "title": TITLES[its.axis],
        "tickvals": [places[place] for place in shown],
        "ticktext": [words[place] for place in shown],
    }
    told = [f"{alpha.value:.2f} at {name} = {word}" for _, word, alpha in known]
    title = f"Alpha against {name}" + (f": {its.label}" if its.label else "")
    return Plot(
        f"crossover{number}",
        title,
        f"{its.sentence}. " + plot.listed(told, LABELS),
        traces,
        plot.layout(x, plot.level_axis("exponent α", every, named), **plot.levels(named)),
        legend,
        f"{its.sentence[0].upper()}{its.sentence[1:]}. The crossover moves with depth: "
        "fine students see the noise that coarse ones do not. Bars: 95 %.",
    )


def _places(values: Sequence[float], axis: str) -> list[float]:
    """-log10(1 - rho), or the log10 of a length; a limit stands beyond the others."""
    inner = {
        value: -math.log10(1 - value) if axis == "rho" else math.log10(value)
        for value in values
        if 0 < value < (1 if axis == "rho" else math.inf)
    }
    low, high = (min(inner.values()), max(inner.values())) if inner else (0.0, 0.0)
    first = 0.0 if axis == "rho" else low - BEYOND
    return [inner.get(value, first if value == 0 else high + BEYOND) for value in values]
