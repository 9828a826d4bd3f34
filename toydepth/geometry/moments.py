"""Counts, means and variances that are joined from parts."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int


class Moments(NamedTuple):
    """Of each row's `known` values; `squares` is the sum of squared deviations from the mean."""

    known: Int[np.ndarray, "rows"]
    mean: Float[np.ndarray, "rows"]
    squares: Float[np.ndarray, "rows"]


def moments(values: Float[np.ndarray, "rows tokens"]) -> Moments:
    """nan is left out; a row without values has mean and squares 0."""
    there = ~np.isnan(values)
    count = there.sum(axis=1)
    mean = np.where(there, values, 0).sum(axis=1) / np.maximum(count, 1)
    deviations = np.where(there, values - mean[:, None], 0)
    return Moments(count, mean, np.vecdot(deviations, deviations))


def join(a: Moments, b: Moments) -> Moments:
    """The moments of both together (the pairwise update of Chan, Golub & LeVeque 1979)."""
    count = a.known + b.known
    share = b.known / np.maximum(count, 1)
    apart = b.mean - a.mean
    return Moments(
        count, a.mean + apart * share, a.squares + b.squares + apart**2 * a.known * share
    )
