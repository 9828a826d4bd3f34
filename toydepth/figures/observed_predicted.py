"""What a law predicts, against what was observed."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib import colormaps
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure

from toydepth.figures.style import COLOURS, GUIDE
from toydepth.figures.ticks import log_ticks

# Viridis without its yellow end, too pale on white.
COLOUR_MAP = ListedColormap(colormaps["viridis"](np.linspace(0, 0.92, 256)))

Rows = Float[np.ndarray, "rows"] | Sequence[float]


def observed_against_predicted(
    predicted: Rows,
    observed: Rows,
    *,
    spread: float,
    sizes: Rows | None = None,
    label: str = "",
) -> Figure:
    """Observed against predicted loss with the diagonal, and the log residuals below.

    Residuals are 100 (ln observed - ln predicted), in percent; `spread` is their
    standard deviation s in units of ln loss (0.005 is half a percent), drawn as
    lines at 0 and +-2 s. `sizes`, a positive variable named `label`, colours the
    rows on a logarithmic scale. Raises ValueError if there is nothing to draw, if
    lengths differ, or if a number is not positive.
    """
    predicted, observed = np.asarray(predicted, float), np.asarray(observed, float)
    if not len(predicted):
        raise ValueError("no predicted loss: there is nothing to draw")
    colours = None if sizes is None else np.asarray(sizes, float)
    given = [predicted, observed] + ([] if colours is None else [colours])
    if len({len(numbers) for numbers in given}) > 1:
        raise ValueError("predicted and observed losses and their sizes differ in length")
    if not all((numbers > 0).all() for numbers in given):
        raise ValueError("losses and sizes must be positive: their logarithms are drawn")

    size = (5.2, 6.6 if colours is None else 5.6)
    figure = Figure(figsize=size, dpi=200, layout="compressed")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1, 0.3))
    above.set_box_aspect(1)
    below.set_box_aspect(0.3)
    residuals = 100 * np.log(observed / predicted)
    ends = np.array([min(predicted.min(), observed.min()), max(predicted.max(), observed.max())])
    ends *= max((ends[1] / ends[0]) ** 0.05, 1.02) ** np.array([-1, 1])
    above.plot(ends, ends, color=GUIDE, linewidth=0.8, zorder=1)
    above.set(xscale="log", yscale="log", xlim=ends, ylim=ends, ylabel="observed loss")
    below.set(xlabel="predicted loss", ylabel="residual (%)")
    below.axhline(0, color=GUIDE, linewidth=0.8, zorder=1)
    for side in (-2, 2):
        below.axhline(100 * side * spread, color=GUIDE, linewidth=0.8, linestyle="--", zorder=1)
    reach = 1.15 * max(abs(residuals).max(), 250 * spread)
    if reach > 0:
        below.set_ylim(-reach, reach)
    look = {
        "c": COLOURS[0] if colours is None else colours,
        "s": 14 if len(predicted) <= 300 else 7,
        "alpha": 0.8,
        "linewidths": 0,
        "rasterized": True,
    }
    if colours is not None:
        one = colours.min() == colours.max()
        look["cmap"] = COLOUR_MAP
        look["norm"] = LogNorm(colours.min() / (1 + 0.1 * one), colours.max() * (1 + 0.1 * one))
    above.scatter(predicted, observed, **look)
    points = below.scatter(predicted, residuals, **look)
    if colours is not None:
        bar = figure.colorbar(points, ax=[above, below], label=label.replace("$", r"\$"), aspect=40)
        bar.solids.set_alpha(1)
        bar.outline.set_visible(False)
        log_ticks(bar.ax.yaxis)
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
    log_ticks(above.xaxis)
    log_ticks(above.yaxis)
    within = int((abs(residuals) <= 200 * spread).sum())
    above.set_title(
        f"dashed: ±2 s, s = {100 * spread:.2g} %; {within} of {len(residuals)} rows within",
        fontsize=8,
        color=GUIDE,
        loc="right",
    )
    return figure
