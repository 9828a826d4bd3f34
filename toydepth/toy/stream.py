"""The stream of inputs: endless, the same however many devices read it.

Every row of a batch has a key of its own, folded from the seed, what the stream is for, the step
and the row, so that a device can draw just the rows it owns.
"""

import jax
from jaxtyping import Array, Float, Int, Key


def inputs(
    key: Key[Array, ""], step: Int[Array, ""], rows: Int[Array, "batch"], width: int
) -> Float[Array, "batch width"]:
    """x ~ N(0, I): the given rows of the batch at one step."""
    keys = jax.vmap(jax.random.fold_in, (None, 0))(jax.random.fold_in(key, step), rows)
    return jax.vmap(lambda k: jax.random.normal(k, (width,)))(keys)
