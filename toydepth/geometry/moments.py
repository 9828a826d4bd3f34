"""Counts, means and variances that are joined from parts."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int


class Moments(NamedTuple):
    """Of each row's values; `squares` is the sum of squared deviations from the mean."""

    count: Int[np.ndarray, "rows"]
    mean: Float[np.ndarray, "rows"]
    squares: Float[np.ndarray, "rows"]


def moments(values: Float[np.ndarray, "rows tokens"]) -> Moments:
    """nan is left out; a row without values has mean and squares 0."""
    known = ~np.isnan(values)
    count = known.sum(axis=1)
    mean = np.where(known, values, 0).sum(axis=1) / np.maximum(count, 1)
    deviations = np.where(known, values - mean[:, None], 0)
    return Moments(count, mean, np.vecdot(deviations, deviations))


def join(a: Moments, b: Moments) -> Moments:
    """The moments of both together (the pairwise update of Chan, Golub & LeVeque 1979)."""
    count = a.count + b.count
    share = b.count / np.maximum(count, 1)
    apart = b.mean - a.mean
    return Moments(
        count, a.mean + apart * share, a.squares + b.squares + apart**2 * a.count * share
    )
