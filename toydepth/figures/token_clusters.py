"""Tokens that take the same way through the layers."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from toydepth.figures.curve import Numbers
from toydepth.figures.legends import legend
from toydepth.figures.spread import Spread, bands_note, shown
from toydepth.figures.style import GUIDE, LAYER, SMALL, STEP, WIDE, layer_axis, line, looks, small

MOST = 3000  # marks that a scatter plot can show


class Cluster(NamedTuple):
    """Tokens whose trajectories of theta(h_l, h_l+1) / pi are alike.

    `components` are the first two principal components of the trajectory of each token,
    or of a sample; `theta` is the cluster's trajectory over `layers`, in units of pi, and
    `share` its part of all tokens, 0 to 1.
    """

    label: str
    components: Float[np.ndarray, "tokens 2"]
    theta: Spread
    share: float


def trajectories(
    clusters: Sequence[Cluster],
    layers: Numbers,
    *,
    explained: tuple[float, float] | None = None,
    xlabel: str = LAYER,
) -> Figure:
    """Tokens in the plane of two principal components, and the mean way of each cluster.

    This is figure 2 of arXiv 2602.05970. `explained` are the components' shares of the
    variance, 0 to 1. Of many tokens every n-th is drawn. Raises ValueError if there
    is nothing to draw, if lengths differ, or if there are not two components.
    """
    tokens = sum(len(cluster.components) for cluster in clusters)
    if not tokens or not len(layers):
        raise ValueError("no cluster holds a token: there is nothing to draw")
    for cluster in clusters:
        if np.shape(cluster.components)[1:] != (2,) and len(cluster.components):
            raise ValueError(f"the cluster of {cluster.label}: tokens need two components each")
        if not cluster.theta.fits(len(layers)):
            raise ValueError(f"the cluster of {cluster.label}: its angles and the layers differ")
    spreads = [shown(cluster.theta, len(clusters)) for cluster in clusters]
    beside = len(clusters) > 4
    figure = Figure(figsize=(WIDE, 3.4), dpi=200, layout="constrained")
    plane, ways = figure.subplots(1, 2)
    every = -(-tokens // MOST)
    handles = []
    for cluster, spread, look in zip(clusters, spreads, looks(clusters), strict=True):
        components = np.asarray(cluster.components, float).reshape(-1, 2)
        mark = {"color": look.colour, "marker": look.marker, "linestyle": "none"}
        plane.plot(
            *components[::every].T,
            **mark,
            markersize=4,
            markeredgewidth=0,
            alpha=0.4,
            rasterized=True,
        )
        if len(components):
            plane.plot(*components.mean(0)[:, None], **mark, markersize=11, markeredgecolor="white")
        handles.append(line(ways, layers, spread.mean, look, spread.bands()))
    for axis, name in enumerate("xy"):
        part = "" if explained is None else f" ({100 * explained[axis]:.0f} % of variance)"
        plane.set(**{f"{name}label": f"component {axis + 1}{part}"})
    plane.set_title("tokens", fontsize=10, loc="left")
    ways.set_title("trajectories", fontsize=10, loc="left")
    layer_axis(ways, layers, xlabel)
    ways.set_ylabel(STEP)
    ways.set_ylim(0, 1.1 * max(spread.highest() for spread in spreads) or 1)
    for axes in (plane, ways):
        axes.spines[["top", "right"]].set_visible(False)
        small(axes)
    labels = [f"{cluster.label}, {100 * cluster.share:.0f} %" for cluster in clusters]
    legend(ways, handles, labels, beside=beside)
    bands = bands_note(spreads)
    note = ["large marks and lines: means", *[bands] * bool(bands)]
    figure.suptitle("; ".join(note), fontsize=SMALL, color=GUIDE, x=0.995, ha="right")
    return figure
