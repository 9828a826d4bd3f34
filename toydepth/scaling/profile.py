"""95 % intervals by profile likelihood: how far a parameter can go before the fit is worse."""

import math
from collections.abc import Callable

import numpy as np

from toydepth.scaling.estimate import Interval, half_width
from toydepth.scaling.fit import LawFit
from toydepth.scaling.solve import cost, minimise

REACH = 20.0  # half widths of the linear interval; beyond it there is no bound worth a number


def profile_intervals(fit: LawFit) -> dict[str, Interval]:
    """For each fitted parameter of `fit.parameters`, where the profile reaches the threshold.

    With one parameter held at v and all others fitted again, the cost rises by
    s^2 t(0.975, dof)^2 / 2 at the ends (Bates and Watts 1988, section 6.1). Unlike the
    Jacobian's interval it follows the curvature of the law, and says when there is no bound.
    Empty without a degree of freedom; without the parameters that are not identified.

    >>> import numpy as np
    >>> width, depth = np.repeat([64, 128, 256, 512], 4), np.tile([4, 8, 16, 32], 4)
    >>> noise = np.exp(np.random.default_rng(1).normal(0, 0.001, 16))
    >>> loss = (50 / width + 3 / depth + 1.7) * noise
    >>> law = toydepth.Law({"width": None, "depth": 1})
    >>> fit = toydepth.fit_law(law, {"width": width, "depth": depth}, loss)
    >>> interval = toydepth.profile_intervals(fit)["exponent_width"]
    >>> interval.low < 1 < interval.high
    True
    """
    if fit.degrees_of_freedom < 1 or math.sqrt(fit.scale) < 1e-12:
        return {}
    found = {}
    for i, name in enumerate(fit.law.fitted):
        if name not in fit.unidentified:
            ends = [_end(fit, i, sign) for sign in (-1, 1)]
            if name.startswith("log_"):
                # Beyond e^700 there are no numbers.
                ends = [None if end is None or end > 700 else math.exp(end) for end in ends]
            if not name.startswith("exponent_"):
                ends[0] = ends[0] or 0.0  # coefficients and the floor are never below
            found[name.removeprefix("log_")] = Interval(*ends)
    return found


def _end(fit: LawFit, index: int, sign: int) -> float | None:
    """Where the profile of one parameter crosses the threshold on one side."""
    from scipy.optimize import brentq

    rise = _rise(fit, index)
    value, deviation = fit.values[index], math.sqrt(fit.covariance[index, index])
    threshold = half_width(1.0, fit.degrees_of_freedom)
    reach = REACH * threshold * deviation
    # The floor ends at 0, and an exponent of a falling loss; logarithms of coefficients do not.
    ends = sign < 0 and value >= 0 and not fit.law.fitted[index].startswith("log_")
    bounded = ends and value < reach
    reach = value if bounded else reach
    near, rise_near, far = 0.0, 0.0, min(threshold * deviation, reach)
    while (rise_far := rise(value + sign * far)) < threshold:
        if far >= reach:
            return 0.0 if bounded else None
        # The rise is nearly proportional to the distance: a little beyond the secant.
        secant = (far - near) * (threshold - rise_far) / max(rise_far - rise_near, 1e-12)
        near, rise_near = far, rise_far
        far = min(far + min(max(1.2 * secant, 0.1 * far), 2 * far), reach)

    def excess(distance: float) -> float:
        return (rise(value + sign * distance) if distance > 0 else 0.0) - threshold

    return float(value + sign * brentq(excess, near, far, xtol=1e-4 * deviation))


def _rise(fit: LawFit, index: int) -> Callable[[float], float]:
    """v -> sqrt(2 (cost - least cost) / (m s^2)), where the parameter is held at v.

    m is the steepness: 1, or less for Huber's loss, whose cost rises more slowly.
    """
    problem, count = fit.model, len(fit.law.free)
    variable = index - count
    if 0 <= variable < len(fit.law.variables):
        # Count the variable in the user's unit, so that its log k is their log c.
        problem = problem.in_units_of_one(variable)
    offset, unit = problem.offset()[index], problem.to_units()[index, index]
    unit_rise = fit.scale * fit.steepness
    known: dict[float, float] = {}
    starts = [fit.solution.theta[:count]]

    def rise(value: float) -> float:
        if value not in known:
            held = (index, (value - offset) / unit)
            found = [minimise(problem, start, fit.huber, held) for start in starts]
            costs = [cost(problem.residuals(theta), fit.huber) for theta in found]
            gain = min(costs) - fit.solution.cost
            # The next one starts near this one, too.
            starts[1:] = [found[int(np.argmin(costs))][:count]]
            known[value] = math.sqrt(max(2 * gain / unit_rise, 0.0))
        return known[value]

    return rise
