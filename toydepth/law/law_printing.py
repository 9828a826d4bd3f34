"""A study for a person: tables on a terminal, plain ASCII where there is none."""

import math
from pathlib import Path
from typing import Any

from toydepth.commands.printed import Printed
from toydepth.law.prepared import counted_in

VERDICTS = {
    "holds": "hold",
    "rejected": "are rejected",
    "in doubt": "are in doubt",
    "cannot tell": "are not put to the test",
}
SHORT = {"compute": "FLOP", "parameters": "N", "tokens": "D", "tokens_per_parameter": "D/N"}


def print_study(summary: dict[str, Any], paths: list[Path]) -> None:
    """Print the fit, the comparison, the scans, the plans, the warnings, and where files are."""
    printed = Printed()
    line, table = printed.line, printed.table
    data = summary["data"]
    left_out = [f"{data['excluded']} of the highest loss left out"] if data["excluded"] else []
    left_out += [f"{data['dropped']} invalid dropped"] if data["dropped"] else []
    line(
        f"{data['path']}: {summary['rows']} of {data['read']} rows"
        + "".join(f", {w}" for w in left_out)
    )
    if data["cite"]:
        line(f"source: {data['cite']}")
    fit = summary["fit"]
    line(
        f"L = {summary['law']['formula']}; root mean squared log residual "
        f"{summary['mean_squared_log_residual'] ** 0.5:.3%} "
        f"(mean square {summary['mean_squared_log_residual']:.4e}); "
        f"{fit['agreeing']} of {fit['starts']} starts agree, gradient {fit['gradient']:.0e}"
    )
    by = summary["errors"]
    shown = "95 % (profile)" if by == "rows" else "95 % (by shapes)"
    table(
        "Parameters" + _units(data["units"]),
        ["", "value", "+-", shown, f"95 % (bootstrap of {by})"],
        [_parameter(name, found) for name, found in summary["parameters"].items()],
    )
    if summary["aspect_ratio"] is not None:
        found = (summary["planning"] or {}).get("aspect_ratio", {"value": summary["aspect_ratio"]})
        at = found.get("at_parameters")
        line(f"best aspect ratio m/l{'' if at is None else f' at N = {at:.2g}'}: {_told(found)}")
    if summary["comparison"]:
        _comparison(summary["comparison"], line, table)
    _scans(summary["robustness"], table)
    if summary["planning"]:
        _plans(summary["planning"], line, table)
    for warning in summary["warnings"]:
        line(f"warning: {warning}")
    for note in summary["notes"]:
        line(f"note: {note}")
    for path in paths:
        line(path)


def sentence(summary: dict[str, Any]) -> str:
    """One line on a fit, for a sweep."""
    exponents = [
        f"{name.removeprefix('exponent_')} {_pair(found)}"
        for name, found in summary["parameters"].items()
        if name.startswith("exponent_")
    ]
    comparison = summary["comparison"]
    verdict = f"; universal exponents {VERDICTS[comparison['verdict']]}" if comparison else ""
    count = len(summary["warnings"])
    return (
        f"L = {summary['law']['formula']}, {summary['rows']} rows: {', '.join(exponents)}; "
        f"mean squared log residual {summary['mean_squared_log_residual']:.3e}{verdict}"
        + (f"; {count} warning{'s' if count > 1 else ''} in law.json" if count else "")
    )


def _units(units: dict[str, float]) -> str:
    counted = [f"{variable} {counted_in(unit)}" for variable, unit in units.items() if unit != 1]
    return f" ({', '.join(counted)})" if counted else ""


def _parameter(name: str, found: dict[str, Any]) -> list[str]:
    if found["fixed"]:
        return [name, f"{found['value']:.4g}", "fixed", "", ""]
    error = "-" if found["stderr"] is None else f"{found['stderr']:.2g}"
    shown = [_interval(found), _interval(found["bootstrap"])]
    return [name, _plain(found["value"]), error, *shown]


def _plain(value: float | None, digits: int = 4) -> str:
    """A number; a dash where there is none."""
    return "-" if value is None or not math.isfinite(value) else f"{value:.{digits}g}"


def _interval(found: dict[str, float | None], digits: int = 4) -> str:
    low, high = found["low"], found["high"]
    if low is None and high is None:
        return "-"
    ends = ["no bound" if end is None else f"{end:.{digits}g}" for end in (low, high)]
    return " to ".join(ends)


def _pair(found: dict[str, Any]) -> str:
    error = found["stderr"]
    known = error is not None and error > 1e-9 * abs(found["value"])
    return _plain(found["value"], 3) + (f" +- {error:.2g}" if known else "")


def _told(found: dict[str, Any]) -> str:
    value = _plain(found["value"])
    if found.get("low") is None and found.get("high") is None:
        return f"{value} (no interval)"
    return f"{value} ({_interval(found, 3)})"


def _comparison(found: dict[str, Any], line, table) -> None:
    rows = []
    for variable, exponent in found["exponents"].items():
        errors = exponent["in_standard_errors"]
        rows.append(
            [
                variable,
                f"{exponent['universal']:.3g}",
                _pair(exponent["free"]),
                "-" if errors is None else f"{exponent['difference']:+.2g}",
                "-" if errors is None else f"{errors:+.1f}",
            ]
        )
    table(
        "Universal exponents against free ones",
        ["exponent of", "universal", "free", "difference", "in +-"],
        rows,
    )
    squares = found["mean_squared_log_residual"]
    ratio = squares["fixed"] / squares["free"] if squares["free"] > 1e-20 else math.nan
    line(
        f"the universal exponents {VERDICTS[found['verdict']]}: {found['sentence']}; "
        f"their mean squared log residual is {_plain(ratio, 3)} times that of free ones"
    )
    for name, title in (("k_fold", "rows"), ("leave_one_shape_out", "shapes")):
        held = found["held_out"][name]
        if held:
            line(
                f"on {title} left out ({held['groups']} groups): {held['fixed']:.3e} universal, "
                f"{held['free']:.3e} free, difference {held['difference']:+.1e} "
                f"+- {held['stderr']:.1e}"
            )
    if found["as_asked"]:
        line(
            f"the law as asked, against free exponents: {found['as_asked']['verdict']}, "
            f"{found['as_asked']['sentence']}"
        )


def _scans(robustness: dict[str, Any], table) -> None:
    scanned = [
        (f"{row['count']} highest left out", row) for row in robustness["exclude_highest"]
    ] + [(f"depth - {row['offset']:g}", row) for row in robustness["depth_offset"]]
    if not scanned:
        return
    names = next((list(row["parameters"]) for _, row in scanned if row["rows"]), [])
    shown = [n for n in names if n.startswith("exponent_") or n == "floor"]
    with_ratio = any(row.get("aspect_ratio") for _, row in scanned)
    rows = []
    for label, row in scanned:
        if row["rows"] is None:
            rows.append([label, "-", *("-" for _ in shown), *(["-"] if with_ratio else [])])
            continue
        cells = [_pair(row["parameters"][name]) for name in shown]
        if with_ratio:
            ratio = row.get("aspect_ratio")
            cells.append(_pair(ratio) if ratio else "-")
        rows.append([label, str(row["rows"]), *cells])
    headings = ["", "rows", *shown, *(["m/l"] if with_ratio else [])]
    table("How robust", headings, rows)


def _plan_rows(title: str, plan: dict[str, Any], built: dict[str, Any] | None, fields):
    """The plan, its 95 %, and the nearest that can be built."""
    found = [plan.get(field) for field in fields]
    rows = [[title, *("-" if x is None else f"{x['value']:.4g}" for x in found)]]
    if any(x is not None and x["low"] is not None for x in found):
        rows.append(["  95 % (bootstrap)", *("" if x is None else _interval(x, 3) for x in found)])
    if built:
        rows.append(["  that can be built", *(f"{built[field]:.5g}" for field in fields)])
    return rows


def _plans(plans: dict[str, Any], line, table) -> None:
    scalings = plans["scalings"]
    line(
        f"planning by {plans['rules']}: N ~ C^{_pair(scalings['parameters_with_compute'])}, "
        f"L - L0 ~ C^{_pair(scalings['excess_loss_with_compute'])}"
    )
    fields = ["width", "depth", "parameters", "tokens", "tokens_per_parameter", "loss"]
    rows, shown = [], []
    for plan in plans["budgets"]:
        shown = [field for field in fields if field in plan]
        rows += _plan_rows(f"{plan['compute']:.3g} FLOP", plan, plan.get("buildable"), shown)
    for plan in plans["targets"]:
        cheapest = plan["cheapest"]
        shown = [field for field in fields if field in cheapest]
        cost = f"loss {plan['loss']:g}, cheapest"
        line(f"loss {plan['loss']:g} costs {_told(cheapest['compute'])} FLOP at least")
        rows += _plan_rows(cost, cheapest, plan.get("buildable"), shown)
        rows += _plan_rows(f"loss {plan['loss']:g}, smallest", plan["smallest"], None, shown)
    if rows:
        table("Best models", ["", *(SHORT.get(field, field) for field in shown)], rows)
    for plan in plans["budgets"][:1]:
        for price in plan.get("shape_price", []):
            factor = _told({"value": price["compute_factor"], **price})
            line(
                f"at {plan['compute']:.3g} FLOP, m/l = {price['aspect_ratio']:.3g} takes {factor} "
                "times the compute of the best shape"
            )
