"""What the model would say after each layer."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.figure import Figure

from toydepth.figures.curve import Numbers
from toydepth.figures.legends import legend
from toydepth.figures.style import GUIDE, LAYER, layer_axis, line, looks, new_axes


class ReadOut(NamedTuple):
    """The cross-entropy of one model's read-out after each layer, in nats per token.

    `layers` is l or, to compare depths, l / L. `low` and `high` bound the loss's 95 %;
    `own` is the loss of the whole model.
    """

    label: str
    layers: Numbers
    loss: Numbers
    low: Numbers | None = None
    high: Numbers | None = None
    own: float | None = None


def read_out(models: Sequence[ReadOut], *, xlabel: str = LAYER) -> Figure:
    """The loss read out after layer l against l, and each model's own loss, dashed.

    The state after layer l goes through the last block, the final norm and the head
    (arXiv 2602.05970). Raises ValueError if there is nothing to draw or if lengths differ.
    """
    models = [model for model in models if len(model.layers)]
    if not models:
        raise ValueError("no read-out holds a layer: there is nothing to draw")
    for model in models:
        given = [model.layers, model.loss, model.low, model.high]
        if len({len(numbers) for numbers in given if numbers is not None}) > 1:
            raise ValueError(f"the read-out of {model.label}: its arrays differ in length")
    figure, axes = new_axes(models)
    handles, labels, note = [], [], []
    for model, look in zip(models, looks(models), strict=True):
        bands = []
        if model.low is not None and model.high is not None:
            bands, note = [(model.low, model.high)], ["bands: 95 %"]
        handles.append(line(axes, model.layers, model.loss, look, bands))
        labels.append(model.label)
        if model.own is not None:
            axes.axhline(model.own, color=look.colour, linewidth=0.9, linestyle="--", zorder=1)
            labels[-1] += f", own loss {model.own:.2f}"
    if any(model.own is not None for model in models):
        note.append("thin dashed: own loss")
    layer_axis(axes, [layer for model in models for layer in model.layers], xlabel)
    axes.set_ylabel("cross-entropy (nats per token)")
    legend(axes, handles, labels, beside=len(models) > 4)
    axes.set_title("; ".join(note), fontsize=8, color=GUIDE, loc="right")
    return figure
