"""The layer of arXiv 2602.05970, appendix C: h <- h + relu(rms(h) W_in + b)^2 W_out."""

import math
from functools import partial
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
    """x / sqrt(mean(x^2) + eps) over the width, without gain; nan where the square overflows."""
    return x * _scale(x)


def _scale(x: Float[Array, "*batch width"]) -> Float[Array, "*batch 1"]:
    square = jnp.mean(jnp.square(x), axis=-1, keepdims=True)
    # 1 / sqrt(inf) is 0: the loss of a network that has blown up would be finite, and stay.
    return jnp.where(square < jnp.inf, jax.lax.rsqrt(square + EPS), jnp.nan)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def mlp(
    weights: Mlp, h: Float[Array, "batch width"], precision: str = "float32"
) -> Float[Array, "batch width"]:
    """One layer's update of the state, relu(rms(h) W_in + b)^2 W_out.

    With `precision="bfloat16"` the factors of each product are rounded to 8 bits; the products
    are summed, and everything else is done, in float32.
    """
    return _forward(weights, h, precision)[0]


def _product(a, b, precision: str):
    if precision == "bfloat16":
        a, b = a.astype(jnp.bfloat16), b.astype(jnp.bfloat16)
    return jnp.matmul(a, b, preferred_element_type=jnp.float32)


def _forward(weights: Mlp, h, precision: str):
    active = jax.nn.relu(_product(rms_norm(h), weights.w_in, precision) + weights.b_in)
    return _product(jnp.square(active), weights.w_out.T, precision), (weights, h, active)


def _backward(precision: str, saved, change):
    """The transpose, from the state and relu's output alone.

    Automatic differentiation saves three times as much a layer; a deep student's backward pass
    is bound by memory, and squares and normalises again in less time than it reads.
    """
    weights, h, active = saved
    scale = _scale(h)
    normed = h * scale
    into_relu = 2 * active * _product(change, weights.w_out, precision)
    into_norm = _product(into_relu, weights.w_in.T, precision)
    along = jnp.mean(into_norm * normed, axis=-1, keepdims=True)
    gradient = Mlp(
        _product(normed.T, into_relu, precision),
        jnp.sum(into_relu, axis=0),
        _product(change.T, jnp.square(active), precision),
    )
    return gradient, scale * (into_norm - normed * along)


mlp.defvjp(_forward, _backward)


def uniform_mlp(key: Key[Array, ""], width: int, depth: int) -> Mlp:
    """Weights of `depth` layers: W_in, b ~ U(+-1/sqrt(m)), W_out ~ U(+-1/sqrt(4m))."""
    hidden = EXPANSION * width
    shapes = Mlp((width, hidden), (hidden,), (width, hidden))
    sizes = [math.prod(shape) for shape in shapes]
    # One draw for all three: the generator takes longer to compile than to run.
    drawn = jax.random.uniform(key, (depth, sum(sizes)), minval=-1.0)
    parts = zip(
        jnp.split(drawn, np.cumsum(sizes)[:-1], axis=1), shapes, uniform_bounds(width), strict=True
    )
    return Mlp(*(flat.reshape(depth, *shape) * bound for flat, shape, bound in parts))


def uniform_bounds(width: int) -> Mlp:
    """The largest size of each of the weights that `uniform_mlp` draws."""
    return Mlp(width**-0.5, width**-0.5, (EXPANSION * width) ** -0.5)
