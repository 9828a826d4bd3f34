"""A measure of many tokens at each layer: its mean and its quantiles."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from toydepth.figures.curve import Numbers


class Spread(NamedTuple):
    """The mean over tokens at each layer and, if known, quantiles as pairs (low, high).

    `middle` bounds the middle half of the tokens (25 to 75 %), `tails` 5 to 95 %.
    """

    mean: Numbers
    middle: tuple[Numbers, Numbers] | None = None
    tails: tuple[Numbers, Numbers] | None = None

    def bands(self) -> list[tuple[Numbers, Numbers]]:
        """The bands to draw, widest first."""
        return [band for band in (self.tails, self.middle) if band is not None]

    def highest(self) -> float:
        """The highest number, 0 if there is none."""
        every = [self.mean, *(high for _, high in self.bands())]
        return float(np.nanmax([0.0, *np.concatenate([np.asarray(x, float) for x in every])]))

    def fits(self, count: int) -> bool:
        """Whether every array has `count` entries."""
        bounds = [bound for band in self.bands() for bound in band]
        return {len(numbers) for numbers in [self.mean, *bounds]} == {count}


def shown(spread: Spread, lines: int) -> Spread:
    """The spread with the bands that this many lines leave room for: more would hide each other."""
    if lines <= 2:
        return spread
    return Spread(spread.mean, spread.middle if lines == 3 else None)


def bands_note(spreads: Iterable[Spread]) -> str:
    """What the bands of these spreads are, in words; empty if there are none."""
    spreads = list(spreads)
    names = ["25–75 %"] * any(spread.middle is not None for spread in spreads)
    names += ["5–95 %"] * any(spread.tails is not None for spread in spreads)
    return "bands: " + " and ".join(names) if names else ""
