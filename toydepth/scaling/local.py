"""The exponent between neighbouring sizes."""

import dataclasses
from collections.abc import Hashable, Sequence
from itertools import pairwise

import numpy as np

from toydepth.scaling.points import Numbers, check_points


@dataclasses.dataclass(frozen=True)
class LocalAlpha:
    """alpha between the sizes `start` < `stop`; `stderr` is None if the losses had none."""

    start: float
    stop: float
    value: float
    stderr: float | None = None


def local_alpha(
    sizes: Numbers,
    losses: Numbers,
    stderr: Numbers | None = None,
    groups: Sequence[Hashable] | None = None,
) -> list[LocalAlpha]:
    """alpha = log(L_start / L_stop) / log(stop / start), between neighbouring sizes.

    A straight line in log-log gives the same value everywhere; a drift is a
    floor, a lack of convergence or the end of a regime.

    Points of one size are joined by their geometric mean. With `groups` (one
    label per point, e.g. the teacher seed) only groups that hold both sizes are
    compared, so that a missing replica shifts nothing; a pair of sizes that
    share no group is left out. `stderr`, in the losses' units, is propagated to
    first order: Var alpha = sum (stderr / L)^2 / n^2 / log(stop / start)^2.

    Raises ValueError for a size, loss or stderr that is not positive and finite.
    """
    points = check_points(sizes, losses, stderr, groups)
    log_losses = np.log(points.losses)

    def mean(mask):
        variance = None
        if points.relative is not None:
            variance = np.sum(points.relative[mask] ** 2) / np.sum(mask) ** 2
        return log_losses[mask].mean(), variance

    found = []
    for start, stop in pairwise(np.unique(points.sizes)):
        drops, variances = [], []
        at_start, at_stop = points.sizes == start, points.sizes == stop
        for group in np.intersect1d(points.member[at_start], points.member[at_stop]):
            ours = points.member == group
            (first, first_variance), (last, last_variance) = (
                mean(ours & at_start),
                mean(ours & at_stop),
            )
            drops.append(first - last)
            if points.relative is not None:
                variances.append(first_variance + last_variance)
        if not drops:
            continue
        span = np.log(stop / start)
        error = float(np.sqrt(np.sum(variances)) / len(drops) / span) if variances else None
        found.append(LocalAlpha(float(start), float(stop), float(np.mean(drops) / span), error))
    return found
