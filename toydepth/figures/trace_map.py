"""Where in the model a fact is recalled."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator

from toydepth.figures.curve import Numbers
from toydepth.figures.style import GUIDE, layer_axis, words

# From pale to dark, so that most of the map, where nothing is recalled, takes little ink;
# without the end near black, where steps are hard to see.
COLOUR_MAP = ListedColormap(colormaps["magma_r"](np.linspace(0, 0.85, 256)))
MISSING = "#b0b0b0"  # behind a cell that is nan

LONGEST = 18  # characters of a token's label


class Trace(NamedTuple):
    """The probability of the answer after the state of one (token, layer) was restored.

    `subject` are the places of the subject's tokens. `clean` and `corrupted` are the
    probabilities with the embeddings as they are, and with noise on the subject's.
    """

    tokens: Sequence[str]
    subject: Sequence[int]
    probability: Float[np.ndarray, "tokens layers"]
    clean: float
    corrupted: float


def trace_map(
    trace: Trace,
    *,
    answer: str = "the answer",
    layers: Numbers | None = None,
    xlabel: str = "restored layer $l$",
) -> Figure:
    """A heat map of the probability of `answer`, tokens down and layers to the right.

    This is figure 6 of arXiv 2602.05970. The subject's tokens are starred; the colour
    bar spans and marks the corrupted and the clean probability. `layers` are evenly
    spaced, 0, 1, ... if not given. Raises ValueError if there is nothing to draw, if
    lengths differ, or if a place of the subject is beyond the tokens.
    """
    probability = np.asarray(trace.probability, float)
    if not probability.size:
        raise ValueError("no token or no layer was restored: there is nothing to draw")
    places = np.asarray(range(len(probability.T)) if layers is None else layers, float)
    if probability.shape != (len(trace.tokens), len(places)):
        raise ValueError(
            f"the probabilities' shape {probability.shape} differs from tokens and layers, "
            f"{(len(trace.tokens), len(places))}"
        )
    if not set(trace.subject) <= set(range(len(trace.tokens))):
        raise ValueError(f"the subject's places {list(trace.subject)} are beyond the tokens")
    every = [*probability.flat, trace.corrupted, trace.clean]
    count = len(trace.tokens)
    figure = Figure(figsize=(6.4, max(2.4, 1.1 + 0.19 * count)), dpi=200, layout="constrained")
    axes = figure.add_subplot()
    axes.set_facecolor(MISSING)
    half = (places[-1] - places[0]) / (len(places) - 1) / 2 if len(places) > 1 else 0.5
    image = axes.imshow(
        probability,
        cmap=COLOUR_MAP,
        vmin=np.nanmin(every),
        vmax=np.nanmax(every),
        aspect="auto",
        interpolation="nearest",
        extent=(places[0] - half, places[-1] + half, count - 0.5, -0.5),
    )
    labels = [_label(token) for token in trace.tokens]
    for place in set(trace.subject):
        labels[place] += "*"
    axes.set_yticks(range(count), labels, fontsize=9)
    axes.tick_params(axis="y", length=0)
    layer_axis(axes, places, xlabel)
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(image, aspect=30, pad=0.02)
    bar.outline.set_visible(False)
    _mark(bar.ax, {"clean": trace.clean, "corrupted": trace.corrupted})
    axes.set_title(f"probability of {_label(answer)}", fontsize=10, loc="left")
    if len(trace.subject):
        axes.set_title("*: subject", fontsize=8, color=GUIDE, loc="right")
    return figure


def _label(token: str) -> str:
    """A token in one short line: blanks at its ends go, a line break reads \\n."""
    token = (token.strip(" ") or "␣").replace("\n", r"\n").replace("\t", r"\t")
    return words(token if len(token) <= LONGEST else token[: LONGEST - 1] + "…")


def _mark(axes: Axes, marks: dict[str, float]) -> None:
    """Ticks of a colour bar at the marks, named, and at round values that are not too near."""
    low, high = axes.get_ylim()
    values = list(marks.values())
    names = [f"{value:.2g} {name}" for name, value in marks.items()]
    room = 0.1 * (high - low)
    if abs(values[0] - values[1]) < room:  # one label of two lines
        room *= 1.6
        order = sorted(zip(values, names, strict=True), reverse=True)
        values, names = [float(np.mean(values))], ["\n".join(name for _, name in order)]
    for tick in MaxNLocator(5).tick_values(low, high):
        if low <= tick <= high and min(abs(tick - np.array(values))) >= room:
            values.append(tick)
            names.append(f"{tick:g}")
    axes.tick_params(labelsize=9)
    axes.yaxis.set_major_locator(FixedLocator(values))
    axes.yaxis.set_major_formatter(FixedFormatter(names))
