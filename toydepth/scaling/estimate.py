"""A number with its uncertainty."""

import dataclasses
from typing import NamedTuple

# scipy.stats takes most of a second to import; the quantile lives here too.
from scipy.special import stdtrit


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A value, its standard error and its 95 % interval, in the value's units.

    `stderr`, `low` and `high` are None together, when the data cannot give an
    interval; whatever holds the estimate then says why.
    """

    value: float
    stderr: float | None = None
    low: float | None = None
    high: float | None = None


class Interval(NamedTuple):
    """A 95 % interval; an end is None where the data set no bound."""

    low: float | None
    high: float | None


def estimate(value: float, variance: float | None, degrees_of_freedom: int) -> Estimate:
    """The 95 % interval by Student t: value +- t(0.975, dof) sqrt(variance)."""
    value = float(value)
    if variance is None:
        return Estimate(value)
    stderr = float(variance) ** 0.5
    half = half_width(stderr, degrees_of_freedom)
    return Estimate(value, stderr, value - half, value + half)


def half_width(stderr, degrees_of_freedom: int):
    """Half of the 95 % interval, in the units of `stderr` (a number or an array)."""
    return float(stdtrit(degrees_of_freedom, 0.975)) * stderr
