"""Where a run's numbers go: its folder (the source of truth), W&B and the terminal.

    history = History.open(folder)             append-only history.jsonl
    tracker = start_tracker(settings, folder, ...)   W&B or nothing
    with progress(total_steps) as bar: ...     a live bar, or plain lines
    write_json(folder / "result.json", result)

This room speaks of sizes and rungs; what a size counts is the caller's business.
"""

from toydepth.tracking.printed import Printed
from toydepth.tracking.run_folder import (
    History,
    clear_halves,
    read_history,
    versions,
    write_json,
    write_whole,
)
from toydepth.tracking.start import import_ahead, start_tracker
from toydepth.tracking.terminal import progress
from toydepth.tracking.wandb_tracker import NoTracker, Tracker, start_wandb

__all__ = [
    "History",
    "NoTracker",
    "Printed",
    "Tracker",
    "clear_halves",
    "import_ahead",
    "progress",
    "read_history",
    "start_tracker",
    "start_wandb",
    "versions",
    "write_json",
    "write_whole",
]
