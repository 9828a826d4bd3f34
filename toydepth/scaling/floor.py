"""Whether the data ask for a floor at the end of a power law."""

import dataclasses

import numpy as np
from jaxtyping import Float
from scipy.special import fdtrc


@dataclasses.dataclass(frozen=True)
class FloorComparison:
    """Power law with a floor against power law without, on the same points.

    `p_value` of the F test (one more parameter; conservative, since L0 >= 0).
    `aicc_difference` is AICc without minus AICc with: positive favours the
    floor; None where AICc needs more points. `supported` if p < 0.05 and AICc
    favours it, so never from four points; `sentence` says the same in words.
    """

    p_value: float
    aicc_difference: float | None
    supported: bool
    sentence: str


def compare_floor(
    without: Float[np.ndarray, "points"],
    with_floor: Float[np.ndarray, "points"],
    degrees_of_freedom: int,
) -> FloorComparison:
    """Compare weighted log residuals; `degrees_of_freedom` >= 1 is that of the fit with a floor.

    F = (R0 - R1) / (R1 / dof), AICc = n log(R/n) + 2k + 2k(k+1) / (n-k-1),
    where R is the sum of squares and k counts the variance.
    """
    count = len(without)
    before, after = float(np.sum(without**2)), float(np.sum(with_floor**2))
    gain = max(before - after, 0.0)
    if gain <= 1e-20 * count:  # both exact to rounding
        ratio = 0.0
    else:
        ratio = gain * degrees_of_freedom / max(after, 1e-300)
    p_value = float(fdtrc(1, degrees_of_freedom, ratio))

    parameters = count - degrees_of_freedom + 1
    difference = None
    if count - parameters - 1 > 0:

        def penalty(k):
            return 2 * k + 2 * k * (k + 1) / (count - k - 1)

        fit_gain = count * np.log(max(before, 1e-300) / max(after, 1e-300)) if ratio > 0 else 0.0
        difference = float(fit_gain + penalty(parameters - 1) - penalty(parameters))

    supported = p_value < 0.05 and difference is not None and difference > 0
    evidence = f"F test p = {p_value:.2g}, " + (
        "too few points for AICc" if difference is None else f"AICc difference {difference:.1f}"
    )
    sentence = f"the data {'support' if supported else 'do not support'} a floor ({evidence})"
    return FloorComparison(p_value, difference, supported, sentence)
