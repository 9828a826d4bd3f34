"""How far the state turns from layer to layer, and how its updates turn."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toydepth.figures.curve import Numbers
from toydepth.figures.legends import legend
from toydepth.figures.spread import Spread, bands_note, shown
from toydepth.figures.style import (
    GUIDE,
    LAYER,
    SMALL,
    STEP,
    TURN,
    WIDE,
    layer_axis,
    line,
    looks,
    small,
)


class Profile(NamedTuple):
    """The angles of one model, or of one rung of a ladder, in units of pi.

    `layers` places each of the L steps on the x axis: l or, to compare depths, l / L.
    `states` holds theta(h_l, h_l+1) of each step; `updates` holds theta(dh_l, dh_l+1)
    of the first L - 1, each with the update that follows it.
    """

    label: str
    layers: Numbers
    states: Spread
    updates: Spread | None = None


def angles_against_layer(profiles: Sequence[Profile], *, xlabel: str = LAYER) -> Figure:
    """Angles of neighbouring states and of neighbouring updates, one line per profile.

    This is figure 2 of arXiv 2602.05970. Lines are means over tokens. Bands of many
    profiles would hide each other: one or two have all of theirs, three the narrow
    ones, more have none. The level 1/2, orthogonal, is left out of a panel whose angles
    are all below 1/4, which it would flatten. Raises ValueError if there is nothing to
    draw or if lengths differ.
    """
    profiles = [profile for profile in profiles if len(profile.layers)]
    if not profiles:
        raise ValueError("no profile holds a layer: there is nothing to draw")
    for profile in profiles:
        count = len(profile.layers)
        if not profile.states.fits(count):
            raise ValueError(f"the profile of {profile.label}: its angles and layers differ")
        if profile.updates is not None and not profile.updates.fits(count - 1):
            raise ValueError(
                f"the profile of {profile.label}: its update angles differ from its layers less one"
            )
    panels = [("neighbouring states", STEP, [shown(p.states, len(profiles)) for p in profiles])]
    updates = [shown(profile.updates or Spread([]), len(profiles)) for profile in profiles]
    if any(len(spread.mean) for spread in updates):
        panels.append(("neighbouring updates", TURN, updates))

    beside = len(profiles) > 4
    size = (WIDE if len(panels) > 1 or beside else 4.1, 3.4)
    figure = Figure(figsize=size, dpi=200, layout="constrained")
    every_axes = figure.subplots(1, len(panels), sharex=True, squeeze=False)[0]
    level = False
    for axes, (title, ylabel, spreads) in zip(every_axes, panels, strict=True):
        handles = [
            line(axes, profile.layers[: len(spread.mean)], spread.mean, look, spread.bands())
            for profile, spread, look in zip(profiles, spreads, looks(profiles), strict=True)
        ]
        level |= _level(axes, spreads)
        layer_axis(axes, [layer for profile in profiles for layer in profile.layers], xlabel)
        axes.set_ylabel(ylabel)
        small(axes)
        axes.set_title(title, fontsize=10, loc="left")
        axes.spines[["top", "right"]].set_visible(False)
    legend(every_axes[-1], handles, [profile.label for profile in profiles], beside=beside)
    bands = bands_note(spread for *_, spreads in panels for spread in spreads)
    note = ["lines: means", *[bands] * bool(bands), *["grey level: orthogonal"] * level]
    figure.suptitle("; ".join(note), fontsize=SMALL, color=GUIDE, x=0.995, ha="right")
    return figure


def _level(axes: Axes, spreads: Sequence[Spread]) -> bool:
    """The y axis from 0, and the level 1/2 unless the angles are far below it: whether it is."""
    highest = max(spread.highest() for spread in spreads)
    if highest >= 0.25:
        axes.axhline(0.5, color=GUIDE, linewidth=0.8, zorder=1)
        highest = max(highest, 0.5)
    axes.set_ylim(0, 1.1 * highest or 1)
    return highest >= 0.25
