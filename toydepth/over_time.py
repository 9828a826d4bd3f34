"""How a regime's exponent moves while its rungs train (arXiv 2602.05970, figure 4b)."""

from collections.abc import Callable, Sequence
from typing import Any

from toydepth.regimes import Regime, fit_points

SHARES = tuple(k / 20 for k in range(1, 21))


def alpha_over_training(
    regime: Regime, history_of: Callable[[str], Sequence[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """Alpha with its 95 % interval when each rung has done a given share of its training.

    Args:
      regime: the rungs to pool.
      history_of: a run's name -> the lines of its history.jsonl.

    Returns an entry for each twentieth at which every rung has been tested: `share`, `steps` (if
    all rungs train for the same number, else null) and alpha's `value`, `stderr`, `low`, `high`.
    """
    points = regime.usable()
    curves = [_test_losses(point, regime.facts["T"], history_of(point["run"])) for point in points]
    found = []
    for share in SHARES:
        then = [
            _latest(curve, share * point["steps"])
            for point, curve in zip(points, curves, strict=True)
        ]
        if None in then:
            continue
        at = [
            point | {"loss": loss, "loss_stderr": stderr}
            for point, (loss, stderr) in zip(points, then, strict=True)
        ]
        law, _ = fit_points(at)
        if law is None:
            continue
        steps = {point["steps"] for point in points}
        entry = {"share": share, "steps": share * steps.pop() if len(steps) == 1 else None}
        estimate = {name: getattr(law.alpha, name) for name in ("value", "stderr", "low", "high")}
        found.append(entry | estimate)
    return found


def _test_losses(
    point: dict[str, Any], temperature: float | None, history: Sequence[dict[str, Any]]
) -> list[tuple[int, float, float]]:
    """(step, loss, standard error) of each test of one rung."""
    mine = {"kind": "test", "depth": point["depth"], "replica": point["replica"]}
    mine |= {"temperature": temperature}
    return [
        (line["step"], line["loss"], line["loss_stderr"])
        for line in history
        if mine.items() <= line.items() and (line["loss"] or 0) > 0
    ]


def _latest(curve: list[tuple[int, float, float]], step: float) -> tuple[float, float] | None:
    """The last test at or before a step."""
    before = [(loss, stderr) for at, loss, stderr in curve if at <= step]
    return before[-1] if before else None
