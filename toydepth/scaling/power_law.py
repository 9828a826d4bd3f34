"""A power law fitted to losses, with its uncertainty."""

import dataclasses
from collections.abc import Hashable, Sequence

import numpy as np
from jaxtyping import Float

from toydepth.scaling.estimate import Estimate, estimate, half_width
from toydepth.scaling.fit import LawFit, fit_law
from toydepth.scaling.floor import FloorComparison, compare_floor
from toydepth.scaling.law_form import Law
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
    """Least squares in log space, log L = log c - alpha log s: `fit_law` with one term.

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

    >>> law = toydepth.fit_power_law([3, 6, 12, 24], [1 / 3.1, 1 / 6, 1 / 11.8, 1 / 24.2])
    >>> print(f"{law.alpha.value:.2f} ({law.alpha.low:.2f} to {law.alpha.high:.2f})")
    0.99 (0.93 to 1.04)
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

    straight = fit = _fit(points, stderr, groups, floor=False)
    reason, comparison, worse = None, None, False
    if floor:
        fit = _fit(points, stderr, groups, floor=True)
        # A floor of 0 is the same fit, whose cost may differ by rounding.
        exact = 1e-24 * len(points.sizes)
        worse = fit.solution.cost > straight.solution.cost * (1 + 1e-9) + exact
        if worse:  # no exponent above 0 fits as well
            reason = "the losses do not fall towards a floor, so there is no interval"
        elif fit.unidentified:
            reason = "the floor and the exponent cannot be told apart, so there is no interval"
        if fit.degrees_of_freedom > 0:
            without, with_floor = (fit.model.weights * f.residuals for f in (straight, fit))
            comparison = compare_floor(without, with_floor, fit.degrees_of_freedom)
    freedom = fit.degrees_of_freedom
    if count < 3:
        reason = "two distinct sizes always lie on a power law: an interval needs three"
    elif freedom < 1:
        reason = f"{len(points.sizes)} points leave no degree of freedom for an interval"

    best = straight if worse else fit
    # (log c, alpha, L0) here, and the exponent first there.
    order = [1, 0, 2] if floor else [1, 0]
    covariance = None if reason else fit.covariance[np.ix_(order, order)]
    values = [*best.values, 0.0]
    variances = [None] * 3 if reason else np.diag(covariance)
    found = [estimate(values[i], v, freedom) for i, v in zip(order, variances, strict=False)]
    log_coefficient, alpha = found[:2]
    level = None
    if floor:
        level = found[2]
        if level.low is not None:
            level = dataclasses.replace(level, low=max(level.low, 0.0))
    return PowerLaw(
        alpha=alpha,
        log_coefficient=log_coefficient,
        floor=level,
        sizes=points.sizes,
        losses=points.losses,
        residuals=best.residuals,
        degrees_of_freedom=freedom,
        reason=reason,
        floor_comparison=comparison,
        covariance=covariance,
    )


def _fit(
    points: Points, stderr: Numbers | None, groups: Sequence[Hashable] | None, floor: bool
) -> LawFit:
    """The law of one term. Its valley is curved with a floor, so that several starts are made."""
    law = Law({"size": None}, floor)
    starts = 5 if floor else 1
    return fit_law(
        law, {"size": points.sizes}, points.losses, stderr=stderr, groups=groups, starts=starts
    )


def _informative_sizes(points: Points) -> int:
    """How many distinct sizes lie in a group with another size."""
    useful = set()
    for group in np.unique(points.member):
        ours = set(points.sizes[points.member == group].tolist())
        useful |= ours if len(ours) > 1 else set()
    return len(useful)
