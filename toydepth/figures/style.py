"""What the figures share: colours, marks, axes."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import (
    FixedFormatter,
    FixedLocator,
    LogFormatterSciNotation,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
    StrMethodFormatter,
)

from toydepth.figures.curve import Curve

# Okabe and Ito's palette without its yellow, too pale on white. Marks and lines
# change along with the colour, so that a figure reads in black and white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")
LINES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 3)))
GUIDE = "#767676"


class Look(NamedTuple):
    colour: str
    marker: str
    line: str | tuple


def looks(curves: Sequence[Curve]) -> list[Look]:
    """One look per curve; the cycles differ in length, so that looks repeat late."""
    return [
        Look(COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)], LINES[i % len(LINES)])
        for i in range(len(curves))
    ]


def log_size_axis(axes: Axes, sizes: Iterable[float], xlabel: str) -> None:
    """A logarithmic x axis with a tick at each size, labelled where there is room."""
    sizes = np.unique(np.asarray(list(sizes), float))
    axes.set_xscale("log")
    margin = max((sizes[-1] / sizes[0]) ** 0.06, 1.05)
    axes.set_xlim(sizes[0] / margin, sizes[-1] * margin)
    room = 0.055 * np.log(sizes[-1] / sizes[0])
    labels, last = [], -np.inf
    for size in sizes:
        shown = np.log(size) - last >= room
        labels.append(f"{size:g}" if shown else "")
        last = np.log(size) if shown else last
    axes.xaxis.set_major_locator(FixedLocator(sizes))
    axes.xaxis.set_major_formatter(FixedFormatter(labels))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(xlabel)


def log_ticks(axis: Axis) -> None:
    """Ticks and plain labels that suit the span of a logarithmic axis, once its limits are set."""
    low, high = sorted(axis.get_view_interval())
    decades = np.log10(high / low)
    plain = 1e-4 < low and high < 2e4 and decades <= 4
    if decades > (2.4 if plain else 1.6):
        axis.set_major_locator(LogLocator())
    elif decades > 0.7:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if plain else (1, 3)))
    else:
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axis.set_minor_locator(LogLocator(subs="all") if decades > 0.7 else NullLocator())
    axis.set_major_formatter(
        StrMethodFormatter("{x:g}") if plain else LogFormatterSciNotation(minor_thresholds=(9, 9))
    )
    axis.set_minor_formatter(NullFormatter())


def new_axes(curves: Sequence[Curve]) -> tuple[Figure, Axes]:
    """Axes for a talk; wider when the legend of many curves goes beside them."""
    figure = Figure(
        figsize=(6.4, 4.4) if len(curves) <= 4 else (9.6, 4.4), dpi=200, layout="constrained"
    )
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def finish(
    axes: Axes, curves: Sequence[Curve], handles: list, labels: list[str], note: str
) -> None:
    """The legend, and what the marks mean."""
    labels = [label.replace("$", r"\$") for label in labels]  # a label is words, not mathematics
    if len(curves) <= 4:
        axes.legend(handles, labels, frameon=False, fontsize=9, handlelength=3.2)
    else:
        axes.legend(
            handles,
            labels,
            frameon=False,
            fontsize=8,
            handlelength=3.2,
            loc="upper left",
            bbox_to_anchor=(1.01, 1),
        )
    if any(curve.hollow().any() for curve in curves):
        note += "; hollow: not converged"
    axes.set_title(note, fontsize=8, color=GUIDE, loc="right")
