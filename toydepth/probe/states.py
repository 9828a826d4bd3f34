"""`probe_states`: what layers do to hidden states, on arrays from any residual network."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from toydepth.geometry import Stream, Summary

Chunk = Float[np.ndarray, "layers+1 tokens width"]


def probe_states(
    states: Chunk | Iterator[Chunk],
    *,
    middle: tuple[float, float] = (0.25, 0.75),
    seed: int = 0,
) -> Summary:
    """Angles of steps and of updates, norms and projections, over all tokens.

    Angles are in radians (arXiv 2602.05970, section 3): `theta` between the states before and after
    a layer, `theta_updates` between neighbouring updates, each with its mean, standard error and
    quantiles over tokens; `middle_step` is theta's mean over the middle layers.

    Args:
      states: hidden states before the first layer to after the last, in one array, or an iterator
        of such arrays for some tokens each, where one would not fit in memory.
      middle: part of the depth whose layers are the middle ones.
      seed: draws the sample from which quantiles of many tokens are taken.

    Raises:
      ValueError: fewer than two layers, numbers that are not finite, or chunks of several shapes.

    >>> import numpy as np
    >>> walk = np.random.default_rng(0).normal(size=(9, 500, 64)).cumsum(axis=0)
    >>> summary = toydepth.probe_states(walk)
    >>> np.round(summary.theta_updates.mean / np.pi, 1)  # orthogonal: a random walk
    array([0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    """
    if isinstance(states, list | tuple):
        words = "stack them first: one array is (layers + 1, tokens, width)"
        raise ValueError(f"a {type(states).__name__} may hold layers or chunks of tokens; {words}")
    chunks = [states] if hasattr(states, "shape") else states
    stream = Stream(2000, seed, middle)
    for chunk in chunks:
        stream.add(np.asarray(chunk))
    return stream.summary()
