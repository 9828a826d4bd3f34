"""Ideas of one's own, as Python objects: a teacher, a student's block, a loss.

    def mixing(key, width):                       # a teacher: a map of states, drawn from a key
        w = jax.random.normal(key, (width, width)) / width
        return lambda h: h + 0.1 * jax.nn.softmax(h @ w) @ w.T

    toydepth.train_ladder(teacher=mixing)

States are `(batch, width)`, and every teacher and student starts from normalised inputs,
`rms_norm(x)` with x ~ N(0, I); their last states are normalised before they are compared.
"""

import hashlib
import re
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree

from toydepth.settings import SettingError, printable, reason
from toydepth.toy.layers import rms_norm
from toydepth.toy.random import Purpose, key_for

State = Float[Array, "batch width"]
OwnTeacher = Callable[[Key[Array, ""], int], Callable[[State], State]]
OwnLoss = Callable[[State, State], Float[Array, ""]]


class Block(NamedTuple):
    """One layer of a student: how it is drawn, and the step that it makes.

    A student of depth l has l of them, each with parameters of its own, and runs them by
    `lax.scan`. Depth continuation starts layer i of a new depth l' from the old layer at
    depth-time (i + 1/2) / l', as for the built-in blocks.

    Attributes:
      init: (key, width) -> the parameters of one layer, a pytree of float32 arrays. Where the
        layer's step is zero at the start, every depth starts from the same function.
      apply: (parameters, states) -> the next states, both (batch, width).
      step: (parameters, share) -> parameters that make `share` of the step; a ladder that doubles
        its depth asks for half a step. None keeps the parameters as they are: the deeper student
        then starts from another function than the one below it has learned.

    >>> import jax, jax.numpy as jnp
    >>> block = toydepth.Block(
    ...     init=lambda key, width: {
    ...         "into": jax.random.normal(key, (width, 2 * width)) / width**0.5,
    ...         "out": jnp.zeros((2 * width, width)),
    ...     },
    ...     apply=lambda p, h: h + jnp.tanh(h @ p["into"]) @ p["out"],
    ...     step=lambda p, share: p | {"out": share * p["out"]},
    ... )
    >>> words = ["train.steps=20", "teacher.depth=4", "train.batch_size=32"]
    >>> ladder = toydepth.train_ladder(student=block, depth=2, overrides=words, progress=False)
    >>> ladder.weights(depth=2)["layers"]["into"].shape  # replica, condition, layer, ...
    (1, 1, 2, 16, 32)
    """

    init: Callable[[Key[Array, ""], int], PyTree]
    apply: Callable[[PyTree, State], State]
    step: Callable[[PyTree, float], PyTree] | None = None


class Own(NamedTuple):
    """What of an experiment is given as Python objects; None is what the settings say."""

    teacher: OwnTeacher | None = None
    student: Block | None = None
    objective: OwnLoss | None = None

    @property
    def given(self) -> frozenset[str]:
        """The groups of settings that they stand for."""
        return frozenset(name for name, thing in self._asdict().items() if thing is not None)


BUILT_IN = Own()


def called(thing: object) -> str:
    """What to call a Python object in a run's settings and in a report."""
    function = thing.apply if isinstance(thing, Block) else thing
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return printable(name.replace("<locals>.", "").replace("<lambda>", "lambda"))[:80]


def fingerprint(own: Own, width: int) -> dict[str, str]:
    """Group of settings -> what its object is called, with a digest of what it computes.

    Two functions may have one name, as a cell of a notebook that was edited and run again: their
    runs are not to be taken for replicas of one experiment.
    """
    key = jax.random.key(0)
    states = jnp.zeros((4, width), jnp.float32)
    traced = []
    if own.teacher is not None:
        teacher = own.teacher
        traced.append(("teacher", jax.make_jaxpr(lambda k, h: teacher(k, width)(h))(key, states)))
    if own.student is not None:
        block = own.student

        def layer(k, h):
            params = block.init(k, width)
            halved = params if block.step is None else block.step(params, 0.5)
            return params, block.apply(params, h), halved

        traced.append(("student", jax.make_jaxpr(layer)(key, states)))
    if own.objective is not None:
        traced.append(("objective", jax.make_jaxpr(own.objective)(states, states)))
    return {room: f"{called(getattr(own, room))}-{_digest(program)}" for room, program in traced}


def _digest(program: jax.extend.core.ClosedJaxpr) -> str:
    text = re.sub(r"0x[0-9a-f]+", "", str(program))  # where an object lies in memory
    found = hashlib.sha256(text.encode())
    for const in program.consts:
        found.update(np.asarray(const).tobytes())
    return found.hexdigest()[:8]


def check_shapes(own: Own, width: int) -> None:
    """Tries the objects on abstract arrays, so that what does not fit is said before it trains.

    Raises:
      SettingError: a map, a step or a loss that raises, or gives another shape than it must. What
        it has raised is the error's cause.
    """
    key = jax.eval_shape(lambda: jax.random.key(0))
    states = jax.ShapeDtypeStruct((4, width), jnp.float32)
    if own.teacher is not None:

        def mapped(key, h):
            made = own.teacher(key, width)
            if not callable(made):
                raise TypeError(f"it gives {type(made).__name__}, and must give a map of states")
            return made(h)

        found = _tried("teacher", own.teacher, mapped, key, states)
        _require("teacher", own.teacher, found, states, "its map takes states of")
    if own.student is not None:
        block = own.student
        layer = _tried("student", block, lambda k: block.init(k, width), key)
        _require_leaves(block, layer)
        found = _tried("student", block, block.apply, layer, states)
        _require("student", block, found, states, "its apply takes states of")
        if block.step is not None:
            halved = _tried("student", block, lambda p: block.step(p, 0.5), layer)
            if jax.tree.map(_shape, halved) != jax.tree.map(_shape, layer):
                words = "its step must give parameters like those that it takes"
                raise SettingError("student", called(block), words)
    if own.objective is not None:
        found = _tried("objective", own.objective, own.objective, states, states)
        scalar = jax.ShapeDtypeStruct((), jnp.float32)
        _require("objective", own.objective, found, scalar, "it takes two of", states)


def _require_leaves(block: Block, layer: PyTree) -> None:
    """Refuses parameters that cannot be trained, or kept by their names."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(layer)
    words = None if leaves else "its init must give arrays"
    for path, leaf in leaves:
        if str(leaf.dtype) != "float32":
            words = f"its init gives {leaf.dtype} where it must give float32"
        if any("/" in str(getattr(part, "key", "")) for part in path):
            words = "its init gives names with a /, which parts the names of groups"
    if words:
        raise SettingError("student", called(block), words)


def check_numbers(own: Own, seed: int, width: int) -> None:
    """Tries the teacher and the loss on a few inputs.

    Raises:
      SettingError: targets that are not finite, or a loss that is no mean over rows.
    """
    if own.teacher is not None:
        x = jax.random.normal(key_for(seed, Purpose.TEST), (4, width))
        found = target_of(own.teacher, key_for(seed, Purpose.TEACHER), x)
        if not jnp.isfinite(found).all():
            words = f"with teacher.seed={seed} its states are not finite, or too large to square"
            raise SettingError("teacher", called(own.teacher), words)
    if own.objective is not None:
        student, target = (rms_norm(jax.random.normal(k, (8, width))) for k in jax.random.split(
            key_for(seed, Purpose.TEST)))  # fmt: skip
        whole = own.objective(student, target)
        halves = own.objective(student[:4], target[:4]), own.objective(student[4:], target[4:])
        if not jnp.allclose(whole, sum(halves) / 2, rtol=1e-3, atol=1e-6):
            words = "it must be a mean over rows, since devices share a batch: of a batch's halves "
            words += f"it is {halves[0]:.4g} and {halves[1]:.4g}, and of both together {whole:.4g}"
            raise SettingError("objective", called(own.objective), words)


def _tried(room: str, thing: object, function: Callable, *arguments):
    try:
        return jax.eval_shape(function, *arguments)
    except Exception as error:  # whatever somebody's function raises
        words = f"it raises {reason(error)[:200]}"
        raise SettingError(room, called(thing), words) from error


def _shape(x: jax.ShapeDtypeStruct) -> tuple:
    return x.shape, str(x.dtype)


def _require(room: str, thing: object, found: object, wanted, takes: str, given=None) -> None:
    """Refuses what has another shape than is wanted."""
    ours = getattr(found, "shape", None), str(getattr(found, "dtype", type(found).__name__))
    if ours != _shape(wanted):
        given = wanted if given is None else given
        words = f"{takes} {given.shape} float32 and gives {ours[0]} {ours[1]}"
        words += f"; it must give {wanted.shape} float32"
        raise SettingError(room, called(thing), words)


def target_of(teacher: OwnTeacher, key: Key[Array, ""], x: State) -> State:
    """The teacher's last state, normalised.

    It is drawn where it is used, inside the compiled program: a plain function may close over
    whatever it has drawn, and still each replica has its own.
    """
    return rms_norm(teacher(key, x.shape[-1])(rms_norm(x)))


def start_blocks(block: Block, key: Key[Array, ""], width: int, depth: int) -> PyTree:
    """The parameters of a student's layers, stacked along depth."""
    return jax.vmap(lambda k: block.init(k, width))(jax.random.split(key, depth))


def run_blocks(block: Block, layers: PyTree, x: State) -> State:
    """The student's last state, normalised."""
    last, _ = jax.lax.scan(lambda h, layer: (block.apply(layer, h), None), rms_norm(x), layers)
    return rms_norm(last)


def resample_blocks(block: Block, layers: PyTree, depth: int) -> PyTree:
    """A student of another depth along the same path through depth-time."""
    old = jax.tree.leaves(layers)[0].shape[0]
    source = ((jnp.arange(depth) + 0.5) / depth * old).astype(int)
    layers = jax.tree.map(lambda w: w[source], layers)
    if block.step is None:
        return layers
    return jax.vmap(lambda layer: block.step(layer, old / depth))(layers)
