"""A law fitted to resampled points: draws of its parameters, and their 95 % intervals."""

import dataclasses
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from jaxtyping import Float, Int

from toydepth.scaling.estimate import Interval
from toydepth.scaling.fit import LawFit
from toydepth.scaling.model import Model
from toydepth.scaling.points import number_labels
from toydepth.scaling.solve import minimise


@dataclasses.dataclass(frozen=True, eq=False)
class Draws:
    """Parameters of the refits, by the names of `LawFit.parameters`.

    A fixed exponent is a number, everything else has one entry per draw. A coefficient of 0
    says that the refit did without the term; its exponent is then nan.
    """

    parameters: dict[str, float | Float[np.ndarray, "draws"]]

    def intervals(self) -> dict[str, Interval]:
        """The 2.5th and the 97.5th percentile of each fitted parameter."""
        return {
            name: percentiles(draws)
            for name, draws in self.parameters.items()
            if isinstance(draws, np.ndarray)
        }


def percentiles(draws: Float[np.ndarray, "draws"]) -> Interval:
    """The 2.5th and 97.5th percentile; an end is None where infinite draws reach it.

    A draw that is nan has no such number and can stand for any: if they are more than 2.5 %,
    there are no ends.
    """
    lost = np.isnan(draws)
    if lost.all() or lost.mean() > 0.025:
        return Interval(None, None)
    low, high = np.quantile(draws[~lost], [0.025, 0.975], method="inverted_cdf")
    return Interval(*(float(end) if np.isfinite(end) else None for end in (low, high)))


def bootstrap(
    fit: LawFit,
    resamples: int,
    *,
    seed: int = 0,
    clusters: Sequence[Hashable] | None = None,
    show: Callable[[int], None] = lambda done: None,
) -> Draws:
    """Refit the law to `resamples` samples of the points, drawn with replacement.

    Args:
        fit: where each refit starts from, and the points.
        resamples: how many samples.
        seed: of the draws.
        clusters: one label per point; whole clusters are drawn. For runs of one shape, or
            points of one training run, whose errors are alike: drawn one by one they give
            intervals that are too narrow.
        show: is told how many refits are done.

    Raises:
        ValueError: labels are not one per point, only one cluster, or no degree of freedom.

    >>> import numpy as np
    >>> width, depth = np.repeat([64, 128, 256, 512], 4), np.tile([4, 8, 16, 32], 4)
    >>> noise = np.exp(np.random.default_rng(1).normal(0, 0.001, 16))
    >>> loss = (50 / width + 3 / depth + 1.7) * noise
    >>> law = toydepth.Law({"width": None, "depth": 1})
    >>> fit = toydepth.fit_law(law, {"width": width, "depth": depth}, loss)
    >>> draws = toydepth.bootstrap(fit, 20)
    >>> len(draws.parameters["exponent_width"])
    20
    """
    count = len(fit.residuals)
    if fit.degrees_of_freedom < 1:
        raise ValueError("no degree of freedom: every resample would fit as well or better")
    members = _members(clusters, count)
    generator = np.random.default_rng(seed)
    start = fit.solution.theta[: len(fit.law.free)]
    change, offset = fit.model.to_units(), fit.model.offset()
    draws = np.empty((resamples, len(fit.law.fitted)))
    for i in range(resamples):
        drawn = generator.integers(len(members), size=len(members))
        points = np.concatenate([members[j] for j in drawn])
        show(i + 1)
        if len(np.unique(points)) <= fit.model.size:
            draws[i] = np.nan  # a perfect fit, whatever the noise
            continue
        sample = fit.model.rows(points)
        theta = minimise(sample, start, fit.huber)
        _keep_level(fit, sample, theta)
        gone = ~np.isfinite(theta)
        values = change @ np.where(gone, 0.0, theta) + offset
        for j, variable in enumerate(fit.law.variables):
            if gone[len(start) + j]:
                values[len(start) + j] = -np.inf
                if variable in fit.law.free:
                    values[fit.law.free.index(variable)] = np.nan
        draws[i] = values
    parameters = {
        f"exponent_{v}": float(exponent)
        for v, exponent in fit.law.exponents.items()
        if exponent is not None
    }
    for name, column in zip(fit.law.fitted, draws.T, strict=True):
        logarithm = name.startswith("log_")
        with np.errstate(over="ignore"):  # an infinite coefficient is one without bound
            parameters[name.removeprefix("log_")] = np.exp(column) if logarithm else column
    return Draws({name: parameters[name] for name in fit.parameters})


def _keep_level(fit: LawFit, sample: Model, theta: Float[np.ndarray, "parameters"]) -> None:
    """Says how far the law moved where groups are missing, whose shifts could be any.

    It moved as the mean of the groups that are there did; with all of them that is 0.
    """
    fitted, free = len(fit.law.fitted), len(fit.law.free)
    if theta.size == fitted:
        return
    shifts = theta[fitted:] - fit.solution.theta[fitted:]
    moved = np.mean(np.unique(sample.shifts, axis=0) @ shifts)
    theta[free : free + len(fit.law.variables)] += moved
    if fit.law.floor:
        theta[fitted - 1] *= np.exp(moved)


def _members(
    clusters: Sequence[Hashable] | None, count: int
) -> list[Int[np.ndarray, "points"]] | Int[np.ndarray, "points 1"]:
    """The points of each cluster."""
    if clusters is None:
        return np.arange(count)[:, None]
    if len(clusters) != count:
        raise ValueError(f"{count} points but {len(clusters)} clusters")
    member = number_labels(clusters)
    if member.max() < 1:
        raise ValueError("all points are in one cluster: there is nothing to draw")
    order = np.argsort(member, kind="stable")
    return np.split(order, np.cumsum(np.bincount(member))[:-1])
