"""Weights & Biases as a mirror of `history.jsonl`: every record once, then the result.

Nothing here may hold up an experiment: no prompts, no endless waits. Without a key, or when
the server cannot be reached, the run is written to disk; `python -m toydepth.sync` uploads it.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from toydepth.files import read_history
from toydepth.settings import printable, reason
from toydepth.tracking import wandb_lines
from toydepth.tracking.wandb_address import Address
from toydepth.tracking.wandb_private import key_in_netrc

if TYPE_CHECKING:  # W&B takes a second to import: only runs that use it pay
    import wandb

_START_SECONDS = 20  # longest wait for the server when a run starts
_DATA_DIR_GIVEN = "WANDB_DATA_DIR" in os.environ
_FINISH_SECONDS = 120  # longest wait for uploads when it ends; the rest stays on disk


class Tracker(Protocol):
    """Where the records of a history and the result of a run are sent."""

    address: Address  # what a resumed run needs to go on with the same page

    def log(self, record: dict[str, Any]) -> None:
        """Send one record of the history."""

    def finish(
        self,
        result: dict[str, Any],
        course: Sequence[dict[str, Any]] = (),
        files: Sequence[Path] = (),
    ) -> None:
        """Send the result, alpha along training, and the files of an artifact; close the run."""


class NoTracker:
    """`tracker=none`: the run folder is enough."""

    address = Address(None)

    def log(self, record: dict[str, Any]) -> None: ...

    def finish(
        self,
        result: dict[str, Any],
        course: Sequence[dict[str, Any]] = (),
        files: Sequence[Path] = (),
    ) -> None: ...


def start_wandb(
    folder: str | Path,
    *,
    project: str | None,
    entity: str | None,
    group: str | None,
    name: str | None,
    config: dict[str, Any],
    run_id: str | None = None,
    resume: bool = False,
    axis: str = "depth",
    replicas: int = 1,
) -> Tracker:
    """Start a W&B run, or go on with one, and say in one line where it can be seen.

    The mode is `WANDB_MODE` if set, else online if a key is at hand (`WANDB_API_KEY` or a netrc
    entry), else offline. Files go to `WANDB_DIR` if set, else into `folder`. A run of `wandb agent`
    has the id, the project and the entity that its sweep gave it, whatever is said here.

    Args:
        folder: the run folder.
        project: null for W&B's own (`WANDB_PROJECT`, or its settings file), or else "toydepth".
        entity: null for W&B's own (`WANDB_ENTITY`, ...), or else the account's default.
        group: runs with the same group are shown together, unless `WANDB_RUN_GROUP` is set.
        name: what the run is called, unless `WANDB_NAME` is set; null for W&B's choice.
        config: the resolved configuration.
        run_id: the id of the run; null for `WANDB_RUN_ID`, or else a new one.
        resume: send what `folder`'s history already holds, except for what the server has. So
            each record arrives once, however the run was stopped. Cut the history back
            (`History.open(folder, keep)`) before.
        axis: what the size of a rung is called ("depth").
        replicas: how many replicas the run has; with several, metrics say which one is meant.
    """
    import wandb

    if not _DATA_DIR_GIVEN:  # what waits for an upload belongs to the run, not to the home folder
        place = os.environ.get("WANDB_DIR") or folder
        os.environ["WANDB_DATA_DIR"] = str(Path(place).absolute() / "wandb")
    mode = _mode()
    if mode == "offline":
        # W&B's own telemetry would look up its server even for an offline run.
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    options: dict[str, Any] = dict(
        project=project_name(project),
        entity=entity,
        group=None if os.environ.get("WANDB_RUN_GROUP") else group,
        name=None if os.environ.get("WANDB_NAME") else name,
        config=config,
        id=run_id,
        dir=None if os.environ.get("WANDB_DIR") else str(folder),
        settings=wandb.Settings(
            silent=True,  # the progress bar owns the terminal
            console="off",
            init_timeout=_START_SECONDS,
            finish_timeout=_FINISH_SECONDS,
            reinit="finish_previous",  # a multirun starts several runs in one process
        ),
    )
    try:
        online = mode not in ("offline", "disabled")
        how = {"mode": mode, "resume": "allow" if resume and online else None}
        run = wandb.init(**(options | how))
    except wandb.errors.Error as error:
        first = f"{type(error).__name__}: {error}".partition("\n")[0]
        print(f"W&B cannot be used online, going on offline: {first}", file=sys.stderr)
        run = wandb.init(mode="offline", **options)
    keep_config(run, config)

    if run.url:
        print(f"W&B: {run.url}", file=sys.stderr)
    elif not run.disabled:
        words = f"python -m toydepth.sync {shlex.quote(str(folder))}"
        print(printable(f"W&B is offline; to upload: {words}"), file=sys.stderr)
    tracker = WandbTracker(run, axis, replicas)
    for record in read_history(folder) if resume else []:
        tracker.log(record)
    return tracker


def project_name(project: str | None) -> str:
    """The project: the one that was asked for, or W&B's own, or "toydepth"."""
    import wandb

    return project or wandb.setup(wandb.Settings(silent=True)).settings.project or "toydepth"


def keep_config(run: wandb.Run, config: dict[str, Any]) -> None:
    """Keeps the settings of a group that a sweep has as one of its parameters.

    W&B locks a sweep's parameters: with `teacher` among them, the configuration's `teacher` is the
    chosen word. The settings of that group are then kept by their dotted names.
    """
    for group, settings in config.items():
        if isinstance(settings, dict) and not isinstance(run.config.get(group, settings), dict):
            run.config.update({f"{group}.{name}": value for name, value in settings.items()})


class WandbTracker:
    """An open W&B run. Metrics are called `train/depth_12/loss`."""

    def __init__(self, run: wandb.Run, axis: str, replicas: int):
        project = None if run.disabled else run.project
        self.address = Address(run.id, project, run.entity or None)
        self._run = run
        self._axis = axis
        self._replicas = replicas
        self._lines = 0
        self._clock: dict[str, Any] = {}
        self._broken = False
        # The step of the last line that the server has of a resumed run tells how far it had got.
        self._known = run.starting_step if run.resumed else 0
        wandb_lines.define_metrics(run)

    def log(self, record: dict[str, Any]) -> None:
        """Send one record of the history, unless the server has it already."""
        self._attempt(lambda: self._log(record))

    def _log(self, record: dict[str, Any]) -> None:
        number = self._lines + 1
        line = wandb_lines.measurement(record, number, self._axis, self._replicas)
        self._clock = wandb_lines.clock([line])
        self._send(line)

    def _send(self, line: dict[str, Any]) -> None:
        number, self._lines = self._lines, self._lines + 1
        if number >= self._known:
            self._run.log(line, step=number, commit=True)

    def _attempt(self, send: Callable[[], None]) -> None:
        """A tracker that breaks is said once and left; it must not take the run with it."""
        if self._broken:
            return
        try:
            send()
        except Exception as error:
            self._broken = True
            words = f"W&B stopped taking records, the run goes on: {reason(error)}"
            print(words, file=sys.stderr)

    def finish(
        self,
        result: dict[str, Any],
        course: Sequence[dict[str, Any]] = (),
        files: Sequence[Path] = (),
    ) -> None:
        """Send the result, alpha along training, and the files of an artifact; close the run.

        A run that is not completed ends as failed, with its status in the summary.
        """
        self._attempt(lambda: self._close(result, course, files))
        status = wandb_lines.EXIT.get(result.get("status", "failed"), 1)
        self._broken = False  # whatever broke, the run is told how it ended
        self._attempt(lambda: self._run.finish(exit_code=status))

    def _close(self, result, course, files) -> None:
        for line in wandb_lines.course_lines(course, self._clock):
            self._send(line)
        chart = wandb_lines.loss_chart(result, self._axis)
        if chart:
            self._send({f"loss_by_{self._axis}": chart} | self._clock)
        self._run.summary.update(wandb_lines.summary(result, self._axis, course))
        keep_files(self._run, files)


def keep_files(run: wandb.Run, files: Sequence[Path]) -> None:
    """Logs the files as the run's artifact; files that W&B has already make no new version."""
    import wandb

    if not files:
        return
    artifact = wandb.Artifact(f"result-{run.id}", type="result")
    for path in files:
        artifact.add_file(str(path), name=path.name)
    run.log_artifact(artifact)


def _mode() -> str:
    """The mode W&B was asked for, but never one in which it would ask for a key."""
    import wandb

    settings = wandb.setup(wandb.Settings(silent=True)).settings
    mode = os.environ.get("WANDB_MODE") or settings.mode
    mode = {"dryrun": "offline", "run": "online"}.get(mode, mode)  # W&B's older words
    if mode in ("offline", "disabled"):
        return mode
    if has_key(settings):
        return mode
    if "WANDB_MODE" in os.environ:
        print(f"WANDB_MODE={mode} needs a key and there is none: offline", file=sys.stderr)
    return "offline"


def has_key(settings: wandb.Settings) -> bool:
    """Whether W&B finds a key, in the places where it looks for one, without asking for it."""
    if settings.api_key or settings.identity_token_file:
        return True
    return key_in_netrc(settings.base_url)
