"""A power law that ends in a floor, and whether the data ask for one."""

import dataclasses

import numpy as np
from jaxtyping import Float
from scipy.special import fdtrc

from toydepth.scaling.points import Points

# Starting floors, as fractions of the smallest loss: the valley is curved, and
# a start at one end can stop in the wrong place.
STARTS = (0.02, 0.3, 0.7, 0.9, 0.98)


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


def fit_floor(
    points: Points,
    weights: Float[np.ndarray, "points"],
    alpha: float,
    intercepts: Float[np.ndarray, "groups"],
) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "points"], Float[np.ndarray, "3 3"] | None]:
    """Minimise sum w^2 (log L - k_g - log((s/s0)^-alpha + f))^2 over k_g, alpha, f >= 0.

    `alpha` and `intercepts` are the fit without a floor. Replicas differ by a
    factor, floor included. Returns (log c, alpha, L0) of the geometric-mean
    group, the log residuals, and the unscaled covariance of the three, by the
    Jacobian (None if it is singular). c = e^k s0^alpha, L0 = e^k f.
    """
    from scipy.optimize import least_squares  # half of this package's import time

    log_losses = np.log(points.losses)
    centre = np.log(points.sizes).mean()
    log_z = np.log(points.sizes) - centre
    count = len(intercepts)
    one_hot = np.eye(count)[points.member]

    def log_shape(alpha, floor):
        with np.errstate(divide="ignore"):
            return np.logaddexp(-alpha * log_z, np.log(floor))

    def residuals(theta):
        return weights * (log_losses - one_hot @ theta[:count] - log_shape(*theta[count:]))

    def jacobian(theta):
        shape = log_shape(*theta[count:])
        slope = log_z * np.exp(-theta[count] * log_z - shape)
        return weights[:, None] * np.column_stack([-one_hot, slope, -np.exp(-shape)])

    # The fit without a floor is a candidate too, so that L0 is exactly 0 when 0 is best.
    offsets = intercepts - alpha * centre
    best = np.append(offsets, [alpha, 0.0])
    best_cost = np.sum(residuals(best) ** 2)
    levelled = np.exp(log_losses - offsets[points.member])
    for fraction in STARTS:
        floor = fraction * levelled.min()
        slope, level = np.polyfit(log_z, np.log(levelled - floor), 1)
        start = np.append(offsets + level, [-slope, floor / np.exp(level)])
        bounds = (np.append(np.full(count + 1, -np.inf), 0.0), np.inf)
        found = least_squares(
            residuals,
            start,
            jacobian,
            bounds=bounds,
            x_scale="jac",
            ftol=1e-14,
            xtol=1e-14,
            gtol=1e-14,
        )
        if 2 * found.cost < best_cost * (1 - 1e-9):
            best, best_cost = found.x, 2 * found.cost

    mean, alpha, floor = best[:count].mean(), best[count], best[count + 1]
    information = jacobian(best).T @ jacobian(best)
    covariance = None
    if np.linalg.cond(information) < 1e14:
        share = np.full(count, 1 / count)
        change = np.zeros((3, count + 2))
        change[0, :count], change[0, count] = share, centre
        change[1, count] = 1
        change[2, :count], change[2, count + 1] = np.exp(mean) * floor * share, np.exp(mean)
        covariance = change @ np.linalg.inv(information) @ change.T
    parameters = np.array([mean + alpha * centre, alpha, np.exp(mean) * floor])
    return parameters, residuals(best) / weights, covariance


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
