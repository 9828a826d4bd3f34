"""The tracker that the settings ask for."""

import os
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

from toydepth import config as settings
from toydepth.settings import reason
from toydepth.tracking.wandb_address import Address, keep_address, read_address
from toydepth.tracking.wandb_tracker import NoTracker, Tracker, start_wandb

_taken: dict[str, Path] = {}  # the folder that took each WANDB_RUN_ID in this process


def import_ahead(tracker: settings.Tracker) -> None:
    """Imports W&B, which takes a second, beside what this process does next."""

    def load() -> None:
        with suppress(Exception):  # `start_tracker` meets it again, and says so
            import_module("wandb.sdk.launch")  # the last that `wandb.init` imports

    if tracker.kind != "none":
        Thread(target=load, daemon=True).start()


def start_tracker(
    tracker: settings.Tracker,
    folder: Path,
    *,
    group: str,
    name: str,
    config: dict[str, Any],
    resumed: bool = False,
    replicas: int = 1,
    axis: str = "depth",
) -> Tracker:
    """W&B or nothing. Where its page is, is kept in the folder; what is resumed goes on there.

    `WANDB_RUN_ID`, which `wandb agent` sets, names the run whatever the folder says.
    """
    if tracker.kind == "none":
        return NoTracker()
    run_id = os.environ.get("WANDB_RUN_ID")
    if run_id and _taken.setdefault(run_id, folder) != folder:
        words = f"WANDB_RUN_ID={run_id} is one run, and a job before this one has taken it"
        print(f"W&B is not used, the run folder has all: {words}", file=sys.stderr)
        return NoTracker()
    try:
        known = Address(run_id) if run_id else read_address(folder)
        # A folder has a page also from a start that left no checkpoint, or from a sync.
        resumed = resumed or (known.run_id is not None and not run_id)
        started = start_wandb(
            folder,
            project=known.project or tracker.project,
            entity=known.entity or tracker.entity,
            group=group,
            name=name,
            config=config,
            run_id=known.run_id,
            resume=resumed,
            replicas=replicas,
            axis=axis,
        )
        keep_address(folder, started.address)
    except Exception as error:
        print(f"W&B cannot be used, the run folder has all: {reason(error)}", file=sys.stderr)
        return NoTracker()
    return started
