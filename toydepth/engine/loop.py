"""The loop: phases of the plan, chunks of steps, tests, checkpoints, and rungs that diverge.

It speaks of rungs and sizes only. Numbers leave through `record` (one call a measurement) and
`show` (how far the job is); everything needed to go on is in the checkpoint.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from itertools import pairwise
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int, PyTree

from toydepth.engine.checkpoint import Checkpoint, Checkpoints
from toydepth.engine.observer import observer
from toydepth.engine.phases import Phase
from toydepth.engine.schedule import learning_rates
from toydepth.engine.state import Job, Progress, Stopped, least_steps, start_rungs
from toydepth.engine.together import anywhere
from toydepth.toy import Purpose

Losses = Float[np.ndarray, "replica condition rung batch"]


def run(
    job: Job,
    checkpoints: Checkpoints | None,
    progress: Progress,
    *,
    record: Callable[[dict[str, Any]], None],
    show: Callable[[int, str, float, float], None],
    keep: Callable[[int, PyTree], None],
    rungs: PyTree = (),
    stop: Callable[[], bool] = lambda: False,
) -> Progress:
    """Trains every phase from `progress` on, and returns the progress at the end.

    Args:
      checkpoints: None on all processes of the job but the first.
      rungs: their arrays at `progress`, as `restore` found them; none at the start.
      stop: asked after each chunk whether to leave.
      keep: takes the size and the final parameters (replica, condition, ...) of each rung that
        is reported, before the checkpoint in which it is done.
      record: takes each measurement as it is made.
      show: takes the steps done of the whole job, what is being done, the latest loss, and the
        share of the work that is done.

    Raises:
      Stopped: when `stop` says so, with a checkpoint of all that is done.
    """
    loop = _Loop(job, checkpoints, progress, record, show, keep, stop)
    if not progress.total_step:
        rungs = loop.start(previous=())
    elif rungs:  # a ladder of which all have diverged has none
        rungs = job.layout.spread(rungs)
    while True:
        if not progress.concluded:
            rungs = loop.finish_phase(rungs)
        if progress.phase + 1 == len(job.phases):
            return progress
        progress.phase, progress.round, progress.offset = progress.phase + 1, 0, 0
        progress.step, progress.concluded, progress.annealed = 0, False, {}
        rungs = loop.start(previous=rungs)


class _Loop:
    """The moving parts of `run`. Rungs are a tuple of (parameters, optimiser state)."""

    def __init__(self, job, checkpoints, progress, record, show, keep, stop):
        self.job, self.checkpoints, self.progress = job, checkpoints, progress
        self.record, self.show, self.keep, self.stop = record, show, keep, stop
        self.ticked = self.saved = time.monotonic()
        self.cache, self.room = {}, job.experiment.engine.target_cache_gb * 1e9
        self.observe = observer(job.experiment, job.problem, job.layout, job.teachers)
        self.seen = {}  # what the last test observed of each rung's cells
        self.taus = {}  # (phase, round, size) -> the sums of the learning rates so far

    @property
    def phase(self) -> Phase:
        return self.job.phases[self.progress.phase]

    def start(self, previous: PyTree) -> PyTree:
        """The rungs of the phase that comes up."""
        self.progress.alive = list(self.phase.sizes)
        return start_rungs(self.job, self.phase.sizes, previous)

    def finish_phase(self, rungs: PyTree) -> PyTree:
        """Trains the phase from where `progress` is, until every rung of it is settled."""
        progress = self.progress
        while True:
            rungs = self.anneal(rungs)
            if not progress.alive:
                break
            unsettled = self.settle(rungs, self.test(rungs))
            if not unsettled:
                break
            rungs = tuple(rungs[progress.alive.index(size)] for size in unsettled)
            progress.alive = unsettled
            progress.offset += progress.step
            progress.round, progress.step = progress.round + 1, 0
            self.save(rungs)
        progress.concluded = True
        self.save(rungs)
        return rungs

    def anneal(self, rungs: PyTree) -> PyTree:
        """One schedule from warm-up to decay, with tests along the way."""
        e, progress = self.job.experiment, self.progress
        while progress.step < self.round_steps and progress.alive:
            tests_before = progress.step * e.train.tests // self.round_steps
            rungs = self.train_chunk(rungs)
            if progress.alive and progress.step < self.round_steps:
                if progress.step * e.train.tests // self.round_steps > tests_before:
                    self.test(rungs)
                due = self.ticked - self.saved >= e.engine.checkpoint_seconds
                if anywhere(due or self.stop()):
                    self.save(rungs)
        return rungs

    @property
    def round_steps(self) -> int:
        """Steps of this schedule: each further round of a rung takes twice as many."""
        return self.phase.steps * 2**self.progress.round

    def train_chunk(self, rungs: PyTree) -> PyTree:
        job, progress = self.job, self.progress
        # Chunks end at multiples of their length in the stream, where every rung's do.
        chunk = job.experiment.engine.chunk
        stop = progress.step + chunk - (progress.offset + progress.step) % chunk
        steps = np.arange(progress.step, min(stop, self.round_steps))
        rates = [self.rates(size, steps) for size in progress.alive]
        taus = [self.spend(size, own) for size, own in zip(progress.alive, rates, strict=True)]
        streamed = progress.offset + steps  # a further round reads on in the stream
        targets = self.targets(streamed)
        rungs, losses = job.programs.train(rungs, job.teachers, streamed, np.stack(rates), targets)
        losses = job.layout.collect(losses)  # replica, condition, rung, step
        progress.step += len(steps)
        progress.total_step += len(steps)
        new = max(0, int(streamed[-1]) + 1 - progress.asked)
        progress.asked += new
        progress.work += len(steps) * sum(progress.alive) + new * job.problem.target_cost
        self.tick()
        first = int(streamed[0])
        for start, stop in log_parts(first, int(streamed[-1]) + 1):
            done = stop - progress.offset
            for i, size in enumerate(progress.alive):
                for cell in self.cells(losses):
                    mean = losses[cell][i][start - first : stop - first].mean()
                    last = cell[1], stop - first - 1
                    more = {"learning_rate": float(rates[i][last]), "tau": float(taus[i][last])}
                    self.measured("train", size, cell, mean, step=done, **more)
        for i, size in enumerate(progress.alive):
            for cell in self.cells(losses):
                if not np.isfinite(losses[cell][i]).all():
                    bad = int(streamed[np.argmin(np.isfinite(losses[cell][i]))])
                    self.conclude(size, cell, status="diverged", diverged_step=bad)
        sizes = ", ".join(map(str, self.phase.sizes))
        label = f"rung {progress.phase + 1}/{len(job.phases)} · {job.problem.axis} {sizes}"
        self.show(progress.total_step, label, float(losses[..., -1, -1].mean()), self.share())
        return self.drop_diverged(rungs, losses)

    def share(self) -> float:
        """The part of the job's work that is done, if what is left converges as soon as it can."""
        job, progress = self.job, self.progress
        end = progress.offset + self.round_steps
        left = (self.round_steps - progress.step) * sum(progress.alive)
        for phase in job.phases[progress.phase + 1 :]:
            steps = least_steps(job.experiment.train, phase)
            left, end = left + steps * sum(phase.sizes), max(end, steps)
        left += max(0, end - progress.asked) * job.problem.target_cost
        return progress.work / (progress.work + left)

    def targets(self, steps: Int[np.ndarray, "steps"]) -> PyTree:
        """The teachers' answers at some steps, kept for later rungs while there is room.

        Every rung reads the same stream, so a later one asks for the same chunks again. The same
        program makes them either way, so that the cache changes no number.
        """
        key = (int(steps[0]), len(steps))
        if key in self.cache:
            return self.cache[key]
        targets = self.job.programs.targets(self.job.teachers, Purpose.TRAIN, steps)
        later = self.job.phases[self.progress.phase + 1 :]
        size = sum(x.nbytes for x in jax.tree.leaves(targets))
        train, whole = self.job.experiment.train, len(steps) == self.job.experiment.engine.chunk
        wanted = any(least_steps(train, phase) > steps[-1] for phase in later)
        if whole and wanted and size <= self.room:
            self.cache[key] = targets
            self.room -= size
        return targets

    def drop_diverged(self, rungs: PyTree, losses: Float[np.ndarray, "..."]) -> PyTree:
        """Stops the rungs of which no cell has a finite loss any more."""
        keep = [i for i in range(len(rungs)) if np.isfinite(losses[:, :, i, -1]).any()]
        self.progress.alive = [self.progress.alive[i] for i in keep]
        return tuple(rungs[i] for i in keep)

    def losses_of(self, test: Callable, rungs: PyTree) -> Losses:
        job = self.job
        batches = np.arange(job.experiment.train.test_batches)
        return job.layout.collect(test(rungs, job.teachers, batches, job.test_targets))

    def test(self, rungs: PyTree) -> Losses:
        losses = self.losses_of(self.job.programs.test, rungs)
        self.tick()
        for i, size in enumerate(self.progress.alive):
            if self.observe is not None:
                seen = self.observe(self.job.layout.collect(rungs[i][0]))
                self.seen |= {(size, *cell): seen[cell] for cell in self.cells(losses)}
            for cell in self.cells(losses):
                loss, stderr = _mean(losses[cell][i])
                more = self.seen.get((size, *cell), {})
                self.measured("test", size, cell, loss, loss_stderr=stderr, **more)
        return losses

    def as_trained(self, rungs: PyTree) -> Float[np.ndarray, "replica condition rung"] | None:
        """The test losses with the products of training, where those are less exact."""
        if self.job.problem.training_loss is None:
            return None
        return self.losses_of(self.job.programs.test_as_trained, rungs).mean(axis=-1)

    def settle(self, rungs: PyTree, losses: Losses) -> list[int]:
        """Notes the annealed losses; concludes the rungs that are done, and returns the others.

        A rung is done when the last doubling of its steps lowered the loss of each of its cells
        by less than the tolerance, or when there are no doublings left.
        """
        train, progress = self.job.experiment.train, self.progress
        unsettled = []
        as_trained = self.as_trained(rungs)
        for i, size in enumerate(progress.alive):
            sequence = progress.annealed.setdefault(str(size), [])
            sequence.append(losses[:, :, i].mean(axis=-1).tolist())
            falls = np.ones(losses.shape[:2])
            if len(sequence) > 1:
                falls = 1 - np.array(sequence[-1]) / np.array(sequence[-2])
            settled = np.abs(falls) < train.tolerance  # a loss that rose has not stayed either
            # A cell that diverged has no fall to speak of, and does not hold up the others.
            waiting = ~settled & np.isfinite(falls)
            budget = train.converge and self.phase.reported
            if budget and waiting.any() and progress.round < train.max_doublings:
                unsettled.append(size)
                continue
            if self.phase.reported:
                self.keep(size, self.job.layout.collect(rungs[i][0]))
            for cell in self.cells(losses):
                loss, stderr = _mean(losses[cell][i])
                if not np.isfinite(loss):
                    step = progress.offset + progress.step
                    self.conclude(size, cell, status="diverged", diverged_step=step)
                    continue
                self.conclude(
                    size,
                    cell,
                    status="completed",
                    loss=loss,
                    loss_stderr=stderr,
                    converged=bool(settled[cell]) if train.converge else None,
                    loss_as_trained=None if as_trained is None else float(as_trained[cell][i]),
                    observed=self.seen.get((size, *cell), {}),
                )
        return unsettled

    def conclude(self, size: int, cell: tuple[int, int], **outcome: Any) -> None:
        """Writes a rung's outcome down, once: what diverged first stays so."""
        progress = self.progress
        entry = self.name(size, cell) | {"reported": self.phase.reported}
        if any(entry.items() <= rung.items() for rung in progress.rungs):
            return
        params = jax.tree.leaves(jax.eval_shape(partial(self.job.problem.start, size)))
        entry |= {"steps": progress.offset + progress.step}
        entry |= {"parameters": sum(p.size for p in params)}
        annealed = progress.annealed.get(str(size), [])
        entry |= {"annealed": [losses[cell[0]][cell[1]] for losses in annealed]}
        unknown = ("loss", "loss_stderr", "loss_as_trained", "converged", "diverged_step")
        empty = dict.fromkeys(unknown) | {"observed": {}}
        progress.rungs.append(entry | empty | outcome)

    def measured(
        self,
        kind: str,
        size: int,
        cell: tuple[int, int],
        loss: float,
        step: int | None = None,
        **more: float,
    ) -> None:
        """Records one line, of `step` of this schedule or of the last one."""
        progress = self.progress
        left = 0 if step is None else progress.step - step
        line = {"kind": kind, "rung": progress.phase} | self.name(size, cell)
        line |= {"step": progress.offset + progress.step - left}
        line |= {"total_step": progress.total_step - left}
        line |= {"seconds": round(progress.seconds, 3), "time": time.time(), "loss": float(loss)}
        self.record(line | more)
        progress.records += 1

    def name(self, size: int, cell: tuple[int, int]) -> dict[str, Any]:
        return {"size": size, "replica": cell[0], **self.job.problem.labels[cell[1]]}

    def cells(self, losses: np.ndarray):
        return np.ndindex(losses.shape[:2])

    def rates(
        self, size: int, steps: Int[np.ndarray, "steps"], of: int | None = None
    ) -> Float[np.ndarray, "condition steps"]:
        """The learning rates at `steps` of a schedule of `of` steps, by default this round's."""
        e = self.job.experiment
        unit = replace(e.optimizer, learning_rate=1.0)
        of = self.round_steps if of is None else of
        shape = learning_rates(unit, e.schedule, steps, size=size, steps=of)
        return np.multiply.outer(np.array(self.job.problem.rates, np.float32), shape)

    def spend(
        self, size: int, rates: Float[np.ndarray, "condition steps"]
    ) -> Float[np.ndarray, "condition steps"]:
        """The sums of the phase's learning rates after each of the steps that come next."""
        place = self.progress.phase, self.progress.round, size
        if place not in self.taus:
            self.taus[place] = self.spent(size)
        found = _sums(self.taus[place], rates)
        self.taus[place] = found[:, -1]
        return found

    def spent(self, size: int) -> Float[np.ndarray, "condition"]:
        """The sum of the phase's learning rates so far, step after step, as `spend` adds them."""
        rounds = [self.phase.steps * 2**earlier for earlier in range(self.progress.round)]
        spent = np.zeros(len(self.job.problem.rates))
        for done, of in [
            *((steps, steps) for steps in rounds),
            (self.progress.step, self.round_steps),
        ]:
            for start in range(0, done, PIECE):
                steps = np.arange(start, min(start + PIECE, done))
                spent = _sums(spent, self.rates(size, steps, of))[:, -1]
        return spent

    def tick(self) -> None:
        now = time.monotonic()
        self.progress.seconds += now - self.ticked
        self.ticked = now

    def save(self, rungs: PyTree) -> None:
        checkpoint = Checkpoint(asdict(self.progress), self.job.layout.collect(rungs))
        if self.checkpoints:
            self.checkpoints.save(self.progress.total_step, checkpoint)
        self.saved = time.monotonic()
        if anywhere(self.stop()):
            raise Stopped


def _mean(losses: Float[np.ndarray, "batch"]) -> tuple[float, float]:
    """The mean over batches and its standard error."""
    return float(losses.mean()), float(losses.std(ddof=1) / len(losses) ** 0.5)


def _sums(
    start: Float[np.ndarray, "condition"], rates: Float[np.ndarray, "condition steps"]
) -> Float[np.ndarray, "condition steps"]:
    """Cumulative sums, one step after another, so that they do not hang on where chunks end."""
    return np.cumsum(np.column_stack([start, rates]), axis=1, dtype=float)[:, 1:]


PIECE = 2**16  # steps whose rates are held at a time
LINES_PER_DECADE = 10


def log_parts(start: int, stop: int) -> list[tuple[int, int]]:
    """The steps from `start` to `stop`, cut where the steps done pass 10^(k/10).

    So the first chunks, in which the loss falls fastest, are written down in finer parts.
    """
    last = int(LINES_PER_DECADE * np.log10(stop)) + 2
    marks = {round(10 ** (k / LINES_PER_DECADE)) for k in range(last)}
    return list(pairwise([start, *sorted(m for m in marks if start < m < stop), stop]))
