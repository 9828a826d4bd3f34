"""Quantiles in one pass, from counts in bins that are fixed beforehand."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float


@dataclasses.dataclass(frozen=True)
class Bins:
    """`number` bins from `low` to `high`, of equal width or, if `logarithmic`, equal ratio."""

    low: float
    high: float
    number: int
    logarithmic: bool = False

    def scale(self, values: Float[np.ndarray, "*any"]) -> Float[np.ndarray, "*any"]:
        """`low` -> 0, `high` -> `number`, evenly between."""
        low, high = self.low, self.high
        if self.logarithmic:
            low, high = np.log(low), np.log(high)
            with np.errstate(divide="ignore"):  # log 0 = -inf lies below the bins
                values = np.log(values)
        return (values - low) * (self.number / (high - low))

    def edges(self) -> Float[np.ndarray, "number+1"]:
        space = np.geomspace if self.logarithmic else np.linspace
        return space(self.low, self.high, self.number + 1)


class Histogram:
    """How many values of each row fell into each bin, and the least and the greatest value.

    What lies outside the bins is counted in one more bin at either end, which reaches to the
    least or the greatest value seen. nan is left out.
    """

    def __init__(self, bins: Bins, rows: int):
        self.bins = bins
        self.counts = np.zeros((rows, bins.number + 2), np.int64)
        self.least, self.greatest = np.full(rows, np.inf), np.full(rows, -np.inf)

    def add(self, values: Float[np.ndarray, "rows tokens"]) -> None:
        known = ~np.isnan(values)
        rows = np.nonzero(known)[0]
        scaled = np.clip(np.floor(self.bins.scale(values[known])), -1, self.bins.number)
        columns = scaled.astype(np.int64) + 1
        np.add.at(self.counts.reshape(-1), rows * self.counts.shape[1] + columns, 1)
        self.least = np.fmin(self.least, np.fmin.reduce(values, axis=1))
        self.greatest = np.fmax(self.greatest, np.fmax.reduce(values, axis=1))

    def quantiles(self, shares: Sequence[float]) -> Float[np.ndarray, "shares rows"]:
        """Off by less than a bin's width; a bin's values are taken as evenly spread in it.

        nan for a row without values.
        """
        found = np.full((len(shares), len(self.counts)), np.nan)
        inner = self.bins.edges()
        for row in np.flatnonzero(self.counts.sum(axis=1)):
            least, greatest = self.least[row], self.greatest[row]
            edges = np.clip(np.concatenate([[least], inner, [greatest]]), least, greatest)
            cumulated = np.cumsum(self.counts[row])
            wanted = np.asarray(shares) * cumulated[-1]
            column = np.searchsorted(cumulated, wanted)
            count = self.counts[row, column]
            inside = (wanted - (cumulated[column] - count)) / np.maximum(count, 1)
            found[:, row] = edges[column] + inside * (edges[column + 1] - edges[column])
        return found
