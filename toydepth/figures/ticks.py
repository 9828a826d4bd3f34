"""Tick labels that keep clear of each other, whatever the size of the axes."""

from collections.abc import Sequence

import numpy as np
from matplotlib.textpath import text_to_path
from matplotlib.ticker import Formatter

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
        length = box * 72 / axes.get_figure(root=True).dpi
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
