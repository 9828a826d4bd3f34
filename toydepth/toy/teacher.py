"""Teachers: the networks that define a target. One function per kind draws the weights.

To add a kind, write its function, name it in `KINDS`, and give it a file in `conf/teacher/`. What
it is drawn by, besides a depth, is a setting of `config.Teacher`, named in `config.DRAWN_BY`.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from toydepth.toy.between import correlated, mixed
from toydepth.toy.layers import Mlp, mlp, rms_norm, uniform_mlp
from toydepth.toy.random import Purpose, key_for


class Teacher(NamedTuple):
    """A teacher's weights. `layers` holds one layer if all share it, else one for each depth."""

    layers: Mlp
    head: Float[Array, "width vocabulary"] | None


def shared(key: Key[Array, ""], width: int, depth: int) -> Mlp:
    """One layer that every depth uses: the state moves smoothly (rho = 1)."""
    return uniform_mlp(key, width, 1)


def independent(key: Key[Array, ""], width: int, depth: int) -> Mlp:
    """A layer of its own for each depth: the state moves as a random walk (rho = 0)."""
    return uniform_mlp(key, width, depth)


KINDS = {
    "shared": shared,
    "independent": independent,
    "mixed": mixed,
    "correlated": correlated,
}


def draw_teacher(
    kind: str,
    seed: int,
    *,
    width: int,
    depth: int,
    vocabulary: int,
    head: str | None,
    **drawn_by: float | str,
) -> Teacher:
    """Draws a teacher (arXiv 2602.05970, appendix C); `drawn_by` is what its kind asks for.

    W_in, b ~ U(+-1/sqrt(m)); W_out ~ U(+-1/sqrt(4m)) / sqrt(depth). The head is drawn
    U(+-1/sqrt(m)) where the student learns one of its own (`head="learned"`), N(0, 1/m) where
    the student is given this one (`"frozen"`), and is absent for `None`.
    """
    layers = KINDS[kind](key_for(seed, Purpose.TEACHER), width, depth, **drawn_by)
    layers = layers._replace(w_out=layers.w_out * depth**-0.5)
    return Teacher(layers, draw_head(key_for(seed, Purpose.HEAD), width, vocabulary, head))


def draw_head(
    key: Key[Array, ""], width: int, vocabulary: int, head: str | None
) -> Float[Array, "width vocabulary"] | None:
    """The teacher's unembedding, by the kind of head the objective asks for."""
    shape, scale = (width, vocabulary), width**-0.5
    if head is None:
        return None
    if head == "frozen":
        return scale * jax.random.normal(key, shape)
    return jax.random.uniform(key, shape, minval=-scale, maxval=scale)


def hidden_states(
    layers: Mlp, x: Float[Array, "batch width"], depth: int
) -> Float[Array, "states batch width"]:
    """The normalised input, then the state after each of `depth` layers."""
    _, states = _run(layers, x, depth, keep=True)
    return jnp.concatenate([rms_norm(x)[None], states])


def final_state(
    layers: Mlp, x: Float[Array, "batch width"], depth: int
) -> Float[Array, "batch width"]:
    """The last state, normalised: what a student of any depth is asked to match."""
    last, _ = _run(layers, x, depth, keep=False)
    return rms_norm(last)


def _run(layers: Mlp, x, depth: int, *, keep: bool):
    if layers.w_in.shape[0] == 1:  # one copy, used at every depth
        one = jax.tree.map(lambda w: w[0], layers)
        stacked, layer_of = None, lambda _: one
    else:
        stacked, layer_of = layers, lambda weights: weights

    def layer(h, weights):
        h = h + mlp(layer_of(weights), h)
        return h, h if keep else None

    return jax.lax.scan(layer, rms_norm(x), stacked, length=depth)
