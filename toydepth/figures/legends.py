"""Legends that have their room, and what they say."""

import re
import textwrap
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.legend import Legend
from matplotlib.transforms import ScaledTranslation

from toydepth.figures.curve import Curve
from toydepth.figures.style import GUIDE, SMALL, words

LINE = {"beside": 30, "below": 24}  # characters of a line of a legend, elsewhere 40


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
        figure = axes.figure
        figure.set_figheight(max(figure.get_figheight(), 0.6 + height(drawn)))


def below(axes: Axes, lines: int = 1) -> dict[str, Any]:
    """Where a legend stands below axes, under an x label of so many lines."""
    down = ScaledTranslation(0, -0.28 - 0.15 * lines, axes.figure.dpi_scale_trans)
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
