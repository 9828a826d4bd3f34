"""The best language model for a budget, from a fitted law of its loss.

The law is L = c_m / m^a + c_l / l^b + c_D / D^d + L0 with the width m, the depth l
and the tokens D, or L = c_N / N^n + c_D / D^d + L0 with the parameters N. A model
has N = 12 m^2 l + E m parameters, E = 0 unless embeddings count, and its training
costs C = 6 N D.

At the best plan an e-fold of any size buys as much as it costs: with w the slope
of log C by the log of that size, exponent * part = w * price, and one price holds
for all. So every size is a closed form of the price, and the price of the budget.
There is one such plan, because the loss and log C are convex in the logs.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit

Values = Float[np.ndarray, "*draws"]
Parameters = Mapping[str, float | Values]

TRAINING = 6  # operations per parameter and token
BLOCKS = 12  # parameters of the blocks, per width^2 and depth
# How often log C of the blocks counts the log of each size.
_COUNTS = {"width": 2, "depth": 1, "parameters": 1, "data": 1}


@dataclasses.dataclass(frozen=True, eq=False)
class Plan:
    """A model and its training; every number has the shape of the draws.

    `width` and `depth` are None where the law has none, `tokens`, `compute`
    (operations) and `tokens_per_parameter` where data are without limit. `loss`
    is in the law's units, and `parts` splits loss - floor by width, depth,
    parameters, data.
    """

    width: Values | None
    depth: Values | None
    parameters: Values
    tokens: Values | None
    compute: Values | None
    loss: Values
    tokens_per_parameter: Values | None
    parts: dict[str, Values]


class Terms(NamedTuple):
    """A law's exponents and coefficients by the name of the size, and its floor L0."""

    exponents: dict[str, Values]
    coefficients: dict[str, Values]
    floor: Values


def for_compute(parameters: Parameters, compute: float | Values, embeddings: float = 0.0) -> Plan:
    """The plan of least loss whose training costs `compute` = 6 N D operations.

    Args:
        parameters: `exponent_*` and `coefficient_*` of width and depth, or of
            parameters, and of data; and the `floor`, 0 if missing. Coefficients
            are for widths, layers and single tokens. Arrays, such as bootstrap
            draws, are broadcast, so intervals are percentiles of the plan's.
        compute: operations; an array is broadcast with the draws.
        embeddings: parameters per width outside the blocks, if they count: the
            vocabulary where the output shares its weights, else twice that.

    Raises:
        ValueError: an exponent, a coefficient or the compute is not positive and
            finite; the law has other terms; embeddings are negative, or counted
            by a law without a width.
    """
    terms = read_terms(parameters, embeddings)
    return _best(
        terms, embeddings, _price_of_budget(terms, positive("compute", compute) / TRAINING)
    )


def for_parameters(parameters: Parameters, count: float | Values, embeddings: float = 0.0) -> Plan:
    """The best shape of `count` parameters were data without limit: no data part.

    With exponents of 1 the width's part is twice the depth's, and both fall as
    N^-1/3. Arguments and errors are those of `for_compute`, but data need no term.
    """
    terms = read_terms(parameters, embeddings, data=False)
    return _best(terms, embeddings, _price_of_budget(terms, positive("count", count)))


def for_loss(parameters: Parameters, target: float | Values, embeddings: float = 0.0) -> Plan:
    """The plan of least compute that reaches the loss `target`.

    Arguments are those of `for_compute`. Where the target is not above the floor
    of a draw its plan is nan; ValueError if there is one floor and one target.
    """
    terms = read_terms(parameters, embeddings)
    return _best(terms, embeddings, _price_of_excess(terms, excess_loss(target, terms.floor)))


def smallest_model(parameters: Parameters, target: float | Values, embeddings: float = 0.0) -> Plan:
    """The model of fewest parameters that would reach `target` were data without limit.

    Arguments and errors are those of `for_loss`, but data need no term.
    """
    terms = read_terms(parameters, embeddings, data=False)
    return _best(terms, embeddings, _price_of_excess(terms, excess_loss(target, terms.floor)))


def aspect_ratio(parameters: Parameters, count: float | Values | None = None) -> Values:
    """The best width / depth of `count` parameters, embeddings not counted.

    Where both exponents are a it is (c_m / (2 c_l))^(1/a) at any count. Raises
    ValueError without a count where they differ, and as `for_parameters` does.
    """
    terms = read_terms(parameters, data=False)
    need_shape(terms)
    if count is not None:
        plan = for_parameters(parameters, count)
        return plan.width / plan.depth
    if np.any(terms.exponents["width"] != terms.exponents["depth"]):
        raise ValueError("the exponents of width and depth differ: their best ratio needs a count")
    ratio = terms.coefficients["width"] / (2 * terms.coefficients["depth"])
    return ratio ** (1 / terms.exponents["width"])


def read_terms(parameters: Parameters, embeddings: float = 0.0, data: bool = True) -> Terms:
    """The law that `parameters` name, checked; its data term is left out unless `data`."""
    keys = [key.partition("_") for key in parameters]
    names = {name for kind, _, name in keys if kind in ("exponent", "coefficient")}
    shape = names - {"data"}
    if shape not in ({"width", "depth"}, {"parameters"}):
        raise ValueError(
            "a plan needs a law of width and depth, or of parameters, and of data; "
            f"this one depends on {', '.join(sorted(names)) or 'nothing'}"
        )
    if data and "data" not in names:
        raise ValueError("the law has no data term: a plan that includes training needs one")
    if not (np.isfinite(embeddings) and embeddings >= 0):
        raise ValueError(f"embeddings are {embeddings:g}: allowed are 0 (not counted) and more")
    if embeddings and "width" not in names:
        raise ValueError("embeddings count by the width, and the law has none")
    used = [name for name in _COUNTS if name in (names if data else shape)]
    exponents, coefficients = {}, {}
    for name in used:
        for kind, values in (("exponent", exponents), ("coefficient", coefficients)):
            key = f"{kind}_{name}"
            if key not in parameters:
                raise ValueError(f"the law has no {key}")
            values[name] = positive(key, parameters[key], f": the law does not depend on {name}")
    return Terms(exponents, coefficients, np.asarray(parameters.get("floor", 0.0), float))


def need_shape(terms: Terms) -> None:
    """Raises ValueError for a law of parameters."""
    if "width" not in terms.exponents:
        raise ValueError("the law has no width and depth, so there is no best shape")


def positive(name: str, values: float | Values, of_zero: str = "") -> Values:
    """As an array. Raises ValueError at the first that is not positive and finite."""
    array = np.asarray(values, float)
    for index in np.argwhere(~(np.isfinite(array) & (array > 0)))[:1]:
        place = f"[{', '.join(map(str, index))}]" if array.ndim else ""
        value = array[tuple(index)]
        why = of_zero if value == 0 else ""
        raise ValueError(f"{name}{place} is {value:g}, not positive and finite{why}")
    return array


def excess_loss(target: float | Values, floor: Values) -> Values:
    """target - floor, nan where the floor is not below, ValueError if that is all there is."""
    excess = positive("target", target) - floor
    if not excess.ndim and not excess > 0:
        raise ValueError(f"target {target:g} is not above the floor {floor:g}: no model reaches it")
    return np.where(excess > 0, excess, np.nan)


def plan_of(terms: Terms, sizes: Mapping[str, Values], embeddings: float) -> Plan:
    """The plan of given sizes: one for each of the law's terms."""
    parts = {
        name: terms.coefficients[name] * sizes[name] ** -exponent
        for name, exponent in terms.exponents.items()
    }
    loss = sum(parts.values()) + terms.floor
    shape = np.broadcast_shapes(np.shape(loss), *map(np.shape, sizes.values()))

    def spread(values):
        return None if values is None else np.broadcast_to(values, shape)[()]

    width, depth, tokens = (sizes.get(name) for name in ("width", "depth", "data"))
    count = sizes["parameters"] if width is None else width * (BLOCKS * width * depth + embeddings)
    return Plan(
        width=spread(width),
        depth=spread(depth),
        parameters=spread(count),
        tokens=spread(tokens),
        compute=None if tokens is None else spread(TRAINING * count * tokens),
        loss=spread(loss),
        tokens_per_parameter=None if tokens is None else spread(tokens / count),
        parts={name: spread(part) for name, part in parts.items()},
    )


def rising_root(function: Callable[[Values], Values]) -> Values:
    """Where a function that rises, element by element, is 0: by bisection, to rounding."""
    low, high = np.float64(-1.0), np.float64(1.0)
    while np.any(below := function(high) < 0):
        high = np.where(below, 2 * high, high)
    while np.any(above := function(low) > 0):
        low = np.where(above, 2 * low, low)
    for _ in range(64):
        middle = (low + high) / 2
        above = function(middle) > 0
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return (low + high) / 2


# log of the price, from the weight of every size and the blocks' share of N.
_LogPrice = Callable[[dict[str, Values], Values], Values]


def _price_of_budget(terms: Terms, budget: Values) -> _LogPrice:
    """For N D = budget, or N = budget where the law has no data."""
    log_budget = np.log(budget / (BLOCKS if "width" in terms.exponents else 1))

    def log_price(weights: dict[str, Values], blocks: Values) -> Values:
        free = _log_sizes(terms, weights, 0.0)
        surplus = sum(_COUNTS[name] * free[name] for name in free) - log_budget - np.log(blocks)
        return surplus / sum(_COUNTS[name] / exponent for name, exponent in terms.exponents.items())

    return log_price


def _price_of_excess(terms: Terms, excess: Values) -> _LogPrice:
    """For parts that sum to the excess."""

    def log_price(weights: dict[str, Values], blocks: Values) -> Values:
        return np.log(excess / sum(weights[name] / terms.exponents[name] for name in weights))

    return log_price


def _best(terms: Terms, embeddings: float, log_price: _LogPrice) -> Plan:
    """The plan where exponent * part = weight * price for every size.

    With s = 12 m^2 l / N the blocks' share of N, width weighs 1 + s and depth s.
    s follows from m l, and m l from s; bisection in the log odds of the embeddings
    finds where the two agree.
    """
    # They agree once. With A = 1/a, B = 1/b, x = 1/(1 + s), y = 1/s, e = 1 - s, the gap
    # below has by e the slope, at a given excess, 1/e + y + A x + B y - (A + B)^2 /
    # (A/x + B/y + 1/d) > 0 (Cauchy-Schwarz), and at a given budget at least
    # (1/e) + (A y + A B (y - x)) / (2 A + B) > 0.

    def log_sizes(blocks: Values) -> dict[str, Values]:
        weights = {"width": 1 + blocks, "depth": blocks, "parameters": 1.0, "data": 1.0}
        weights = {name: weights[name] for name in terms.exponents}
        return _log_sizes(terms, weights, log_price(weights, blocks))

    def gap(log_odds: Values) -> Values:
        logs = log_sizes(expit(-log_odds))
        return log_odds - np.log(embeddings / BLOCKS) + logs["width"] + logs["depth"]

    blocks = expit(-rising_root(gap)) if embeddings else np.float64(1.0)
    return plan_of(terms, {k: np.exp(log) for k, log in log_sizes(blocks).items()}, embeddings)


def _log_sizes(terms: Terms, weights: dict[str, Values], log_price: Values) -> dict[str, Values]:
    """log of every size whose exponent * part is its weight * the price."""
    return {
        name: (np.log(exponent * terms.coefficients[name] / weights[name]) - log_price) / exponent
        for name, exponent in terms.exponents.items()
    }
