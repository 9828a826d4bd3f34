"""A plot as data: Plotly's traces and layout, its legend, and what it says in words."""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from toydepth.report.page.looks import Look
from toydepth.results.records import Estimate
from toydepth.results.report_record import RegimeRecord
from toydepth.results.verdicts import REFERENCES

GRID, GUIDE, PAPER = "var:grid", "var:guide", "var:paper"


@dataclasses.dataclass(frozen=True)
class Plot:
    """`words` say what the plot shows to those who do not see it; `note` what was left out.

    `legend` has an entry for each thing that can be shown and hidden: the traces of its `key`
    (their legendgroup).
    """

    key: str
    title: str
    words: str
    traces: list[dict[str, Any]]
    layout: dict[str, Any]
    legend: list[dict[str, Any]]
    note: str = ""


def entry(key: str, label: str, look: Look, group: str = "", line: bool = True) -> dict[str, Any]:
    """One line of a legend."""
    return {
        "key": key,
        "label": label,
        "group": group,
        "colour": look.colour,
        "symbol": look.symbol,
        "dash": look.dash if line else None,
    }


def trace(key: str, label: str, x: Iterable, y: Iterable, **more: Any) -> dict[str, Any]:
    return {
        "type": "scatter",
        "legendgroup": key,
        "name": plain(label),
        "x": numbers(x),
        "y": numbers(y),
    } | more


def band(key: str, x: Sequence[float], low: Sequence, high: Sequence, colour: str) -> dict:
    """The area between two lines, where both are known."""
    sides = zip(x, numbers(low), numbers(high), strict=True)
    there = [(at, below, above) for at, below, above in sides if None not in (below, above)]
    back = there[::-1]
    return trace(
        key,
        "",
        [at for at, _, _ in there + back],
        [below for _, below, _ in there] + [above for _, _, above in back],
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillcolor=colour,
        hoverinfo="skip",
    )


def marks(look: Look, hollow: Sequence[bool] = (), size: int = 9) -> dict[str, Any]:
    """Plotly's marker; a hollow one has not converged. Full ones have a thin rim of paper."""
    full, rim = look.symbol, 0.75 if size > 7 else 0
    symbol, width = full, rim
    if any(hollow):
        symbol = [full + "-open" if empty else full for empty in hollow]
        width = [1.75 if empty else rim for empty in hollow]
    line = {"width": width, "color": PAPER}
    return {"symbol": symbol, "size": size, "color": look.colour, "line": line}


def bars(errors: Sequence[float | None], colour: str) -> dict[str, Any]:
    """95 % of a normal error on either side; none where the error is not known."""
    lengths = [1.96 * error if error else 0 for error in errors]
    return {"type": "data", "array": numbers(lengths), "visible": any(errors)} | _strokes(colour)


def intervals(
    values: Sequence[float],
    lows: Sequence[float | None],
    highs: Sequence[float | None],
    colour: str,
) -> dict[str, Any]:
    """Bars from low to high; none where they are not known."""
    above = [0 if high is None else high - v for v, high in zip(values, highs, strict=True)]
    below = [0 if low is None else v - low for v, low in zip(values, lows, strict=True)]
    lengths = {"array": numbers(above), "arrayminus": numbers(below)}
    return {"type": "data", "symmetric": False} | lengths | _strokes(colour)


def _strokes(colour: str) -> dict[str, Any]:
    return {"color": colour, "thickness": 1, "width": 3}


def layout(x: dict[str, Any], y: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"xaxis": axis(x), "yaxis": axis(y), "hovermode": "closest"} | more


def axis(own: dict[str, Any]) -> dict[str, Any]:
    title = {"text": own["title"], "standoff": 8}
    common = {"gridcolor": GRID, "linecolor": GUIDE, "zeroline": False, "automargin": True}
    return common | own | {"title": title}


def size_axis(title: str, sizes: Iterable[float]) -> dict[str, Any]:
    """A logarithmic axis with a tick at each size, as far as there is room on a phone."""
    sizes = sorted(set(map(float, sizes)))
    span = math.log10(sizes[-1] / sizes[0]) or 1.0
    margin = max(0.06 * span, 0.03)
    gap = span * max(0.07, 0.022 * max(len(f"{size:g}") for size in sizes))
    shown, last = [], -math.inf
    for size in sizes:
        if math.log10(size) - last >= gap:
            shown.append(size)
            last = math.log10(size)
    ends = [math.log10(sizes[0]) - margin, math.log10(sizes[-1]) + margin]
    return {
        "title": title,
        "type": "log",
        "tickvals": shown,
        "ticktext": [f"{s:g}" for s in shown],
        "range": ends,
    }


def loss_axis(title: str, losses: Iterable[float]) -> dict[str, Any]:
    """A logarithmic axis that follows the points: a wide band must not flatten them."""
    logs = [math.log10(loss) for loss in losses]
    room = 0.12 * max(max(logs) - min(logs), 0.5)
    return log_axis(title, min(logs) - room, max(logs) + room)


def log_axis(title: str, low: float, high: float) -> dict[str, Any]:
    """From 10^low to 10^high: powers of ten, or, where there are few, more between them."""
    if high - low > 2:
        ticks = {"dtick": max(1, round((high - low) / 7)), "exponentformat": "power"}
    else:  # with a format, since Plotly shortens 0.05 to 5
        ticks = {"nticks": 3, "tickformat": "~g" if low > -5 else "~e"}
    return {"title": title, "type": "log", "range": [low, high]} | ticks


def references(regimes: Iterable[RegimeRecord]) -> list[tuple[float, str]]:
    """What theory has for the regimes of a figure: of a level with several names, the first."""
    named: dict[float, str] = {}
    for axis in dict.fromkeys(regime.axis for regime in regimes):
        named |= {level: name for level, name in REFERENCES[axis] if level not in named}
    return list(named.items())


def level_axis(
    title: str, values: Iterable[float], named: Sequence[tuple[float, str]]
) -> dict[str, Any]:
    """A linear axis around the values and the exponents of the theory."""
    every = list(values) + [level for level, _ in named]
    room = 0.15 * (max(every) - min(every)) or 0.5
    return {"title": title, "range": [min(every) - room, max(every) + room]}


def levels(named: Sequence[tuple[float, str]]) -> dict[str, Any]:
    """Level lines and their names, such as the exponents of averaging and of discretisation."""
    lines = [
        {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": level, "y1": level,
         "layer": "below", "line": {"color": GUIDE, "width": 1, "dash": "dot"}}
        for level, _ in named
    ]  # fmt: skip
    names = [
        {"xref": "paper", "x": 0, "xanchor": "left", "y": level, "yanchor": "bottom",
         "text": f"{level}, {name}", "showarrow": False, "font": {"color": GUIDE, "size": 11}}
        for level, name in named
    ]  # fmt: skip
    return {"shapes": lines, "annotations": names}


def numbers(values: Iterable) -> list[float | None]:
    """Five digits, which no eye can tell from more; null for what is no number."""
    return [
        float(f"{value:.5g}") if value is not None and math.isfinite(value) else None
        for value in values
    ]


def plain(words: str) -> str:
    """Words as Plotly shows them letter by letter: it reads tags and entities in its texts."""
    words = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return words.replace("%{", "%&#123;")


def spread(count: int, most: int) -> list[int]:
    """At most `most` of `count` places, evenly, with the first and the last."""
    if count <= most:
        return list(range(count))
    return sorted({int(round(place)) for place in np.linspace(0, count - 1, most)})


def listed(sentences: Sequence[str], most: int = 6) -> str:
    """Some sentences, and how many more there are."""
    more = len(sentences) - most
    return "; ".join(sentences[:most]) + (f"; and {more} more" if more > 0 else "") + "."


def exponent(alpha: Estimate | None) -> str:
    """An exponent with its interval, in words."""
    if alpha is None:
        return "no α"
    if alpha.low is None:
        return f"α = {alpha.value:.2f} (no interval)"
    return f"α = {alpha.value:.2f} ({alpha.low:.2f} to {alpha.high:.2f})"
