"""An exponent between two regimes, and where along the sizes it changes."""

import math
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator

from toydepth.figures.legends import below
from toydepth.figures.style import GUIDE, LINES, MARKERS, SMALL, WIDE, small
from toydepth.figures.ticks import Spaced, log_size_axis
from toydepth.scaling import Estimate, LocalAlpha

STEP = 0.5  # how far beyond the others a limit stands, in decades
PALEST = 0.72  # of a sequential map: what is beyond is too pale on white


class Crossing(NamedTuple):
    """One value between the regimes: the exponent of all sizes, and those of neighbouring ones."""

    value: float
    alpha: Estimate | None
    local: Sequence[LocalAlpha]


def exponent_over_correlation(
    crossings: Sequence[Crossing],
    *,
    name: str = "rho",
    xlabel: str | None = None,
    size: str = "depth",
    references: Sequence[float] = (1, 3),
) -> Figure:
    """Left: exponents against a correlation, that of all sizes and the local ones. Right: the
    local exponents against size, a line for each value. Bars: 95 %.

    With `name="rho"` the values lie in [0, 1] and the axis is -log10(1 - rho); with any other
    they are lengths in [0, inf] on a logarithmic axis. Values at a limit, where that is infinite,
    stand half a decade beyond the others. Raises ValueError if there is nothing to draw.
    """
    crossings = sorted(crossings, key=lambda crossing: crossing.value)
    if not any(crossing.local for crossing in crossings):
        raise ValueError("no exponent between two sizes: there is nothing to draw")
    figure = Figure(figsize=(WIDE, 3.8), dpi=200, layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        small(axes)
        for reference in references:
            axes.axhline(reference, color=GUIDE, linewidth=0.8, zorder=1)
    places = _places([crossing.value for crossing in crossings], name == "rho")
    left.set_xlabel(textwrap.fill(xlabel or name, 46))
    _against_value(left, crossings, places, size)
    _value_axis(left, [crossing.value for crossing in crossings], places)
    left.set_ylabel("exponent α")
    _against_size(right, crossings, name)
    log_size_axis(right, {s for c in crossings for p in c.local for s in (p.start, p.stop)}, size)
    right.set_ylabel("local exponent α")
    right.set_title("bars: 95 %", fontsize=SMALL, color=GUIDE, loc="right")
    return figure


def _places(values: Sequence[float], rho: bool) -> np.ndarray:
    with np.errstate(divide="ignore"):
        places = -np.log10(1 - np.asarray(values)) if rho else np.log10(values)
    finite = places[np.isfinite(places)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
    return np.clip(places, low - STEP, high + STEP)


def _value_axis(axes: Axes, values: Sequence[float], places: np.ndarray) -> None:
    """A tick at each value, labelled where there is room; the ends first."""
    labels = ["∞" if math.isinf(value) else f"{value:g}" for value in values]
    axes.xaxis.set_major_locator(FixedLocator(places))
    axes.xaxis.set_major_formatter(Spaced(FixedFormatter(labels), ends_first=True))


def _against_value(
    axes: Axes, crossings: Sequence[Crossing], places: np.ndarray, size: str
) -> None:
    pairs = sorted({(pair.start, pair.stop) for crossing in crossings for pair in crossing.local})
    for place, (start, stop) in enumerate(pairs):
        found = [
            (at, pair.value)
            for at, crossing in zip(places, crossings, strict=True)
            for pair in crossing.local
            if (pair.start, pair.stop) == (start, stop)
        ]
        axes.plot(
            *zip(*found, strict=True),
            color=_shade("plasma", place, len(pairs)),
            marker=MARKERS[(place + 1) % len(MARKERS)],
            linestyle=LINES[(place + 1) % len(LINES)],
            linewidth=1.2,
            markersize=4,
            label=f"{size} {start:g} to {stop:g}",
        )
    known = [(at, c.alpha) for at, c in zip(places, crossings, strict=True) if c.alpha]
    if known:
        at, alphas = zip(*known, strict=True)
        bars = [0 if a.high is None else a.high - a.value for a in alphas]
        axes.errorbar(
            at,
            [alpha.value for alpha in alphas],
            yerr=bars,
            color="black",
            marker="o",
            markersize=5,
            linewidth=1.8,
            capsize=3,
            zorder=3,
            label=f"every {size}",
        )
    axes.legend(
        frameon=False,
        fontsize=SMALL,
        handlelength=3.2,
        ncols=2,
        **below(axes, 1 + axes.get_xlabel().count("\n")),
    )


def _against_size(axes: Axes, crossings: Sequence[Crossing], name: str) -> None:
    for place, crossing in enumerate(crossings):
        if not crossing.local:
            continue
        errors = [1.96 * pair.stderr if pair.stderr else 0 for pair in crossing.local]
        axes.errorbar(
            [math.sqrt(pair.start * pair.stop) for pair in crossing.local],
            [pair.value for pair in crossing.local],
            yerr=errors,
            color=_shade("viridis", place, len(crossings)),
            marker=MARKERS[place % len(MARKERS)],
            linestyle=LINES[place % len(LINES)],
            linewidth=1.2,
            markersize=4,
            capsize=2,
            label="∞" if math.isinf(crossing.value) else f"{crossing.value:g}",
        )
    # From the top down, as the lines mostly lie.
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(
        handles[::-1],
        labels[::-1],
        title=name,
        frameon=False,
        fontsize=SMALL,
        title_fontsize=SMALL,
        loc="upper left",
        bbox_to_anchor=(1.01, 1),
        handlelength=3.2,
    )


def _shade(name: str, place: int, count: int) -> tuple:
    """One of `count` colours of a sequential map, without its pale end."""
    colours: Colormap = matplotlib.colormaps[name]
    return colours(PALEST * place / max(1, count - 1))
