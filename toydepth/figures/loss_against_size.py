"""Losses and their power laws, log-log."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toydepth.figures.curve import Curve
from toydepth.figures.guides import guides
from toydepth.figures.legends import finish
from toydepth.figures.style import BEYOND, exponent, looks, new_axes, within
from toydepth.figures.ticks import log_size_axis, log_ticks


def loss_against_size(
    curves: Sequence[Curve],
    *,
    xlabel: str = "depth",
    ylabel: str = "test loss",
    references: Sequence[float] = (1, 3),
    ax: Axes | None = None,
) -> Figure:
    """Each curve's points, its fitted line with the 95 % band, and guides L ~ s^-reference.

    The legend holds alpha +- half of its 95 % interval; bars are 1.96 standard
    errors. It is drawn on `ax`, or on a figure of its own. Raises ValueError if there is nothing
    to draw.
    """
    if not any(len(curve.sizes) for curve in curves):
        raise ValueError("no curve holds a point: there is nothing to draw")
    figure, axes = new_axes(curves) if ax is None else (ax.get_figure(), ax)
    drawn = draw_losses(axes, curves, xlabel=xlabel, ylabel=ylabel, references=references)
    finish(axes, curves, *drawn)
    return figure


def draw_losses(
    axes: Axes, curves: Sequence[Curve], *, xlabel: str, ylabel: str, references: Sequence[float]
) -> tuple[list, list[str], str]:
    """What `loss_against_size` draws, on axes of the caller's; the legend's content and a note."""
    axes.set_yscale("log")
    handles, labels, ends = [], [], []
    for curve, look in zip(curves, looks(curves), strict=True):
        sizes, losses = np.asarray(curve.sizes, float), np.asarray(curve.losses, float)
        label = curve.label
        (handle,) = axes.plot(
            [],
            [],
            color=look.colour,
            marker=look.marker,
            linestyle=look.line if curve.fit else "none",
            markersize=6,
        )
        if curve.fit:
            label += ", " + exponent(curve.fit.alpha)
            grid = np.geomspace(sizes.min(), sizes.max(), 200)
            loss, low, high = curve.fit.predict(grid)
            axes.plot(grid, loss, color=look.colour, linestyle=look.line, linewidth=1.5)
            if low is not None:
                ends += [low, high]
                axes.fill_between(grid, low, high, color=look.colour, alpha=0.15, linewidth=0)
        errors = None if curve.stderr is None else 1.96 * np.asarray(curve.stderr, float)
        if errors is not None:
            ends += [losses - errors, losses + errors]
        for hollow in (False, True):
            chosen = curve.hollow() == hollow
            axes.errorbar(
                sizes[chosen],
                losses[chosen],
                yerr=None if errors is None else errors[chosen],
                fmt=look.marker,
                color=look.colour,
                markerfacecolor="white" if hollow else look.colour,
                markersize=6,
                capsize=2,
                zorder=3,
            )
        handles.append(handle)
        labels.append(label)
    points = np.concatenate([np.asarray(curve.losses, float) for curve in curves])
    ends = np.concatenate(ends) if ends else ends
    *limits, whole = within(points, ends, log=True, room=0.15, least=0.5)
    axes.set_ylim(*limits)
    log_ticks(axes.yaxis)
    every_size = np.concatenate([np.asarray(curve.sizes, float) for curve in curves])
    log_size_axis(axes, every_size, xlabel)
    axes.set_ylabel(ylabel)
    guides(axes, references, every_size.min())
    return handles, labels, "±, bars and bands: 95 %" + BEYOND * (not whole)
