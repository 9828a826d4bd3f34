"""Alpha against the temperature of the targets."""

import re
from collections import defaultdict
from collections.abc import Sequence

from toydepth.report.page import plot
from toydepth.report.page.looks import looks
from toydepth.report.page.plot import Plot
from toydepth.results.report_record import RegimeRecord

SERIES = 24


def temperature(regimes: Sequence[RegimeRecord]) -> Plot | None:
    """One line for the regimes that differ by temperature only; None if none do."""
    series = defaultdict(list)
    for regime in regimes:
        if regime.temperature is not None and regime.alpha:
            name = re.sub(r", T = [^,]*", "", regime.label, count=1)
            series[name].append(regime)
    series = {name: its for name, its in series.items() if len(its) > 1}
    if not series:
        return None
    names = list(series)
    chosen = [names[place] for place in plot.spread(len(names), SERIES)]
    traces, legend, sentences, every = [], [], [], []
    every_look = looks([series[name][0] for name in chosen])
    for place, (name, its) in enumerate(zip(chosen, every_look, strict=True)):
        key = f"t{place}"
        row = sorted(series[name], key=lambda regime: regime.temperature)
        every += row
        alphas = [regime.alpha for regime in row]
        traces.append(
            plot.trace(
                key,
                name,
                [regime.temperature for regime in row],
                [alpha.value for alpha in alphas],
                mode="lines+markers",
                line={"color": its.colour, "dash": its.dash, "width": 1.5},
                marker=plot.marks(its, [bool(regime.not_converged) for regime in row]),
                error_y=plot.intervals(
                    [alpha.value for alpha in alphas],
                    [alpha.low for alpha in alphas],
                    [alpha.high for alpha in alphas],
                    its.colour,
                ),
                hovertemplate="T = %{x:.3g}: α = %{y:.2f}",
            )
        )
        legend.append(plot.entry(key, name, its, row[0].teacher.kind))
        sentences.append(
            f"{name}: {alphas[0].value:.2f} at T = {row[0].temperature:g}, "
            f"{alphas[-1].value:.2f} at T = {row[-1].temperature:g}"
        )
    heats = [regime.temperature for regime in every]
    x = {"title": "temperature T"}
    if min(heats) > 0:
        x = plot.size_axis("temperature T", heats)
    named = plot.references(every)
    y = plot.level_axis("exponent α", [regime.alpha.value for regime in every], named)
    note = ""
    if len(chosen) < len(names):
        note += f"{len(chosen)} of {len(names)} series are drawn. "
    if any(regime.not_converged for regime in every):
        note += "Hollow: a rung has not converged. "
    return Plot(
        "temperature",
        "Alpha against temperature",
        plot.listed(sentences),
        traces,
        plot.layout(x, y, **plot.levels(named)),
        legend,
        note + "Bars: 95 %.",
    )
