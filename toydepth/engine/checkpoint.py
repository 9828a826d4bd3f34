"""Checkpoints by Orbax: saved in the background, complete or absent, the last two kept."""

import logging
from pathlib import Path
from typing import Any, NamedTuple

import orbax.checkpoint as ocp
from jaxtyping import PyTree


class Checkpoint(NamedTuple):
    """What a run goes on from: where it was (plain data), and the arrays of its rungs."""

    progress: dict[str, Any]
    rungs: PyTree


class Checkpoints:
    """The checkpoints of one run folder, numbered by the steps of the whole job."""

    def __init__(self, folder: Path):
        logging.getLogger("absl").setLevel(logging.ERROR)  # Orbax reports every save at INFO
        self._manager = ocp.CheckpointManager(
            folder.absolute() / "checkpoints",
            options=ocp.CheckpointManagerOptions(max_to_keep=2, enable_async_checkpointing=True),
        )

    def save(self, step: int, checkpoint: Checkpoint) -> None:
        items = {"progress": ocp.args.JsonSave(checkpoint.progress)}
        if checkpoint.rungs:  # Orbax refuses an empty tree, which is what a diverged ladder leaves
            items["rungs"] = ocp.args.StandardSave(checkpoint.rungs)
        self._manager.save(step, args=ocp.args.Composite(**items), force=True)

    def progress(self) -> dict[str, Any] | None:
        """Where the last complete checkpoint was, or None if there is none."""
        step = self._manager.latest_step()
        if step is None:
            return None
        restored = self._manager.restore(
            step, args=ocp.args.Composite(progress=ocp.args.JsonRestore())
        )
        return restored.progress

    def rungs(self, like: PyTree) -> PyTree:
        """The arrays of the last complete checkpoint, in the structure of `like`."""
        restored = self._manager.restore(
            self._manager.latest_step(),
            args=ocp.args.Composite(rungs=ocp.args.StandardRestore(like)),
        )
        return restored.rungs

    def __enter__(self) -> "Checkpoints":
        return self

    def __exit__(self, *_: object) -> None:
        """Waits for the save in flight, and raises what it raised."""
        self._manager.close()
