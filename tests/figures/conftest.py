"""Every figure that a test of this folder draws must be fit to print."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.text import Text

PAGE, LEAST = 5.5, 6  # inches of text on a page of one column; points of its smallest letters


@pytest.fixture(autouse=True)
def fit_to_print(monkeypatch):
    """Looks for what one would not publish, once the test is done."""
    found = {}  # of each figure, as it was last drawn
    begin, draw = Figure.__init__, Figure.draw

    def recorded(self, *args, **kwargs):
        begin(self, *args, **kwargs)
        found[self] = None

    def noted(self, renderer):
        drawn = draw(self, renderer)
        found[self] = list(faults(self))
        return drawn

    monkeypatch.setattr(Figure, "__init__", recorded)
    monkeypatch.setattr(Figure, "draw", noted)
    yield
    for figure, known in list(found.items()):
        if known is None:
            figure.draw_without_rendering()
    assert not any(found.values()), "\n".join(fault for known in found.values() for fault in known)


def faults(figure):
    """What is wrong with a figure as it is drawn, in a line each."""
    yield from overlaps(figure)
    yield from cut_words(figure)
    yield from tiny_words(figure)
    yield from cut_ends(figure)
    yield from hidden_marks(figure)


def labels(axis):
    """The tick labels that are drawn."""
    scale = axis.get_transform().transform
    low, high = sorted(scale(axis.get_view_interval()))
    near = 1e-6 * (high - low)
    for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
        (at,) = scale(np.array([tick.get_loc()], float))
        for label in (tick.label1, tick.label2):
            there = low - near <= at <= high + near
            if there and tick.get_visible() and label.get_visible() and label.get_text():
                yield label


def ticks(figure):
    return [
        [label for axis in (axes.xaxis, axes.yaxis) for label in labels(axis)]
        for axes in figure.axes
        if axes.axison
    ]


def overlaps(figure):
    for shown in ticks(figure):
        boxes = [label.get_window_extent() for label in shown]
        for i, one in enumerate(boxes):
            for k in range(i):
                if one.overlaps(boxes[k]):
                    yield f"the labels {shown[k].get_text()} and {shown[i].get_text()} overlap"


def words(figure):
    """Every text that is drawn."""
    of_axes = [text for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)
               for text in axis.findobj(Text)]  # fmt: skip
    shown = {id(label) for one in ticks(figure) for label in one}
    shown |= {id(axis.label) for a in figure.axes if a.axison for axis in (a.xaxis, a.yaxis)}
    drawn = {id(text) for text in of_axes} - shown
    for text in figure.findobj(Text):
        if id(text) not in drawn and text.get_visible() and text.get_text().strip():
            yield text


def cut_words(figure):
    width, height = figure.bbox.size
    for text in words(figure):
        box = Text.get_window_extent(text)  # of an annotation without its arrow
        if min(box.x0, box.y0, width - box.x1, height - box.y1) < -1:
            yield f"{text.get_text()!r} leaves the figure"


def tiny_words(figure):
    shrunk = min(1, PAGE / figure.get_figwidth())
    for text in words(figure):
        if text.get_fontsize() * shrunk < LEAST:
            yield f"{text.get_text()!r} has {text.get_fontsize() * shrunk:.1f} points in print"


def ends(axes):
    """The heights of the ends of bars and of the rims of bands."""
    for drawn in axes.collections:
        if isinstance(drawn, LineCollection):
            yield from (y for segment in drawn.get_segments() if len(segment)
                        for y in segment[:, 1])  # fmt: skip
        elif isinstance(drawn, PolyCollection):
            yield from (y for path in drawn.get_paths() for y in path.vertices[:, 1])


def cut_ends(figure):
    notes = [figure.get_suptitle(), *(axes.get_title(loc="right") for axes in figure.axes)]
    if any("long ones cut" in note for note in notes):
        return
    for axes in figure.axes:
        low, high = axes.get_ylim()
        near = 1e-9 * abs(high - low)
        for y in ends(axes):
            if np.isfinite(y) and not low - near <= y <= high + near:
                yield f"a bar or a band ends at {y:.3g}, beyond {low:.3g} to {high:.3g}"
                break


def hidden_marks(figure):
    for axes in figure.axes:
        key = axes.get_legend()
        if key is None:
            continue
        boxes = [text.get_window_extent() for text in key.get_texts()]
        for line in axes.lines:
            if line.get_marker() in ("None", "", None) or not len(line.get_xdata()):
                continue
            spots = line.get_transform().transform(np.asarray(line.get_xydata(), float))
            if any(box.contains(*spot) for box in boxes for spot in spots):
                yield f"the legend of {axes.get_xlabel()} hides marks"
