"""The exponent between neighbouring sizes."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from toydepth.figures.curve import Curve
from toydepth.figures.legends import finish
from toydepth.figures.style import BEYOND, GUIDE, looks, new_axes, within
from toydepth.figures.ticks import log_size_axis
from toydepth.scaling import local_alpha


def local_exponents(
    curves: Sequence[Curve], *, xlabel: str = "depth", references: Sequence[float] = (1, 3)
) -> Figure:
    """Each curve's local alpha, at the geometric mean of its two sizes; bars: 1.96 stderr.

    A power law is level. A point is hollow if a loss at either size has not
    converged. Raises ValueError if no curve holds two sizes.
    """
    figure, axes = new_axes(curves)
    handles, labels, every_size = [], [], []
    points, ends = list(references), []
    for curve, look in zip(curves, looks(curves), strict=True):
        if not len(curve.sizes):
            continue
        found = local_alpha(curve.sizes, curve.losses, curve.stderr, curve.groups)
        if not found:
            continue
        unsure = set(np.asarray(curve.sizes, float)[curve.hollow()].tolist())
        centres = np.array([np.sqrt(pair.start * pair.stop) for pair in found])
        values = np.array([pair.value for pair in found])
        hollow = np.array([pair.start in unsure or pair.stop in unsure for pair in found])
        every_size += [size for pair in found for size in (pair.start, pair.stop)]
        (handle,) = axes.plot(
            centres,
            values,
            color=look.colour,
            marker=look.marker,
            linestyle=look.line,
            linewidth=1.2,
            markersize=6,
        )
        handles.append(handle)
        labels.append(curve.label)
        errors = None if curve.stderr is None else 1.96 * np.array([pair.stderr for pair in found])
        points += values.tolist()
        if errors is not None:
            ends += [*(values - errors), *(values + errors)]
        axes.errorbar(centres, values, yerr=errors, fmt="none", ecolor=look.colour, capsize=2)
        axes.plot(
            centres[hollow],
            values[hollow],
            look.marker,
            color=look.colour,
            markerfacecolor="white",
            markersize=6,
        )
    if not every_size:
        raise ValueError("no curve holds two sizes: there is no exponent to draw")
    log_size_axis(axes, every_size, xlabel)
    for reference in references:
        axes.axhline(reference, color=GUIDE, linewidth=0.8, zorder=1)
        axes.annotate(
            f"α = {reference:g}",
            (1, reference),
            xycoords=axes.get_yaxis_transform(),
            xytext=(-2, 2),
            textcoords="offset points",
            color=GUIDE,
            fontsize=8,
            ha="right",
        )
    *limits, whole = within(points, ends)
    axes.set_ylim(*limits)
    axes.set_ylabel("local exponent α")
    finish(axes, curves, handles, labels, "bars: 95 %" + BEYOND * (not whole))
    return figure
