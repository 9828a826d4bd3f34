"""Losses along training, log-log, with the windows in which a power law holds."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toydepth.figures.style import GUIDE, exponent, guides, legend, log_ticks, looks, new_axes
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
    draw_trainings(axes, trainings, xlabel=xlabel, references=references)
    axes.set_title("thick: where a power law holds; ±: 95 %", fontsize=8, color=GUIDE, loc="right")
    return figure


def draw_trainings(
    axes: Axes, trainings: Sequence[Training], *, xlabel: str, references: Sequence[float]
) -> None:
    """What `loss_over_training` draws, on axes of the caller's."""
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
    start = min(np.min(training.times) for training in trainings)
    guides(axes, references, start)
    log_ticks(axes.yaxis)
    axes.set_xlabel(xlabel)
    axes.set_ylabel("loss")
    legend(axes, handles, labels, beside=len(trainings) > 4, where="lower left")
