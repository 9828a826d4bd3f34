"""The tracker that the settings ask for."""

import os
import sys
from pathlib import Path
from typing import Any

from toydepth import config as settings
from toydepth.settings import reason
from toydepth.tracking.wandb_tracker import NoTracker, Tracker, start_wandb

RUN_ID = "wandb_run_id"  # the file of a run folder that holds it
_taken: dict[str, Path] = {}  # the folder that took each WANDB_RUN_ID in this process


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
    """W&B or nothing. The run's W&B id is kept in its folder; what is resumed goes on with it.

    `WANDB_RUN_ID`, which `wandb agent` sets, names the run whatever the folder says.
    """
    if tracker.kind == "none":
        return NoTracker()
    note = folder / RUN_ID
    run_id = os.environ.get("WANDB_RUN_ID")
    if run_id and _taken.setdefault(run_id, folder) != folder:
        words = f"WANDB_RUN_ID={run_id} is one run, and a job before this one has taken it"
        print(f"W&B is not used, the run folder has all: {words}", file=sys.stderr)
        return NoTracker()
    if not run_id and note.is_file():  # also of a start that left no checkpoint, or of a sync
        run_id, resumed = note.read_text(), True
    try:
        started = start_wandb(
            folder,
            project=tracker.project,
            entity=tracker.entity,
            group=group,
            name=name,
            config=config,
            run_id=run_id or None,
            resume=resumed,
            replicas=replicas,
            axis=axis,
        )
        note.write_text(started.run_id)
    except Exception as error:
        print(f"W&B cannot be used, the run folder has all: {reason(error)}", file=sys.stderr)
        return NoTracker()
    return started
