"""What probe.json says."""

import math
from typing import Any

import numpy as np

from toydepth.geometry import QUANTILES, Statistics
from toydepth.probe.language import LossSums, Trace
from toydepth.probe.model_states import TokenKinds
from toydepth.probe.subject import Subject

ANGLES = ("theta", "theta_updates", "to_last")
LENGTHS = ("norms", "update_norms", "projection")
Z = 1.959964  # of a normal 95 % interval: there are thousands of tokens
ALIGNED, ORTHOGONAL = 0.15, (0.35, 0.65)  # angles between updates, in units of pi


def describe(subject: Subject) -> dict[str, Any]:
    """A network's measures; angles in units of pi, by layer."""
    summary = subject.summary
    found: dict[str, Any] = {
        "kind": subject.kind,
        "label": subject.label,
        "facts": subject.facts,
        "depth": subject.depth,
        "width": subject.width,
        "tokens": summary.tokens,
        "updates": updates(subject),
        "middle_layers": {"first": summary.middle[0], "last": summary.middle[1] - 1},
        "middle_step": _estimate(summary.middle_step / np.pi, summary.middle_step_stderr / np.pi),
    }
    for name in ANGLES:
        found[name] = _statistics(getattr(summary, name), np.pi)
    for name in LENGTHS:
        found[name] = _statistics(getattr(summary, name), 1.0)
    return found


def updates(subject: Subject) -> dict[str, Any]:
    """The angle between neighbouring updates in units of pi, averaged over all layers, in words.

    Its standard error is the mean of the layers', as if one token's layers erred together.
    """
    angles = subject.summary.theta_updates
    known = np.isfinite(angles.mean)
    mean, error = (
        x[known] if known.any() else np.array([np.nan]) for x in (angles.mean, angles.stderr)
    )
    value = float(mean.mean()) / np.pi
    return {
        **_estimate(value, float(error.mean()) / np.pi),
        "verdict": verdict(value),
    }


def verdict(angle: float) -> str:
    """What an angle between neighbouring updates, in units of pi, speaks for."""
    if math.isnan(angle):
        return "undefined: it does not move"
    if angle < ALIGNED:
        return "aligned: smooth dynamics"
    if ORTHOGONAL[0] <= angle <= ORTHOGONAL[1]:
        return "orthogonal: averaging"
    return "between aligned and orthogonal" if angle < ORTHOGONAL[0] else "opposed: corrections"


def describe_kinds(kinds: TokenKinds | None) -> dict[str, Any] | None:
    if kinds is None:
        return None
    found = kinds.found
    return {
        **{
            name: {
                "share": kind.share,
                "stderr": found.share_stderr,
                "examples": kind.examples,
                "theta": kind.theta.mean(axis=0) / np.pi,
            }
            for name, kind in (("even", kinds.even), ("early", kinds.early))
        },
        "explained_variance": found.explained,
        "silhouette": found.silhouette,
        "early_tokens": found.kind,
        "verdict": found.verdict,
        "first_tokens": "left out: attention ends there, and they are unlike all others",
    }


def describe_losses(losses: LossSums | None) -> dict[str, Any] | None:
    """The read-out, nats per token; entry l is the state after l layers, the last the model's."""
    if losses is None:
        return None
    return {
        "tokens": losses.tokens,
        "after_layers": list(range(len(losses.total))),
        "cross_entropy": losses.mean(),
        "stderr": losses.stderr(),
    }


def describe_trace(found: Trace | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return found._asdict() | {
        "subject": {"first": found.subject[0], "last": found.subject[1] - 1},
        "restored_by": "layer, then token",
    }


def sentence(summary: dict[str, Any]) -> str:
    """One line on a probe, for a sweep."""
    parts = [
        f"{s['label']}: updates {s['updates']['value']:.3f} pi ({s['updates']['verdict']}), "
        f"middle step {s['middle_step']['value']:.3g} pi"
        for s in summary["subjects"][:6]
    ]
    more = len(summary["subjects"]) - len(parts)
    return "; ".join(parts) + (f"; and {more} more" if more else "")


def flat(summary: dict[str, Any]) -> dict[str, float]:
    """The numbers by which probes are compared in W&B."""
    found = {}
    for s in summary["subjects"]:
        for name in ("updates", "middle_step"):
            found[f"{s['label']}/{name}"] = s[name]["value"]
    if summary["readout"]:
        found["cross_entropy"] = float(summary["readout"]["cross_entropy"][-1])
    return {name: value for name, value in found.items() if np.isfinite(value)}


def _estimate(value: float, stderr: float) -> dict[str, float]:
    half = Z * stderr
    return {"value": value, "stderr": stderr, "low": value - half, "high": value + half}


def _statistics(of: Statistics, unit: float) -> dict[str, Any]:
    return {
        "mean": of.mean / unit,
        "stderr": of.stderr / unit,
        "std": of.std / unit,
        "quantiles": {f"{q:g}": row / unit for q, row in zip(QUANTILES, of.quantiles, strict=True)},
        "tokens": of.count,
    }
