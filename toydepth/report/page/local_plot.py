"""The exponent between neighbouring sizes."""

from collections.abc import Sequence

from toydepth.report.page import plot
from toydepth.report.page.plot import Plot
from toydepth.report.page.shown import Shown
from toydepth.results.verdicts import REFERENCES

LARGE = {"depth": "deep", "width": "wide"}


def local(shown: Sequence[Shown], axis: str, note: str = "") -> Plot | None:
    """A power law is level. None if no regime of this axis has two sizes."""
    drawn = [its for its in shown if its.regime.local_alpha and its.regime.axis == axis]
    if not drawn:
        return None
    traces, legend, sentences = [], [], []
    for _, key, regime, _, look in drawn:
        pairs, unsure = regime.local_alpha, set(regime.not_converged)
        hollow = [unsure & {pair.start, pair.stop} != set() for pair in pairs]
        traces.append(
            plot.trace(
                key,
                regime.label,
                [(pair.start * pair.stop) ** 0.5 for pair in pairs],
                [pair.value for pair in pairs],
                mode="lines+markers",
                line={"color": look.colour, "dash": look.dash, "width": 1.5},
                marker=plot.marks(look, hollow),
                error_y=plot.bars([pair.stderr for pair in pairs], look.colour),
                customdata=[f"{axis} {pair.start:g} to {pair.stop:g}" for pair in pairs],
                hovertemplate="%{customdata}: α = %{y:.2f}",
            )
        )
        legend.append(plot.entry(key, regime.label, look, regime.teacher.kind))
        steps = ", ".join(f"{p.value:.2f} ({p.start:g} to {p.stop:g})" for p in pairs[:6])
        sentences.append(f"{regime.label}: {steps}")
    pairs = [pair for its in drawn for pair in its.regime.local_alpha]
    named = REFERENCES[axis]
    x = plot.size_axis(axis, [end for p in pairs for end in (p.start, p.stop)])
    y = plot.level_axis("local exponent α", [pair.value for pair in pairs], named)
    if any(its.regime.not_converged for its in drawn):
        note += "Hollow: a loss on either side has not converged. "
    return Plot(
        "local" if axis == "depth" else f"local_{axis}",
        "Local exponents" if axis == "depth" else f"Local exponents in {axis}",
        f"The exponent between neighbouring {axis}s. " + plot.listed(sentences),
        traces,
        plot.layout(x, y, **plot.levels(named)),
        legend,
        note
        + f"If it falls with {axis}, "
        + f"the {LARGE[axis]} rungs are short of convergence or the law has a floor. "
        + "Bars: 95 %.",
    )
