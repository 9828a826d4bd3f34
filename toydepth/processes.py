"""Which process of a job this one is: one job may be trained by several, on several machines."""

import os
from dataclasses import dataclass

from toydepth.config import Parallel


@dataclass(frozen=True)
class Place:
    """One process among those of a job.

    Attributes:
      count: processes that train the job together.
      index: of this one; 0 alone writes.
      coordinator: host:port where the others find process 0; None where Slurm knows.
    """

    count: int = 1
    index: int = 0
    coordinator: str | None = None


ALONE = Place()


def place(parallel: Parallel) -> Place:
    """Where this process stands by its settings, or else by the Slurm step that it is a task of."""
    if parallel.processes is not None:
        return Place(parallel.processes, parallel.process_id or 0, parallel.coordinator)
    count = int(os.environ.get("SLURM_STEP_NUM_TASKS", 1))
    return Place(count, int(os.environ["SLURM_PROCID"])) if count > 1 else ALONE
