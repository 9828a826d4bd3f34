"""The best loss that a budget of compute can buy."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from toydepth.figures.style import COLOURS, GUIDE
from toydepth.figures.ticks import log_ticks

WIDTH, HEIGHT = 400, 210  # the upper axes in points, about

Numbers = Float[np.ndarray, "points"] | Sequence[float]


class Frontier(NamedTuple):
    """The compute-optimal loss, parameters and tokens at each compute (FLOP), in rising order.

    `low` and `high` bound the loss's 95 %.
    """

    compute: Numbers
    loss: Numbers
    parameters: Numbers
    tokens: Numbers
    low: Numbers | None = None
    high: Numbers | None = None


class Budget(NamedTuple):
    """One planned budget, and in a few words what to train ("m 4096, l 48, D/N 21")."""

    label: str
    compute: float
    loss: float
    parameters: float
    tokens: float


def frontier(
    best: Frontier,
    *,
    budgets: Sequence[Budget] = (),
    floor: float | None = None,
    runs: tuple[Numbers, Numbers] | None = None,
) -> Figure:
    """The compute-optimal loss against compute; below it the parameters and tokens it asks for.

    The planned `budgets` are marked and labelled, `floor` is a dashed level, and
    `runs`, the compute and loss of training runs, are faint points. Raises
    ValueError if there is nothing to draw or if lengths differ.
    """
    if not len(best.compute):
        raise ValueError("the frontier holds no compute: there is nothing to draw")
    if len({len(numbers) for numbers in best if numbers is not None}) > 1:
        raise ValueError("the frontier's arrays differ in length")
    if runs is not None and len(runs[0]) != len(runs[1]):
        raise ValueError("the runs' compute and loss differ in length")
    figure = Figure(figsize=(6.4, 6.0), dpi=200, layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    alone = "o" if len(best.compute) == 1 else None
    budgets = sorted(budgets, key=lambda budget: budget.compute)
    spent = [budget.compute for budget in budgets]
    note = ["line: compute-optimal"]

    if best.low is not None and best.high is not None:
        above.fill_between(best.compute, best.low, best.high, color=COLOURS[0], alpha=0.2, lw=0)
        note.append("band: 95 %")
    above.plot(best.compute, best.loss, color=COLOURS[0], linewidth=1.5, marker=alone)
    if runs is not None and len(runs[0]):
        above.plot(
            *runs, ".", color=GUIDE, alpha=0.35, markersize=4, markeredgewidth=0, zorder=1,
            rasterized=True,
        )  # fmt: skip
        note.append("grey: training runs")
    losses = [budget.loss for budget in budgets]
    above.plot(spent, losses, "o", color=COLOURS[0], markeredgecolor="white", markersize=7)
    if floor is not None:
        above.axhline(floor, color=GUIDE, linewidth=0.8, linestyle="--", zorder=1)
        above.annotate(
            f"floor {floor:.3g}",
            (0, floor),
            xycoords=above.get_yaxis_transform(),
            xytext=(3, 2),
            textcoords="offset points",
            color=GUIDE,
            fontsize=8,
        )
    above.set(yscale="log", ylabel="loss")
    above.set_title("; ".join(note), fontsize=8, color=GUIDE, loc="right")

    looks = zip(("parameters N", "tokens D"), COLOURS[1:], ("-", "--"), ("s", "^"), strict=False)
    for field, (label, colour, line, marker) in zip(("parameters", "tokens"), looks, strict=True):
        below.plot(
            best.compute, getattr(best, field), color=colour, linestyle=line, linewidth=1.5,
            label=label, marker=alone and marker,
        )  # fmt: skip
        planned = [getattr(budget, field) for budget in budgets]
        below.plot(spent, planned, marker, color=colour, markeredgecolor="white", markersize=7)
    below.set(xscale="log", yscale="log", xlabel="compute C (FLOP)", ylabel="optimal N and D")
    below.legend(frameon=False, fontsize=9, handlelength=3.2, loc="upper left")
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
    log_ticks(below.xaxis)
    log_ticks(below.yaxis)
    _label(above, budgets)
    return figure


def _label(axes: Axes, budgets: Sequence[Budget]) -> None:
    """Each budget's words above and to the right of its point, in steps down to the right.

    A label stands above the next one where that is too near, so that no leader
    crosses words. The y axis grows where the labels need it. Lengths are in points.
    """
    left, right = np.log(axes.get_xlim())
    bottom, top = np.log(axes.get_ylim())
    after, above = np.inf, 0.0  # where the next label starts, and where it ends upwards
    for budget in reversed(budgets):
        at = np.log(budget.compute)
        near = (after - at) / (right - left) * WIDTH < 4.8 * len(budget.label) + 8
        height = (np.log(budget.loss) - bottom) / (top - bottom) * HEIGHT
        lift = max(12, above - height if near else 0)
        after, above = at, height + lift + 12
        axes.annotate(
            budget.label.replace("$", r"\$"),
            (budget.compute, budget.loss),
            xytext=(0, lift),
            textcoords="offset points",
            fontsize=8,
            va="bottom",
            path_effects=[withStroke(linewidth=2, foreground="white")],
            arrowprops={
                "arrowstyle": "-", "color": GUIDE, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3,
                "relpos": (0, 0),
            },
        )  # fmt: skip
        share = min((lift + 12) / HEIGHT, 0.9)
        top = max(top, bottom + (np.log(budget.loss) - bottom) / (1 - share))
    axes.set_ylim(top=np.exp(top))
    log_ticks(axes.yaxis)
