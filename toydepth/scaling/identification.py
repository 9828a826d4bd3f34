"""What a fit cannot tell, in words."""

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations

import numpy as np

from toydepth.scaling.estimate import Interval
from toydepth.scaling.fit import LawFit
from toydepth.scaling.points import number_labels

ALIKE = 0.95  # correlation of two variables' logarithms
TRADED = 0.95  # correlation of two parts' sizes
FEW = 10  # degrees of freedom
STEEP = 10  # no size is known to lower a loss so steeply: such a term is there for a few points
GRADIENT = 1e-6  # cosine of the residuals and the Jacobian at a minimum


def warnings(fit: LawFit, intervals: Mapping[str, Interval] | None = None) -> list[str]:
    """Sentences on why numbers of this fit are not to be trusted; none if all is well.

    `intervals` are those that are shown, by name, if they are not the fit's own.
    """
    shown = {n: Interval(e.low, e.high) for n, e in fit.parameters.items()} | dict(intervals or {})
    found = [*_minimum(fit), *_terms(fit), *_together(fit), *_traded(fit), *_wide(fit, shown)]
    if fit.degrees_of_freedom < 1:
        found.append(
            f"{len(fit.residuals)} points for {fit.model.size} parameters leave no degree of "
            "freedom: there are no intervals"
        )
    elif fit.degrees_of_freedom < FEW:
        found.append(
            f"few degrees of freedom ({fit.degrees_of_freedom}): intervals, those by bootstrap "
            "above all, are rough"
        )
    return found


def alike(fit: LawFit, shapes: Sequence[Hashable]) -> float | None:
    """How alike residuals of one shape are, as intraclass correlation.

    By one-way analysis of variance; None unless p < 1e-3. Standard errors by points are then too
    small, since points of one shape do not err independently.
    """
    from scipy.special import fdtrc

    members = number_labels(shapes)
    sizes = np.bincount(members)
    count, groups = len(members), len(sizes)
    if groups < 2 or count - groups < 1:
        return None
    means = np.bincount(members, fit.residuals) / sizes
    within = np.sum((fit.residuals - means[members]) ** 2) / (count - groups)
    between = np.sum(sizes * (means - fit.residuals.mean()) ** 2) / (groups - 1)
    if within <= 1e-24 or fdtrc(groups - 1, count - groups, between / within) > 1e-3:
        return None
    typical = (count - np.sum(sizes**2) / count) / (groups - 1)
    return float(max((between - within) / (between + (typical - 1) * within), 0.0))


def _minimum(fit: LawFit) -> list[str]:
    solution = fit.solution
    found = []
    if solution.gradient > GRADIENT:
        found.append(
            f"the search stopped short of a minimum (gradient {solution.gradient:.1e}): "
            "the parameters may still move"
        )
    if solution.starts > 1 and solution.agreeing == 1:
        found.append(
            f"only one of {solution.starts} starts ended in the lowest minimum: there may be "
            "a lower one"
        )
    return found


def _terms(fit: LawFit) -> list[str]:
    """Terms that the best fit does without, and floors of 0."""
    found = []
    for variable in fit.law.variables:
        if fit.parameters[f"coefficient_{variable}"].value == 0:
            found.append(
                f"the best fit has no term in {variable}: its coefficient is 0, and it has no "
                "exponent"
            )
        elif fit.parameters[f"exponent_{variable}"].value < 0:
            found.append(f"the loss rises with {variable}: its exponent is negative")
    if len(found) == len(fit.law.variables):
        found.append("no variable lowers the loss")
    if fit.law.floor and fit.parameters["floor"].value == 0:
        found.append("the best floor is 0, the least that is allowed")
    return found


def _together(fit: LawFit) -> list[str]:
    """Variables that grow together, so that their terms cannot be told apart."""
    found = []
    for (i, one), (j, other) in combinations(enumerate(fit.law.variables), 2):
        logs = fit.model.log_sizes[:, [i, j]]
        correlation = float(np.corrcoef(logs.T)[0, 1])
        if abs(correlation) > ALIKE:
            found.append(
                f"{one} and {other} grow together (their logarithms correlate by "
                f"{correlation:.3f}): what is due to which is not identified"
            )
    return found


def _traded(fit: LawFit) -> list[str]:
    """Parts of the loss, at the typical size, that can be exchanged for one another."""
    law, problem = fit.law, fit.model
    change = problem.to_units()
    # Back to the coefficients at the geometric mean of the sizes, which hardly depend on the
    # exponents; groups' shifts are left out of both.
    square = change[:, : len(law.fitted)]
    back = np.linalg.inv(square)
    covariance = back @ fit.covariance @ back.T
    deviation = np.sqrt(np.diag(covariance))
    first = len(law.free)
    names = [f"the part of {v}" for v in law.variables] + (["the floor"] if law.floor else [])
    found = []
    for (i, one), (j, other) in combinations(enumerate(names, first), 2):
        scale = deviation[i] * deviation[j]
        if scale > 0 and covariance[i, j] < -TRADED * scale:
            found.append(
                f"{one} and {other} trade off (correlation {covariance[i, j] / scale:.3f}): "
                "their sum is better known than either"
            )
    return found


def _wide(fit: LawFit, shown: Mapping[str, Interval]) -> list[str]:
    """Parameters that the data hardly bound."""
    found = []
    dead = {v for v in fit.law.variables if fit.parameters[f"coefficient_{v}"].value == 0}
    for name in fit.unidentified:
        if not any(name.endswith(f"_{v}") for v in dead):
            found.append(f"{name.removeprefix('log_')} is not identified: it has no interval")
    for variable in fit.law.free:
        exponent, interval = fit.parameters[f"exponent_{variable}"], shown[f"exponent_{variable}"]
        if variable in dead or exponent.stderr is None:
            continue
        low, high = interval
        if low is None or high is None or low <= 0 or exponent.value > STEEP:
            ends = ["no bound" if end is None else f"{end:.2g}" for end in interval]
            found.append(
                f"the exponent of {variable} is hardly identified: {exponent.value:.2g} "
                f"({ends[0]} to {ends[1]})"
            )
    return found
