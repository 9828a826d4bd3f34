"""The hidden states of a run: its teachers, and every rung that it trained."""

from collections.abc import Callable
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
from toydepth.probe_config import Probe
from toydepth.probing.subject import Subject
from toydepth.rung_weights import load_rung
from toydepth.settings import SettingError
from toydepth.toy import Problem, Purpose, depth_problem, hidden_states, new_student

SHALLOW = 2  # layers below which there are no neighbouring updates


def read_run(folder: str) -> Experiment:
    """The experiment of a run folder.

    Raises:
      SettingError: if train has not left it, or has not finished a rung there.
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
    for depth in e.student.depth:
        try:
            load_rung(path, depth, depth_problem(e).start(depth))
        except ValueError as error:
            raise SettingError("run", folder, str(error)) from None
    return e


def probe_run(
    probe: Probe, e: Experiment, show: Callable[[int, str], None]
) -> tuple[list[Subject], list[str]]:
    """Every teacher and rung of a run, on inputs that training never sees, and notes.

    `show` is told how many networks are done.
    """
    problem, folder = depth_problem(e), Path(probe.run)
    x = _inputs(problem, e, probe.tokens)
    found, notes = [], []

    def add(kind: str, label: str, facts: dict[str, Any], depth: int, states) -> None:
        states = np.asarray(states)
        if depth < SHALLOW:
            notes.append(f"{label}: one layer has no neighbouring updates")
        elif not np.isfinite(states).all():
            notes.append(f"{label}: it diverged and is left out")
        else:
            stream = Stream(probe.sample, probe.seed, (probe.middle_start, probe.middle_stop))
            stream.add(states)
            width = e.student.width
            found.append(
                Subject(kind, label, facts, depth, width, stream.summary(), stream.sample())
            )
        show(len(found) + len(notes), label)

    def name(kind: str, depth: int, replica: int, condition: int = 0) -> tuple[str, dict]:
        seed = e.teacher.seed + replica
        facts = {"depth": depth, "teacher_seed": seed}
        label = f"{kind} of depth {depth}"
        if e.replicas > 1:
            label += f", teacher seed {seed}"
        if problem.labels[condition] is not None and not kind.endswith("teacher"):
            facts |= {problem.condition: problem.labels[condition]}
            if len(problem.labels) > 1:
                label += f", T = {problem.labels[condition]:g}"
        return label, facts

    forward = jax.jit(hidden_states, static_argnums=2)
    for replica in range(e.replicas):
        teacher = problem.teacher(e.teacher.seed + replica)
        label, facts = name(f"{e.teacher.kind} teacher", e.teacher.depth, replica)
        facts |= {"kind": e.teacher.kind}
        states = forward(teacher.layers, x, e.teacher.depth)
        add("teacher", label, facts, e.teacher.depth, states)
    for depth in sorted(e.student.depth):
        weights = load_rung(folder, depth, problem.start(depth))
        student = new_student(e, depth)
        graph = nnx.graphdef(student)

        @jax.jit
        def states_of(params, graph=graph):
            return nnx.merge(graph, params).hidden_states(x)

        for replica, condition in np.ndindex(e.replicas, len(problem.labels)):
            params = jax.tree.map(lambda w, at=(replica, condition): w[at], weights)
            label, facts = name("student", depth, replica, condition)
            add("student", label, facts, depth, states_of(params))
    return found, notes


def count(e: Experiment) -> int:
    """How many networks a run has."""
    return e.replicas * (1 + len(e.student.depth) * len(depth_problem(e).labels))


def _inputs(problem: Problem, e: Experiment, most: int) -> Float[Array, "inputs width"]:
    """The first inputs of the test stream."""
    rows = jnp.arange(e.train.batch_size)
    batches = min(-(-most // e.train.batch_size), e.train.test_batches)
    key = problem.key(Purpose.TEST)
    return jnp.concatenate([problem.inputs(key, step, rows) for step in range(batches)])[:most]
