"""The stream of inputs: endless, the same however many devices read it.

Every row of a batch has a key of its own, folded from the seed, what the stream is for, the step
and the row, so that a device can draw just the rows it owns.
"""

import jax
from jaxtyping import Array, Float, Int

from toydepth.toy.random import Purpose, key_for


def inputs(
    seed: int, purpose: Purpose, step: Int[Array, ""], rows: Int[Array, "batch"], width: int
) -> Float[Array, "batch width"]:
    """x ~ N(0, I): the given rows of the batch at one step."""
    key = jax.random.fold_in(key_for(seed, purpose), step)
    keys = jax.vmap(jax.random.fold_in, (None, 0))(key, rows)
    return jax.vmap(lambda k: jax.random.normal(k, (width,)))(keys)
