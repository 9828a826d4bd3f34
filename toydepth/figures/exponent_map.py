"""An exponent over two settings."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from toydepth.figures.style import GUIDE, WIDE


class Cell(NamedTuple):
    """The exponent at one pair of settings, and whether a power law holds there."""

    x: float
    y: float
    exponent: float | None
    holds: bool


def exponent_map(
    cells: Sequence[Cell], *, xlabel: str, ylabel: str, expected: float, most: float = 1.0
) -> Figure:
    """A cell for each pair of settings: blue below `expected`, red above, grey where none is known.

    The exponent is written in the cell, bold where a power law holds. Exponents beyond `most`
    share its colour. Raises ValueError unless there are two values of each setting.
    """
    xs, ys = (sorted({getattr(cell, name) for cell in cells}) for name in ("x", "y"))
    if len(xs) < 2 or len(ys) < 2:
        raise ValueError("a map needs two values of each setting")
    table = np.full((len(ys), len(xs)), np.nan)
    size = (min(max(1.6 + 0.55 * len(xs), 4.2), WIDE), max(1.4 + 0.42 * len(ys), 2.6))
    figure = Figure(figsize=size, dpi=200, layout="constrained")
    axes = figure.add_subplot()
    for cell in cells:
        if cell.exponent is None:
            continue
        at = ys.index(cell.y), xs.index(cell.x)
        table[at] = cell.exponent
        dark = cell.exponent > (expected + most) / 2 or cell.exponent < expected / 2
        axes.text(
            *at[::-1],
            f"{cell.exponent:.2f}",
            ha="center",
            va="center",
            fontsize=8,
            fontweight="bold" if cell.holds else "normal",
            color="white" if dark else "black",
        )
    axes.set_facecolor("#DDDDDD")
    image = axes.imshow(
        np.ma.masked_invalid(table),
        cmap="RdBu_r",
        norm=TwoSlopeNorm(expected, min(0.0, expected - 1e-6), most),
        aspect="auto",
        origin="lower",
    )
    for axis, values in ((axes.xaxis, xs), (axes.yaxis, ys)):
        axis.set_ticks(range(len(values)), [f"{value:.2g}" for value in values], fontsize=8)
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    figure.colorbar(image, ax=axes, extend="both", label="exponent over\nthe last decade")
    axes.set_title("bold: a power law holds for a decade", fontsize=8, color=GUIDE, loc="right")
    return figure
