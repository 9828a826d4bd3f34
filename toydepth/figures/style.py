"""What the figures share: colours, marks, axes."""

import io
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from toydepth.figures.curve import Numbers
from toydepth.scaling import Estimate

# Okabe and Ito's palette without its yellow, too pale on white. Marks and lines
# change along with the colour, so that a figure reads in black and white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
LINES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 3)))
GUIDE = "#767676"

# A page of one column prints 5.5 inches wide (NeurIPS, ICLR): a figure of this width, whose text
# has 8 points or more, has 6 there.
WIDE = 7.2
SMALL = 8

BEYOND = ", long ones cut"  # of the note on bars and bands, where `within` leaves out an end

# Axes of hidden states h after each layer: the angle of a step, of one update to the next.
LAYER = "layer $l$"
STEP = r"$\theta(h_l,\, h_{l+1})\,/\,\pi$"
TURN = r"$\theta(\Delta h_l,\, \Delta h_{l+1})\,/\,\pi$"


class Look(NamedTuple):
    colour: str
    marker: str
    line: str | tuple


def png(figure: Figure) -> bytes:
    """The figure as a PNG file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def looks(curves: Sequence) -> list[Look]:
    """One look per curve; the cycles differ in length, so that looks repeat late."""
    return [
        Look(COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)], LINES[i % len(LINES)])
        for i in range(len(curves))
    ]


def words(label: str) -> str:
    """A label is words, not mathematics."""
    return label.replace("$", r"\$")


def exponent(alpha: Estimate) -> str:
    """An exponent with half of its 95 % interval, for a legend."""
    if alpha.high is None:
        return f"α = {alpha.value:.2f} (no interval)"
    return f"α = {alpha.value:.2f} ± {alpha.high - alpha.value:.2f}"


def line(
    axes: Axes,
    x: Numbers,
    y: Numbers,
    look: Look,
    bands: Sequence[tuple[Numbers, Numbers]] = (),
) -> Line2D:
    """A line with its nested bands, (low, high) each, and about ten marks along it.

    Each look marks its own places, so that the marks of lines that coincide stay apart.
    """
    for low, high in bands:
        ends = (np.asarray(end, float) for end in (low, high))  # None is nan
        axes.fill_between(x, *ends, color=look.colour, alpha=0.18, linewidth=0)
    every = max(1, round(len(x) / 10))
    (drawn,) = axes.plot(
        x,
        np.asarray(y, float),
        color=look.colour,
        linestyle=look.line,
        linewidth=1.5,
        marker=look.marker,
        markevery=(MARKERS.index(look.marker) * max(1, every // 3) % every, every),
        markersize=5,
    )
    return drawn


def layer_axis(axes: Axes, layers: Iterable[float], xlabel: str) -> None:
    """An x axis of layers: whole ticks for whole layers, any for relative depths."""
    whole = all(float(layer).is_integer() for layer in layers)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=whole, steps=[1, 2, 5, 10], min_n_ticks=1))
    axes.set_xlabel(xlabel)


def within(
    points: Numbers, ends: Numbers, *, log: bool = False, room: float = 0.08, least: float = 0.0
) -> tuple[float, float, bool]:
    """Limits of an axis for points and the ends of their bars and bands, and whether it holds all.

    An end that lies farther from the points than they span, and than most ends twice, is left
    out: it must not flatten them. `room` is left around the points, in their span, which counts as
    `least` if it is less; on a logarithmic axis that is in decades.
    """
    with np.errstate(divide="ignore"):
        points, ends = (
            np.log10(np.maximum(np.asarray(x, float), 0)) if log else np.asarray(x, float)
            for x in (points, ends)
        )
    points, ends = points[np.isfinite(points)], ends[~np.isnan(ends)]
    low, high = points.min(), points.max()
    span = high - low
    beyond = np.maximum(np.maximum(low - ends, ends - high), 0)
    far = max(span, 2 * np.median(beyond)) if span and len(ends) else np.inf
    held = ends[(beyond <= far) & np.isfinite(ends)]
    bottom, top = min([low, *held]), max([high, *held])
    if len(held) < len(ends):  # room to see that they leave
        bottom = min(bottom, low - 0.3 * span) if (ends < low - far).any() else bottom
        top = max(top, high + 0.3 * span) if (ends > high + far).any() else top
    margin = room * max(span, least)
    edge = 0.04 * (top - bottom)
    bottom, top = min(bottom - edge, low - margin), max(top + edge, high + margin)
    if bottom == top:
        bottom, top = bottom - 0.1, top + 0.1
    limits = (10**bottom, 10**top) if log else (bottom, top)
    return *map(float, limits), len(held) == len(ends)


def small(axes: Axes) -> None:
    """The text of one of several panels, smaller than that of axes alone."""
    axes.tick_params(labelsize=SMALL)
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set_fontsize(9)


def new_axes(curves: Sequence) -> tuple[Figure, Axes]:
    """Axes for a talk; wider when the legend of many curves goes beside them."""
    figure = Figure(figsize=(6.4 if len(curves) <= 4 else WIDE, 4.4), dpi=200, layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes
