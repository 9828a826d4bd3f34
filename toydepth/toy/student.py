"""Students: residual networks of a given depth, as Flax NNX modules.

To add a block, write its function, name it in `BLOCKS` with how many MLPs it takes, and give it
a file in `conf/student/`.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Key

from toydepth.toy.layers import Mlp, mlp, rms_norm, uniform_mlp

State = Float[Array, "batch width"]
Update = Callable[[State], State]


class Step(NamedTuple):
    """One step of the student's state, given its MLPs as functions, and the names of those.

    `tied` blocks are one block, repeated: its weights do not grow in number with depth.
    """

    apply: Callable[..., State]
    mlps: tuple[str, ...]
    tied: bool = False


def residual(h: State, f: Update) -> State:
    """An Euler step, h + f(h)."""
    return h + f(h)


def midpoint(h: State, first: Update, second: Update) -> State:
    """A second-order Runge-Kutta step, h + f2(h + f1(h)/2)."""
    return h + second(h + 0.5 * first(h))


BLOCKS = {
    "residual": Step(residual, ("layers",)),
    "midpoint": Step(midpoint, ("first", "second")),
    "looped": Step(residual, ("layers",), tied=True),
}


class StackedMlp(nnx.Module):
    """The weights of one MLP at every depth, stacked so that `lax.scan` runs over them.

    Tied weights are stacked once, and `repeats` is the depth. It stays with each parameter as a
    part of its type, since the shape does not tell students of two depths apart.
    """

    def __init__(self, weights: Mlp, repeats: int | None):
        self.w_in = nnx.Param(weights.w_in, repeats=repeats)
        self.b_in = nnx.Param(weights.b_in, repeats=repeats)
        self.w_out = nnx.Param(weights.w_out, repeats=repeats)

    def weights(self) -> Mlp:
        return Mlp(self.w_in[...], self.b_in[...], self.w_out[...])


class Student(nnx.Module):
    """A residual network; W_out and the learned head are zero at the start."""

    def __init__(
        self, key: Key[Array, ""], block: str, *, depth: int, width: int, vocabulary: int | None
    ):
        self.block = block
        for index, name in enumerate(BLOCKS[block].mlps):
            stored, repeats = (1, depth) if BLOCKS[block].tied else (depth, None)
            weights = uniform_mlp(jax.random.fold_in(key, index), width, stored)
            weights = weights._replace(w_out=jnp.zeros_like(weights.w_out))
            setattr(self, name, StackedMlp(weights, repeats))
        if vocabulary is not None:
            self.head = nnx.Param(jnp.zeros((width, vocabulary)))

    def __call__(self, x: State, precision: str = "float32") -> State:
        """The final normalised state; `precision` is that of the MLPs' products."""
        last, _ = self._run(x, precision, keep=False)
        return rms_norm(last)

    def hidden_states(self, x: State) -> Float[Array, "states batch width"]:
        """The normalised input, then the state after each block."""
        _, states = self._run(x, "float32", keep=True)
        return jnp.concatenate([rms_norm(x)[None], states])

    def _run(self, x: State, precision: str, *, keep: bool):
        apply, names, tied = BLOCKS[self.block]
        stacked = tuple(getattr(self, name).weights() for name in names)
        repeats = getattr(self, names[0]).w_in.repeats
        one = jax.tree.map(lambda w: w[0], stacked)

        def step(h, layer):
            layer = one if tied else layer
            mlps = [lambda at, own=own: mlp(own, at, precision) for own in layer]
            h = apply(h, *mlps)
            return h, h if keep else None

        return jax.lax.scan(step, rms_norm(x), None if tied else stacked, length=repeats)


def deepen(params: nnx.State, block: str, depth: int) -> nnx.State:
    """A student of another depth along the same path through depth-time (depth continuation).

    Layer l of the new depth L' takes the old layer at depth-time (l + 1/2)/L', with W_out scaled
    by L/L', so that the whole displacement of the state is kept. Tied layers are one, scaled so.
    The head is kept as it is.
    """
    new, tied = dict(nnx.to_pure_dict(params)), BLOCKS[block].tied
    deepened = jax.tree.map(lambda x: x, params)
    for name in BLOCKS[block].mlps:
        mlps = new[name]
        if tied:
            old_depth = params[name]["w_out"].repeats
            for parameter in deepened[name].values():
                parameter.set_metadata(repeats=depth)
        else:
            old_depth = mlps["w_out"].shape[0]
            source = ((jnp.arange(depth) + 0.5) / depth * old_depth).astype(int)
            mlps = {key: weight[source] for key, weight in mlps.items()}
        new[name] = mlps | {"w_out": mlps["w_out"] * (old_depth / depth)}
    nnx.replace_by_pure_dict(deepened, new)
    return deepened
