"""The hidden states of a run: its teachers, and every rung that it trained."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from toydepth import config
from toydepth.config import Experiment
from toydepth.geometry import Stream
from toydepth.probe.probe_settings import Probe
from toydepth.probe.subject import Subject
from toydepth.results.weights import load_rung, rung_file
from toydepth.settings import SettingError
from toydepth.toy import Problem, Purpose, depth_problem, hidden_states, new_student


def read_run(folder: str) -> Experiment:
    """The experiment of a run folder.

    Raises:
      SettingError: if train has not left it, or the weights of a rung cannot be read.
    """
    path = Path(folder)
    try:
        plain = OmegaConf.to_container(OmegaConf.load(path / ".hydra" / "config.yaml"))
        e = config.experiment(plain)
    except FileNotFoundError:
        words = "it is no folder of one run of toydepth.train"
        raise SettingError("run", folder, words) from None
    except (OSError, OmegaConfBaseException, ValueError, AttributeError) as error:
        raise SettingError("run", folder, f"it holds no run of toydepth.train: {error}") from None
    if e.axis != "depth":
        raise SettingError("run", folder, f"its {e.student.block} has no layers to look at")
    for depth in _kept(path, e):
        try:
            load_rung(path, depth, depth_problem(e).start(depth))
        except ValueError as error:
            raise SettingError("run", folder, str(error)) from None
    return e


def _kept(folder: Path, e: Experiment) -> list[int]:
    """The depths whose weights are there."""
    return [depth for depth in sorted(e.student.depth) if rung_file(folder, depth).is_file()]


def probe_run(
    probe: Probe, e: Experiment, show: Callable[[int, str], None]
) -> tuple[list[Subject], list[str]]:
    """Every teacher and rung of a run, on inputs that training never sees, and notes.

    `show` is told how many networks are done.
    """
    problem, folder = depth_problem(e), Path(probe.run)
    kept, inputs = _kept(folder, e), _inputs(problem, e, probe.tokens)
    found: list[Subject] = []
    notes = [
        f"student of depth {depth}: it has no trained weights, since it diverged or the run has "
        "not come so far"
        for depth in sorted(set(e.student.depth) - set(kept))
    ]
    done = 0

    def add(kind: str, label: str, facts: dict[str, Any], depth: int, states_of) -> None:
        nonlocal done
        done += 1
        try:
            stream = Stream(1, probe.seed, (probe.middle_start, probe.middle_stop))
            for x in inputs:  # all of a deep teacher's states at once would take much memory
                stream.add(np.asarray(states_of(x)))
            summary = stream.summary()
            found.append(Subject(kind, label, facts, depth, e.student.width, summary))
        except ValueError as error:  # it diverged, is one layer, or has no middle
            notes.append(f"{label} is left out: {error}")
        show(done, label)

    def name(kind: str, depth: int, replica: int, condition: int = 0) -> tuple[str, dict]:
        seed = e.teacher.seed + replica
        facts = {"teacher": e.teacher.name, "objective": e.objective.kind, "teacher_seed": seed}
        if kind == "student":
            facts |= {"block": e.student.block}
        label = f"{kind} of depth {depth}"
        if e.replicas > 1:
            label += f", teacher seed {seed}"
        if not kind.endswith("teacher"):
            known = {k: v for k, v in problem.labels[condition].items() if v is not None}
            facts |= known
            if len(problem.labels) > 1:
                short = {"temperature": "T", "peak_rate": "rate"}
                label += "".join(f", {short[k]} = {v:g}" for k, v in known.items())
        return label, facts

    forward = jax.jit(partial(hidden_states, depth=e.teacher.depth))
    for replica in range(e.replicas):
        teacher = problem.teacher(e.teacher.seed + replica)
        label, facts = name(f"{e.teacher.name} teacher", e.teacher.depth, replica)
        add("teacher", label, facts, e.teacher.depth, partial(forward, teacher.layers))
    for depth in kept:
        weights = load_rung(folder, depth, problem.start(depth))
        student = new_student(e, depth)
        graph = nnx.graphdef(student)

        @jax.jit
        def states_of(params, x, graph=graph):
            return nnx.merge(graph, params).hidden_states(x)

        for replica, condition in np.ndindex(e.replicas, len(problem.labels)):
            params = jax.tree.map(lambda w, at=(replica, condition): w[at], weights)
            label, facts = name("student", depth, replica, condition)
            add("student", label, facts, depth, partial(states_of, params))
    return found, notes


def count(e: Experiment) -> int:
    """How many networks a run has."""
    return e.replicas * (1 + len(e.student.depth) * len(depth_problem(e).labels))


def _inputs(problem: Problem, e: Experiment, most: int) -> list[Float[Array, "inputs width"]]:
    """The batches of the test stream, up to `most` inputs."""
    size, key = e.train.batch_size, problem.key(Purpose.TEST)
    sizes = [min(size, most - start) for start in range(0, most, size)][: e.train.test_batches]
    return [problem.inputs(key, i, jnp.arange(rows)) for i, rows in enumerate(sizes)]
