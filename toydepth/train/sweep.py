"""A sweep as a whole: its report when the last job ends, and what is said of each job meanwhile."""

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from toydepth import config
from toydepth.commands.command_line import Command, say
from toydepth.commands.launchers import ELSEWHERE
from toydepth.commands.sweep_progress import Standing
from toydepth.results.records import ResultError, read_result
from toydepth.settings import reason

LOOK_SECONDS = 2.0


class Gather(Callback):
    """Fits an exponent for each regime of a sweep, and names the jobs that failed."""

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        gather(Path(config.hydra.sweep.dir))


def gather(folder: Path) -> None:
    """Writes and prints the report of the jobs in a sweep's folder, as far as they have come."""
    from toydepth.report.report_command import build_report, print_report

    try:
        print_report(build_report([folder], folder))
    except Exception as error:  # the jobs' results stand; Hydra would print a warning's lines
        say("train", f"{folder} has no report: {reason(error)}")


@contextmanager
def watched(command: Command, standing: Standing) -> Iterator[None]:
    """Says how each job ends that runs where this terminal does not hear it."""
    if command.launcher not in ELSEWHERE:
        yield
        return
    before = {folder: _written(folder) for folder in command.job_folders}
    over = threading.Event()

    def look() -> None:
        last = False
        while not last:
            last = over.wait(LOOK_SECONDS)
            for number, folder in enumerate(command.job_folders):
                written = _written(folder)
                if written != before[folder]:
                    before[folder] = written
                    words = f"job {number}: {sentence(folder)} -> {folder}"
                    say("train", f"{standing.words()} | {words}")

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _written(folder: Path) -> int | None:
    """When the job's result was written, which is renamed into its place."""
    try:
        return (folder / "result.json").stat().st_mtime_ns
    except OSError:
        return None


def sentence(folder: Path) -> str:
    """One line on a job of a sweep that has ended."""
    try:
        result = read_result(folder / "result.json")
    except ResultError as error:
        return str(error)
    if result.status == "failed":
        return f"failed: {result.error}"
    teacher, rungs = result.teacher, defaultdict(list)
    for rung in result.rungs:
        rungs[rung.size].append(rung.loss)
    losses = ", ".join(f"{size}: {_span(found)}" for size, found in islice(rungs.items(), 8))
    name = config.teacher_name(teacher.kind, teacher.drawn_by)
    alpha = f"; alpha {result.alpha}" if result.alpha else ""
    who = f"{name} teacher, seed {teacher.seed}"
    return f"{who}, {result.status}{alpha}; loss at {result.axis} {losses}"


def _span(losses: Sequence[float | None]) -> str:
    """From the lowest to the highest of the losses at one size, and how many diverged."""
    known = [loss for loss in losses if loss is not None]
    if not known:
        return "diverged"
    ends = dict.fromkeys(f"{loss:.3g}" for loss in (min(known), max(known)))
    lost = len(losses) - len(known)
    return " to ".join(ends) + (f" ({lost} of {len(losses)} diverged)" if lost else "")
