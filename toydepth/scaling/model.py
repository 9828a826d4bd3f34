"""A law on given points: the fitted log loss and its derivative."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from toydepth.scaling.law_form import Law


class Model(NamedTuple):
    """log L = s_g + log(sum_v k_v (x_v / r_v)^-a_v + f), for each point of group g.

    Its parameters `theta` are (the free a_v, log k_v, f if the law has a floor, group shifts).
    Sizes are counted in r_v, their geometric means, and losses in theirs, so that the
    parameters are of order one and exponents hardly trade off against coefficients. A group
    scales the whole law by a factor; the shifts s_g add up to 0.

    Attributes:
      law: the terms.
      log_sizes: log(x_v / r_v), one column per variable.
      log_losses: log of the losses in units of their geometric mean.
      weights: square roots of the weights; residuals are multiplied by them.
      shifts: from the group parameters to each point's s_g.
      log_references: log r_v, and log of the losses' geometric mean as the last.
    """

    law: Law
    log_sizes: Float[np.ndarray, "points variables"]
    log_losses: Float[np.ndarray, "points"]
    weights: Float[np.ndarray, "points"]
    shifts: Float[np.ndarray, "points groups-1"]
    log_references: Float[np.ndarray, "variables+1"]

    @property
    def size(self) -> int:
        """How many parameters theta has."""
        return len(self.law.fitted) + self.shifts.shape[1]

    def rows(self, chosen: Int[np.ndarray, "rows"]) -> "Model":
        """The same parameters on some of the points, which may repeat."""
        names = ("log_sizes", "log_losses", "weights", "shifts")
        return self._replace(**{name: getattr(self, name)[chosen] for name in names})

    def in_units_of_one(self, variable: int) -> "Model":
        """The same law with one variable counted in its own unit: its log k is then log c."""
        log_sizes, log_references = self.log_sizes.copy(), self.log_references.copy()
        log_sizes[:, variable] += log_references[variable]
        log_references[variable] = 0.0
        return self._replace(log_sizes=log_sizes, log_references=log_references)

    def parts(
        self, theta: Float[np.ndarray, "parameters"]
    ) -> tuple[Float[np.ndarray, "points variables"], float]:
        """Each term's part of the loss, and the floor, before the groups' factors."""
        free, terms = len(self.law.free), len(self.law.variables)
        given = iter(theta[:free])
        exponents = [next(given) if a is None else a for a in self.law.exponents.values()]
        log_parts = theta[free : free + terms] - self.log_sizes * np.array(exponents)
        # A trial step of a solver may be wild: it needs a large number, not infinity.
        parts = np.exp(np.clip(log_parts, -300, 300))
        return parts, float(theta[free + terms]) if self.law.floor else 0.0

    def residuals(self, theta: Float[np.ndarray, "parameters"]) -> Float[np.ndarray, "points"]:
        """Weighted log(loss / fitted loss)."""
        parts, floor = self.parts(theta)
        shift = self.shifts @ theta[len(self.law.fitted) :]
        return self.weights * (self.log_losses - shift - np.log(_total(parts, floor)))

    def jacobian(
        self, theta: Float[np.ndarray, "parameters"]
    ) -> Float[np.ndarray, "points parameters"]:
        """The derivative of `residuals`."""
        return -self.weights[:, None] * np.hstack([self._slopes(theta), self.shifts])

    def curvature(
        self, theta: Float[np.ndarray, "parameters"], psi: Float[np.ndarray, "points"]
    ) -> Float[np.ndarray, "parameters parameters"]:
        """The sum over points of psi times the second derivative of `residuals`.

        Of log S it is S''/S - (S'/S)(S'/S)', and S'' has a block for each term alone.
        """
        parts, floor = self.parts(theta)
        weights = psi * self.weights
        slopes = self._slopes(theta)
        count, free = len(self.law.fitted), self.law.free
        found = np.zeros((self.size, self.size))
        found[:count, :count] = slopes.T @ (weights[:, None] * slopes)
        shares = weights[:, None] * parts / _total(parts, floor)[:, None]
        for i, variable in enumerate(self.law.variables):
            k, z = len(free) + i, self.log_sizes[:, i]
            found[k, k] -= shares[:, i].sum()
            if variable in free:
                a, mixed = free.index(variable), shares[:, i] @ z
                found[a, k] += mixed
                found[k, a] += mixed
                found[a, a] -= shares[:, i] @ z**2
        return found

    def _slopes(self, theta) -> Float[np.ndarray, "points fitted"]:
        """The derivative of the log of the fitted loss, without the shifts."""
        parts, floor = self.parts(theta)
        total = _total(parts, floor)
        shares = parts / total[:, None]
        free = [a is None for a in self.law.exponents.values()]
        columns = [-(shares * self.log_sizes)[:, free], shares]
        return np.hstack([*columns, 1 / total[:, None]] if self.law.floor else columns)

    def to_units(self) -> Float[np.ndarray, "fitted parameters"]:
        """The matrix from theta to (exponents, log c_v, floor), up to `offset`.

        log c_v = log k_v + a_v log r_v + log of the losses' mean. The floor is the exception:
        it is multiplied by that mean.
        """
        fitted, free = self.law.fitted, self.law.free
        change = np.eye(len(fitted), self.size)
        for i, variable in enumerate(self.law.variables):
            if variable in free:
                change[len(free) + i, free.index(variable)] = self.log_references[i]
        if self.law.floor:
            change[-1] *= np.exp(self.log_references[-1])
        return change

    def offset(self) -> Float[np.ndarray, "fitted"]:
        """What is added to `to_units() @ theta`."""
        offset = np.zeros(len(self.law.fitted))
        for i, (_, exponent) in enumerate(self.law.exponents.items()):
            fixed = 0.0 if exponent is None else exponent * self.log_references[i]
            offset[len(self.law.free) + i] = fixed + self.log_references[-1]
        return offset


def _total(parts: Float[np.ndarray, "points variables"], floor: float):
    return np.maximum(parts.sum(1) + floor, 1e-300)


def model(
    law: Law,
    sizes: Float[np.ndarray, "points variables"],
    losses: Float[np.ndarray, "points"],
    relative: Float[np.ndarray, "points"] | None = None,
    member: Int[np.ndarray, "points"] | None = None,
) -> Model:
    """A law on positive sizes and losses; `relative` is the standard error of each log loss."""
    log_sizes, log_losses = np.log(sizes), np.log(losses)
    centres, level = log_sizes.mean(0), log_losses.mean()
    count = 1 if member is None else member.max() + 1
    # Shifts that sum to zero over the groups: all but the last are free.
    contrast = np.vstack([np.eye(count - 1), -np.ones((1, count - 1))])
    return Model(
        law,
        log_sizes - centres,
        log_losses - level,
        np.ones(len(losses)) if relative is None else 1 / relative,
        contrast[np.zeros(len(losses), int) if member is None else member],
        np.append(centres, level),
    )
