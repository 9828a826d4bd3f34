"""What a job is, where it stands, and how it is started or found again from a checkpoint."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from toydepth.config import Experiment, Train
from toydepth.engine.checkpoint import Checkpoint, Checkpoints
from toydepth.engine.devices import Layout
from toydepth.engine.optimizers import update_rule
from toydepth.engine.phases import Phase, plan
from toydepth.engine.programs import Programs, build
from toydepth.engine.together import from_first, meet
from toydepth.toy import Problem, Purpose


@dataclass
class Progress:
    """Where a job is; plain data, kept in every checkpoint.

    Attributes:
      phase, round, step: the phase, the schedule within it (the second takes twice the steps of
        the first, and so on), and the steps of that schedule that are done.
      offset: steps of the phase's earlier schedules.
      concluded: whether its rungs have been tested and written down.
      total_step: steps of the whole job that are done.
      asked: steps of the stream whose targets have been asked for.
      work: arithmetic done, in that of a step of a rung of size 1.
      records: measurements made; a resumed run drops what came after its checkpoint.
      seconds: spent training, over all the times the job was started.
      alive: the sizes of the phase that still train.
      annealed: by size, the test losses (replica, condition) at the end of each schedule.
      rungs: what is known of each finished or diverged rung, one entry for each cell.
    """

    phase: int = 0
    round: int = 0
    step: int = 0
    offset: int = 0
    concluded: bool = False
    total_step: int = 0
    asked: int = 0
    work: float = 0.0
    records: int = 0
    seconds: float = 0.0
    alive: list[int] = field(default_factory=list)
    annealed: dict[str, list] = field(default_factory=dict)
    rungs: list[dict[str, Any]] = field(default_factory=list)


class Stopped(Exception):
    """A run that was asked to leave has done so, at a checkpoint."""


@dataclass(frozen=True)
class Job:
    """What stays fixed from the first step to the last."""

    experiment: Experiment
    problem: Problem
    layout: Layout
    programs: Programs
    phases: list[Phase]
    teachers: PyTree
    test_targets: PyTree

    @property
    def total_steps(self) -> int:
        """Steps of the whole job; with `train.converge`, the fewest that it can take."""
        return sum(least_steps(self.experiment.train, phase) for phase in self.phases)


def least_steps(train: Train, phase: Phase) -> int:
    """Steps that a phase takes at least: convergence needs one doubling, a ramp none."""
    return phase.steps * (3 if train.converge and phase.reported else 1)


def prepare_job(e: Experiment, problem: Problem, layout: Layout) -> Job:
    """Draws the teachers, and asks them for the targets of the test batches."""
    rule = update_rule(e.optimizer, problem.decay)
    programs = build(problem, rule, layout, batch=e.train.batch_size)
    drawn = [problem.teacher(e.teacher.seed + r) for r in range(layout.replicas)]
    jax.block_until_ready(drawn)  # where memory runs out, it is said here, and can be caught
    teachers = layout.spread(jax.tree.map(lambda *x: np.stack(x), *drawn))
    test_targets = programs.targets(teachers, Purpose.TEST, np.arange(e.train.test_batches))
    phases = plan(e.train, e.sizes)
    meet(layout.devices, layout.row_groups)
    return Job(e, problem, layout, programs, phases, teachers, test_targets)


def restore(
    job: Job, checkpoints: Checkpoints | None, records: float = np.inf
) -> tuple[Progress, PyTree]:
    """Where the last checkpoint that can be read was, and its rungs; or the start, and none.

    Args:
      records: measurements that are on the disk; a checkpoint that knows of more has outlived
        some of them, as where the machine lost its power.
    """

    def like(progress: dict[str, Any]) -> PyTree:
        return job.layout.empty(start_rungs(job, tuple(progress["alive"])))

    def amiss(progress: dict[str, Any]) -> str | None:
        if progress["records"] > records:
            return f"it knows of {progress['records']} measurements and the history of {records}"
        return None

    found = checkpoints.restore(like, amiss) if checkpoints else None
    found = _from_first(found, like)
    return (Progress(**found.progress), found.rungs) if found else (Progress(), ())


def _from_first(found: Checkpoint | None, like: Callable[[dict[str, Any]], PyTree]):
    """The checkpoint that the first process has found, on all of them."""
    if jax.process_count() == 1:
        return found
    progress = json.loads(from_first(json.dumps(found and found.progress).encode()))
    if progress is None:
        return None
    leaves, structure = jax.tree.flatten(found.rungs if found else like(progress))
    leaves = [
        np.frombuffer(from_first(np.asarray(x).tobytes()), x.dtype).reshape(x.shape) for x in leaves
    ]
    return Checkpoint(progress, jax.tree.unflatten(structure, leaves))


def start_rungs(job: Job, sizes: tuple[int, ...], previous: PyTree = ()) -> PyTree:
    """A (parameters, optimiser state) for each size, on the devices that train them.

    They start from zero, or grown from the last of `previous`, the rungs of the phase before. A
    cell that diverged there starts from zero here.
    """
    problem, layout = job.problem, job.layout
    cells = (layout.replicas, len(problem.labels))
    trained = layout.collect(previous[-1][0]) if previous else None

    def params(size: int) -> PyTree:
        zero = jax.tree.map(lambda x: np.broadcast_to(x, cells + x.shape), problem.start(size))
        if trained is None:
            return zero
        grown = jax.vmap(jax.vmap(lambda p: problem.grow(p, size)))(trained)
        healthy = np.all(
            [np.isfinite(x).all(tuple(range(2, x.ndim))) for x in jax.tree.leaves(trained)], axis=0
        )

        def choose(g, z):
            return np.where(healthy.reshape(cells + (1,) * (z.ndim - 2)), g, z)

        return jax.tree.map(choose, grown, zero)

    spread = [layout.spread(params(size)) for size in sizes]
    return tuple((p, job.programs.init(p)) for p in spread)
