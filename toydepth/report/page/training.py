"""Alpha while the rungs train."""

from collections.abc import Sequence

from toydepth.report.page import plot
from toydepth.report.page.looks import faint
from toydepth.report.page.plot import Plot
from toydepth.report.page.shown import BANDS, Shown


def training(shown: Sequence[Shown], note: str = "") -> Plot | None:
    """None unless a regime's alpha is known at two times."""
    drawn = [its for its in shown if len(its.regime.alpha_over_training) > 1]
    if not drawn:
        return None
    # Steps are a clock for all rungs only where they train side by side.
    same = all(at.steps for its in drawn for at in its.regime.alpha_over_training)
    time = "steps" if same else "share"
    traces, legend, sentences = [], [], []
    for _, key, regime, _, look in drawn:
        course = regime.alpha_over_training
        times = [getattr(at, time) for at in course]
        if len(drawn) <= BANDS:
            low, high = ([getattr(at, end) for at in course] for end in ("low", "high"))
            traces.append(plot.band(key, times, low, high, faint(look.colour)))
        traces.append(
            plot.trace(
                key,
                regime.label,
                times,
                [at.value for at in course],
                mode="lines+markers",
                line={"color": look.colour, "dash": look.dash, "width": 1.5},
                marker=plot.marks(look, size=6),
                hovertemplate="%{x:.3g}: α = %{y:.2f}",
            )
        )
        legend.append(plot.entry(key, regime.label, look, regime.teacher.kind))
        ends = f"from {course[0].value:.2f} to {course[-1].value:.2f}"
        sentences.append(f"{regime.label}: {ends}")
    named = plot.references(its.regime for its in drawn)
    values = [at.value for its in drawn for at in its.regime.alpha_over_training]
    title = "training steps" if same else "share of each rung’s training"
    return Plot(
        "training",
        "Alpha against training",
        "How the exponent moves while the rungs train. " + plot.listed(sentences),
        traces,
        plot.layout(
            {"title": title}, plot.level_axis("exponent α", values, named), **plot.levels(named)
        ),
        legend,
        note + ("Bands: 95 %." if len(drawn) <= BANDS else "Bands are left out."),
    )
