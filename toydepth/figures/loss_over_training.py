"""Losses along training, log-log, with the windows in which a power law holds."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toydepth.figures.guides import guides
from toydepth.figures.legends import legend
from toydepth.figures.style import GUIDE, exponent, looks, new_axes
from toydepth.figures.ticks import log_ticks
from toydepth.scaling import Window


class Training(NamedTuple):
    """The loss of one regime along training, and the window that was found, if any."""

    label: str
    times: Float[np.ndarray, "times"] | Sequence[float]
    losses: Float[np.ndarray, "times"] | Sequence[float]
    window: Window | None = None


def loss_over_training(
    trainings: Sequence[Training], *, xlabel: str = "training steps", references=(1 / 3,)
) -> Figure:
    """Each loss against time; thick and with its exponent where a power law holds.

    Raises ValueError if there is nothing to draw.
    """
    if not trainings:
        raise ValueError("no loss along training: there is nothing to draw")
    figure, axes = new_axes(trainings)
    drawn = draw_trainings(axes, trainings, xlabel=xlabel, references=references)
    legend(axes, *drawn, beside=len(trainings) > 4)
    axes.set_title("thick: where a power law holds; ±: 95 %", fontsize=8, color=GUIDE, loc="right")
    return figure


def draw_trainings(
    axes: Axes, trainings: Sequence[Training], *, xlabel: str, references: Sequence[float]
) -> tuple[list, list[str]]:
    """What `loss_over_training` draws, on axes of the caller's; returns the legend's content."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    handles, labels = [], []
    for training, look in zip(trainings, looks(trainings), strict=True):
        times, losses = np.asarray(training.times), np.asarray(training.losses)
        style = {"color": look.colour, "linestyle": look.line}
        (handle,) = axes.plot(times, losses, linewidth=1.0, **style)
        label = training.label
        if training.window:
            there = (times >= training.window.start * 0.999) & (
                times <= training.window.stop * 1.001
            )
            axes.plot(times[there], losses[there], linewidth=4, alpha=0.5, color=look.colour)
            label += ", " + exponent(training.window.exponent)
        handles.append(handle)
        labels.append(label)
    every = np.concatenate([np.asarray(training.losses) for training in trainings])
    axes.set_ylim(every.min() / 1.3, every.max() * 1.5)
    for reference in references:
        guides(axes, [reference], _clear(axes, trainings, reference))
    for axis in (axes.xaxis, axes.yaxis):
        log_ticks(axis)
    axes.set_xlabel(xlabel)
    axes.set_ylabel("loss")
    return handles, labels


def _clear(axes: Axes, trainings: Sequence[Training], slope: float) -> float:
    """Where a guide of this slope leaves the top of the axes, to pass above every loss."""
    top, end = axes.get_ylim()[1], max(np.max(training.times) for training in trainings)
    starts = [
        np.max(
            np.asarray(training.times) * (1.3 * np.asarray(training.losses) / top) ** (1 / slope)
        )
        for training in trainings
    ]
    first = min(np.min(training.times) for training in trainings)
    return float(np.clip(max(starts), first, max(first, end / 3)))
