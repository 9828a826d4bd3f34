"""Exponents of a loss against a size, with their uncertainty.

Arrays in, frozen dataclasses out; nothing here knows what a layer is. The
public API:

- `fit_power_law`  L = c s^-alpha (+ L0), by least squares on log L -> `PowerLaw`
- `local_alpha`    the exponent between neighbouring sizes -> list of `LocalAlpha`
- `Estimate`       a value, its standard error and its 95 % interval
- `FloorComparison`  whether the data ask for the floor L0
"""

from toydepth.scaling.estimate import Estimate
from toydepth.scaling.floor import FloorComparison
from toydepth.scaling.local import LocalAlpha, local_alpha
from toydepth.scaling.power_law import PowerLaw, fit_power_law

__all__ = [
    "Estimate",
    "FloorComparison",
    "LocalAlpha",
    "PowerLaw",
    "fit_power_law",
    "local_alpha",
]
