"""One ladder trained, in a folder or in memory: what the command and `train_ladder` share."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import PyTree

from toydepth.commands.progress_bar import progress as progress_bar
from toydepth.config import Experiment
from toydepth.engine import (
    Checkpoints,
    Job,
    Layout,
    Progress,
    Stopped,
    compile_seconds,
    layout,
    prepare_devices,
    prepare_job,
    restore,
)
from toydepth.engine import run as run_phases
from toydepth.files import History, read_history, versions
from toydepth.processes import ALONE, Place
from toydepth.results import outcome
from toydepth.results.records import RunRecord, write_record
from toydepth.results.weights import save_rung
from toydepth.settings import SettingError, reason
from toydepth.toy import BUILT_IN, Own, problem_of
from toydepth.tracking import run_facts
from toydepth.tracking.start import import_ahead, start_tracker


class Trained(NamedTuple):
    """What a ladder that was trained in memory leaves.

    Attributes:
      record: what result.json says.
      history: its measurements, as in history.jsonl.
      weights: size -> the parameters of that rung, (replica, condition, ...).
    """

    record: RunRecord
    history: list[dict[str, Any]]
    weights: dict[int, PyTree]


def prepare(e: Experiment, own: Own = BUILT_IN, at: Place = ALONE) -> Job:
    """A job on its devices, for all the processes that train it; this one is `at` its place.

    Raises:
      SettingError: the devices cannot divide the work, or `e` names an object not in `own`.
    """
    prepare_devices(e.parallel.devices, at)
    return prepare_job(e, problem_of(e, own), grid(e))


def grid(e: Experiment) -> Layout:
    """How a job is laid out over the devices of this process, or a refusal."""
    try:
        return layout(e.parallel.devices, replicas=e.replicas, batch=e.train.batch_size)
    except ValueError as error:
        raise SettingError("parallel.devices", e.parallel.devices, str(error)) from None


def train_in_memory(
    e: Experiment,
    own: Own = BUILT_IN,
    *,
    experiment: str | None = None,
    stop: Callable[[], bool] = lambda: False,
    quiet: bool = False,
) -> Trained:
    """Trains one ladder and writes nothing.

    Args:
      experiment: the preset that the settings started from.
      stop: asked after each chunk of steps whether to leave.
      quiet: shows no progress.

    Raises:
      Stopped: `stop` said so; what was trained is gone.
    """
    compiled = compile_seconds()
    job = prepare(e, own)
    history: list[dict[str, Any]] = []
    weights: dict[int, PyTree] = {}
    with progress_bar(job.total_steps, quiet=quiet) as bar:
        progress = run_phases(
            job,
            None,
            Progress(),
            record=history.append,
            show=bar.update,
            keep=weights.__setitem__,
            stop=stop,
        )
    return Trained(_record(job, progress, compiled, experiment), history, weights)


def train_in_folder(
    e: Experiment,
    folder: Path,
    own: Own = BUILT_IN,
    *,
    cfg: dict[str, Any],
    say: Callable[[str], None],
    experiment: str | None = None,
    stop: Callable[[], bool] = lambda: False,
    quiet: bool = False,
    label: str | None = None,
    at: Place = ALONE,
) -> RunRecord:
    """Trains one ladder in its folder, from its last checkpoint if it has one.

    Args:
      cfg: the composed configuration, plain nested data, for the tracker.
      say: takes what is to be said of checkpoints, in words.
      label: stands before each line on its progress, where it is one of several jobs at a time.
      at: this process among those of the job.
      experiment, stop, quiet: as for `train_in_memory`.

    Raises:
      Stopped: `stop` said so, with a checkpoint of all that is done.
    """
    compiled = compile_seconds()
    import_ahead(e.tracker)
    job = prepare(e, own, at)
    with ExitStack() as opened:
        checkpoints = opened.enter_context(Checkpoints(folder, say))
        progress, rungs = restore(job, checkpoints, History.lines_of(folder))
        known = progress.total_step > 0
        if known:
            say(f"going on from step {progress.total_step}")
        history = opened.enter_context(History.open(folder, progress.records))
        lines = progress_bar(job.total_steps, plain=True if label else None, quiet=quiet)
        bar = opened.enter_context(lines)
        tracker = start_tracker(
            e.tracker,
            folder,
            group=run_facts.group(e),
            name=run_facts.name(e),
            config=cfg,
            resumed=known,
            replicas=e.replicas,
            axis=e.axis,
        )

        def record(line: dict[str, Any]) -> None:
            history.append(line)
            tracker.log(line)

        def show(done: int, rung: str, *rest: float) -> None:
            bar.update(done, f"{label or ''}{rung}", *rest)

        try:
            progress = run_phases(
                job,
                checkpoints,
                progress,
                record=record,
                show=show,
                keep=partial(save_rung, folder, e.axis),
                rungs=rungs,
                stop=stop,
            )
            answer = _record(job, progress, compiled, experiment)
            write_record(folder / "result.json", answer)
        except BaseException as error:
            checkpoints.wait()  # before anything that may take longer than there is time
            tracker.finish({"status": how_it_ended(error), "error": reason(error)})
            raise
    if e.tracker.kind != "none":
        if e.tracker.artifact:
            run_facts.draw(folder)
        files = run_facts.files(folder) if e.tracker.artifact else []
        course = run_facts.course(answer, read_history(folder))
        tracker.finish(answer.model_dump(), course, files)
    return answer


def follow(e: Experiment, at: Place, stop: Callable[[], bool]) -> Progress:
    """What the other processes of a job do: they run the same programs, and write nothing."""

    def nothing(*_: Any) -> None:
        pass

    job = prepare(e, at=at)
    progress, rungs = restore(job, None, np.inf)
    return run_phases(
        job, None, progress, record=nothing, show=nothing, keep=nothing, rungs=rungs, stop=stop
    )


def how_it_ended(error: BaseException) -> str:
    """What a tracker is told of a run that ends with an error."""
    failed = isinstance(error, Exception) and not isinstance(error, Stopped)
    return "failed" if failed else "stopped"


def _record(job: Job, progress: Progress, compiled: float, experiment: str | None) -> RunRecord:
    return outcome.result(
        job.experiment,
        progress.rungs,
        experiment=experiment,
        versions=versions(),
        seconds=progress.seconds,
        compile_seconds=compile_seconds() - compiled,
        devices=len(job.layout.devices),
    )
