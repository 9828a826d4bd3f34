"""What a finished job says of itself: the contents of `result.json`."""

from dataclasses import asdict, astuple
from typing import Any

from toydepth import config
from toydepth.config import Experiment
from toydepth.results.regimes import columns, fit_points, has_logarithm
from toydepth.scaling import local_alpha


def describe(e: Experiment) -> dict[str, Any]:
    """The part of a result that is known before the first step."""
    temperatures = list(e.target.temperature)
    kl = e.objective.kind == "kl"
    return {
        "schema": 1,
        "axis": e.axis,
        "teacher": {
            "kind": e.teacher.kind,
            "depth": e.teacher.depth,
            "width": e.teacher.features or e.student.width,
            "seed": e.teacher.seed,
        }
        | e.teacher.drawn_by,
        "student": {
            "block": e.student.block,
            "width": list(e.sizes) if e.axis == "width" else e.student.width,
        },
        "objective": e.objective.kind,
        "head": e.objective.head,
        "temperature": (temperatures[0] if len(temperatures) == 1 else temperatures)
        if kl
        else None,
        "settings": config.settings(e),
    }


def result(e: Experiment, rungs: list[dict[str, Any]]) -> dict[str, Any]:
    """What the rungs that the engine concluded say. Steps of an inner ramp are told apart."""
    reported, ramp = (
        [{k: v for k, v in r.items() if k != "reported"} for r in rungs if r["reported"] is flag]
        for flag in (True, False)
    )
    diverged = any(r["status"] == "diverged" for r in reported)
    return (
        describe(e)
        | {"status": "diverged" if diverged else "completed", "error": None, "rungs": reported}
        | {"ramp_diverged": [r for r in ramp if r["status"] == "diverged"]}
        | exponents(reported)
        | {"regimes": regimes(reported)}
    )


VARIANT = ("temperature", "peak_rate")  # what the variants of one loss differ in


def exponents(rungs: list[dict[str, Any]]) -> dict[str, Any]:
    """Alpha with its 95 % interval and the local alphas, over the rungs that did not diverge.

    Replicas share the exponent and keep a coefficient each. Alpha is null, with the reason
    beside it, for fewer than three sizes or for several temperatures or rates.
    """
    points = [r | {"teacher_seed": r["replica"]} for r in rungs if has_logarithm(r)]
    if len({_variant(r) for r in points}) > 1:
        rates = len({r.get("peak_rate") for r in points}) > 1
        reason = f"several {'rates' if rates else 'temperatures'}: each is a regime of its own"
        return {
            "alpha": None,
            "alpha_converged": None,
            "alpha_reason": reason,
            "local_alpha": [],
        }
    law, reason = fit_points(points)
    local = local_alpha(*astuple(columns(points))) if points else []
    converged, _ = fit_points([p for p in points if p["converged"]])
    return {
        "alpha": asdict(law.alpha) if law else None,
        "alpha_converged": asdict(converged.alpha) if converged else None,
        "alpha_reason": reason,
        "local_alpha": [asdict(pair) for pair in local],
    }


def regimes(rungs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The exponents of each replica and variant by itself."""
    cells = {}
    for r in rungs:
        cells.setdefault((r["replica"], *(value or 0.0 for value in _variant(r))), []).append(r)
    return [
        {name: own[0][name] for name in ("replica", *VARIANT) if name in own[0]} | exponents(own)
        for _, own in sorted(cells.items(), key=lambda item: item[0])
    ]


def _variant(rung: dict[str, Any]) -> tuple[float | None, ...]:
    return tuple(rung.get(name) for name in VARIANT)
