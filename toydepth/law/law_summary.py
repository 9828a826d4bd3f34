"""What law.json says."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from toydepth.law import model_plans
from toydepth.law.analysis import Analysis, Universal
from toydepth.law.prepared import Prepared
from toydepth.law.published import PUBLISHED
from toydepth.scaling import UNIVERSAL_EXPONENTS, Comparison, HeldOut, Interval, Law, LawFit
from toydepth.scaling.estimate import half_width

NONE = Interval(None, None)


def summarise(
    prepared: Prepared, analysis: Analysis, law: model_plans.Coefficients | str
) -> dict[str, Any]:
    """law.json, without what the run adds (versions, seconds).

    `law` is what models are planned from, or why none are.
    """
    fit, study = prepared.fit, prepared.study
    plans, notes, words = None, [], list(analysis.warnings)
    if isinstance(law, str):
        notes.append(f"no model is planned: {law}")
    else:
        plans = model_plans.plans(prepared, law)
        words += model_plans.warnings(prepared, plans)
    ratio = (plans or {}).get("aspect_ratio") or _ratio(fit)
    return {
        "status": "completed",
        "law": describe_law(fit.law),
        "data": _data(prepared),
        "rows": len(fit.residuals),
        "parameters": parameters(fit, analysis),
        "errors": study.errors,
        "intervals": (
            "95 %; low and high by profile likelihood, stderr by the Jacobian"
            if study.errors == "rows"
            else "95 %; low, high and stderr by the Jacobian, with errors alike within shapes"
        ),
        "mean_squared_log_residual": fit.mean_squared_log_residual,
        "degrees_of_freedom": fit.degrees_of_freedom,
        "aspect_ratio": ratio and ratio["value"],
        "comparison": _comparison(analysis),
        "robustness": _robustness(analysis),
        "planning": plans,
        "warnings": words,
        "notes": notes,
        "seed": study.seed,
        "fit": {
            "loss": study.fit.loss,
            "huber_delta": prepared.huber,
            "gradient": fit.solution.gradient,
            "starts": fit.solution.starts,
            "agreeing": fit.solution.agreeing,
            "covariance": {"of": list(fit.law.fitted), "matrix": fit.covariance},
            "bootstrap_resamples": study.bootstrap.resamples,
        },
        "residuals": {"line": prepared.rows.lines, "log_residual": fit.residuals},
    }


def describe_law(law: Law) -> dict[str, Any]:
    exponents = {v: "free" if a is None else a for v, a in law.exponents.items()}
    return {"formula": str(law), "exponents": exponents, "floor": law.floor}


def parameters(fit: LawFit, analysis: Analysis) -> dict[str, Any]:
    """Each parameter with its intervals; a fixed exponent has only a value."""
    drawn = analysis.draws.intervals() if analysis.draws else {}
    found = {}
    for name, estimate in fit.parameters.items():
        jacobian = Interval(estimate.low, estimate.high)
        best = analysis.profile.get(name, jacobian)  # there is none by shapes
        variable = name.removeprefix("exponent_")
        found[name] = {
            "value": estimate.value,
            "stderr": estimate.stderr,
            "low": best.low,
            "high": best.high,
            "fixed": name.startswith("exponent_") and fit.law.exponents[variable] is not None,
            "jacobian": jacobian._asdict(),
            "profile": analysis.profile.get(name, NONE)._asdict(),
            "bootstrap": drawn.get(name, NONE)._asdict(),
        }
    return found


def _data(prepared: Prepared) -> dict[str, Any]:
    rows, study = prepared.rows, prepared.study
    published = PUBLISHED.get(study.data.source)
    return {
        "source": study.data.source,
        "path": rows.source,
        "sha256": hashlib.sha256(Path(rows.source).read_bytes()).hexdigest(),
        "cite": published.cite if published else None,
        "columns": rows.columns,
        "units": prepared.units,
        "read": rows.read,
        "dropped": rows.dropped,
        "excluded": rows.excluded,
        "shapes": None if prepared.shapes is None else len(set(prepared.shapes)),
    }


def _comparison(analysis: Analysis) -> dict[str, Any] | None:
    universal = analysis.universal
    if universal is None:
        return None
    laws = {"fixed": universal.fixed, "free": universal.free}
    return {
        **{f"{name}_law": describe_law(fit.law) for name, fit in laws.items()},
        **_test(universal.test),
        "mean_squared_log_residual": {
            name: fit.mean_squared_log_residual for name, fit in laws.items()
        },
        "exponents": _differences(universal),
        "held_out": {
            "k_fold": _held_out(universal.by_rows),
            "leave_one_shape_out": _held_out(universal.by_shapes),
        },
        "as_asked": analysis.as_asked and _test(analysis.as_asked),
    }


def _test(test: Comparison) -> dict[str, Any]:
    names = ("verdict", "sentence", "p_value", "clustered_p_value", "f", "numerator", "denominator")
    return {name: getattr(test, name) for name in (*names, "aic_difference", "bic_difference")}


def _held_out(found: HeldOut | None) -> dict[str, Any] | None:
    if found is None:
        return None
    names = ("groups", "fixed", "free", "difference", "stderr")
    return {name: getattr(found, name) for name in names}


def _differences(universal: Universal) -> dict[str, Any]:
    """By how much each free exponent differs from the universal one."""
    found = {}
    for variable in universal.free.law.variables:
        free = universal.free.parameters[f"exponent_{variable}"]
        expected = UNIVERSAL_EXPONENTS[variable]
        found[variable] = {
            "universal": expected,
            "free": {n: getattr(free, n) for n in ("value", "stderr", "low", "high")},
            "difference": free.value - expected,
            "in_standard_errors": (free.value - expected) / free.stderr if free.stderr else None,
        }
    return found


def _robustness(analysis: Analysis) -> dict[str, Any]:
    return {
        "exclude_highest": [
            {"count": count, **_scanned(fit)} for count, fit in analysis.excluded.items()
        ],
        "depth_offset": [
            {"offset": offset, **_scanned(fit)} for offset, fit in analysis.offsets.items()
        ],
    }


def _scanned(fit: LawFit | str) -> dict[str, Any]:
    if isinstance(fit, str):
        return {"rows": None, "not_fitted": fit}
    names = ("value", "stderr", "low", "high")
    found: dict[str, Any] = {
        "rows": len(fit.residuals),
        "mean_squared_log_residual": fit.mean_squared_log_residual,
        "parameters": {
            name: {n: getattr(estimate, n) for n in names}
            for name, estimate in fit.parameters.items()
        },
    }
    ratio = _ratio(fit)
    return found | ({"aspect_ratio": ratio} if ratio else {})


def _ratio(fit: LawFit) -> dict[str, float | None] | None:
    """The best m / l where it does not depend on the size, (c_m / (2 c_l))^(1/a), to first order.

    None where the exponents are not fixed and equal, or a term is not there.
    """
    exponents = [fit.law.exponents.get(variable) for variable in ("width", "depth")]
    if exponents[0] is None or exponents[0] != exponents[1]:
        return None
    index = [fit.law.fitted.index(f"log_coefficient_{v}") for v in ("width", "depth")]
    width, depth = fit.values[index]
    if not np.isfinite(width - depth):
        return None
    value = np.exp((width - depth - np.log(2)) / exponents[0])
    if fit.interval_freedom < 1:
        return {"value": value, "stderr": None, "low": None, "high": None}
    block = fit.covariance[np.ix_(index, index)]
    error = float(np.sqrt(block[0, 0] + block[1, 1] - 2 * block[0, 1])) / exponents[0]
    factor = float(np.exp(half_width(error, fit.interval_freedom)))
    return {"value": value, "stderr": value * error, "low": value / factor, "high": value * factor}


def flat(summary: dict[str, Any]) -> dict[str, float]:
    """The numbers by which fits are compared in W&B."""
    found = {"mean_squared_log_residual": summary["mean_squared_log_residual"]}
    for name, parameter in summary["parameters"].items():
        found[name] = parameter["value"]
        if parameter["stderr"] is not None:
            found[f"{name}_stderr"] = parameter["stderr"]
    if summary["aspect_ratio"] is not None:
        found["aspect_ratio"] = summary["aspect_ratio"]
    if summary["comparison"]:
        found["universal_p_value"] = summary["comparison"]["p_value"]
    return {name: float(value) for name, value in found.items() if np.isfinite(value)}
