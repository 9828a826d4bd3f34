"""The tracker that the settings ask for."""

import sys
from pathlib import Path
from typing import Any

from toydepth import config as settings
from toydepth.settings import reason
from toydepth.tracking.wandb_tracker import NoTracker, Tracker, start_wandb


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
    """W&B or nothing. The run's W&B id is kept in its folder; a resumed run goes on with it."""
    if tracker.kind == "none":
        return NoTracker()
    note = folder / "wandb_run_id"
    try:
        started = start_wandb(
            folder,
            project=tracker.project,
            entity=tracker.entity,
            group=group,
            name=name,
            config=config,
            run_id=note.read_text() if resumed and note.is_file() else None,
            resume=resumed,
            replicas=replicas,
            axis=axis,
        )
    except Exception as error:
        print(f"W&B cannot be used, the run folder has all: {reason(error)}", file=sys.stderr)
        return NoTracker()
    note.write_text(started.run_id)
    return started
