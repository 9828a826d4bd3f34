"""The figures of a probe, as PNG."""

from typing import Any

import numpy as np

from toydepth import figures
from toydepth.figures import Spread
from toydepth.geometry import QUANTILES, Statistics
from toydepth.probe.model_states import Measured
from toydepth.probe.probe_summary import Z
from toydepth.probe.subject import Subject

DRAWN = 8  # networks in one figure


def draw_toy(subjects: list[Subject]) -> dict[str, bytes]:
    """Angles by layer, of the teachers and of the students apart: their depths differ."""
    drawn = {}
    for kind in ("teacher", "student"):
        ours = [subject for subject in subjects if subject.kind == kind]
        if ours:
            drawn[f"angles_of_{kind}s"] = _angles(ours[:: -(-len(ours) // DRAWN)], share=True)
    return {name: figures.png(figure) for name, figure in drawn.items()}


def draw_model(measured: Measured) -> dict[str, bytes]:
    """Angles by layer, and what else was measured."""
    subject = measured.subject
    drawn: dict[str, Any] = {"angles": _angles([subject], share=False)}
    if measured.kinds is not None:
        kinds = measured.kinds
        other = kinds.found.kind or "the others"
        drawn["token_clusters"] = figures.trajectories(
            [
                figures.Cluster(label, kind.scores, _spread_of(kind.theta), kind.share)
                for label, kind in (("move evenly", kinds.even), (other, kinds.early))
            ],
            np.arange(subject.depth),
            explained=tuple(kinds.found.explained),
        )
    if measured.losses is not None:
        mean, error = measured.losses.mean(), measured.losses.stderr()
        layers = np.arange(len(mean))
        drawn["read_out"] = figures.read_out(
            [
                figures.ReadOut(
                    subject.label, layers, mean, mean - Z * error, mean + Z * error, mean[-1]
                )
            ]
        )
    if measured.trace is not None:
        trace = measured.trace
        drawn["trace"] = figures.trace_map(
            figures.Trace(
                trace.tokens,
                list(range(*trace.subject)),
                trace.restored.T,
                trace.probability_clean,
                trace.probability_corrupted,
            ),
            answer=trace.answer,
            layers=np.arange(1, subject.depth + 1),
        )
    return {name: figures.png(figure) for name, figure in drawn.items()}


def _angles(subjects: list[Subject], share: bool):
    profiles = [
        figures.Profile(
            subject.label,
            np.arange(subject.depth) / (subject.depth if share else 1),
            _spread(subject.summary.theta),
            _spread(subject.summary.theta_updates),
        )
        for subject in subjects
    ]
    if share:
        return figures.angles_against_layer(profiles, xlabel="share of the depth $l/L$")
    return figures.angles_against_layer(profiles)


def _spread(of: Statistics) -> Spread:
    """In units of pi."""
    at = dict(zip(QUANTILES, of.quantiles / np.pi, strict=True))
    return Spread(of.mean / np.pi, (at[0.25], at[0.75]), (at[0.05], at[0.95]))


def _spread_of(theta) -> Spread:
    low, high = np.quantile(theta / np.pi, [0.25, 0.75], axis=0)
    return Spread(theta.mean(axis=0) / np.pi, (low, high))
