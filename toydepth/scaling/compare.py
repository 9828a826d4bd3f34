"""Two nested laws on the same points: does the data ask for the free exponents?"""

import dataclasses
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from jaxtyping import Float

from toydepth.scaling.fit import LawFit, by_clusters
from toydepth.scaling.points import number_labels
from toydepth.scaling.solve import SAME, minimise

REJECTED = 1e-3  # p below it, and with BIC, rejects the fixed exponents
FEW = 10  # degrees of freedom below which a test has hardly any power


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

    `f` has `numerator` and `denominator` degrees of freedom, and `p_value` is of the fixed
    exponents being true, with independent residuals. `clustered_p_value` is the same with
    residuals that may be alike within clusters, None where no clusters were given or they are
    too few. `aic_difference` and `bic_difference` are fixed minus free: positive favours the
    free exponents; None with Huber's loss, which is no likelihood.

    `verdict` is "rejected" (p below 1e-3, by the clustered test if there is one, and BIC for the
    free exponents), "holds" (p of 0.05 or more, or BIC for the fixed ones), "in doubt" between,
    or "cannot tell" where the data would hardly notice; `sentence` says why.
    """

    f: float
    numerator: int
    denominator: int
    p_value: float
    clustered_p_value: float | None
    aic_difference: float | None
    bic_difference: float | None
    verdict: str
    sentence: str


def compare(fixed: LawFit, free: LawFit, clusters: Sequence[Hashable] | None = None) -> Comparison:
    """F test, AIC and BIC of a law against one that it is a case of.

    F = ((R0 - R1) / q) / s^2 on sums of squared log residuals (with Huber's loss on twice its
    cost, over s^2 and `LawFit.steepness`); AIC = n log(R / n) + 2 k and
    BIC = n log(R / n) + k log n, k parameters and the variance. These take the residuals as
    independent. With `clusters`, a label per point, there is also a Wald test with the
    covariance of `by_clusters`, as Hotelling's T^2: F = (G - q) / (q (G - 1)) d' V^-1 d.

    Raises:
        ValueError: the points or the terms differ, the second fit has no more parameters than
            the first, or no degree of freedom.
    """
    from scipy.special import fdtrc

    count = len(free.residuals)
    extra = free.model.size - fixed.model.size
    same = all(
        np.array_equal(getattr(fixed.model, name), getattr(free.model, name))
        for name in ("log_losses", "weights", "shifts")
    )
    if not same or fixed.huber != free.huber:
        raise ValueError("the two laws were fitted to different points or by different losses")
    if set(fixed.law.variables) != set(free.law.variables):
        raise ValueError("the two laws have different terms")
    if extra < 1 or free.degrees_of_freedom < 1:
        raise ValueError(
            "the second law needs more parameters than the first, and fewer than points"
        )
    before, after = 2 * fixed.solution.cost, 2 * free.solution.cost
    gain = max(before - after, 0.0)
    exact = 1e-20 * count  # both fit to rounding: there is nothing to explain
    f = 0.0 if gain <= exact else gain / extra / max(free.scale * free.steepness, 1e-300)
    p_value = float(fdtrc(extra, free.degrees_of_freedom, f))
    aic = bic = None
    if free.huber is None:
        fit_gain = 0.0
        if gain > exact:
            fit_gain = count * (np.log(before) - np.log(max(after, 1e-300)))
        aic = float(fit_gain - 2 * extra)
        bic = float(fit_gain - np.log(count) * extra)
    clustered = None if clusters is None else _clustered_p_value(fixed, free, clusters)
    verdict, why = _verdict(fixed, free, p_value, clustered, bic)
    sentence = f"F test p = {p_value:.2g}"
    if clustered is not None:
        sentence += f", with residuals alike within shapes p = {clustered:.2g}"
    if bic is not None:
        sentence += f", AIC {aic:+.1f} and BIC {bic:+.1f} for free exponents"
    return Comparison(
        f,
        extra,
        free.degrees_of_freedom,
        p_value,
        clustered,
        aic,
        bic,
        verdict,
        f"{sentence}; {why}" if why else sentence,
    )


def _verdict(
    fixed: LawFit, free: LawFit, p_value: float, clustered: float | None, bic: float | None
) -> tuple[str, str]:
    """The verdict, and a reason where the numbers do not give it."""
    tested = fixed.law.exponents
    exact = 1e-20 * len(free.residuals)
    if free.solution.cost > fixed.solution.cost * (1 + SAME) + exact:
        return "cannot tell", "the free exponents found no minimum as low: more starts may"
    for variable in free.law.free:
        exponent = free.parameters[f"exponent_{variable}"]
        if tested[variable] is None:
            continue
        if fixed.parameters[f"coefficient_{variable}"].value == 0 or exponent.stderr is None:
            return "cannot tell", f"the data do not show a term in {variable}"
        if exponent.stderr > tested[variable] / 2 and p_value >= REJECTED:
            return "cannot tell", f"the exponent of {variable} is too uncertain"
    if free.degrees_of_freedom < FEW:
        return "cannot tell", f"{free.degrees_of_freedom} degrees of freedom are few"
    # By rows, BIC has a say; alike rows would make it far too sure of itself.
    p = p_value if clustered is None else clustered
    favours_fixed = clustered is None and bic is not None and bic < 0
    if p < REJECTED and not favours_fixed:
        return "rejected", ""
    against = clustered is None and bic is not None and bic > 0
    if (p >= 0.05 and not against) or (favours_fixed and p >= REJECTED):
        return "holds", ""
    return "in doubt", ""


def _clustered_p_value(fixed: LawFit, free: LawFit, clusters: Sequence[Hashable]) -> float | None:
    """Of the fixed exponents, by a Wald test; None where the clusters are too few."""
    from scipy.special import fdtrc

    tested = [
        (i, fixed.law.exponents[variable])
        for i, variable in enumerate(free.law.free)
        if fixed.law.exponents[variable] is not None
    ]
    index = [i for i, _ in tested]
    found = by_clusters(free, clusters)
    difference = found.values[index] - np.array([exponent for _, exponent in tested])
    covariance = found.covariance[np.ix_(index, index)]
    groups, count = found.interval_freedom + 1, len(index)
    unknown = any(f"exponent_{free.law.free[i]}" in free.unidentified for i in index)
    if groups <= count or unknown:
        return None
    squared = difference @ np.linalg.pinv(covariance, hermitian=True) @ difference
    f = float(squared) * (groups - count) / (count * (groups - 1))
    return float(fdtrc(count, groups - count, f))


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
    member = number_labels(groups)
    count = int(member.max()) + 1
    if len(groups) != len(free.residuals) or count < 2:
        raise ValueError("two or more groups are needed, and one label per point")
    errors = np.empty((2, len(member)))
    for group in range(count):
        left, rest = np.flatnonzero(member == group), np.flatnonzero(member != group)
        for row, fit in zip(errors, (fixed, free), strict=True):
            start = fit.solution.theta[: len(fit.law.free)]
            theta = minimise(fit.model.rows(rest), start, fit.huber)
            seen = fit.model.rows(left)
            row[left] = (seen.residuals(theta) / seen.weights) ** 2
        show(group + 1)
    difference = errors[0] - errors[1]
    centred = np.bincount(member, difference - difference.mean())
    stderr = np.sqrt(np.sum(centred**2) * count / (count - 1)) / len(member)
    means = errors.mean(axis=1)
    return HeldOut(count, float(means[0]), float(means[1]), float(difference.mean()), float(stderr))


def folds(count: int, number: int, seed: int) -> Float[np.ndarray, "points"]:
    """A random fold for each of `count` points, as even as can be."""
    return np.random.default_rng(seed).permutation(count) % number
