"""How a regime's exponent moves while its rungs train (arXiv 2602.05970, figure 4b)."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from toydepth.results.records import Estimate, Rung
from toydepth.results.regimes import Regime, fit_points
from toydepth.results.report_record import AlphaThen

TIMES = 20


class Measured(NamedTuple):
    """The tests of one rung, in order: steps done, loss and its standard error."""

    steps: list[int]
    losses: list[float]
    stderr: list[float]


def cell_of(line: dict[str, Any]) -> tuple:
    """Which student a line of a history is about."""
    return line["size"], line["replica"], line["temperature"], line.get("peak_rate")


def cell_of_rung(rung: Rung) -> tuple:
    """The same of a record's rung."""
    return rung.size, rung.replica, rung.temperature, rung.peak_rate


def measured_in(history: Sequence[dict[str, Any]]) -> Mapping[tuple, Measured]:
    """(size, replica, temperature, rate if several) -> the tests in a run's history.

    Raises KeyError or TypeError for a line that is not one of toydepth's.
    """
    found: defaultdict[tuple, Measured] = defaultdict(lambda: Measured([], [], []))
    for line in history:
        if line["kind"] == "test" and (line["loss"] or 0) > 0:
            tests: tuple[list, ...] = found[cell_of(line)]
            for values, name in zip(tests, ("step", "loss", "loss_stderr"), strict=True):
                values.append(line[name])
    return found


def alpha_over_training(
    regime: Regime, measured: Callable[[str], Mapping[tuple, Measured]]
) -> list[AlphaThen]:
    """Alpha with its 95 % interval at twenty times of the training.

    Rungs that train side by side are compared at equal steps, one that has settled holding its
    last loss. By depth continuation a rung starts where the one below it ended, so its steps are
    no clock for the others: rungs are compared at equal shares of their own training. Between two
    tests the log of the loss is interpolated.

    Args:
      regime: the rungs to pool.
      measured: a run's name -> its tests.

    Returns an entry for each time that every rung's tests span; by continuation without steps.
    """
    points = [point for point in regime.usable() if point.steps]
    curves = [measured(point.run).get(cell_of_rung(point)) for point in points]
    if not points or not all(curves):
        return []
    together = regime.facts.get("train.method") == "scratch"
    longest = max(point.steps for point in points)
    found = []
    for share in np.arange(1, TIMES + 1) / TIMES:
        at = [share * (longest if together else point.steps) for point in points]
        if any(step < curve.steps[0] for step, curve in zip(at, curves, strict=True)):
            continue
        then = [
            point.model_copy(
                update={
                    "loss": float(np.exp(_between(step, curve, np.log(curve.losses)))),
                    "loss_stderr": float(_between(step, curve, curve.stderr)),
                }
            )
            for point, step, curve in zip(points, at, curves, strict=True)
        ]
        law, _ = fit_points(then, regime.axis)
        if law is not None:
            alpha = dict(Estimate.from_fit(law.alpha))
            steps = float(share * longest) if together else None
            found.append(AlphaThen(share=float(share), steps=steps, **alpha))
    return found


def _between(step: float, curve: Measured, values: Sequence[float]) -> float:
    """Linear in the log of the step, level after the last test."""
    return np.interp(np.log(step), np.log(curve.steps), values)
