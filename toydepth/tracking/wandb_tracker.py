"""Weights & Biases as a mirror of `history.jsonl`: every record once, then the result.

Nothing here may hold up an experiment: no prompts, no endless waits. Without a key, or when
the server cannot be reached, the run is written to disk and `wandb sync` uploads it later.
"""

from __future__ import annotations

import math
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from toydepth.settings import reason
from toydepth.tracking.run_folder import read_history

if TYPE_CHECKING:  # W&B takes a second to import: only runs that use it pay
    import wandb

_START_SECONDS = 20  # longest wait for the server when a run starts
_DATA_DIR_GIVEN = "WANDB_DATA_DIR" in os.environ
_FINISH_SECONDS = 120  # longest wait for uploads when it ends; the rest stays on disk


class Tracker(Protocol):
    """Where the records of a history and the result of a run are sent."""

    run_id: str | None  # what a resumed run needs to go on with the same page

    def log(self, record: dict[str, Any]) -> None:
        """Send one record of the history."""

    def finish(
        self,
        result: dict[str, Any],
        figures: Sequence[Path],
        numbers: Mapping[str, float] | None = None,
    ) -> None:
        """Send the result, the figures (PNG files) and numbers for the summary; close the run."""


class NoTracker:
    """`tracker=none`: the run folder is enough."""

    run_id = None

    def log(self, record: dict[str, Any]) -> None: ...

    def finish(
        self,
        result: dict[str, Any],
        figures: Sequence[Path],
        numbers: Mapping[str, float] | None = None,
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
    entry), else offline. Files go to `WANDB_DIR` if set, else into `folder`.

    Args:
        folder: the run folder.
        project: null for `WANDB_PROJECT`, or else "toydepth".
        entity: null for `WANDB_ENTITY`, or else the account's default.
        group: runs with the same group are shown together.
        name: what the run is called; null for W&B's choice.
        config: the resolved configuration.
        run_id: the id of the run to go on with; null for a new one.
        resume: send what `folder`'s history already holds, except for what the server has. So
            each record arrives once, however the run was stopped. Cut the history back
            (`History.open(folder, keep)`) before.
        axis: the name of a size ("depth"): the field of the records and of the result's rungs.
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
        project=project or os.environ.get("WANDB_PROJECT") or "toydepth",
        entity=entity,
        group=group,
        name=name,
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
        run = wandb.init(mode=mode, resume="allow" if resume and online else None, **options)
    except wandb.errors.Error as error:
        first = f"{type(error).__name__}: {error}".partition("\n")[0]
        print(f"W&B cannot be used online, going on offline: {first}", file=sys.stderr)
        run = wandb.init(mode="offline", **options)

    if run.url:
        print(f"W&B: {run.url}", file=sys.stderr)
    elif not run.disabled:
        print(f"W&B is offline; to upload: wandb sync {Path(run.dir).parent}", file=sys.stderr)
    tracker = WandbTracker(run, axis, replicas)
    for record in read_history(folder) if resume else []:
        tracker.log(record)
    return tracker


class WandbTracker:
    """An open W&B run. Metrics are called `train/depth_12/loss`, and drawn over total steps."""

    def __init__(self, run: wandb.Run, axis: str, replicas: int):
        self.run_id: str | None = run.id
        self._run = run
        self._axis = axis
        self._replicas = replicas
        self._seen = 0
        self._broken = False
        # The server's summary of a resumed run tells how far the history had got.
        self._known = run.summary.get("record", 0) if run.resumed else 0
        for field in ("total_step", "seconds", "record"):
            run.define_metric(field, hidden=True)
        for kind in ("train", "test"):
            run.define_metric(f"{kind}/*", step_metric="total_step")

    def log(self, record: dict[str, Any]) -> None:
        """Send one record of the history, unless the server has it already."""
        self._seen += 1
        if self._seen > self._known:
            self._attempt(lambda: self._log(record))

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

    def _log(self, record: dict[str, Any]) -> None:
        values = metrics(record, self._axis, self._replicas)
        # As fields, not as W&B's own step: that one must grow, and replicas share their steps.
        shared = {field: record[field] for field in ("total_step", "seconds") if field in record}
        self._run.log({**values, **shared, "record": self._seen})

    def finish(
        self,
        result: dict[str, Any],
        figures: Sequence[Path],
        numbers: Mapping[str, float] | None = None,
    ) -> None:
        """Send the result, the figures (PNG files) and numbers for the summary.

        A run that is not completed ends as failed.
        """
        self._attempt(lambda: self._finish(result, figures, numbers or {}))

    def _finish(self, result, figures, numbers) -> None:
        import wandb

        self._run.summary.update(summary(result, self._axis) | dict(numbers))
        columns = [self._axis, "replica", "loss", "loss_stderr"]
        rows = [[rung.get(column) for column in columns] for rung in result.get("rungs", [])]
        if rows:
            table = wandb.Table(columns=columns, data=rows)
            title = f"loss by {self._axis}"
            lines = wandb.plot.line(table, self._axis, "loss", stroke="replica", title=title)
            self._run.log({f"loss_by_{self._axis}": lines})
        for figure in figures:
            self._run.log({f"figures/{figure.stem}": wandb.Image(str(figure))})
        self._run.finish(exit_code=0 if result.get("status") == "completed" else 1)


def metrics(record: dict[str, Any], axis: str, replicas: int) -> dict[str, float]:
    """A record's measurements under their W&B names, such as `train/depth_12/loss/T=0.1`."""
    where = {axis, "kind", "rung", "step", "total_step", "seconds", "time", "replica"}
    suffix = ""
    for name, short in (("temperature", "T"), ("peak_rate", "rate")):
        where.add(name)
        if record.get(name) is not None:
            suffix += f"/{short}={record[name]:g}"
    if replicas > 1:
        suffix += f"/replica_{record['replica']}"
    return {
        f"{record['kind']}/{axis}_{record[axis]:02d}/{field}{suffix}": value
        for field, value in record.items()
        if field not in where and value is not None
    }


def summary(result: dict[str, Any], axis: str) -> dict[str, float]:
    """The numbers by which runs are compared: the exponent, and the mean loss of each rung."""
    alpha = result.get("alpha") or {}
    found = {"alpha": alpha.get("value"), "alpha_stderr": alpha.get("stderr")}
    losses = defaultdict(list)
    for rung in result.get("rungs", []):
        losses[rung[axis]].append(rung["loss"])
    for size, values in losses.items():
        if None not in values:
            found[f"loss/{axis}_{size:02d}"] = math.fsum(values) / len(values)
    return {key: value for key, value in found.items() if value is not None}


def _mode() -> str:
    """The mode W&B was asked for, but never one in which it would ask for a key."""
    import wandb
    from wandb.sdk.lib import wbauth

    settings = wandb.setup(wandb.Settings(silent=True)).settings
    mode = os.environ.get("WANDB_MODE") or settings.mode
    mode = {"dryrun": "offline", "run": "online"}.get(mode, mode)  # W&B's older words
    if mode in ("offline", "disabled"):
        return mode
    if settings.api_key or settings.identity_token_file:
        return mode
    try:
        key = wbauth.read_netrc_auth(host=settings.base_url)
    except wandb.errors.AuthenticationError:
        key = None
    if key:
        return mode
    if "WANDB_MODE" in os.environ:
        print(f"WANDB_MODE={mode} needs a key and there is none: offline", file=sys.stderr)
    return "offline"
