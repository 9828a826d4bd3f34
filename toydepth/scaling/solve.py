"""The minimum of a law's squared (or Huber) log residuals: variable projection, then a polish."""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float

from toydepth.scaling.model import Model

EXPONENTS = (1e-2, 10.0)  # where the search looks for exponents
LOG_RANGE = 300  # the polish goes as far as a term may fall or rise by e^300 over the sizes
START_RANGE = (0.1, 3.0)
STEPS = 300  # of Newton's; five do, more only in flat valleys
ROUNDS = 30  # of reweighting; three or four do unless the fit is bad
SAME = 1e-6  # relative difference of two minima that are called one


@dataclasses.dataclass(frozen=True, eq=False)
class Solution:
    """The best minimum found.

    Attributes:
      theta: the parameters, as `Model` orders them; log k is -inf for a term whose
        coefficient is 0.
      cost: sum of rho(residual), which is residual^2 / 2 where there is no Huber.
      gradient: the largest cosine between the residuals and a column of the Jacobian, 0 at a
        minimum, over the parameters that are not held at 0.
      starts: how many starts were made.
      agreeing: how many of them ended in this minimum.
    """

    theta: Float[np.ndarray, "parameters"]
    cost: float
    gradient: float
    starts: int
    agreeing: int


def solve(model: Model, *, starts: int, seed: int, huber: float | None = None) -> Solution:
    """The best of several minima, each from exponents drawn at random.

    `huber` is the log residual at which Huber's loss turns linear; None for squares.
    """
    free = len(model.law.free)
    generator = np.random.default_rng(seed)
    low, high = np.log(START_RANGE)
    # Without a free exponent there is nothing to draw.
    exponents = np.exp(generator.uniform(low, high, (starts if free else 1, free)))
    found = [minimise(model, start, huber) for start in exponents]
    costs = [cost(model.residuals(theta), huber) for theta in found]
    best = int(np.argmin(costs))
    exact = 1e-24 * len(model.log_losses)  # the cost of rounding errors
    agreeing = sum(other <= costs[best] * (1 + SAME) + exact for other in costs)
    theta = found[best]
    return Solution(theta, costs[best], gradient(model, theta, huber), len(found), agreeing)


def minimise(
    model: Model,
    exponents: Float[np.ndarray, "free"],
    huber: float | None = None,
    held: tuple[int, float] | None = None,
) -> Float[np.ndarray, "parameters"]:
    """The minimum that is reached from given exponents; `held` keeps one parameter at a value.

    The loss is linear in its coefficients once the exponents are set, so the search is over
    the free exponents only (variable projection, Golub and Pereyra 1973): inside it
    non-negative least squares finds coefficients and floor. At the end all parameters are
    polished together.
    """
    levelled, shifts = _level(model)
    theta = _project(levelled, exponents, huber, held)
    fixed = np.zeros(model.size, bool)
    if held is not None:
        fixed[held[0]] = True
    return _polish(model, np.append(theta, shifts), huber, alive(model, theta) & ~fixed)


def cost(residuals: Float[np.ndarray, "points"], huber: float | None) -> float:
    """Sum of r^2 / 2, or of Huber's loss: r^2 / 2 up to delta, delta (|r| - delta / 2) beyond."""
    if huber is None:
        return float(residuals @ residuals) / 2
    size = np.abs(residuals)
    return float(np.sum(np.where(size <= huber, size**2 / 2, huber * (size - huber / 2))))


def influence(
    residuals: Float[np.ndarray, "points"], huber: float | None
) -> Float[np.ndarray, "points"]:
    """psi, the derivative of `cost` by each residual."""
    return residuals if huber is None else np.clip(residuals, -huber, huber)


def gradient(model: Model, theta: Float[np.ndarray, "parameters"], huber: float | None) -> float:
    """The largest cosine between psi and a column of the Jacobian that may still move."""
    psi = influence(model.residuals(theta), huber)
    if np.sqrt(np.mean(psi**2)) < 1e-12:
        return 0.0  # the fit is exact to rounding: directions of rounding errors mean nothing
    jacobian = model.jacobian(theta)[:, _moving(model, theta)]
    lengths = np.linalg.norm(jacobian, axis=0) * np.linalg.norm(psi)
    return float(np.max(np.abs(jacobian.T @ psi) / np.maximum(lengths, 1e-300), initial=0.0))


def alive(model: Model, theta: Float[np.ndarray, "parameters"]) -> Bool[np.ndarray, "parameters"]:
    """False for coefficients of 0 and their exponents: terms that are not there."""
    free = len(model.law.free)
    kept = np.ones(model.size, bool)
    for i, variable in enumerate(model.law.variables):
        if theta[free + i] == -np.inf:
            kept[free + i] = False
            if variable in model.law.free:
                kept[model.law.free.index(variable)] = False
    return kept


def _moving(model: Model, theta) -> Bool[np.ndarray, "parameters"]:
    """Those alive, without a floor that is held at 0."""
    kept, floor = alive(model, theta), len(model.law.fitted) - 1
    if model.law.floor and theta[floor] == 0:
        kept[floor] = False
    return kept


def _level(model: Model) -> tuple[Model, Float[np.ndarray, "groups-1"]]:
    """The losses without the groups' factors, as a law without a floor sees those."""
    count = model.shifts.shape[1]
    if not count:
        return model, np.zeros(0)
    design = np.hstack([model.shifts, np.ones((len(model.log_losses), 1)), model.log_sizes])
    weighted = model.weights[:, None] * design
    shifts = np.linalg.lstsq(weighted, model.weights * model.log_losses)[0][:count]
    log_losses = model.log_losses - model.shifts @ shifts
    return model._replace(log_losses=log_losses, shifts=model.shifts[:, :0]), shifts


def _project(
    model: Model,
    exponents: Float[np.ndarray, "free"],
    huber: float | None,
    held: tuple[int, float] | None,
) -> Float[np.ndarray, "fitted"]:
    """The minimum over the free exponents, with the best coefficients inside, roughly."""
    from scipy.optimize import least_squares  # half of this package's import time

    count, known = len(exponents), {}
    exponents = np.clip(exponents, *EXPONENTS)
    outer = np.ones(count, bool)
    if held is not None and held[0] < count:
        exponents[held[0]], outer[held[0]] = held[1], False

    def inside(moved):
        """Residuals and Jacobian are asked for in turn, of the same exponents."""
        if moved.tobytes() not in known:
            known.clear()
            free = np.array(exponents)
            free[outer] = moved
            known[moved.tobytes()] = _coefficients(model, free, huber, held)
        return known[moved.tobytes()]

    def reduced_jacobian(moved):
        """Kaufman (1975): the exponents' columns without what the coefficients can take up."""
        theta = inside(moved)
        jacobian, linear = model.jacobian(theta), _moving(model, theta)
        linear[:count] = False
        if held is not None:
            linear[held[0]] = False
        q, _ = np.linalg.qr(jacobian[:, linear])
        columns = jacobian[:, :count][:, outer]
        return columns - q @ (q.T @ columns)

    moved = exponents[outer]
    if len(moved):
        with np.errstate(divide="ignore"):  # SciPy's, of terms that are not there
            moved = least_squares(
                lambda moved: model.residuals(inside(moved)),
                moved,
                reduced_jacobian,
                bounds=EXPONENTS,
                loss="linear" if huber is None else "huber",
                f_scale=huber or 1.0,
                gtol=1e-12,
                xtol=1e-6,
                ftol=1e-8,
                max_nfev=50,
            ).x
    return inside(moved)


def _coefficients(
    model: Model,
    free: Float[np.ndarray, "free"],
    huber: float | None,
    held: tuple[int, float] | None,
) -> Float[np.ndarray, "fitted"]:
    """The best non-negative coefficients and floor for given exponents.

    log L is not linear in them, so least squares are repeated about the last fit L1:
    log(L / L') = log(L / L1) - (L' - L1) / L1, with Huber's weights.
    """
    from scipy.optimize import nnls

    terms, losses = len(model.law.variables), np.exp(model.log_losses)
    theta = np.concatenate([free, np.zeros(len(model.law.fitted) - len(free))])
    coefficients = np.zeros(len(theta) - len(free))
    sought = np.ones(len(coefficients), bool)
    if held is not None and held[0] >= len(free):
        theta[held[0]], column = held[1], held[0] - len(free)
        # A term's column holds its coefficient already, which alone may be too large a number.
        coefficients[column] = 1.0 if column < terms else held[1]
        sought[column] = False
    features, _ = model.parts(theta)
    if model.law.floor:
        features = np.column_stack([features, np.ones(len(losses))])
    given = features @ coefficients
    if not sought.any():
        return theta  # nnls without a column ends the process
    fitted, target, weights = losses, np.ones(len(losses)), model.weights
    for _ in range(ROUNDS):
        rows = weights / fitted
        # Tall matrices first become square: nnls takes its time with them.
        q, square = np.linalg.qr(features[:, sought] * rows[:, None])
        found, _ = nnls(square, q.T @ (weights * target - rows * given))
        settled = np.allclose(found, coefficients[sought], rtol=1e-9, atol=0)
        coefficients[sought] = found
        if settled:
            break
        fitted = np.maximum(features @ coefficients, 1e-3 * losses)
        residuals = np.log(losses / fitted)
        target = 1 + residuals
        if huber is not None:
            size = np.abs(model.weights * residuals)
            weights = model.weights * np.sqrt(huber / np.maximum(size, huber))
    with np.errstate(divide="ignore"):
        theta[len(free) : len(free) + terms] += np.log(coefficients[:terms])
    theta[len(free) + terms :] = coefficients[terms:]
    return theta


def _polish(
    model: Model,
    theta: Float[np.ndarray, "parameters"],
    huber: float | None,
    moves: Bool[np.ndarray, "parameters"],
) -> Float[np.ndarray, "parameters"]:
    """The minimum nearest to theta over the parameters in `moves`, with a floor of 0 or more.

    Damped Newton steps, with the exact second derivative: without it (Gauss and Newton) they
    converge slowly, since the residuals are as large as what the weakest term explains.
    """
    theta, damping = np.array(theta), 1e-3
    lowest = np.full(model.size, -np.inf)
    free = [exponent is None for exponent in model.law.exponents.values()]
    steepest = LOG_RANGE / np.maximum(np.ptp(model.log_sizes, axis=0)[free], 1e-300)
    residuals = model.residuals(theta)
    best = cost(residuals, huber)
    for _ in range(STEPS):
        psi = influence(residuals, huber)
        jacobian = model.jacobian(theta)
        inside = 1.0 if huber is None else (np.abs(residuals) <= huber)[:, None]
        hessian = jacobian.T @ (inside * jacobian) + model.curvature(theta, psi)
        hessian = hessian[np.ix_(moves, moves)]
        slope = (jacobian.T @ psi)[moves]
        lengths = np.sum(jacobian[:, moves] ** 2, axis=0)
        # The shift of a group without a point: it moves nothing and must not stop the others.
        lengths[lengths == 0] = 1.0
        if model.law.floor:
            floor = len(model.law.fitted) - 1
            lowest[floor] = -theta[floor]
        last = best
        while damping < 1e15:
            step = _newton(hessian + damping * np.diag(lengths), slope, lowest[moves])
            if step is not None:
                trial = np.array(theta)
                trial[moves] += step
                trial_residuals = model.residuals(trial)
                trial_cost = cost(trial_residuals, huber)
                steeper = np.abs(trial[: len(steepest)]) > np.abs(theta[: len(steepest)])
                wild = np.any(steeper & (np.abs(trial[: len(steepest)]) > steepest))
                if trial_cost <= best and not wild:
                    theta, residuals, best = trial, trial_residuals, trial_cost
                    damping /= 10
                    break
            damping = max(10 * damping, 1e-9)
        if last - best <= 1e-15 * last:
            break
    return theta


def _newton(
    hessian: Float[np.ndarray, "moves moves"],
    slope: Float[np.ndarray, "moves"],
    lowest: Float[np.ndarray, "moves"],
) -> Float[np.ndarray, "moves"] | None:
    """The least of the quadratic model at or above `lowest`, which bounds one move at most.

    None where the Hessian is not positive definite.
    """
    from scipy.linalg import lapack

    if not len(slope):
        return np.zeros(0)
    _, step, status = lapack.dposv(hessian, -slope)
    if status == 0 and np.any(step < lowest):
        held = step < lowest
        step = np.where(held, lowest, 0.0)
        rest = ~held
        if rest.any():
            slope = slope + hessian @ step
            _, step[rest], status = lapack.dposv(hessian[np.ix_(rest, rest)], -slope[rest])
    return step if status == 0 and np.all(np.isfinite(step)) else None
