"""What the exponents owe to the rows left out."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from toydepth.figures.style import BEYOND, COLOURS, GUIDE, MARKERS, SMALL, within

Bounds = Float[np.ndarray, "counts"] | Sequence[float | None]


class Scan(NamedTuple):
    """One exponent at each count; `low` and `high` bound its 95 %, None where it has none.

    `universal` is the exponent to compare with, if there is one.
    """

    label: str
    values: Float[np.ndarray, "counts"] | Sequence[float]
    low: Bounds
    high: Bounds
    universal: float | None = None


def exclusion_scan(
    left_out: Int[np.ndarray, "counts"] | Sequence[int],
    scans: Sequence[Scan],
    *,
    in_use: int | None = None,
) -> Figure:
    """Each exponent against how many rows of the highest loss are left out of the fit.

    A value is nan where that fit has no such term.

    One panel per exponent; bars are 95 %, the universal exponent is dashed, and the
    count `in_use` is shaded. Raises ValueError if there is nothing to
    draw or if lengths differ.
    """
    if not scans or not len(left_out):
        raise ValueError("no exponent at any count of rows left out: there is nothing to draw")
    for scan in scans:
        if {len(numbers) for numbers in (scan.values, scan.low, scan.high)} != {len(left_out)}:
            raise ValueError(f"the scan of {scan.label}: its arrays differ from the counts")
        if not np.any(np.isfinite(np.asarray(scan.values, float))):
            raise ValueError(f"the scan of {scan.label} holds no exponent: nothing to draw")
    figure = Figure(figsize=(6.4, 1.0 + 1.6 * len(scans)), dpi=200, layout="constrained")
    every_axes = figure.subplots(len(scans), 1, sharex=True, squeeze=False)[:, 0]
    whole = True
    for i, (axes, scan) in enumerate(zip(every_axes, scans, strict=True)):
        colour = COLOURS[i % len(COLOURS)]
        values, low, high = (np.asarray(x, float) for x in (scan.values, scan.low, scan.high))
        axes.errorbar(
            left_out,
            values,
            yerr=[values - low, high - values],
            fmt=MARKERS[i % len(MARKERS)],
            color=colour,
            markersize=5,
            capsize=2,
            linewidth=1.2,
        )
        marks = values[np.isfinite(values)].tolist()
        if scan.universal is not None:
            axes.axhline(scan.universal, color=colour, linewidth=1, linestyle="--", zorder=1)
            marks.append(scan.universal)
        if in_use is not None:
            axes.axvline(in_use, color=GUIDE, alpha=0.25, linewidth=10, zorder=0)
        # A wide bar, as of a fit that hardly holds, must not flatten everything else.
        *limits, held = within(marks, np.concatenate([low, high]))
        axes.set_ylim(*limits)
        whole &= held
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_ylabel(scan.label.replace("$", r"\$"))
    every_axes[-1].set_xlabel("rows of the highest loss left out")
    margin = max(0.04 * (max(left_out) - min(left_out)), 1)
    every_axes[-1].set_xlim(min(left_out) - margin, max(left_out) + margin)
    every_axes[-1].xaxis.set_major_locator(MaxNLocator(11, integer=True, steps=[1, 2, 5, 10]))
    figure.align_ylabels()
    note = "bars: 95 %" + BEYOND * (not whole)
    if any(scan.universal is not None for scan in scans):
        note += "; dashed: universal exponents"
    if in_use is not None:
        note += f"; shaded: {in_use} rows, in use"
    every_axes[0].set_title(note, fontsize=SMALL, color=GUIDE, loc="right")
    return figure
