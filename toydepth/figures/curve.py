"""What the figures draw."""

import dataclasses
from collections.abc import Hashable, Sequence

import numpy as np
from jaxtyping import Bool, Float

from toydepth.scaling import PowerLaw

Numbers = Float[np.ndarray, "points"] | Sequence[float]


@dataclasses.dataclass(frozen=True, eq=False)
class Curve:
    """The losses of one regime, one entry per point, in any order.

    `stderr` is each loss's standard error, in its units. `groups` labels the
    replicas (e.g. by teacher seed), as in `scaling.local_alpha`. `converged` is
    False for points to draw hollow. `fit` is the line to draw, if any.
    """

    label: str
    sizes: Numbers
    losses: Numbers
    stderr: Numbers | None = None
    groups: Sequence[Hashable] | None = None
    converged: Bool[np.ndarray, "points"] | Sequence[bool] | None = None
    fit: PowerLaw | None = None

    def hollow(self) -> Bool[np.ndarray, "points"]:
        """Which points have not converged."""
        if self.converged is None:
            return np.zeros(len(self.sizes), bool)
        return ~np.asarray(self.converged, bool)
