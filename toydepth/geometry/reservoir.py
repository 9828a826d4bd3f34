"""A uniform sample of a stream of tokens."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int


class Sample(NamedTuple):
    """Tokens in the order of the stream, with their trajectories in radians."""

    indices: Int[np.ndarray, "sampled"]
    """Each token's place in the stream, from 0."""
    tokens: list[object]
    """What each was called: text, id, (text, position); None if the stream was told nothing."""
    theta: Float[np.ndarray, "sampled layers"]
    theta_updates: Float[np.ndarray, "sampled layers-1"]


class Reservoir:
    """Keeps the `size` tokens of smallest random key: every token is as likely as any other.

    A token's key depends on the seed and its place in the stream, hence not on how the stream is
    cut into chunks.
    """

    def __init__(self, size: int, seed: int):
        if size < 1:
            raise ValueError(f"a sample of {size} tokens was asked for; at least 1 is needed")
        self.size = size
        self.seen = 0
        self._random = np.random.default_rng(seed)
        self._keys = np.empty(0)
        self._sample: Sample | None = None

    def add(
        self,
        theta: Float[np.ndarray, "layers tokens"],
        theta_updates: Float[np.ndarray, "layers-1 tokens"],
        tokens: Sequence[object] | None = None,
    ) -> None:
        """Tokens with a nan in their trajectory are passed over."""
        usable = ~(np.isnan(theta).any(axis=0) | np.isnan(theta_updates).any(axis=0))
        keys = self._random.random(len(usable))
        chosen = np.flatnonzero(usable & self._small_enough(keys))
        names = [None if tokens is None else tokens[int(i)] for i in chosen]
        new = Sample(self.seen + chosen, names, theta[:, chosen].T, theta_updates[:, chosen].T)
        self.seen += len(keys)
        if len(chosen) or self._sample is None:
            self._keep(keys[chosen], new)

    def sample(self) -> Sample:
        """Raises ValueError before the first token."""
        if self._sample is None:
            raise ValueError("no token was added yet")
        return self._sample

    def _small_enough(self, keys: Float[np.ndarray, "tokens"]) -> Bool[np.ndarray, "tokens"]:
        return keys < (self._keys.max() if len(self._keys) == self.size else np.inf)

    def _keep(self, keys: Float[np.ndarray, "chosen"], new: Sample) -> None:
        old = self._sample
        if old is not None:
            keys = np.concatenate([self._keys, keys])
            new = Sample(
                np.concatenate([old.indices, new.indices]),
                old.tokens + new.tokens,
                np.concatenate([old.theta, new.theta]),
                np.concatenate([old.theta_updates, new.theta_updates]),
            )
        kept = np.sort(np.argsort(keys, kind="stable")[: self.size])
        self._keys = keys[kept]
        self._sample = Sample(
            new.indices[kept],
            [new.tokens[i] for i in kept],
            new.theta[kept],
            new.theta_updates[kept],
        )
