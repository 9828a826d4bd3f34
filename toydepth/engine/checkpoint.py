"""Checkpoints by Orbax: saved in the background, complete or absent, the last two kept.

Orbax writes a checkpoint beside its place and renames it, so that a run killed in mid-save has
the one before. What the disk does to a complete one is noticed here: each carries a digest of
all that it holds.
"""

import hashlib
import json
import logging
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import orbax.checkpoint as ocp
from jaxtyping import PyTree

from toydepth.settings import reason


class Checkpoint(NamedTuple):
    """What a run goes on from: where it was (plain data), and the arrays of its rungs."""

    progress: dict[str, Any]
    rungs: PyTree


class Checkpoints:
    """The checkpoints of one run folder, numbered by the steps of the whole job.

    A checkpoint that cannot be written or read does not end a run: it is named by `say`, and
    the one before stays the last.
    """

    def __init__(self, folder: Path, say: Callable[[str], None] = lambda words: None):
        # Orbax reports every save at INFO, and with a traceback what it raises anyway.
        logging.getLogger("absl").setLevel(logging.CRITICAL)
        _hear_no_echo()
        self._folder = folder.absolute() / "checkpoints"
        self._say = say
        self._manager = self._open()
        self._saving: int | None = None

    def _open(self) -> ocp.CheckpointManager:
        self._folder.mkdir(parents=True, exist_ok=True)
        options = ocp.CheckpointManagerOptions(
            max_to_keep=2,
            enable_async_checkpointing=True,
            cleanup_tmp_directories=True,
            create=False,
            # Of several processes the first writes alone: what is saved is whole on each of them.
            multiprocessing_options=ocp.options.MultiprocessingOptions(
                primary_host=0, active_processes={0}
            ),
        )
        return ocp.CheckpointManager(self._folder, options=options)

    def save(self, step: int, checkpoint: Checkpoint) -> None:
        """Starts to write a checkpoint, once the one before is complete."""
        self.wait()
        progress = {"progress": checkpoint.progress, "digest": digest(checkpoint)}
        items = {"progress": ocp.args.JsonSave(progress)}
        if checkpoint.rungs:  # Orbax refuses an empty tree, which is what a diverged ladder leaves
            items["rungs"] = ocp.args.StandardSave(checkpoint.rungs)
        self._saving = step
        try:
            self._manager.save(step, args=ocp.args.Composite(**items), force=True)
        except Exception as error:
            self._failed(error)

    def wait(self) -> None:
        """Returns when the save in flight is complete, or has failed and this has been said."""
        try:
            self._manager.wait_until_finished()
        except Exception as error:
            self._failed(error)
        self._saving = None

    def _failed(self, error: Exception) -> None:
        """Says which save failed, and opens anew what would go on counting it as saved."""
        self._say(f"the checkpoint at step {self._saving} was not written: {reason(error)}")
        self._saving = None
        self._close()
        self._manager = self._open()

    def restore(
        self,
        like: Callable[[dict[str, Any]], PyTree],
        amiss: Callable[[dict[str, Any]], str | None] = lambda progress: None,
    ) -> Checkpoint | None:
        """The last checkpoint that is whole, or None. Damaged ones are named and set aside.

        Args:
          like: rungs in the structure that they have at some progress.
          amiss: why a run cannot go on from some progress, or None.
        """
        damaged, found = [], None
        for step in sorted(self._manager.all_steps(read=True), reverse=True):
            try:
                held = self._read(step, progress=ocp.args.JsonRestore())["progress"]
                progress, expected = held["progress"], held["digest"]
                if words := amiss(progress):
                    raise ValueError(words)
            except Exception as error:  # whatever JSON and Orbax have at hand
                damaged.append((step, error))
                continue
            rungs = like(progress)  # where memory runs out, no checkpoint is to blame
            try:
                if rungs:
                    rungs = self._read(step, rungs=ocp.args.StandardRestore(rungs))["rungs"]
                if digest(Checkpoint(progress, rungs)) != expected:
                    raise ValueError("it does not hold what was saved")
            except Exception as error:  # whatever Zstandard, TensorStore and NumPy have at hand
                damaged.append((step, error))
                continue
            found = Checkpoint(progress, rungs)
            break
        if damaged:
            self._set_aside(damaged, "starting again" if found is None else "taking one before")
        return found

    def _read(self, step: int, **items: ocp.args.CheckpointArgs) -> ocp.args.Composite:
        return self._manager.restore(step, args=ocp.args.Composite(**items))

    def _set_aside(self, damaged: list[tuple[int, Exception]], then: str) -> None:
        """Names the checkpoints and renames them, so that their steps can be saved again."""
        self._close()
        for step, error in damaged:
            place, aside = self._folder / str(step), self._folder / f"unreadable-{step}"
            shutil.rmtree(aside, ignore_errors=True)
            os.replace(place, aside)
            words = f"the checkpoint {place} cannot be read and is now {aside.name}; {then}"
            self._say(f"{words} ({reason(error)[:200]})")
        self._manager = self._open()

    def _close(self) -> None:
        try:
            self._manager.close()
        except Exception:  # of a failed save, again
            pass

    def __enter__(self) -> "Checkpoints":
        return self

    def __exit__(self, *_: object) -> None:
        self.wait()
        self._close()


def _hear_no_echo() -> None:
    """Keeps off the terminal what TensorStore's threads say when a save or a read has failed.

    What has failed is raised and said. Threads that were still at it then find Orbax's event loop
    closed, and would print a traceback each.
    """
    hook = sys.unraisablehook
    if getattr(hook, "hears_no_echo", False):
        return

    def heard(found: Any) -> None:
        if str(found.exc_value) != "Event loop is closed":
            hook(found)

    vars(heard)["hears_no_echo"] = True
    sys.unraisablehook = heard


def digest(checkpoint: Checkpoint) -> str:
    """SHA-256 over a checkpoint's plain data and the bytes of its arrays."""
    found = hashlib.sha256(json.dumps(checkpoint.progress, sort_keys=True).encode())
    for leaf in jax.tree.leaves(checkpoint.rungs):
        leaf = np.asarray(leaf)
        found.update(f"{leaf.dtype} {leaf.shape}".encode())
        found.update(np.ascontiguousarray(leaf))
    return found.hexdigest()
