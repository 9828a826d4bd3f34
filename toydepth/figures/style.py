"""What the figures share: colours, marks, axes."""

import io
import re
import textwrap
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import (
    FixedFormatter,
    FixedLocator,
    LogFormatterSciNotation,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
    StrMethodFormatter,
)
from matplotlib.transforms import ScaledTranslation

from toydepth.figures.curve import Curve, Numbers
from toydepth.figures.ticks import Spaced
from toydepth.scaling import Estimate

# Okabe and Ito's palette without its yellow, too pale on white. Marks and lines
# change along with the colour, so that a figure reads in black and white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
LINES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 3)))
GUIDE = "#767676"

# A page of one column prints 5.5 inches wide (NeurIPS, ICLR): a figure of this width, whose text
# has 8 points or more, has 6 there.
WIDE = 7.2
SMALL = 8

LINE = {"beside": 30, "below": 24}  # characters of a line of a legend, elsewhere 40

# Axes of hidden states h after each layer: the angle of a step, of one update to the next.
LAYER = "layer $l$"
STEP = r"$\theta(h_l,\, h_{l+1})\,/\,\pi$"
TURN = r"$\theta(\Delta h_l,\, \Delta h_{l+1})\,/\,\pi$"


class Look(NamedTuple):
    colour: str
    marker: str
    line: str | tuple


def png(figure: Figure) -> bytes:
    """The figure as a PNG file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def looks(curves: Sequence) -> list[Look]:
    """One look per curve; the cycles differ in length, so that looks repeat late."""
    return [
        Look(COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)], LINES[i % len(LINES)])
        for i in range(len(curves))
    ]


def words(label: str) -> str:
    """A label is words, not mathematics."""
    return label.replace("$", r"\$")


def exponent(alpha: Estimate) -> str:
    """An exponent with half of its 95 % interval, for a legend."""
    if alpha.high is None:
        return f"α = {alpha.value:.2f} (no interval)"
    return f"α = {alpha.value:.2f} ± {alpha.high - alpha.value:.2f}"


def line(
    axes: Axes,
    x: Numbers,
    y: Numbers,
    look: Look,
    bands: Sequence[tuple[Numbers, Numbers]] = (),
) -> Line2D:
    """A line with its nested bands, (low, high) each, and about ten marks along it.

    Each look marks its own places, so that the marks of lines that coincide stay apart.
    """
    for low, high in bands:
        ends = (np.asarray(end, float) for end in (low, high))  # None is nan
        axes.fill_between(x, *ends, color=look.colour, alpha=0.18, linewidth=0)
    every = max(1, round(len(x) / 10))
    (drawn,) = axes.plot(
        x,
        np.asarray(y, float),
        color=look.colour,
        linestyle=look.line,
        linewidth=1.5,
        marker=look.marker,
        markevery=(MARKERS.index(look.marker) * max(1, every // 3) % every, every),
        markersize=5,
    )
    return drawn


def layer_axis(axes: Axes, layers: Iterable[float], xlabel: str) -> None:
    """An x axis of layers: whole ticks for whole layers, any for relative depths."""
    whole = all(float(layer).is_integer() for layer in layers)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=whole, steps=[1, 2, 5, 10], min_n_ticks=1))
    axes.set_xlabel(xlabel)


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
    return axes.transData.transform(data) * 72 / axes.get_figure(root=True).dpi


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


def within(
    points: Numbers, ends: Numbers, *, log: bool = False, room: float = 0.08, least: float = 0.0
) -> tuple[float, float, bool]:
    """Limits of an axis for points and the ends of their bars and bands, and whether it holds all.

    An end that lies farther from the points than they span, and than most ends twice, is left
    out: it must not flatten them. `room` is left around the points, in their span, which counts as
    `least` if it is less; on a logarithmic axis that is in decades.
    """
    with np.errstate(divide="ignore"):
        points, ends = (
            np.log10(np.maximum(np.asarray(x, float), 0)) if log else np.asarray(x, float)
            for x in (points, ends)
        )
    points, ends = points[np.isfinite(points)], ends[~np.isnan(ends)]
    low, high = points.min(), points.max()
    span = high - low
    beyond = np.maximum(np.maximum(low - ends, ends - high), 0)
    far = max(span, 2 * np.median(beyond)) if span and len(ends) else np.inf
    held = ends[(beyond <= far) & np.isfinite(ends)]
    bottom, top = min([low, *held]), max([high, *held])
    if len(held) < len(ends):  # room to see that they leave
        bottom = min(bottom, low - 0.3 * span) if (ends < low - far).any() else bottom
        top = max(top, high + 0.3 * span) if (ends > high + far).any() else top
    margin = room * max(span, least)
    edge = 0.04 * (top - bottom)
    bottom, top = min(bottom - edge, low - margin), max(top + edge, high + margin)
    if bottom == top:
        bottom, top = bottom - 0.1, top + 0.1
    limits = (10**bottom, 10**top) if log else (bottom, top)
    return *map(float, limits), len(held) == len(ends)


BEYOND = ", long ones cut"  # of the note on bars and bands, where `within` leaves out an end


def small(axes: Axes) -> None:
    """The text of one of several panels, smaller than that of axes alone."""
    axes.tick_params(labelsize=SMALL)
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set_size(9)


def new_axes(curves: Sequence) -> tuple[Figure, Axes]:
    """Axes for a talk; wider when the legend of many curves goes beside them."""
    figure = Figure(figsize=(6.4 if len(curves) <= 4 else WIDE, 4.4), dpi=200, layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def legend(
    axes: Axes, handles: Sequence, labels: Sequence[str], *, beside: bool, where: str = "best"
) -> None:
    """The legend, `where` in the axes or "below" them, or beside them when it is long."""
    labels = without_common(labels)
    places = {
        "beside": {"loc": "upper left", "bbox_to_anchor": (1.01, 1)},
        "below": below(axes),
    }
    where = "beside" if beside else where
    outside = where in places
    drawn = axes.legend(
        handles,
        [words(folded(label, LINE.get(where, 40))) for label in labels],
        frameon=False,
        fontsize=SMALL if outside else 9,
        handlelength=2.6 if where == "below" else 3.2,
        **places.get(where, {"loc": where}),
    )
    if beside:
        figure = axes.get_figure(root=True)
        figure.set_figheight(max(figure.get_figheight(), 0.6 + height(drawn)))


def below(axes: Axes, lines: int = 1) -> dict[str, Any]:
    """Where a legend stands below axes, under an x label of so many lines."""
    down = ScaledTranslation(0, -0.28 - 0.15 * lines, axes.get_figure(root=True).dpi_scale_trans)
    return {
        "loc": "upper center",
        "bbox_to_anchor": (0.45, 0),
        "bbox_transform": axes.transAxes + down,
    }


def height(drawn: Legend) -> float:
    """About how many inches a legend of small text is high."""
    texts = [text.get_text() for text in drawn.get_texts()]
    return sum(0.06 + 0.14 * (1 + text.count("\n")) for text in texts)


def without_common(labels: Sequence[str]) -> list[str]:
    """The labels of one legend without the settings (name = value) that all of them share."""
    parts = [re.split(r", (?![^(]*\))", label) for label in labels]
    if len(parts) < 2:
        return list(labels)
    common = {p for p in set.intersection(*map(set, parts)) if " = " in p and p[0] != "α"}
    return [
        ", ".join(p for p in own if p not in common) or label
        for own, label in zip(parts, labels, strict=True)
    ]


def folded(label: str, most: int) -> str:
    """A label in lines of `most` characters, not broken within an equation (α = 1.00 ± 0.02)."""
    tied = re.sub(r" (?=[=±≥≤])|(?<=[=±≥≤]) ", "\N{NO-BREAK SPACE}", label)
    # textwrap breaks at ASCII blanks only.
    lines = textwrap.wrap(tied, most, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")


def finish(
    axes: Axes, curves: Sequence[Curve], handles: list, labels: list[str], note: str
) -> None:
    """The legend, and what the marks mean."""
    legend(axes, handles, labels, beside=len(curves) > 4)
    if any(curve.hollow().any() for curve in curves):
        note += "; hollow: not converged"
    axes.set_title(note, fontsize=SMALL, color=GUIDE, loc="right")
