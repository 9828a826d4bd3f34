"""Thin lines of a known slope, to compare with."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from toydepth.figures.style import GUIDE


def guides(axes: Axes, references: Sequence[float], start: float) -> None:
    """A fan of thin lines s^-reference from the top of log-log axes, each named near its end."""
    right = axes.get_xlim()[1]
    bottom, top = axes.get_ylim()
    taken = _on_axes(axes)
    for slope in references:
        # Where the line leaves the axes: on the right, or through the bottom.
        end = min(right, start * (top / bottom) ** (1 / slope)) if slope > 0 else right
        ends = np.array([start, end])
        axes.plot(ends, top * (ends / start) ** -slope, color=GUIDE, linewidth=0.8, zorder=1)
        at = [start * (end / start) ** share for share in (0.9, 0.75, 0.6, 0.45)]
        at, y = _freest([(x, top * (x / start) ** -slope) for x in at], taken, axes)
        axes.text(
            at,
            y,
            f"slope −{Fraction(slope).limit_denominator(20)}",
            color=GUIDE,
            fontsize=8,
            ha="right",
            va="bottom",
            rotation=np.degrees(np.arctan(-slope * y / at)),
            rotation_mode="anchor",
            transform_rotates_text=True,
            path_effects=[withStroke(linewidth=2, foreground="white")],
        )


def _on_axes(axes: Axes) -> np.ndarray:
    """Points along the lines that are drawn on log-log axes, in points of the page."""
    found = [np.empty((0, 2))]
    for line in axes.lines:
        data = np.asarray(line.get_xydata(), float).reshape(-1, 2)
        data = data[(data > 0).all(axis=1)]
        if len(data) > 1:  # also between two points that are far apart
            steps = np.linspace(0, len(data) - 1, max(80, len(data)))
            logs = np.log(data).T
            data = np.exp([np.interp(steps, np.arange(len(data)), log) for log in logs]).T
        found.append(_on_page(axes, data))
    return np.concatenate(found)


def _on_page(axes: Axes, data: np.ndarray | Sequence[tuple[float, float]]) -> np.ndarray:
    return axes.transData.transform(data) * 72 / axes.figure.dpi


def _freest(
    places: Sequence[tuple[float, float]], taken: np.ndarray, axes: Axes
) -> tuple[float, float]:
    """The first place on a falling line above and before which a few words hide least."""
    spots = _on_page(axes, places)
    along = spots[0] - spots[-1]
    along = along / (np.hypot(*along) or 1)
    hidden = []
    for spot in spots:
        before, above = np.array([-along, [-along[1], along[0]]]) @ (taken - spot).T
        hidden.append(((-4 < before) & (before < 46) & (-3 < above) & (above < 13)).sum())
    return places[int(np.argmin(hidden))]
