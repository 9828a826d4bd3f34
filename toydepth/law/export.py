"""The tables of a fit for a paper (LaTeX) or a spreadsheet (CSV)."""

import csv
import io
import math
from typing import Any

from toydepth.law.prepared import Prepared, counted_in

SYMBOLS = {"width": "m", "depth": r"\ell", "data": "D", "time": r"\tau", "parameters": "N"}


def latex(summary: dict[str, Any]) -> str:
    """A booktabs table of the parameters: value, standard error, 95 % interval."""
    lines = [
        f"% {_comment(summary)}",
        r"\begin{tabular}{lrrr}",
        r"\toprule",
        r"parameter & value & standard error & 95\,\% interval \\",
        r"\midrule",
    ]
    for name, found in summary["parameters"].items():
        interval = "--"
        if found["fixed"]:
            interval = "fixed"
        elif found["low"] is not None or found["high"] is not None:
            low = r"-\infty" if found["low"] is None else _number(found["low"])
            high = r"\infty" if found["high"] is None else _number(found["high"])
            interval = f"$[{low}, {high}]$"
        error = "--" if found["stderr"] is None else f"${_number(found['stderr'])}$"
        value = f"${_number(found['value'])}$" if math.isfinite(found["value"]) else "--"
        lines.append(rf"${_symbol(name)}$ & {value} & {error} & {interval} \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def parameters_csv(summary: dict[str, Any]) -> str:
    """One line for each parameter."""
    fields = ["parameter", "value", "stderr", "low", "high", "fixed"]
    return _csv(
        fields,
        [
            [name, *(found[field] for field in fields[1:])]
            for name, found in summary["parameters"].items()
        ],
    )


def rows_csv(prepared: Prepared) -> str:
    """One line for each row: its sizes and loss, the fitted loss, its parts, the log residual."""
    rows, fit = prepared.rows, prepared.fit
    parts = fit.parts(prepared.sizes)
    names = list(rows.variables)
    fitted = sum(parts.values()) + fit.floor
    fields = ["line", *names, "loss", "fitted", *(f"part_{n}" for n in names), "log_residual"]
    columns = [rows.lines, *rows.variables.values(), rows.losses, fitted]
    columns += [*(parts[name] for name in names), fit.residuals]
    return _csv(fields, zip(*(column.tolist() for column in columns), strict=True))


def _csv(fields, rows) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(fields)
    writer.writerows(rows)
    return buffer.getvalue()


def _comment(summary: dict[str, Any]) -> str:
    units = [f"{v} {counted_in(unit)}" for v, unit in summary["data"]["units"].items() if unit != 1]
    return f"L = {summary['law']['formula']}; {summary['rows']} rows; " + "; ".join(
        units or ["units of one"]
    )


def _symbol(name: str) -> str:
    if name == "floor":
        return "L_0"
    kind, _, variable = name.partition("_")
    return {"exponent": r"\alpha", "coefficient": "c"}[kind] + f"_{{{SYMBOLS[variable]}}}"


def _number(value: float) -> str:
    """Four digits, as mathematics."""
    text = f"{value:.4g}"
    mantissa, _, power = text.partition("e")
    return rf"{mantissa} \times 10^{{{int(power)}}}" if power else mantissa
