"""Two nested laws on the same points: does the data ask for the free exponents?"""

import dataclasses
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from jaxtyping import Float

from toydepth.scaling.fit import LawFit
from toydepth.scaling.solve import minimise

REJECTED = 1e-3  # below it, and with BIC, the fixed exponents are rejected


@dataclasses.dataclass(frozen=True)
class HeldOut:
    """Mean squared log error on points that a fit has not seen, by two laws.

    `difference` is fixed minus free, so positive where the free exponents predict better;
    `stderr` is its standard error over the groups of points left out.
    """

    groups: int
    fixed: float
    free: float
    difference: float
    stderr: float


@dataclasses.dataclass(frozen=True)
class Comparison:
    """A law with fixed exponents against the same terms with free ones.

    `f` has `numerator` and `denominator` degrees of freedom; `p_value` is of the fixed
    exponents being true. `aic_difference` and `bic_difference` are fixed minus free: positive
    favours the free exponents; None with Huber's loss, which is no likelihood. `verdict` is
    "holds", "in doubt" or "rejected" and `sentence` says why.
    """

    f: float
    numerator: int
    denominator: int
    p_value: float
    aic_difference: float | None
    bic_difference: float | None
    verdict: str
    sentence: str


def compare(fixed: LawFit, free: LawFit) -> Comparison:
    """F test, AIC and BIC of a law against one that it is a case of.

    F = ((R0 - R1) / q) / s^2 on sums of squared log residuals (with Huber's loss on twice its
    cost); AIC = n log(R / n) + 2 k and BIC = n log(R / n) + k log n, k parameters and the
    variance. All take the residuals as independent.

    Raises:
        ValueError: the points differ, the second fit has no more parameters than the first,
            or no degree of freedom.
    """
    from scipy.special import fdtrc

    count = len(free.residuals)
    extra = free.model.size - fixed.model.size
    if len(fixed.residuals) != count or fixed.huber != free.huber:
        raise ValueError("the two laws were fitted to different points or by different losses")
    if extra < 1 or free.degrees_of_freedom < 1:
        raise ValueError(
            "the second law needs more parameters than the first, and fewer than points"
        )
    before, after = 2 * fixed.solution.cost, 2 * free.solution.cost
    gain = max(before - after, 0.0)
    exact = 1e-20 * count  # both fit to rounding: there is nothing to explain
    f = 0.0 if gain <= exact else gain / extra / max(free.scale, 1e-300)
    p_value = float(fdtrc(extra, free.degrees_of_freedom, f))
    aic = bic = None
    if free.huber is None:
        fit_gain = 0.0 if gain <= exact else count * np.log(before / max(after, 1e-300))
        aic = float(fit_gain - 2 * extra)
        bic = float(fit_gain - np.log(count) * extra)
    favours_fixed = bic is None or bic < 0
    if p_value >= 0.05 or (favours_fixed and p_value >= REJECTED):
        verdict = "holds"
    elif p_value < REJECTED and not (bic is not None and bic < 0):
        verdict = "rejected"
    else:
        verdict = "in doubt"
    criteria = "" if bic is None else f", AIC {aic:+.1f} and BIC {bic:+.1f} for free exponents"
    sentence = f"F test p = {p_value:.2g}{criteria}"
    return Comparison(f, extra, free.degrees_of_freedom, p_value, aic, bic, verdict, sentence)


def held_out(
    fixed: LawFit,
    free: LawFit,
    groups: Sequence[Hashable],
    show: Callable[[int], None] = lambda done: None,
) -> HeldOut:
    """Leave out each group of points in turn, fit both laws to the rest, and predict it.

    `groups` labels the points: random folds, or model shapes (leave one shape out). Raises
    ValueError if labels are not one per point or there is only one group.
    """
    labels = list(dict.fromkeys(groups))
    if len(groups) != len(free.residuals) or len(labels) < 2:
        raise ValueError("two or more groups are needed, and one label per point")
    member = np.array([labels.index(label) for label in groups])
    errors = np.empty((2, len(member)))
    for group in range(len(labels)):
        left, rest = np.flatnonzero(member == group), np.flatnonzero(member != group)
        for row, fit in zip(errors, (fixed, free), strict=True):
            start = fit.solution.theta[: len(fit.law.free)]
            theta = minimise(fit.model.rows(rest), start, fit.huber)
            seen = fit.model.rows(left)
            row[left] = (seen.residuals(theta) / seen.weights) ** 2
        show(group + 1)
    difference = errors[0] - errors[1]
    centred = np.bincount(member, difference - difference.mean())
    stderr = np.sqrt(np.sum(centred**2) * len(labels) / (len(labels) - 1)) / len(member)
    means = errors.mean(axis=1)
    return HeldOut(
        len(labels), float(means[0]), float(means[1]), float(difference.mean()), float(stderr)
    )


def folds(count: int, number: int, seed: int) -> Float[np.ndarray, "points"]:
    """A random fold for each of `count` points, as even as can be."""
    return np.random.default_rng(seed).permutation(count) % number
