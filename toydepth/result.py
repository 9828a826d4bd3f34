"""What a finished job says of itself: the contents of `result.json`."""

from typing import Any

from toydepth import config
from toydepth.config import Experiment
from toydepth.scaling import fit_power_law, local_alpha


def describe(e: Experiment) -> dict[str, Any]:
    """The part of a result that is known before the first step."""
    temperatures = list(e.target.temperature)
    kl = e.objective.kind == "kl"
    return {
        "schema": 1,
        "teacher": {
            "kind": e.teacher.kind,
            "depth": e.teacher.depth,
            "width": e.student.width,
            "seed": e.teacher.seed,
        },
        "student": {"block": e.student.block, "width": e.student.width},
        "objective": e.objective.kind,
        "head": e.objective.head,
        "temperature": (temperatures[0] if len(temperatures) == 1 else temperatures) if kl else None,
        "settings": config.settings(e),
    }


def exponents(rungs: list[dict[str, Any]]) -> dict[str, Any]:
    """Alpha with its 95 % interval and the local alphas, over the rungs that did not diverge.

    Replicas share the exponent and keep a coefficient each. Alpha is null, with the reason
    beside it, for fewer than three depths or for several temperatures.
    """
    kept = [r for r in rungs if r["status"] == "completed"]
    depths = [r["depth"] for r in kept]
    if len({r["temperature"] for r in kept}) > 1:
        return {
            "alpha": None,
            "alpha_reason": "several temperatures: each is a regime of its own",
            "local_alpha": [],
        }
    if len(set(depths)) < 2:
        reason = "fewer than three depths were trained to the end"
        return {"alpha": None, "alpha_reason": reason, "local_alpha": []}
    losses, stderr = [r["loss"] for r in kept], [r["loss_stderr"] for r in kept]
    fit = fit_power_law(depths, losses, stderr, groups=[r["replica"] for r in kept])
    local = local_alpha(depths, losses, stderr)
    alpha = fit.alpha
    interval = len(set(depths)) >= 3
    return {
        "alpha": {
            "value": alpha.value,
            "stderr": alpha.stderr,
            "low": alpha.low,
            "high": alpha.high,
        }
        if interval
        else None,
        "alpha_reason": fit.reason,
        "local_alpha": [
            {"start": a.start, "stop": a.stop, "value": a.value, "stderr": a.stderr} for a in local
        ],
    }


def regimes(rungs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The exponents of each replica and temperature by itself."""
    cells = sorted(
        {(r["replica"], r["temperature"]) for r in rungs}, key=lambda c: (c[0], c[1] or 0.0)
    )
    return [
        {"replica": replica, "temperature": temperature}
        | exponents([r for r in rungs if (r["replica"], r["temperature"]) == (replica, temperature)])
        for replica, temperature in cells
    ]
