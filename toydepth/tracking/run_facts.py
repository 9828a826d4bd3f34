"""What a tracker is told of a run that only the science knows: its names, alpha as it trained."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toydepth.config import Experiment
from toydepth.results.records import RunRecord
from toydepth.settings import reason


def group(e: Experiment) -> str:
    """The regime, in which runs differ by size and seed."""
    words = [e.teacher.name, *_objective(e)]
    if e.objective.kind == "kl" and len(e.target.temperature) == 1:
        words.append(f"T={e.target.temperature[0]:g}")
    if not isinstance(e.student.width, tuple):
        words.append(f"width={e.student.width}")
    return "-".join(words)


def name(e: Experiment) -> str:
    """What tells a run from others: "shared mse, depth 3-6-12-24, width 16, teacher seed 0"."""
    parts = [
        " ".join([e.teacher.name, *_objective(e)]),
        f"{e.axis} {_listed(e.sizes, '-')}",
    ]
    if e.axis != "width":
        parts.append(f"width {e.student.width}")
    if e.objective.kind == "kl":
        parts.append(f"T {_listed(e.target.temperature, ' ')}")
    if isinstance(e.optimizer.learning_rate, tuple):
        parts.append(f"rate {_listed(e.optimizer.learning_rate, ' ')}")
    first, last = e.teacher.seed, e.teacher.seed + e.replicas - 1
    parts.append(f"teacher seed {first}" if first == last else f"teacher seeds {first} to {last}")
    if e.seed:
        parts.append(f"seed {e.seed}")
    return ", ".join(parts)


def course(result: RunRecord, history: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Alpha along a run's training, by temperature and rate; empty where it cannot be told."""
    if result.status == "failed":
        return []
    from toydepth.results.alpha_over_training import alpha_over_training, measured_in
    from toydepth.results.regimes import RATE, Run, pool_runs

    try:
        measured = measured_in(history)
        regimes, _ = pool_runs([Run("", result, 0)])
        return [
            {"temperature": regime.facts["T"], "peak_rate": regime.facts[RATE]} | dict(entry)
            for regime in regimes
            for entry in alpha_over_training(regime, lambda _: measured)
        ]
    except Exception as error:  # the run and its upload stand without
        print(f"W&B is not told alpha along training: {reason(error)}", file=sys.stderr)
        return []


def draw(folder: Path) -> None:
    """Draws a finished run's figures, where that is possible."""
    from toydepth.report.report_command import build_report

    try:
        build_report([folder], folder)
    except Exception as error:  # the result stands without figures
        print(f"{folder} has no figures for W&B: {reason(error)}", file=sys.stderr)


def files(folder: Path) -> list[Path]:
    """What a run's artifact holds: its result, and its figures as far as they are drawn."""
    return [folder / "result.json", *sorted((folder / "figures").glob("*.png"))]


def _objective(e: Experiment) -> list[str]:
    head = [e.objective.head] if e.objective.head else []
    block = [e.student.block] if e.student.block != "residual" else []
    return [e.objective.kind, *head, *block]


def _listed(values: Sequence[float], between: str) -> str:
    """The values, or their range where there are many."""
    if len(values) > 6:
        return f"{min(values):g} to {max(values):g} ({len(values)})"
    return between.join(f"{value:g}" for value in values)
