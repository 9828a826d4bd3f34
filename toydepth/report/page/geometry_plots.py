"""What the probes say of hidden states: the middle step, and the angles between updates."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from toydepth.report.page import plot
from toydepth.report.page.looks import Look, look
from toydepth.report.page.plot import Plot
from toydepth.results.probe_record import ProbeRecord, Subject

NETWORKS, LADDERS = 24, 6  # in one plot; plots


def geometry(probes: Sequence[ProbeRecord], kinds: Sequence[str] = ()) -> list[Plot]:
    """One plot of the steps; one of the updates for each ladder, and one for single networks.

    Probes go by the order of their teachers' `kinds`, so that these look as in other figures.
    """
    order = list(dict.fromkeys(kinds))
    probes = sorted(probes, key=lambda probe: _place(probe, order))
    ladders = [probe for probe in probes if len(probe.subjects) > 1]
    singles = [probe.subjects[0] for probe in probes if len(probe.subjects) == 1]
    drawn = [_steps(probes)]
    for place in plot.spread(len(ladders), LADDERS):
        name, networks = ladders[place].name, ladders[place].subjects
        drawn.append(_updates(f"updates{place}", f"Angles between updates: {name}", networks))
    drawn.append(_updates("updates", "Angles between updates", singles))
    return [figure for figure in drawn if figure is not None]


def _place(probe: ProbeRecord, kinds: Sequence[str]) -> int:
    teachers = [network.facts.teacher for network in probe.subjects]
    return kinds.index(teachers[0]) if teachers and teachers[0] in kinds else len(kinds)


def _steps(probes: Sequence[ProbeRecord]) -> Plot | None:
    traces, legend, sentences, every = [], [], [], []
    for place, probe in enumerate(probes):
        ladders = defaultdict(list)
        for network in probe.subjects:
            if (network.middle_step.value or 0) > 0:
                ladders[network.kind, network.facts].append(network)
        if not ladders:
            continue
        key, name, its = f"g{place}", probe.name, look(place)
        traces += [_ladder(key, name, its, networks) for networks in ladders.values()]
        legend.append(plot.entry(key, name, its))
        drawn = [network for networks in ladders.values() for network in networks]
        sentences += [f"{name}: {n.label}: {n.middle_step.value:.3g} π" for n in drawn]
        every += drawn
    if not traces:
        return None
    x = plot.size_axis("depth", [network.depth for network in every])
    values = [network.middle_step.value for network in every]
    y = plot.loss_axis("middle step θ(h, h′) / π", values)
    return Plot(
        "steps",
        "The step of a middle layer",
        "How far a middle layer turns the hidden state. " + plot.listed(sentences),
        traces,
        plot.layout(x, y),
        legend,
        "Lines join the students of a ladder; a teacher stands alone. Bars: 95 %.",
    )


def _ladder(key: str, name: str, its: Look, networks: Sequence[Subject]) -> dict[str, Any]:
    networks = sorted(networks, key=lambda network: network.depth)
    steps = [network.middle_step for network in networks]
    values, lows, highs = (
        [getattr(step, end) for step in steps] for end in ("value", "low", "high")
    )
    return plot.trace(
        key,
        name,
        [network.depth for network in networks],
        values,
        mode="lines+markers",
        line={"color": its.colour, "dash": its.dash, "width": 1.5},
        marker=plot.marks(its),
        error_y=plot.intervals(values, lows, highs, its.colour),
        customdata=[plot.plain(network.label) for network in networks],
        hovertemplate="%{customdata}: %{y:.3g} π",
    )


def _updates(key: str, title: str, networks: Sequence[Subject]) -> Plot | None:
    networks = [network for network in networks if network.theta_updates.mean]
    chosen = [networks[place] for place in plot.spread(len(networks), NETWORKS)]
    traces, legend, sentences, values = [], [], [], [0.0, 0.5]
    for place, network in enumerate(chosen):
        own, label, its = f"g{place}", network.label, look(place)
        depth = len(network.theta_updates.mean) + 1
        traces.append(
            plot.trace(
                own,
                label,
                [layer / depth for layer in range(1, depth)],
                network.theta_updates.mean,
                mode="lines+markers",
                line={"color": its.colour, "dash": its.dash, "width": 1.5},
                marker=plot.marks(its, size=5),
                hovertemplate="l / L = %{x:.2f}: %{y:.3f} π",
            )
        )
        legend.append(plot.entry(own, label, its))
        mean = network.updates
        if mean.value is not None:
            sentences.append(f"{label}: {mean.value:.2g} π, {mean.verdict}")
        values += [angle for angle in network.theta_updates.mean if angle is not None]
    if not traces:
        return None
    note = ""
    if len(chosen) < len(networks):
        note = f"{len(chosen)} of {len(networks)} networks are drawn. "
    return Plot(
        key,
        title,
        "Aligned updates (0) are smooth dynamics, orthogonal ones (1/2) average. "
        + plot.listed(sentences),
        traces,
        plot.layout(
            {"title": "relative depth l / L", "range": [-0.02, 1.02]},
            {"title": "θ(Δh, Δh′) / π", "range": [-0.02, 1.1 * max(values)]},
            **plot.levels([(0.5, "orthogonal")]),
        ),
        legend,
        note,
    )
