"""What the engine is given: a toy as a handful of pure functions, its sizes left abstract.

The engine trains rungs of some size against targets and knows nothing of layers; a toy that
varies something else (a width, a vocabulary) is another `Problem`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Int, Key, PyTree

from toydepth.config import Experiment, check_objects
from toydepth.toy import objectives, stream
from toydepth.toy.own import (
    BUILT_IN,
    Own,
    check_shapes,
    resample_blocks,
    run_blocks,
    start_blocks,
    target_of,
)
from toydepth.toy.random import Purpose, key_for
from toydepth.toy.student import Student, deepen
from toydepth.toy.teacher import Teacher, draw_head, draw_teacher, final_state


@dataclass(frozen=True)
class Problem:
    """A family of students that learn one teacher.

    Attributes:
      axis: what a rung's size is called.
      conditions: what the loss is told of each variant that trains side by side.
      labels: by what a variant is known, name -> value (None where the loss has no such thing).
      rates: the peak learning rate of each variant, at size 1.
      teacher: seed -> the teacher.
      key: purpose -> the key of a stream of inputs.
      inputs: (key, step, rows) -> those rows of the batch at that step.
      targets: (teacher, inputs) -> what the students are asked to match.
      target_cost: the arithmetic of a step's targets, in that of training a rung of size 1.
      start: size -> untrained parameters.
      grow: (parameters, size) -> parameters of that size that do the same.
      loss: (parameters, teacher, condition, inputs, targets) -> mean loss of the batch.
      training_loss: the same as training computes it, where that is less exact, else None.
      decay: parameters -> what an update adds to the gradient's direction, None for nothing.
      observe: what else a test measures, arguments as for `loss`, name -> number.
    """

    axis: str
    conditions: Float[Array, "conditions"] | Int[Array, "conditions"]
    labels: tuple[dict[str, float | None], ...]
    rates: tuple[float, ...]
    teacher: Callable[[int], PyTree]
    key: Callable[[Purpose], Key[Array, ""]]
    inputs: Callable[[Key[Array, ""], Int[Array, ""], Int[Array, "rows"]], Float[Array, "rows ..."]]
    targets: Callable[[PyTree, Float[Array, "rows ..."]], PyTree]
    target_cost: float
    start: Callable[[int], PyTree]
    grow: Callable[[PyTree, int], PyTree]
    loss: Callable[..., Float[Array, ""]]
    training_loss: Callable[..., Float[Array, ""]] | None
    decay: Callable[[PyTree], PyTree] | None = None
    observe: Callable[..., dict[str, Float[Array, ""]]] | None = None


class Variant(NamedTuple):
    """One of the temperatures and rates that train side by side, and by what it is known."""

    temperature: float
    rate: float
    label: dict[str, float | None]


def variants(e: Experiment) -> list[Variant]:
    """Each temperature with each learning rate; the rate is named where there are several."""
    given = e.optimizer.learning_rate
    rates = given if isinstance(given, tuple) else (given,)
    found = []
    for temperature in e.target.temperature:
        for rate in rates:
            label: dict[str, float | None] = {
                "temperature": temperature if e.objective.kind == "kl" else None
            }
            label |= {"peak_rate": rate} if len(rates) > 1 else {}
            found.append(Variant(temperature, rate, label))
    return found


def weight_decay(e: Experiment) -> Callable[[PyTree], PyTree] | None:
    """Decoupled decay of every weight in proportion to itself; None without any."""
    decay = e.optimizer.weight_decay
    return partial(jax.tree.map, lambda w: decay * w) if decay else None


def new_student(e: Experiment, depth: int) -> Student:
    """An untrained student of one depth."""
    return Student(
        key_for(e.seed, Purpose.STUDENT),
        e.student.block,
        depth=depth,
        width=e.student.width,
        vocabulary=e.objective.vocabulary if e.objective.head == "learned" else None,
    )


def depth_problem(e: Experiment, own: Own = BUILT_IN) -> Problem:
    """Students of several depths that learn a deep teacher (arXiv 2602.05970, appendix C).

    Raises:
      SettingError: `e` names an object of one's own that is not in `own`, or one does not fit.
    """
    check_objects(e, own.given)
    check_shapes(own, e.student.width)
    found = variants(e)
    teacher, targets = _teaching(e, own)
    start, state, grow = _learning(e, own)
    loss = _comparing(e, own, state)
    return Problem(
        axis="depth",
        conditions=jnp.array([v.temperature for v in found], jnp.float32),
        labels=tuple(v.label for v in found),
        rates=tuple(v.rate for v in found),
        teacher=teacher,
        key=partial(key_for, e.seed),
        inputs=partial(stream.inputs, width=e.student.width),
        targets=targets,
        # A layer's forward pass, without its backward pass; of one's own the cost is not known.
        target_cost=(e.teacher.depth or 64) / 3,
        start=start,
        grow=grow,
        loss=loss,
        training_loss=None
        if e.train.precision == "float32"
        else partial(loss, precision=e.train.precision),
        decay=weight_decay(e),
    )


def _teaching(e: Experiment, own: Own) -> tuple[Callable, Callable]:
    """(seed -> the teacher, (teacher, inputs) -> targets)."""
    width, head, vocabulary = e.student.width, e.objective.head, e.objective.vocabulary or 0
    if own.teacher is None:

        def draw(seed: int) -> Teacher:
            return draw_teacher(
                e.teacher.kind,
                seed,
                width=width,
                depth=e.teacher.depth,
                vocabulary=vocabulary,
                head=head,
                **e.teacher.drawn_by,
            )

        return draw, lambda t, x: final_state(t.layers, x, e.teacher.depth)

    def own_draw(seed: int) -> Teacher:
        key = jax.random.key_data(key_for(seed, Purpose.TEACHER))
        return Teacher(key, draw_head(key_for(seed, Purpose.HEAD), width, vocabulary, head))

    return own_draw, lambda t, x: target_of(own.teacher, jax.random.wrap_key_data(t.layers), x)


def _learning(e: Experiment, own: Own) -> tuple[Callable, Callable, Callable]:
    """(depth -> parameters, (parameters, inputs, precision) -> (state, head), growth)."""
    if own.student is None:
        student = partial(new_student, e)
        graph = nnx.graphdef(nnx.eval_shape(lambda: student(1)))

        def state(params, x, precision):
            model = nnx.merge(graph, params)
            return model(x, precision), model.head[...] if hasattr(model, "head") else None

        def start(depth: int) -> nnx.State:
            return nnx.state(student(depth), nnx.Param)

        return start, state, lambda params, depth: deepen(params, e.student.block, depth)

    learned = e.objective.head == "learned"

    def own_start(depth: int) -> PyTree:
        key = key_for(e.seed, Purpose.STUDENT)
        params = {"layers": start_blocks(own.student, key, e.student.width, depth)}
        if learned:
            params["head"] = jnp.zeros((e.student.width, e.objective.vocabulary))
        return params

    def own_state(params, x, precision):
        return run_blocks(own.student, params["layers"], x), params.get("head")

    def own_grow(params: PyTree, depth: int) -> PyTree:
        return params | {"layers": resample_blocks(own.student, params["layers"], depth)}

    return own_start, own_state, own_grow


def _comparing(e: Experiment, own: Own, state: Callable) -> Callable:
    """The loss, by the student's state and the teacher's."""
    distance = own.objective or objectives.mean_squared_error

    def loss(params, teacher: Teacher, temperature, x, target, precision="float32"):
        last, head = state(params, x, precision)
        if e.objective.kind != "kl":
            return distance(last, target)
        teacher_logits = target @ teacher.head / temperature
        if head is not None:  # the temperature is the teacher's alone
            return objectives.kl_divergence(last @ head, teacher_logits)
        return objectives.kl_divergence(last @ teacher.head / temperature, teacher_logits)

    return loss
