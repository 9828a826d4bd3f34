"""The layer of arXiv 2602.05970, appendix C: h <- h + relu(rms(h) W_in + b)^2 W_out."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

EPS = float(jnp.finfo(jnp.float32).eps)
EXPANSION = 4  # hidden units per unit of width


class Mlp(NamedTuple):
    """Weights of one MLP, or of many stacked along leading axes.

    W_out is kept transposed, output first: its gradient is then a wide product and not a tall
    one, which on a CPU takes half the time.
    """

    w_in: Float[Array, "*depth width hidden"]
    b_in: Float[Array, "*depth hidden"]
    w_out: Float[Array, "*depth width hidden"]


def rms_norm(x: Float[Array, "*batch width"]) -> Float[Array, "*batch width"]:
    """x / sqrt(mean(x^2) + eps) over the width, without gain."""
    return x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + EPS)


@jax.custom_vjp
def mlp(weights: Mlp, h: Float[Array, "batch width"]) -> Float[Array, "batch width"]:
    """One layer's update of the state, relu(rms(h) W_in + b)^2 W_out."""
    return _forward(weights, h)[0]


def _forward(weights: Mlp, h):
    active = jax.nn.relu(rms_norm(h) @ weights.w_in + weights.b_in)
    return jnp.square(active) @ weights.w_out.T, (weights, h, active)


def _backward(saved, change):
    """The transpose, from the state and relu's output alone.

    Automatic differentiation saves three times as much a layer; a deep student's backward pass
    is bound by memory, and squares and normalises again in less time than it reads.
    """
    weights, h, active = saved
    scale = jax.lax.rsqrt(jnp.mean(jnp.square(h), axis=-1, keepdims=True) + EPS)
    normed = h * scale
    into_relu = 2 * active * (change @ weights.w_out)
    into_norm = into_relu @ weights.w_in.T
    along = jnp.mean(into_norm * normed, axis=-1, keepdims=True)
    gradient = Mlp(normed.T @ into_relu, jnp.sum(into_relu, axis=0), change.T @ jnp.square(active))
    return gradient, scale * (into_norm - normed * along)


mlp.defvjp(_forward, _backward)


def uniform_mlp(key: Key[Array, ""], width: int, depth: int) -> Mlp:
    """Weights of `depth` layers: W_in, b ~ U(+-1/sqrt(m)), W_out ~ U(+-1/sqrt(4m))."""
    hidden = EXPANSION * width
    shapes = Mlp((width, hidden), (hidden,), (width, hidden))
    sizes = [math.prod(shape) for shape in shapes]
    # One draw for all three: the generator takes longer to compile than to run.
    drawn = jax.random.uniform(key, (depth, sum(sizes)), minval=-1.0)
    w_in, b_in, w_out = (
        flat.reshape(depth, *shape)
        for flat, shape in zip(jnp.split(drawn, np.cumsum(sizes)[:-1], axis=1), shapes, strict=True)
    )
    return Mlp(w_in * width**-0.5, b_in * width**-0.5, w_out * hidden**-0.5)
