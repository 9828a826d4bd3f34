"""What another shape costs."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from toydepth.figures.style import COLOURS, GUIDE, LINES, MARKERS
from toydepth.figures.ticks import log_ticks

Numbers = Float[np.ndarray, "shapes"] | Sequence[float]


class ShapePrice(NamedTuple):
    """The compute that each shape needs, in times the compute of the best shape.

    `ratios` are width over depth, m/l, in rising order; `low` and `high` bound the factor's 95 %.
    """

    label: str
    ratios: Numbers
    factors: Numbers
    low: Numbers | None = None
    high: Numbers | None = None


def shape_price(prices: Sequence[ShapePrice]) -> Figure:
    """Compute factor against aspect ratio m/l, one line per budget, its least marked.

    Raises ValueError if there is nothing to draw or if lengths differ.
    """
    if not any(len(price.ratios) for price in prices):
        raise ValueError("no price holds a shape: there is nothing to draw")
    for price in prices:
        if len({len(numbers) for numbers in price[1:] if numbers is not None}) > 1:
            raise ValueError(f"the price of {price.label}: its arrays differ in length")
    figure = Figure(figsize=(6.4, 4.4), dpi=200, layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.axhline(1, color=GUIDE, linewidth=0.8, zorder=1)
    for i, price in enumerate(prices):
        if not len(price.ratios):
            continue
        colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
        if price.low is not None and price.high is not None:
            axes.fill_between(price.ratios, price.low, price.high, color=colour, alpha=0.15, lw=0)
        least = int(np.argmin(price.factors))
        last = len(price.ratios) - 1
        sign = "=" if 0 < least < last or not last else "≥" if least else "≤"
        axes.plot(
            price.ratios,
            price.factors,
            color=colour,
            linestyle=LINES[i % len(LINES)],
            linewidth=1.5,
            marker=marker,
            markevery=[least],
            markeredgecolor="white",
            markersize=8,
            label=f"{price.label}: best m/l {sign} {price.ratios[least]:.3g}".replace("$", r"\$"),
        )
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="aspect ratio m/l",
        ylabel="compute, times the best shape's",
    )
    for axis in (axes.xaxis, axes.yaxis):
        log_ticks(axis)
    axes.legend(frameon=False, fontsize=9, handlelength=3.2, loc="best")
    if any(price.low is not None for price in prices):
        axes.set_title("bands: 95 %", fontsize=8, color=GUIDE, loc="right")
    return figure
