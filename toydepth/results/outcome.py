"""What a finished job says of itself: its record, the contents of `result.json`."""

from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

from toydepth import config
from toydepth.config import Experiment
from toydepth.files import plain
from toydepth.results.records import (
    SAID,
    Estimate,
    Exponents,
    LocalAlpha,
    ReplicaExponents,
    Rung,
    RunRecord,
)
from toydepth.results.regimes import Point, columns, fit_points
from toydepth.scaling import local_alpha


def describe(e: Experiment) -> dict[str, Any]:
    """The part of a record that is known before the first step."""
    temperatures = list(e.target.temperature)
    kl = e.objective.kind == "kl"
    return {
        "axis": e.axis,
        "teacher": {
            "kind": e.teacher.kind,
            "depth": e.teacher.depth,
            "width": e.teacher.features or e.student.width,
            "seed": e.teacher.seed,
        }
        | e.teacher.drawn_by,
        "objective": e.objective.kind,
        "temperature": (temperatures[0] if len(temperatures) == 1 else temperatures)
        if kl
        else None,
        "settings": {name: value for name, value in config.settings(e).items() if name not in SAID},
    }


def result(e: Experiment, rungs: list[dict[str, Any]], **more: Any) -> RunRecord:
    """What the rungs that the engine concluded say. Steps of an inner ramp are told apart.

    Args:
      more: fields that only the caller knows, such as the seconds.
    """
    reported, ramp = (
        [
            Rung(**plain({name: value for name, value in r.items() if name != "reported"}))
            for r in rungs
            if r["reported"] is flag
        ]
        for flag in (True, False)
    )
    diverged = any(rung.status == "diverged" for rung in reported)
    return RunRecord(
        **describe(e),
        status="diverged" if diverged else "completed",
        rungs=reported,
        ramp_diverged=[rung for rung in ramp if rung.status == "diverged"],
        **dict(exponents(reported, e.axis)),
        regimes=regimes(reported, e.axis),
        **more,
    )


def failure(e: Experiment, error: str, **more: Any) -> RunRecord:
    """The record of a job that could not be trained."""
    return RunRecord(**describe(e), status="failed", error=error, rungs=(), **more)


def exponents(rungs: Sequence[Rung], axis: str) -> Exponents:
    """Alpha with its 95 % interval and the local alphas, over the rungs that did not diverge.

    Replicas share the exponent and keep a coefficient each. Alpha is None, with the reason
    beside it, for fewer than three sizes or for several temperatures or rates.
    """
    points = [Point.from_rung(rung, rung.replica) for rung in rungs if rung.has_logarithm]
    if len(set(map(_variant, points))) > 1:
        rates = len({point.peak_rate for point in points}) > 1
        reason = f"several {'rates' if rates else 'temperatures'}: each is a regime of its own"
        return Exponents(alpha_reason=reason)
    law, reason = fit_points(points, axis)
    local = local_alpha(*astuple(columns(points))) if points else []
    converged, _ = fit_points([point for point in points if point.converged], axis)
    return Exponents(
        alpha=Estimate.from_fit(law and law.alpha),
        alpha_converged=Estimate.from_fit(converged and converged.alpha),
        alpha_reason=reason,
        local_alpha=[LocalAlpha.from_fit(pair) for pair in local],
    )


def regimes(rungs: Sequence[Rung], axis: str) -> list[ReplicaExponents]:
    """The exponents of each replica and variant by itself; none where there is one of them."""
    cells: dict[tuple, list[Rung]] = {}
    for rung in rungs:
        cells.setdefault((rung.replica, *_variant(rung)), []).append(rung)
    if len(cells) < 2:
        return []
    ordered = sorted(cells.items(), key=lambda item: [value or 0.0 for value in item[0]])
    return [
        ReplicaExponents(
            replica=replica,
            temperature=temperature,
            peak_rate=rate,
            **dict(exponents(own, axis)),
        )
        for (replica, temperature, rate), own in ordered
    ]


def _variant(rung: Rung) -> tuple[float | None, float | None]:
    """What the variants of one loss differ in."""
    return rung.temperature, rung.peak_rate
