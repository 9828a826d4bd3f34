"""One run from its folder to W&B, whole: what the server lacks is sent, and nothing twice.

The client of W&B stamps what it logs with the clock of the upload. Here the lines are handed to it
as whole history records, which keep the measurement's own clock, and the summary is given in full.
"""

from __future__ import annotations

import http.client
import os
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from toydepth.settings import fold
from toydepth.tracking import wandb_lines, wandb_private
from toydepth.tracking.wandb_address import Address
from toydepth.tracking.wandb_tracker import keep_config, keep_files

_START_SECONDS = 30  # longest wait for the server when an upload starts
_FINISH_SECONDS = 600  # longest wait for it to take all


class UploadError(RuntimeError):
    """Not all of a run has arrived; another upload goes on from there. One line."""


class Tracked(NamedTuple):
    """All that W&B is told of a run.

    Attributes:
      address: where its page is to be; W&B decides on an entity that is None.
      axis: what the size of a rung is called.
      group, name: what a new page is called; of an old one they are the user's.
      config: the resolved configuration.
      lines: of its measurements (`wandb_lines.measurement`).
      result: its result.json; None for a run that has not ended.
      course: alpha along its training.
      files: what its artifact holds; none for no artifact.
    """

    address: Address
    axis: str
    group: str
    name: str
    config: dict[str, Any]
    lines: Sequence[dict[str, Any]]
    result: dict[str, Any] | None
    course: Sequence[dict[str, Any]]
    files: Sequence[Path]


class Uploaded(NamedTuple):
    """How many measurements were sent, and where they are seen."""

    sent: int
    url: str


def upload(run: Tracked, opened: Callable[[Address], None]) -> Uploaded:
    """Sends what the server lacks of a run, and waits until it has arrived.

    A run without a result is left open, to be completed later; if the server knows more of it, as
    of an old copy of a folder, nothing is sent. `opened` is told where the page is.

    Raises:
      UploadError: not all has arrived.
      UnknownClient: W&B's client is of a version that is not known.
      wandb.errors.Error: the server cannot be reached or refuses the run.
    """
    wandb_private.check_version()
    # What the client writes beside is not needed once all has arrived: the folder has everything.
    with tempfile.TemporaryDirectory(prefix="toydepth-sync-") as place:
        os.environ["WANDB_DATA_DIR"] = place  # where W&B keeps an artifact until it is sent
        return _upload(run, opened, place)


def reachable() -> bool:
    """Whether W&B's server answers at all."""
    import wandb

    url = wandb.setup(wandb.Settings(silent=True)).settings.base_url
    try:
        urllib.request.urlopen(url, timeout=_START_SECONDS).close()
    except urllib.error.HTTPError as error:
        return error.code < 500
    except (OSError, ValueError, http.client.HTTPException):
        return False
    return True


def _upload(run: Tracked, opened: Callable[[Address], None], place: str) -> Uploaded:
    import wandb

    ended = run.result is not None
    page = wandb.init(
        project=run.address.project,
        entity=run.address.entity,
        id=run.address.run_id,
        config=run.config,
        dir=place,
        mode="online",
        resume="allow",
        settings=wandb.Settings(
            silent=True,
            console="off",
            init_timeout=_START_SECONDS,
            finish_timeout=_FINISH_SECONDS,
            finish_timeout_raises=True,
            disable_git=True,  # this program is not that of the run
            disable_code=True,
            **wandb_private.upload_settings(ended),
        ),
    )
    opened(Address(page.id, page.project, page.entity))
    if not page.resumed:
        wandb_private.set_group(page, run.group)
        page.name = run.name
    sent = _send(page, run)
    try:
        page.finish(exit_code=wandb_lines.EXIT[run.result["status"]] if run.result else 0)
    except TimeoutError:
        raise UploadError(f"W&B did not take all of it in {_FINISH_SECONDS} s") from None
    # The client ends as if all were well if the server has refused data.
    if words := wandb_private.refused(Path(place)):
        raise UploadError(f"W&B did not take all of it: {fold(words)}")
    return Uploaded(sent, page.url or "")


def _send(page, run: Tracked) -> int:
    """Sends the lines from the first one that the server lacks; returns how many measurements."""
    lines, axis = run.lines, run.axis
    known = page.starting_step if page.resumed else 0
    if run.result is None and known > len(lines):
        return 0
    keep_config(page, run.config)
    wandb_lines.define_metrics(page)
    result = run.result or {"status": "unfinished"}
    # An ending that is there stays: what alpha's course is may have changed since.
    ended = known > len(lines) and page.summary.get("status") == result["status"]
    newest = _whole(lines)
    end = wandb_lines.clock(lines)
    seconds = newest.get("seconds", 0)
    closing = wandb_lines.course_lines(run.course, end)
    for step, line in enumerate([*lines, *closing]):
        if step >= known and not ended:
            own = {"_runtime": line.get("seconds", seconds)}
            wandb_private.send_line(page, line | own, step)
    table = f"loss_by_{axis}_table"
    chart = wandb_lines.loss_chart(result, axis)
    if chart:
        last = len(lines) + len(closing)
        lacking = last >= known and not ended
        if lacking:
            page.log({f"loss_by_{axis}": chart} | end, step=last, commit=True)
        if lacking or not page.summary.get(table):
            page.summary[table] = chart.table
    page.summary.update(
        newest
        | _whole(closing)
        | wandb_lines.summary(result, axis, run.course)
        | {"_runtime": seconds, "_wandb": {"runtime": int(seconds)}}
    )
    keep_files(page, run.files)
    return max(0, len(lines) - known)


def _whole(lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The newest value of everything that is in the lines."""
    return {key: value for line in lines for key, value in line.items()}
