"""A law fitted to resampled points: draws of its parameters, and their 95 % intervals."""

import dataclasses
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from jaxtyping import Float, Int

from toydepth.scaling.estimate import Interval
from toydepth.scaling.fit import LawFit
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
    """The middle 95 % of the draws that are numbers; no ends if that is less than half of them."""
    known = draws[np.isfinite(draws)]
    if 2 * len(known) < len(draws) or not len(known):
        return Interval(None, None)
    low, high = np.percentile(known, [2.5, 97.5])
    return Interval(float(low), float(high))


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
        ValueError: labels are not one per point, or only one cluster.
    """
    count = len(fit.residuals)
    members = _members(clusters, count)
    generator = np.random.default_rng(seed)
    start = fit.solution.theta[: len(fit.law.free)]
    change, offset = fit.model.to_units(), fit.model.offset()
    draws = np.empty((resamples, len(fit.law.fitted)))
    for i in range(resamples):
        drawn = generator.integers(len(members), size=len(members))
        sample = fit.model.rows(np.concatenate([members[j] for j in drawn]))
        theta = minimise(sample, start, fit.huber)
        gone = ~np.isfinite(theta)
        values = change @ np.where(gone, 0.0, theta) + offset
        for j, variable in enumerate(fit.law.variables):
            if gone[len(start) + j]:
                values[len(start) + j] = -np.inf
                if variable in fit.law.free:
                    values[fit.law.free.index(variable)] = np.nan
        draws[i] = values
        show(i + 1)
    parameters = {
        f"exponent_{v}": float(exponent)
        for v, exponent in fit.law.exponents.items()
        if exponent is not None
    }
    for name, column in zip(fit.law.fitted, draws.T, strict=True):
        logarithm = name.startswith("log_")
        parameters[name.removeprefix("log_")] = np.exp(column) if logarithm else column
    return Draws({name: parameters[name] for name in fit.parameters})


def _members(
    clusters: Sequence[Hashable] | None, count: int
) -> list[Int[np.ndarray, "points"]] | Int[np.ndarray, "points 1"]:
    """The points of each cluster."""
    if clusters is None:
        return np.arange(count)[:, None]
    if len(clusters) != count:
        raise ValueError(f"{count} points but {len(clusters)} clusters")
    found: dict[Hashable, list[int]] = {}
    for i, label in enumerate(clusters):
        found.setdefault(label, []).append(i)
    if len(found) < 2:
        raise ValueError("all points are in one cluster: there is nothing to draw")
    return [np.array(points) for points in found.values()]
