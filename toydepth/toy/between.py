"""Teachers between the shared and the independent one, and equal to them in their limits.

Both are made of what those two draw from the same key: `uniform_mlp(key, width, depth)` gives the
independent layers, and the first of them is the shared one.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from toydepth.toy.layers import Mlp, uniform_bounds, uniform_mlp

BELOW_ONE = np.nextafter(np.float32(1), np.float32(0))


def mixed(key: Key[Array, ""], width: int, depth: int, rho: float) -> Mlp:
    """sqrt(rho) of one draw that all layers share and sqrt(1 - rho) of a draw of each one's own.

    Mean and variance of a weight are those of a uniform draw, and any two layers have the
    correlation `rho`. rho = 1 is the shared teacher and rho = 0 the independent one.
    """
    common = uniform_mlp(key, width, 1)
    if rho == 1:
        return common
    own = uniform_mlp(key, width, depth)
    if rho == 0:
        return own
    # The first layer's own draw would be the common one; it takes another.
    first = uniform_mlp(jax.random.fold_in(key, 1), width, 1)
    own = jax.tree.map(lambda w, other: w.at[0].set(other[0]), own, first)
    return jax.tree.map(lambda c, w: math.sqrt(rho) * c + math.sqrt(1 - rho) * w, common, own)


def correlated(key: Key[Array, ""], width: int, depth: int, correlation_length: float | str) -> Mlp:
    """A stationary Ornstein-Uhlenbeck process along depth with uniform weights.

    It is the weights' normal scores z, by which a uniform weight is bound * erf(z / sqrt 2), that
    follow z <- a z + sqrt(1 - a^2) z_own, a = exp(-1/length), so that each layer by itself is
    distributed as an independent one. Over d layers a weight's correlation is then
    (6/pi) asin(a^d / 2), within 0.02 of exp(-d/length).

    Args:
      correlation_length: in layers. "inf" is the shared teacher, as is a length so long that a is
        1, and one so short that a is 0 is the independent teacher.
    """
    length = float(correlation_length)
    kept, fresh = math.exp(-1 / length), math.sqrt(-math.expm1(-2 / length))
    if kept == 1:
        return uniform_mlp(key, width, 1)
    own = uniform_mlp(key, width, depth)
    if kept == 0:  # erf of its inverse would round
        return own

    def along_depth(w, bound):
        scores = jax.lax.erf_inv(jnp.clip(w / bound, -BELOW_ONE, BELOW_ONE))  # z / sqrt 2

        def layer(z, its_own):
            z = kept * z + fresh * its_own
            return z, z

        _, later = jax.lax.scan(layer, scores[0], scores[1:])
        return bound * jax.lax.erf(jnp.concatenate([scores[:1], later]))

    return jax.tree.map(along_depth, own, uniform_bounds(width))
