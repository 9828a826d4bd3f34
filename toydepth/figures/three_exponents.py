"""The loss against depth, against width and along training, in three panels."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from toydepth.figures.curve import Curve
from toydepth.figures.legends import height, legend
from toydepth.figures.loss_against_size import draw_losses
from toydepth.figures.loss_over_training import Training, draw_trainings
from toydepth.figures.style import GUIDE, SMALL, WIDE, small


def three_exponents(
    depth: Sequence[Curve], width: Sequence[Curve], time: Sequence[Training]
) -> Figure:
    """Panels with guides of slope -1 and -3, -1, and -1/3; one without data says so."""
    figure = Figure(figsize=(WIDE, 3.0), dpi=200, layout="constrained")
    panels = figure.subplots(1, 3)
    notes, under = [], 0.0
    for axes, drawn, (name, references) in zip(
        panels,
        (depth, width, time),
        (("depth", (1, 3)), ("width", (1,)), ("training steps", (1 / 3,))),
        strict=True,
    ):
        axes.spines[["top", "right"]].set_visible(False)
        small(axes)
        if not drawn:
            axes.set_axis_off()
            axes.text(0.5, 0.5, f"no run over {name}", ha="center", color=GUIDE, fontsize=SMALL)
            continue
        if drawn is time:
            shown = draw_trainings(axes, time, xlabel=name, references=references)
            notes.append("thick: where a power law holds")
        else:
            *shown, note = draw_losses(
                axes, drawn, xlabel=name, ylabel="test loss", references=references
            )
            notes.append(note)
        legend(axes, *shown, beside=False, where="below")
        under = max(under, height(axes.get_legend()))
    figure.set_figheight(2.75 + under)
    figure.suptitle(_joined(notes), fontsize=SMALL, color=GUIDE, x=0.995, ha="right")
    return figure


def _joined(notes: Sequence[str]) -> str:
    """The notes of all panels, each thing said once."""
    parts = list(dict.fromkeys(part for note in notes for part in note.split("; ")))
    return "; ".join(p for p in parts if not any(q != p and q.startswith(p) for q in parts))
