"""The figures of a study, as PNG."""

from typing import Any

import numpy as np
from jaxtyping import Float

from toydepth import figures
from toydepth.law.analysis import Analysis
from toydepth.law.model_plans import Coefficients, some
from toydepth.law.prepared import Prepared, counted_in
from toydepth.scaling import (
    UNIVERSAL_EXPONENTS,
    Draws,
    LawFit,
    for_compute,
    percentiles,
    shape_price,
)

NAMES = {
    "width": "width m",
    "depth": "depth l",
    "data": "data D",
    "time": "training time τ",
    "parameters": "parameters N",
}
RATIOS = 8  # times below and above the best shape


def draw(
    prepared: Prepared,
    analysis: Analysis,
    law: Coefficients | None,
    summary: dict[str, Any],
) -> dict[str, bytes]:
    """The figures by name; those of planning only if a law can be planned from."""
    drawn = {
        "terms": _terms(prepared, analysis, summary),
        "observed_against_predicted": _observed(prepared),
    }
    scanned = {count: fit for count, fit in analysis.excluded.items() if not isinstance(fit, str)}
    shown = [v for v in prepared.fit.law.free if np.isfinite(_exponents(scanned, v)).any()]
    if shown and len(scanned) > 1:
        drawn["exclusion_scan"] = _scan(prepared, scanned, shown)
    if law is not None:
        drawn["frontier"] = _frontier(prepared, law, summary)
        if law.has_shape and prepared.study.plan.compute:
            drawn["shape_price"] = _shape_price(law, prepared.study.plan.compute)
    return {name: figures.png(figure) for name, figure in drawn.items()}


def _label(variable: str, unit: float) -> str:
    return NAMES[variable] + ("" if unit == 1 else f" ({counted_in(unit)})")


def _terms(prepared: Prepared, analysis: Analysis, summary: dict[str, Any]):
    fit, sizes = prepared.fit, prepared.sizes
    parts = fit.parts(sizes)
    fitted = sum(parts.values()) + fit.floor
    panels = []
    for variable, x in sizes.items():
        grid = np.geomspace(x.min(), x.max(), 100)
        found = summary["parameters"][f"exponent_{variable}"]
        bounded = found["low"] is not None and found["high"] is not None
        low = high = None
        if analysis.draws is not None:
            low, high = _band(analysis.draws, variable, grid)
        panels.append(
            figures.Term(
                label=_label(variable, prepared.units[variable]),
                sizes=x,
                partial=prepared.rows.losses - (fitted - parts[variable]),
                exponent=found["value"],
                interval=(found["low"], found["high"]) if bounded else None,
                fixed=found["fixed"],
                grid=grid,
                part=fit.part(variable, grid),
                low=low,
                high=high,
            )
        )
    return figures.terms(panels)


def _band(draws: Draws, variable: str, grid: Float[np.ndarray, "grid"]):
    """The 2.5th and 97.5th percentile of one term over the draws."""
    exponents, coefficients = (
        np.atleast_1d(draws.parameters[f"{kind}_{variable}"])[:, None]
        for kind in ("exponent", "coefficient")
    )
    # A draw without the term has a coefficient of 0, and no exponent.
    with np.errstate(over="ignore", invalid="ignore"):
        parts = np.where(coefficients > 0, coefficients * grid**-exponents, 0.0)
    return np.nanpercentile(parts, [2.5, 97.5], axis=0)


def _observed(prepared: Prepared):
    fit, rows = prepared.fit, prepared.rows
    predicted = fit.predict(prepared.sizes)[0]
    variable = next(iter(set(rows.variables) & {"depth"}), list(rows.variables)[0])
    return figures.observed_against_predicted(
        predicted,
        rows.losses,
        spread=float(np.sqrt(np.sum(fit.residuals**2) / max(fit.degrees_of_freedom, 1))),
        sizes=rows.variables[variable],
        label=NAMES[variable],
    )


def _exponents(scanned: dict[int, LawFit], variable: str) -> Float[np.ndarray, "counts"]:
    return np.array([fit.parameters[f"exponent_{variable}"].value for fit in scanned.values()])


def _scan(prepared: Prepared, scanned: dict[int, LawFit], shown: list[str]):
    scans = []
    for variable in shown:
        found = [fit.parameters[f"exponent_{variable}"] for fit in scanned.values()]
        scans.append(
            figures.Scan(
                NAMES[variable],
                [estimate.value for estimate in found],
                [estimate.low for estimate in found],
                [estimate.high for estimate in found],
                UNIVERSAL_EXPONENTS[variable],
            )
        )
    in_use = prepared.study.data.exclude_highest
    return figures.exclusion_scan(
        list(scanned), scans, in_use=in_use if in_use in scanned else None
    )


def _frontier(prepared: Prepared, law: Coefficients, summary: dict[str, Any]):
    rows = prepared.rows.variables
    count = rows["parameters"] if "parameters" in rows else 12 * rows["width"] ** 2 * rows["depth"]
    spent = 6 * count * rows["data"]
    asked = prepared.study.plan.compute
    ends = [spent.min(), spent.max(), *asked]
    compute = np.geomspace(min(ends) / 2, max(ends) * 2, 80)
    best = for_compute(law.values, compute, law.embeddings)
    low = high = None
    if law.draws is not None:
        drawn = for_compute(some(law.draws), compute[:, None], law.embeddings).loss
        bands = [percentiles(row) for row in drawn]
        if all(band.low is not None for band in bands):
            low, high = (np.array(ends) for ends in zip(*bands, strict=True))
    budgets = [
        figures.Budget(
            _short(found),
            found["compute"],
            found["loss"]["value"],
            found["parameters"]["value"],
            found["tokens"]["value"],
        )
        for found in summary["planning"]["budgets"]
    ]
    return figures.frontier(
        figures.Frontier(compute, best.loss, best.parameters, best.tokens, low, high),
        budgets=budgets,
        floor=prepared.fit.floor or None,
        runs=(spent, prepared.rows.losses),
    )


def _short(found: dict[str, Any]) -> str:
    per = f"D/N {found['tokens_per_parameter']['value']:.3g}"
    if "buildable" in found:
        return f"m {found['buildable']['width']:.0f}, l {found['buildable']['depth']:.0f}, {per}"
    return f"N {found['parameters']['value']:.2g}, {per}"


def _shape_price(law: Coefficients, budgets: tuple[float, ...]):
    same = law.values["exponent_width"] == law.values["exponent_depth"] and not law.embeddings
    prices = []
    for compute in budgets[:1] if same else budgets[:4]:
        best = for_compute(law.values, compute, law.embeddings)
        centre = float(best.width / best.depth)
        ratios = np.geomspace(centre / RATIOS, centre * RATIOS, 121)
        factor = shape_price(law.values, ratios, compute, law.embeddings).compute_factor
        low = high = None
        if law.draws is not None and same:
            drawn = shape_price(some(law.draws), ratios, compute, law.embeddings).compute_factor
            low, high = (np.percentile(drawn, q, axis=1) for q in (2.5, 97.5))
        label = "any budget" if same else f"C = {compute:.0e}"
        prices.append(figures.ShapePrice(label, ratios, factor, low, high))
    return figures.shape_price(prices)
