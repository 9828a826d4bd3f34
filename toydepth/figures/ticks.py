"""Tick labels that keep clear of each other, whatever the size of the axes."""

from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.textpath import text_to_path
from matplotlib.ticker import (
    FixedFormatter,
    FixedLocator,
    Formatter,
    LogFormatterSciNotation,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
    StrMethodFormatter,
)

GAP = (0.6, 0.15)  # between labels of an x and of a y axis, in heights of the font


class Spaced(Formatter):
    """The labels of another formatter without those that would touch one before them.

    The first label has the first choice or, of `ends_first`, the first and the last. It is asked
    at every draw, when the layout has settled how long the axis is.
    """

    def __init__(self, inner: Formatter, *, ends_first: bool = False):
        self.inner = inner
        self.ends_first = ends_first

    def set_axis(self, axis) -> None:
        super().set_axis(axis)
        self.inner.set_axis(axis)

    def __call__(self, x: float, pos: int | None = None) -> str:
        return self.inner(x, pos)

    def get_offset(self) -> str:
        return self.inner.get_offset()

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        labels = list(self.inner.format_ticks(values))
        spots = self._spots(values)
        order = list(range(len(labels)))
        if self.ends_first and len(order) > 1:
            order.insert(1, order.pop())
        taken: list[tuple[float, float]] = []
        for at in order:
            if not labels[at] or not 0 <= spots[at] <= spots[-1]:
                continue
            half = self._length(labels[at]) / 2
            low, high = spots[at] - half, spots[at] + half
            if any(low < end and start < high for start, end in taken):
                labels[at] = ""
            else:
                taken.append((low, high))
        return labels

    def _spots(self, values: Sequence[float]) -> np.ndarray:
        """Where along the axis the values lie, and its end, in points."""
        axes = self.axis.axes
        box = axes.bbox.width if self.axis.axis_name == "x" else axes.bbox.height
        length = box * 72 / axes.figure.dpi
        low, high = self.axis.get_view_interval()
        scale = self.axis.get_transform().transform
        low, high, *places = scale(np.array([low, high, *values], float))
        return length * np.append((np.array(places) - low) / (high - low), 1.0)

    def _length(self, label: str) -> float:
        """What a label takes of the axis, with half of the gap on either side, in points."""
        font = self.axis.get_major_ticks(1)[0].label1.get_fontproperties()
        width, height, descent = text_to_path.get_text_width_height_descent(
            label, font, ismath="$" in label
        )
        across = self.axis.axis_name == "x"
        own = width if across else max(height, font.get_size_in_points())
        return own + GAP[not across] * font.get_size_in_points()


def log_size_axis(axes: Axes, sizes: Iterable[float], xlabel: str) -> None:
    """A logarithmic x axis with a tick at each size, labelled where there is room."""
    sizes = np.unique(np.asarray(list(sizes), float))
    axes.set_xscale("log")
    margin = max((sizes[-1] / sizes[0]) ** 0.06, 1.05)
    axes.set_xlim(sizes[0] / margin, sizes[-1] * margin)
    axes.xaxis.set_major_locator(FixedLocator(sizes))
    axes.xaxis.set_major_formatter(Spaced(FixedFormatter([f"{size:g}" for size in sizes])))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(xlabel)


def log_ticks(axis: Axis) -> None:
    """Ticks and plain labels that suit the span of a logarithmic axis, once its limits are set."""
    low, high = sorted(axis.get_view_interval())
    decades = np.log10(high / low)
    plain = 1e-4 < low and high < 2e4 and decades <= 4
    if decades > (2.4 if plain else 1.6):
        axis.set_major_locator(LogLocator())
    elif decades > 0.7:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if plain else (1, 3)))
    else:
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axis.set_minor_locator(LogLocator(subs="all") if decades > 0.7 else NullLocator())
    labels = (
        StrMethodFormatter("{x:g}") if plain else LogFormatterSciNotation(minor_thresholds=(9, 9))
    )
    axis.set_major_formatter(Spaced(labels))
    axis.set_minor_formatter(NullFormatter())
