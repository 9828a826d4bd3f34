"""What W&B is told of a run, as plain data: a line for each measurement, and closing lines.

A run is the list of its lines. Line n has W&B's own step n, so that the last step that the server
has says which lines it lacks: this is what makes stopping, resuming and syncing safe.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import wandb

# Fields that say where a measurement stands, logged beside it under their own names.
PLACE = ("step", "total_step", "seconds")
COURSE = "alpha_over_training"
# What the variants of one rung, trained side by side, differ in, and its short name.
VARIANT = {"temperature": "T", "peak_rate": "rate"}
SHARE = "training_share"  # the axis of COURSE: the part of its training that each rung has had
EXIT = {"completed": 0, "failed": 1, "diverged": 3, "stopped": 130}


def define_metrics(run: wandb.Run) -> None:
    """Losses are drawn over a rung's own steps, alpha over the share of its training."""
    for field in (*PLACE, "record", SHARE):
        run.define_metric(field, hidden=True)
    for kind in ("train", "test"):
        run.define_metric(f"{kind}/*", step_metric="step")
    run.define_metric(f"{COURSE}/*", step_metric=SHARE)


def measurement(record: dict[str, Any], number: int, axis: str, replicas: int) -> dict[str, Any]:
    """The line of a history's record, of which it is the `number`th, from 1 on."""
    place = {field: record[field] for field in PLACE if field in record}
    when = {"_timestamp": record["time"]} if "time" in record else {}
    return metrics(record, axis, replicas) | place | when | {"record": number}


def metrics(record: dict[str, Any], axis: str, replicas: int) -> dict[str, float]:
    """A record's measurements under their W&B names, such as `train/depth_12/loss/T=0.1`.

    In a run of several rates it has the peak rate, too: `train/width_32/loss/T=0.1/rate=0.01`.
    """
    where = {*PLACE, "size", "kind", "rung", "time", "replica", *VARIANT}
    suffix = _variant(record, VARIANT)
    if replicas > 1:
        suffix += f"/replica_{record['replica']}"
    return {
        f"{record['kind']}/{axis}_{record['size']:02d}/{field}{suffix}": value
        for field, value in record.items()
        if field not in where and value is not None
    }


def course_lines(course: Sequence[dict[str, Any]], when: dict[str, Any]) -> list[dict[str, Any]]:
    """A line for each time at which alpha is known; `when` is the clock of the last measurement."""
    variant = _variants(course)
    return [
        {SHARE: entry["share"]}
        | {
            f"{COURSE}/{name}{variant(entry)}": entry[name]
            for name in ("value", "stderr", "low", "high", "steps")
            if entry.get(name) is not None
        }
        | when
        for entry in course
    ]


def loss_chart(result: dict[str, Any], axis: str) -> wandb.plot.CustomChart | None:
    """The losses by size, as a chart with its table; None without a rung."""
    import wandb

    rungs = result.get("rungs", [])
    if not rungs:
        return None
    fields = ["size", "replica", "temperature"]
    fields += ["peak_rate"] if any(rung.get("peak_rate") is not None for rung in rungs) else []
    fields += ["loss", "loss_stderr", "steps", "converged", "status"]
    table = wandb.Table(columns=[axis, *fields[1:]], allow_mixed_types=True)
    for rung in rungs:  # all at once, W&B would import pandas to see whether they are a data frame
        table.add_data(*(rung.get(field) for field in fields))
    stroke = next(iter(_differing(rungs)), "replica")
    return wandb.plot.line(table, axis, "loss", stroke=stroke, title=f"loss by {axis}")


def clock(lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The wall clock of the last of `lines`, for what is known when the run ends."""
    return {key: lines[-1][key] for key in ("_timestamp",) if lines and key in lines[-1]}


def summary(
    result: dict[str, Any], axis: str, course: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """The numbers by which runs are compared: the exponent, the mean loss of each rung, the end.

    In a run of several temperatures or rates each has its own, such as `alpha/T=0.1`, from the end
    of the course; and failed or diverged rungs leave no mean behind.
    """
    found: dict[str, Any] = {"status": result.get("status"), "error": result.get("error")}
    found |= _exponent(result.get("alpha") or {})
    variant = _variants(course)
    for entry in course if not result.get("alpha") else ():  # the last of each variant stays
        found |= _exponent(entry, variant(entry))
    losses = defaultdict(list)
    rungs = result.get("rungs", [])
    variant = _variants(rungs)
    for rung in rungs:
        losses[f"loss/{axis}_{rung['size']:02d}{variant(rung)}"].append(rung["loss"])
    for name, values in losses.items():
        if None not in values:
            found[name] = math.fsum(values) / len(values)
    return {key: value for key, value in found.items() if value is not None}


def _exponent(alpha: dict[str, Any], suffix: str = "") -> dict[str, Any]:
    names = {"value": "alpha", "stderr": "alpha_stderr", "low": "alpha_low", "high": "alpha_high"}
    return {f"{name}{suffix}": alpha.get(field) for field, name in names.items()}


def _variants(entries: Sequence[dict[str, Any]]) -> Callable[[dict[str, Any]], str]:
    """Names the temperature and the rate of an entry, where there are several."""
    differing = _differing(entries)
    return lambda entry: _variant(entry, differing)


def _differing(entries: Sequence[dict[str, Any]]) -> list[str]:
    return [name for name in VARIANT if len({entry.get(name) for entry in entries}) > 1]


def _variant(entry: dict[str, Any], names: Iterable[str]) -> str:
    known = [(VARIANT[name], entry.get(name)) for name in names]
    return "".join(f"/{name}={value:g}" for name, value in known if value is not None)
