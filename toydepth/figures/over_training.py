"""An exponent along training."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from toydepth.figures.legends import legend
from toydepth.figures.style import BEYOND, GUIDE, SMALL, looks, new_axes, within


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
    figure, axes = new_axes(courses)
    handles, ends = [], []
    for course, look in zip(courses, looks(courses), strict=True):
        band = [np.asarray(bound, float) for bound in (course.low, course.high)]  # None is nan
        ends += band
        axes.fill_between(course.times, *band, color=look.colour, alpha=0.15, lw=0)
        handles += axes.plot(
            course.times,
            course.values,
            color=look.colour,
            marker=look.marker,
            linestyle=look.line,
            markersize=5,
        )
    for reference in references:
        axes.axhline(reference, color=GUIDE, linewidth=0.8, zorder=1)
    # An early interval can be wide enough to flatten everything else.
    points = [v for course in courses for v in course.values] + list(references)
    *limits, whole = within(points, np.concatenate(ends))
    axes.set_ylim(*limits)
    axes.set_xlabel(xlabel)
    axes.set_ylabel("exponent α")
    legend(axes, handles, [course.label for course in courses], beside=len(courses) > 4)
    note = "bands: 95 %" + BEYOND * (not whole)
    axes.set_title(note, fontsize=SMALL, color=GUIDE, loc="right")
    return figure
