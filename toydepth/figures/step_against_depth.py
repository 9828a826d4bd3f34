"""How the step of a middle layer shrinks with depth."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from toydepth.figures.guides import guides
from toydepth.figures.legends import legend
from toydepth.figures.style import (
    BEYOND,
    COLOURS,
    GUIDE,
    SMALL,
    STEP,
    exponent,
    looks,
    new_axes,
    within,
)
from toydepth.figures.ticks import log_size_axis, log_ticks
from toydepth.scaling import PowerLaw

BLACK = COLOURS[-1]


class Step(NamedTuple):
    """The mean middle step of one model, theta(h_l, h_l+1) / pi; `low` and `high` bound its 95 %.

    `label` names the model or its family: steps of one label share a look.
    """

    label: str
    depth: float
    theta: float
    low: float | None = None
    high: float | None = None


def step_against_depth(
    points: Sequence[Step],
    fit: PowerLaw | None = None,
    *,
    xlabel: str = "depth",
    references: Sequence[float] = (1,),
) -> Figure:
    """Each model's step with its bar, the fitted law with its 95 % band, and guides, log-log.

    The models of arXiv 2602.05970 step by depth^-1. The legend holds the exponent +-
    half of its 95 % interval; guides fall as depth^-reference. Raises ValueError if
    there is nothing to draw or if a depth or a step is not positive.
    """
    if not points:
        raise ValueError("no model has a step: there is nothing to draw")
    if not all(point.depth > 0 and point.theta > 0 for point in points):
        raise ValueError("depths and steps must be positive: their logarithms are drawn")
    families = list(dict.fromkeys(point.label for point in points))
    labels = families + (["fit, " + exponent(fit.alpha)] if fit else [])
    figure, axes = new_axes(labels)
    axes.set_yscale("log")
    handles, ends = [], []
    for family, look in zip(families, looks(families), strict=True):
        chosen = [point for point in points if point.label == family]
        # A missing bound draws no bar, and a logarithm has no place for one at 0.
        depth, theta, low, high = np.array([point[1:] for point in chosen], float).T
        ends += [low, high]
        bars = np.maximum([theta - np.maximum(low, theta / 1e3), high - theta], 0)
        axes.errorbar(
            depth, theta, yerr=bars, fmt="none", ecolor=look.colour, capsize=2, linewidth=1.2
        )
        handles += axes.plot(
            depth,
            theta,
            look.marker,
            color=look.colour,
            markersize=7,
            markeredgecolor="white",
            markeredgewidth=0.6,
            zorder=3,
        )
    depths = np.array([point.depth for point in points], float)
    thetas = np.array([point.theta for point in points], float)
    if fit:
        grid = np.geomspace(depths.min(), depths.max(), 200)
        theta, low, high = fit.predict(grid)
        handles += axes.plot(grid, theta, color=BLACK, linewidth=1.5)
        if low is not None:
            ends += [low, high]
            axes.fill_between(grid, low, high, color=BLACK, alpha=0.12, linewidth=0)
        thetas = np.concatenate([thetas, theta])
    *limits, whole = within(thetas, np.concatenate(ends), log=True, room=0.2, least=0.5)
    axes.set_ylim(*limits)
    log_size_axis(axes, depths, xlabel)
    log_ticks(axes.yaxis)
    axes.set_ylabel("mean middle step " + STEP)
    if depths.max() > depths.min():
        guides(axes, references, depths.min())
    legend(axes, handles, labels, beside=len(labels) > 4)
    note = "bars" * any(point.low is not None for point in points)
    if fit and fit.alpha.high is not None:
        note = "±, bars and band" if note else "± and band"
    note = note and f"{note}: 95 %" + BEYOND * (not whole)
    axes.set_title(note, fontsize=SMALL, color=GUIDE, loc="right")
    return figure
