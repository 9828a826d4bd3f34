"""A scaling law fitted to losses, with its uncertainty and the proof of its minimum."""

import dataclasses
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from jaxtyping import Float

from toydepth.scaling.estimate import Estimate, estimate, half_width
from toydepth.scaling.law_form import Law
from toydepth.scaling.model import Model, model
from toydepth.scaling.points import Numbers, check_points, number_labels
from toydepth.scaling.solve import Solution, alive, influence, solve

SINGULAR = 1e-7  # of the scaled Jacobian's largest singular value


@dataclasses.dataclass(frozen=True, eq=False)
class LawFit:
    """The result of `fit_law`.

    Attributes:
      law: what was fitted.
      parameters: `exponent_V` and `coefficient_V` for each variable V, and `floor`, in the
        units of the sizes and losses given. A fixed exponent has only a value. Intervals are
        95 %, by the Jacobian and Student's t; a coefficient's is symmetric in its logarithm.
      values: what `law.fitted` names: free exponents, log coefficients, the floor.
      covariance: of `values`.
      residuals: log(loss / fitted loss), in the order given.
      degrees_of_freedom: points less parameters.
      interval_freedom: those of Student's t: the same, or clusters - 1 after `by_clusters`.
      unidentified: fitted parameters that the data cannot tell; they have no interval.
      solution: the minimum, its gradient, and how many starts agree.
      model: the law on the points, in the units of the solver.
      huber: the log residual at which Huber's loss turns linear, or None for squares.
      scale: the residual variance by which the covariance is multiplied.
      steepness: mean second derivative of the loss by a residual: 1 for squares, less for
        Huber's. The cost rises by scale * steepness / 2 within one standard error.
    """

    law: Law
    parameters: dict[str, Estimate]
    values: Float[np.ndarray, "fitted"]
    covariance: Float[np.ndarray, "fitted fitted"]
    residuals: Float[np.ndarray, "points"]
    degrees_of_freedom: int
    interval_freedom: int
    unidentified: tuple[str, ...]
    solution: Solution
    model: Model
    huber: float | None
    scale: float
    steepness: float

    @property
    def mean_squared_log_residual(self) -> float:
        return float(np.mean(self.residuals**2))

    @property
    def floor(self) -> float:
        """The loss that no size removes; 0 for a law without one."""
        return self.parameters["floor"].value if self.law.floor else 0.0

    def predict(
        self, sizes: Mapping[str, Numbers]
    ) -> tuple[
        Float[np.ndarray, "points"],
        Float[np.ndarray, "points"] | None,
        Float[np.ndarray, "points"] | None,
    ]:
        """The fitted loss and the 95 % band of the fitted law: (loss, low, high).

        With groups, that of the geometric-mean group. The band is exp(log L +- t sqrt(g' C g)),
        g the gradient of log L; it is where the law lies, not where a new loss would fall, and
        None without a degree of freedom. Raises ValueError for a size that is not positive
        and finite.
        """
        parts = self.parts(sizes)
        loss = sum(parts.values()) + self.floor
        if self.degrees_of_freedom < 1:
            return loss, None, None
        columns = {"floor": np.ones(len(loss))}
        for variable, part in parts.items():
            # Terms that are not there move nothing.
            logs = np.log(np.asarray(sizes[variable], float))
            columns[f"exponent_{variable}"] = -part * logs
            columns[f"log_coefficient_{variable}"] = part
        columns = np.stack([columns[name] for name in self.law.fitted], axis=1)
        # What is too large for a number is infinite, and then has no band.
        with np.errstate(over="ignore", invalid="ignore"):
            gradient = columns / loss[:, None]
            variance = np.einsum("pi,ij,pj->p", gradient, self.covariance, gradient)
            half = half_width(np.sqrt(np.maximum(variance, 0)), self.interval_freedom)
            return loss, loss * np.exp(-half), loss * np.exp(half)

    def parts(self, sizes: Mapping[str, Numbers]) -> dict[str, Float[np.ndarray, "points"]]:
        """Each term's part of the fitted loss. Raises ValueError as `predict` does."""
        return {variable: self.part(variable, sizes[variable]) for variable in self.law.variables}

    def part(self, variable: str, sizes: Numbers) -> Float[np.ndarray, "points"]:
        """c / x^a of one variable. Raises ValueError as `predict` does."""
        log_sizes = np.log(check_points(sizes, np.ones(np.shape(sizes))).sizes)
        # The logarithm, since in odd units a steep law's coefficient is too large for a number.
        log_coefficient = self.values[self.law.fitted.index(f"log_coefficient_{variable}")]
        if log_coefficient == -np.inf:
            return np.zeros(len(log_sizes))
        exponent = self.parameters[f"exponent_{variable}"].value
        with np.errstate(over="ignore"):  # far from the sizes fitted
            return np.exp(log_coefficient - exponent * log_sizes)


def fit_law(
    law: Law,
    sizes: Mapping[str, Numbers],
    losses: Numbers,
    *,
    stderr: Numbers | None = None,
    groups: Sequence[Hashable] | None = None,
    huber: float | None = None,
    starts: int = 16,
    seed: int = 0,
) -> LawFit:
    """Fit a law to losses on log L, by least squares or Huber's loss.

    Args:
        law: the terms; `sizes` must have its variables, and may have more.
        sizes: for each variable one positive size per point, in any unit.
        losses: one per point, positive.
        stderr: standard error of each loss, in its units. Weights the points by
            (stderr / loss)^-2 and scales the covariance by max(1, reduced chi^2): the noise
            is at least what is given, and a lack of fit, usually larger, counts too.
        groups: one label per point, e.g. the teacher seed: each group's losses are the law
            times a factor of its own. Coefficients and floor are those of the geometric mean.
        huber: the log residual at which the loss turns from squared to linear (Hoffmann et
            al. 2022 take 1e-3), counted in standard errors where `stderr` is given; None for
            squares.
        starts: draws of the free exponents from which the minimum is sought.
        seed: of those draws.

    Standard errors are sqrt(diag(s^2 (J'J)^-1)), s^2 = RSS / (points - parameters), of all
    parameters together (with Huber, s^2 by its influence function, Huber 1981, 7.6).

    Raises:
        ValueError: a size, loss or stderr is not positive and finite (the index and the value
            are named); lengths differ; a variable has too few distinct sizes to be told
            from the floor; fewer points than parameters; `huber` is not positive, or `starts`.

    >>> import numpy as np
    >>> width, depth = np.repeat([64, 128, 256, 512], 4), np.tile([4, 8, 16, 32], 4)
    >>> noise = np.exp(np.random.default_rng(1).normal(0, 0.001, 16))
    >>> loss = (50 / width + 3 / depth + 1.7) * noise
    >>> law = toydepth.Law({"width": None, "depth": 1})
    >>> fit = toydepth.fit_law(law, {"width": width, "depth": depth}, loss)
    >>> round(fit.parameters["exponent_width"].value, 2)
    0.99
    """
    if huber is not None and not huber > 0:
        raise ValueError(f"huber is {huber:g}; it must be positive")
    if starts < 1:
        raise ValueError(f"starts is {starts}; it must be 1 or more")
    columns = []
    for variable in law.variables:
        if variable not in sizes:
            raise ValueError(f"the law depends on {variable}, but there are no such sizes")
        try:
            points = check_points(sizes[variable], losses, stderr, groups)
        except ValueError as error:
            raise ValueError(str(error).replace("sizes", variable)) from None
        columns.append(points.sizes)
        _check_distinct(law, variable, points.sizes)
    member = points.member if groups is not None else None
    problem = model(law, np.stack(columns, 1), points.losses, points.relative, member)
    if len(points.losses) < problem.size:
        raise ValueError(f"{len(points.losses)} points cannot give {problem.size} parameters")
    solution = solve(problem, starts=starts, seed=seed, huber=huber)
    return describe(problem, solution, huber, known_noise=stderr is not None)


def describe(
    problem: Model, solution: Solution, huber: float | None, known_noise: bool = False
) -> LawFit:
    """A solution in the user's units, with standard errors."""
    law, theta = problem.law, solution.theta
    freedom = len(problem.log_losses) - problem.size
    residuals = problem.residuals(theta)
    scale, steepness = _scale(residuals, freedom, huber)
    if known_noise:
        scale = max(1.0, scale)
    unscaled, told = _inverse_information(problem, theta)
    change = problem.to_units()
    covariance = scale * change @ unscaled @ change.T
    with np.errstate(invalid="ignore"):  # 0 * -inf
        values = np.where(change == 0, 0, change * theta).sum(1) + problem.offset()

    # A row of `change` mixes parameters; all of them have to be told.
    unidentified = [
        name for i, name in enumerate(law.fitted) if not np.all(told[np.flatnonzero(change[i])])
    ]
    for i, variable in enumerate(law.free):
        if values[law.fitted.index(f"log_coefficient_{variable}")] == -np.inf:
            values[i] = np.nan  # a term that is not there has no exponent
    return LawFit(
        law=law,
        parameters=_parameters(law, values, covariance, unidentified, freedom),
        values=values,
        covariance=covariance,
        residuals=residuals / problem.weights,
        degrees_of_freedom=freedom,
        interval_freedom=freedom,
        unidentified=tuple(unidentified),
        solution=solution,
        model=problem,
        huber=huber,
        scale=scale,
        steepness=steepness,
    )


def by_clusters(fit: LawFit, clusters: Sequence[Hashable]) -> LawFit:
    """The same fit, with errors that may be alike within clusters, such as model shapes.

    The covariance is B M B G/(G - 1) (n - 1)/(n - p), B the inverse of J'J, M the sum over the G
    clusters of the outer product of their summed J' psi (Liang and Zeger 1986), and Student's t
    has G - 1 degrees of freedom. It needs many clusters: with few, intervals are too narrow.

    Raises:
        ValueError: labels are not one per point, or there is only one cluster.
    """
    problem, theta = fit.model, fit.solution.theta
    count = len(problem.log_losses)
    if len(clusters) != count:
        raise ValueError(f"{count} points but {len(clusters)} clusters")
    member = number_labels(clusters)
    groups = int(member.max()) + 1
    if groups < 2:
        raise ValueError("all points are in one cluster: there is nothing to compare")
    jacobian = problem.jacobian(theta)
    scores = jacobian * influence(problem.residuals(theta), fit.huber)[:, None]
    summed = np.stack([np.bincount(member, column) for column in scores.T], axis=1)
    bread = problem.to_units() @ _inverse_information(problem, theta)[0] / fit.steepness
    meat = summed.T @ summed
    small = groups / (groups - 1) * (count - 1) / max(fit.degrees_of_freedom, 1)
    covariance = small * bread @ meat @ bread.T
    freedom = groups - 1 if fit.degrees_of_freedom > 0 else 0
    return dataclasses.replace(
        fit,
        parameters=_parameters(fit.law, fit.values, covariance, fit.unidentified, freedom),
        covariance=covariance,
        interval_freedom=freedom,
    )


def _parameters(
    law: Law,
    values: Float[np.ndarray, "fitted"],
    covariance: Float[np.ndarray, "fitted fitted"],
    unidentified: Sequence[str],
    freedom: int,
) -> dict[str, Estimate]:
    """What users see, from exponents, log coefficients and the floor."""
    parameters = {
        f"exponent_{v}": Estimate(float(exponent))
        for v, exponent in law.exponents.items()
        if exponent is not None
    }
    for i, name in enumerate(law.fitted):
        told = name not in unidentified and freedom > 0
        found = estimate(values[i], covariance[i, i] if told else None, freedom)
        if name.startswith("log_"):
            name, found = name.removeprefix("log_"), _exponential(found)
        elif name == "floor" and found.low is not None:
            found = dataclasses.replace(found, low=max(found.low, 0.0))
        parameters[name] = found
    order = [f"{kind}_{v}" for kind in ("exponent", "coefficient") for v in law.variables]
    order += ["floor"] if law.floor else []
    return {name: parameters[name] for name in order}


def _check_distinct(law: Law, variable: str, sizes: Float[np.ndarray, "points"]) -> None:
    """A term needs as many distinct sizes as it has parameters, and one more beside others."""
    alone = len(law.variables) == 1 and not law.floor
    needed = 1 + (variable in law.free) + (not alone)
    count = len(np.unique(sizes))
    if count < needed:
        have = f"{count} distinct size{'s' if count > 1 else ''}"
        raise ValueError(f"{variable} has {have}; its term needs {needed}: leave it out of the law")


def _scale(
    residuals: Float[np.ndarray, "points"], freedom: int, huber: float | None
) -> tuple[float, float]:
    """The variance of one residual or what stands for it with Huber's loss, and m below.

    Huber 1981, section 7.6: K^2 (sum of psi^2 / freedom) / m^2 with K = 1 + (p / n) (1 - m) / m
    and m the mean of psi', the share of residuals within delta. A fit with a small delta
    passes through p points, whatever the others do: where less than half are within delta,
    the half nearest to 0 says how many would be.
    """
    if freedom < 1:
        return 0.0, 1.0
    variance = float(np.sum(influence(residuals, huber) ** 2) / freedom)
    if huber is None:
        return variance, 1.0
    count, sizes = len(residuals), np.abs(residuals)
    within = max(huber, float(np.median(sizes)))
    share = float(np.mean(sizes <= within))
    steepness = share * huber / within
    correction = 1 + (count - freedom) / count * (1 - share) / share
    return correction**2 * variance / steepness**2, steepness


def _inverse_information(
    problem: Model, theta: Float[np.ndarray, "parameters"]
) -> tuple[Float[np.ndarray, "parameters parameters"], np.ndarray]:
    """(J'J)^-1 on the directions that the data tell, and which parameters they tell."""
    kept = alive(problem, theta)
    jacobian = problem.jacobian(theta)[:, kept]
    lengths = np.maximum(np.linalg.norm(jacobian, axis=0), 1e-300)
    _, singular, directions = np.linalg.svd(jacobian / lengths, full_matrices=False)
    seen = singular > SINGULAR * singular.max(initial=0)
    scaled = directions[seen] / singular[seen, None]
    inverse = np.zeros((problem.size, problem.size))
    inverse[np.ix_(kept, kept)] = scaled.T @ scaled / np.outer(lengths, lengths)
    told = np.zeros(problem.size, bool)
    told[kept] = np.all(np.abs(directions[~seen]) < 1e-3, axis=0)
    return inverse, told


def _exponential(logarithm: Estimate) -> Estimate:
    """From log c to c, with the standard error to first order."""
    ends = (logarithm.value, logarithm.low, logarithm.high)
    with np.errstate(over="ignore"):  # a bound too large for a number is infinite
        value, low, high = (None if end is None else float(np.exp(end)) for end in ends)
    return Estimate(value, None if low is None else value * logarithm.stderr, low, high)
