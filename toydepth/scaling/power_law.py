"""A power law fitted to losses, with its uncertainty."""

import dataclasses
from collections.abc import Hashable, Sequence

import numpy as np
from jaxtyping import Float

from toydepth.scaling.estimate import Estimate, estimate, half_width
from toydepth.scaling.floor import FloorComparison, compare_floor, fit_floor
from toydepth.scaling.points import Numbers, Points, check_points


@dataclasses.dataclass(frozen=True, eq=False)
class PowerLaw:
    """L(s) = c s^-alpha + L0; the result of every fit.

    `alpha` is positive when the loss falls. `log_coefficient` is log c, with
    groups the mean of theirs. `floor` is L0 in the losses' units, None if it was
    not fitted. `residuals` are log(loss / fitted loss), in the order given.
    `reason` is None, or a sentence why there is no interval. `covariance` is
    that of (log c, alpha[, L0]).
    """

    alpha: Estimate
    log_coefficient: Estimate
    floor: Estimate | None
    sizes: Float[np.ndarray, "points"]
    losses: Float[np.ndarray, "points"]
    residuals: Float[np.ndarray, "points"]
    degrees_of_freedom: int
    reason: str | None
    floor_comparison: FloorComparison | None
    covariance: Float[np.ndarray, "parameters parameters"] | None

    def predict(
        self, sizes: Numbers
    ) -> tuple[
        Float[np.ndarray, "sizes"],
        Float[np.ndarray, "sizes"] | None,
        Float[np.ndarray, "sizes"] | None,
    ]:
        """The fitted loss and the 95 % band of the fitted curve: (loss, low, high).

        The band is where the curve lies, not where a new loss would fall. It is
        exp(log L +- t sqrt(g' C g)), g the gradient of log L by the parameters;
        low and high are None when the fit has no interval. Beyond the fitted
        sizes it assumes that the law goes on. Raises ValueError for a size that
        is not positive and finite.
        """
        log_sizes = np.log(check_points(sizes, np.ones(np.shape(sizes))).sizes)
        log_power = self.log_coefficient.value - self.alpha.value * log_sizes
        loss = np.exp(log_power) + (self.floor.value if self.floor else 0.0)
        if self.covariance is None:
            return loss, None, None
        share = np.exp(log_power) / loss
        gradient = np.stack([share, -log_sizes * share, 1 / loss][: len(self.covariance)])
        variance = np.einsum("is,ij,js->s", gradient, self.covariance, gradient)
        half = half_width(np.sqrt(np.maximum(variance, 0)), self.degrees_of_freedom)
        return loss, loss * np.exp(-half), loss * np.exp(half)


def fit_power_law(
    sizes: Numbers,
    losses: Numbers,
    stderr: Numbers | None = None,
    groups: Sequence[Hashable] | None = None,
    floor: bool = False,
) -> PowerLaw:
    """Least squares in log space: log L = log c - alpha log s.

    Args:
        sizes: depths, widths, anything positive; in any order.
        losses: one per size, positive.
        stderr: standard error of each loss, in the losses' units. Weights the
            points by (stderr / loss)^-2 and scales the covariance by
            max(1, reduced chi^2): the noise is at least what is given, and a
            lack of fit, usually larger, counts too.
        groups: one label per point, e.g. the teacher seed: one alpha, but one c
            per group, so that replicas of another overall loss do not inflate
            the error. Degrees of freedom are points - groups - 1.
        floor: fit L = c s^-alpha + L0 with L0 >= 0, still on log L, with one
            degree of freedom less, and compare it with the fit without. Its
            intervals are linearised, and rough when the floor is near 0.

    Intervals are 95 %, by Student t. With fewer than three distinct sizes, or no
    degree of freedom left, there are none and `reason` says why. A size counts
    if its group holds another one, since only then does it say anything of alpha.

    Raises:
        ValueError: a size, loss or stderr is not positive and finite (the index
            and the value are named); lengths differ; one distinct size only;
            fewer than four distinct sizes with `floor`.
    """
    points = check_points(sizes, losses, stderr, groups)
    count = _informative_sizes(points)
    if count < 2:
        kind = (
            "no group holds two distinct sizes"
            if points.member.any()
            else "there is one distinct size"
        )
        raise ValueError(f"{kind}: an exponent needs two")
    if floor and count < 4:
        raise ValueError(f"{count} distinct sizes: a floor needs four")

    weights = np.ones(len(points.sizes)) if points.relative is None else 1 / points.relative
    parameters, intercepts, residuals, covariance = _fit_line(points, weights)
    freedom = len(points.sizes) - len(intercepts) - 1
    reason = comparison = None
    if floor:
        freedom -= 1
        straight = residuals
        parameters, residuals, covariance = fit_floor(points, weights, parameters[1], intercepts)
        if covariance is None:
            reason = "the floor and the exponent cannot be told apart, so there is no interval"
        if freedom > 0:
            comparison = compare_floor(weights * straight, weights * residuals, freedom)
    if count < 3:
        reason = "two distinct sizes always lie on a power law: an interval needs three"
    elif freedom < 1:
        reason = f"{len(points.sizes)} points leave no degree of freedom for an interval"

    if reason:
        covariance, variances = None, [None] * 3
    else:
        scale = np.sum((weights * residuals) ** 2) / freedom
        covariance = covariance * (scale if stderr is None else max(1.0, scale))
        variances = np.diag(covariance)
    log_coefficient, alpha = (estimate(parameters[i], variances[i], freedom) for i in (0, 1))
    level = None
    if floor:
        level = estimate(parameters[2], variances[2], freedom)
        if level.low is not None:
            level = dataclasses.replace(level, low=max(level.low, 0.0))
    return PowerLaw(
        alpha=alpha,
        log_coefficient=log_coefficient,
        floor=level,
        sizes=points.sizes,
        losses=points.losses,
        residuals=residuals,
        degrees_of_freedom=freedom,
        reason=reason,
        floor_comparison=comparison,
        covariance=covariance,
    )


def _informative_sizes(points: Points) -> int:
    """How many distinct sizes lie in a group with another size."""
    useful = set()
    for group in np.unique(points.member):
        ours = set(points.sizes[points.member == group].tolist())
        useful |= ours if len(ours) > 1 else set()
    return len(useful)


def _fit_line(
    points: Points, weights: Float[np.ndarray, "points"]
) -> tuple[
    Float[np.ndarray, "2"],
    Float[np.ndarray, "groups"],
    Float[np.ndarray, "points"],
    Float[np.ndarray, "2 2"],
]:
    """(log c, alpha), each group's log c, log residuals, unscaled covariance of (log c, alpha)."""
    count = points.member.max() + 1
    design = np.column_stack([np.eye(count)[points.member], -np.log(points.sizes)])
    weighted = weights[:, None] * design
    solution = np.linalg.lstsq(weighted, weights * np.log(points.losses))[0]
    change = np.zeros((2, count + 1))
    change[0, :count], change[1, count] = 1 / count, 1
    covariance = change @ np.linalg.inv(weighted.T @ weighted) @ change.T
    return (
        change @ solution,
        solution[:count],
        np.log(points.losses) - design @ solution,
        covariance,
    )
