"""The loss against depth, against width and along training, in three panels."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from toydepth.figures.curve import Curve
from toydepth.figures.loss_against_size import draw_losses
from toydepth.figures.loss_over_training import Training, draw_trainings
from toydepth.figures.style import GUIDE


def three_exponents(
    depth: Sequence[Curve], width: Sequence[Curve], time: Sequence[Training]
) -> Figure:
    """Panels with guides of slope -1 and -3, -1, and -1/3; one without data says so."""
    figure = Figure(figsize=(14.4, 4.4), dpi=200, layout="constrained")
    panels = figure.subplots(1, 3)
    for axes, drawn, (name, references) in zip(
        panels,
        (depth, width, time),
        (("depth", (1, 3)), ("width", (1,)), ("training steps", (1 / 3,))),
        strict=True,
    ):
        axes.spines[["top", "right"]].set_visible(False)
        if not drawn:
            axes.set_axis_off()
            axes.text(0.5, 0.5, f"no run over {name}", ha="center", color=GUIDE)
        elif drawn is time:
            draw_trainings(axes, time, xlabel=name, references=references)
        else:
            draw_losses(axes, drawn, xlabel=name, ylabel="test loss", references=references)
    return figure
