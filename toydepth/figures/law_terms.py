"""The parts of a fitted law, one variable at a time."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toydepth.figures.style import COLOURS, GUIDE, LINES, MARKERS, SMALL, WIDE, small
from toydepth.figures.ticks import log_ticks

BINS, MANY = 8, 12  # bins of the medians, and how many sizes each have their own


class Term(NamedTuple):
    """The part c x^-alpha of a law, and what the rows say of it.

    `partial` is each row's loss minus the floor and the other fitted parts, in the
    loss's units. `interval` bounds the exponent's 95 %, None where there is none;
    a `fixed` exponent was given, not fitted. `part` is the curve over `grid`, with
    its 95 % band from `low` to `high`.
    """

    label: str
    sizes: Float[np.ndarray, "rows"] | Sequence[float]
    partial: Float[np.ndarray, "rows"] | Sequence[float]
    exponent: float
    interval: tuple[float, float] | None
    fixed: bool
    grid: Float[np.ndarray, "grid"] | Sequence[float]
    part: Float[np.ndarray, "grid"] | Sequence[float]
    low: Float[np.ndarray, "grid"] | Sequence[float] | None = None
    high: Float[np.ndarray, "grid"] | Sequence[float] | None = None


def terms(panels: Sequence[Term], *, ylabel: str = "loss minus the other parts") -> Figure:
    """One log-log panel per variable: rows, medians of bins, and the fitted part.

    This is figure 2f of arXiv 2602.05970. The y axis is shared, so that heights
    compare. Medians count every row, also those that a logarithm cannot show: these
    lie as a rug at the bottom, and the note says how many. Raises ValueError if
    there is nothing to draw or if lengths differ.
    """
    if not panels or not any(len(term.sizes) for term in panels):
        raise ValueError("no term holds a row: there is nothing to draw")
    for term in panels:
        lines = [line for line in (term.part, term.low, term.high) if line is not None]
        if len(term.sizes) != len(term.partial) or any(len(x) != len(term.grid) for x in lines):
            raise ValueError(f"the term of {term.label}: its arrays differ in length")
    width = min(max(4.4, 2.6 * len(panels) + 0.6), WIDE)
    figure = Figure(figsize=(width, 3.4), dpi=200, layout="constrained")
    every_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    bottom, top = _limits(panels)
    for i, (axes, term) in enumerate(zip(every_axes, panels, strict=True)):
        axes.spines[["top", "right"]].set_visible(False)
        small(axes)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(bottom, top)
        _panel(axes, term, i, bottom)
        axes.set_xlabel(term.label.replace("$", r"\$"))
        log_ticks(axes.xaxis)
    log_ticks(every_axes[0].yaxis)
    every_axes[0].set_ylabel(ylabel.replace("$", r"\$"))
    figure.align_xlabels()
    note = "large marks: medians"
    if any(term.interval is not None or term.low is not None for term in panels):
        note += "; ± and bands: 95 %"
    figure.suptitle(note, fontsize=SMALL, color=GUIDE, x=0.995, ha="right")
    return figure


def _limits(panels: Sequence[Term]) -> tuple[float, float]:
    """Room for the curves and the rows, but not for a row that happens to be almost zero."""
    parts = np.concatenate([np.asarray(term.part, float) for term in panels])
    rows = np.concatenate([np.asarray(term.partial, float) for term in panels])
    parts, rows = parts[parts > 0], rows[rows > 0]
    shown = np.concatenate([parts, rows])
    if not len(shown):
        return 0.1, 1.0
    bottom = max(shown.min(), parts.min() / 3) if len(parts) else shown.min()
    return bottom / 1.6, shown.max() * 1.6


def _panel(axes: Axes, term: Term, i: int, bottom: float) -> None:
    colour = COLOURS[i % len(COLOURS)]
    sizes, partial = np.asarray(term.sizes, float), np.asarray(term.partial, float)
    above = partial >= bottom
    few = len(sizes) <= 300
    axes.plot(
        sizes[above],
        partial[above],
        ".",
        color=colour,
        alpha=0.5 if few else 0.2,
        markersize=5.5 if few else 4.5,
        markeredgewidth=0,
        rasterized=True,
    )
    axes.plot(
        sizes[~above],
        np.full((~above).sum(), 0.025),
        "|",
        color=colour,
        alpha=0.6,
        markersize=6,
        transform=axes.get_xaxis_transform(),
        rasterized=True,
    )
    if term.low is not None and term.high is not None:
        axes.fill_between(term.grid, term.low, term.high, color=colour, alpha=0.2, linewidth=0)
    (line,) = axes.plot(
        term.grid, term.part, color=colour, linestyle=LINES[i % len(LINES)], linewidth=1.5
    )
    axes.plot(
        *_medians(sizes, partial),
        MARKERS[i % len(MARKERS)],
        color=colour,
        markeredgecolor="white",
        markersize=6.5,
        zorder=3,
    )
    axes.legend(
        [line],
        [_exponent(term)],
        frameon=False,
        fontsize=SMALL,
        handlelength=1.6,
        loc="upper right",
    )
    zero, tiny = int((partial <= 0).sum()), int(((partial > 0) & ~above).sum())
    rug = [f"{zero} ≤ 0"] * bool(zero) + [f"{tiny} below the axis"] * bool(tiny)
    if rug:
        axes.set_title("rug: " + ", ".join(rug), fontsize=SMALL, color=GUIDE, loc="right")


def _medians(
    sizes: Float[np.ndarray, "rows"], partial: Float[np.ndarray, "rows"]
) -> tuple[Float[np.ndarray, "bins"], Float[np.ndarray, "bins"]]:
    """Medians of size and partial loss per size or, of many sizes, in bins of about as many rows.

    Rows of one size share a bin. Medians that are not positive are left out.
    """
    distinct, which = np.unique(sizes, return_inverse=True)
    if len(distinct) > MANY:
        edges = np.unique(np.quantile(sizes, np.linspace(0, 1, BINS + 1)[1:-1]))
        which = np.searchsorted(edges, sizes)
    pairs = [
        (np.median(sizes[which == b]), np.median(partial[which == b])) for b in np.unique(which)
    ]
    x, y = np.array(pairs).reshape(-1, 2).T
    return x[y > 0], y[y > 0]


def _exponent(term: Term) -> str:
    if term.fixed:
        return f"α = {term.exponent:.3g} (fixed)"
    if term.interval is None:
        return f"α = {term.exponent:.2f} (no interval)"
    half = (term.interval[1] - term.interval[0]) / 2
    digits = 3 if half < 0.01 else 2
    return f"α = {term.exponent:.{digits}f} ± {half:.{digits}f}"
