"""An exponent along training."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from toydepth.figures.style import COLOURS, GUIDE, LINES, MARKERS


class Course(NamedTuple):
    """One regime's exponent at several times; `low` and `high` bound its 95 % interval."""

    label: str
    times: Float[np.ndarray, "times"] | Sequence[float]
    values: Float[np.ndarray, "times"] | Sequence[float]
    low: Float[np.ndarray, "times"] | Sequence[float]
    high: Float[np.ndarray, "times"] | Sequence[float]


def exponent_over_training(
    courses: Sequence[Course], *, xlabel: str, references: Sequence[float] = (1, 3)
) -> Figure:
    """Alpha against training time, with bands, and level lines at the `references`.

    Raises ValueError if there is nothing to draw.
    """
    if not any(len(course.times) for course in courses):
        raise ValueError("no exponent along training: there is nothing to draw")
    figure = Figure(figsize=(6.4, 4.4), dpi=200, layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    everything = [v for course in courses for v in course.values] + list(references)
    room = 0.3 * (max(everything) - min(everything))
    for i, course in enumerate(courses):
        colour = COLOURS[i % len(COLOURS)]
        band = [np.asarray(bound, float) for bound in (course.low, course.high)]  # None is nan
        axes.fill_between(course.times, *band, color=colour, alpha=0.15, lw=0)
        axes.plot(
            course.times,
            course.values,
            color=colour,
            marker=MARKERS[i % len(MARKERS)],
            linestyle=LINES[i % len(LINES)],
            markersize=5,
            label=course.label.replace("$", r"\$"),
        )
    for reference in references:
        axes.axhline(reference, color=GUIDE, linewidth=0.8, zorder=1)
    # An early interval can be wide enough to flatten everything else.
    axes.set_ylim(min(everything) - room, max(everything) + room)
    axes.set_xlabel(xlabel)
    axes.set_ylabel("exponent α")
    axes.legend(frameon=False, fontsize=9, handlelength=3.2)
    axes.set_title("bands: 95 %", fontsize=8, color=GUIDE, loc="right")
    return figure
