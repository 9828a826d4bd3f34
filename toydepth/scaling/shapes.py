"""Shapes away from the best one: those that can be built, and what a given ratio costs."""

import dataclasses
from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from toydepth.scaling.plan import (
    BLOCKS,
    TRAINING,
    Parameters,
    Plan,
    Terms,
    Values,
    excess_loss,
    for_compute,
    for_loss,
    need_shape,
    plan_of,
    positive,
    read_terms,
    rising_root,
)


@dataclasses.dataclass(frozen=True, eq=False)
class ShapePrice:
    """What it costs to hold width / depth at given ratios; the ratios' axes come first.

    `plan` has the least loss at the compute that was asked for. `compute_factor`,
    1 or more, times that compute reaches the loss of the best shape.
    """

    plan: Plan
    compute_factor: Float[np.ndarray, "*ratios_draws"]


def shape_price(
    parameters: Parameters,
    ratios: float | Float[np.ndarray, "*ratios"],
    compute: float | Values,
    embeddings: float = 0.0,
) -> ShapePrice:
    """The price of width / depth = ratio, with parameters and tokens at their best for it.

    With W, P, Q the parts of width, depth and data and s the blocks' share of N,
    depth alone is free and log N rises by 1 + 2 s with log l: the best has
    a W + b P = (1 + 2 s) d Q. Arguments and errors are those of `for_compute`,
    and the ratios have to be positive.
    """
    terms = read_terms(parameters, embeddings)
    need_shape(terms)
    best = for_compute(parameters, compute, embeddings)
    ratios = positive("ratios", ratios)
    log_ratio = np.log(ratios).reshape(ratios.shape + (1,) * np.ndim(best.loss))
    excess = sum(best.parts.values())
    budget = np.asarray(compute, float) / TRAINING
    exponent = terms.exponents["data"]

    def at(log_depth: Values) -> tuple[Values, Values, Values]:
        """Sum of the width and depth parts, the data part that balances them, N."""
        width, depth, count, blocks = _shape(terms, log_depth + log_ratio, log_depth, embeddings)
        slope = terms.exponents["width"] * width + terms.exponents["depth"] * depth
        return width + depth, slope / ((1 + 2 * blocks) * exponent), count

    def same_compute(log_depth: Values) -> Values:
        _, balance, count = at(log_depth)
        return terms.coefficients["data"] * (count / budget) ** exponent - balance

    def same_loss(log_depth: Values) -> Values:
        parts, balance, _ = at(log_depth)
        return excess - parts - balance

    log_depth = rising_root(same_compute)
    sizes = {"width": np.exp(log_depth + log_ratio), "depth": np.exp(log_depth)}
    plan = plan_of(terms, sizes | {"data": budget / at(log_depth)[2]}, embeddings)
    _, balance, count = at(rising_root(same_loss))
    needed = count * (terms.coefficients["data"] / balance) ** (1 / exponent)
    # Less than 1 is rounding: no shape beats the best.
    return ShapePrice(plan, np.maximum(needed / budget, 1.0))


def buildable_for_compute(
    parameters: Parameters, compute: float, width_multiple: int = 64, embeddings: float = 0.0
) -> Plan:
    """The plan of least loss for `compute` operations with a whole depth and width.

    The width is a multiple of `width_multiple`, tokens are compute / (6 N).
    Arguments and errors are those of `for_compute`, but there is one law and one
    compute, and the multiple has to be whole and positive.
    """
    terms = _read_one(parameters, compute, width_multiple, embeddings)
    best = for_compute(parameters, compute, embeddings)
    budget = compute / TRAINING
    exponent = terms.exponents["data"]

    def slope(log_width: Values, log_depth: Values) -> Values:
        _, depth, count, blocks = _shape(terms, log_width, log_depth, embeddings)
        data = terms.coefficients["data"] * (count / budget) ** exponent
        return blocks * exponent * data - terms.exponents["depth"] * depth

    def loss(log_width: Values, log_depth: Values) -> Values:
        width, depth, count, _ = _shape(terms, log_width, log_depth, embeddings)
        return width + depth + terms.coefficients["data"] * (count / budget) ** exponent

    width, depth = _best_whole(loss, slope, best.width, width_multiple)
    count = _shape(terms, np.log(width), np.log(depth), embeddings)[2]
    return plan_of(terms, {"width": width, "depth": depth, "data": budget / count}, embeddings)


def buildable_for_loss(
    parameters: Parameters, target: float, width_multiple: int = 64, embeddings: float = 0.0
) -> Plan:
    """The plan of least compute that reaches `target` with a whole depth and width.

    Arguments and errors are those of `buildable_for_compute` and `for_loss`.
    """
    terms = _read_one(parameters, target, width_multiple, embeddings)
    best = for_loss(parameters, target, embeddings)
    excess = excess_loss(target, terms.floor)
    exponent = terms.exponents["data"]

    def slope(log_width: Values, log_depth: Values) -> Values:
        # Negative where the target is not reached, and from there it rises.
        width, depth, _, blocks = _shape(terms, log_width, log_depth, embeddings)
        return blocks * exponent * (excess - width - depth) - terms.exponents["depth"] * depth

    def log_compute(log_width: Values, log_depth: Values) -> Values:
        width, depth, count, _ = _shape(terms, log_width, log_depth, embeddings)
        data = excess - width - depth
        reached = data > 0
        tokens = np.log(terms.coefficients["data"] / np.where(reached, data, 1.0)) / exponent
        return np.where(reached, np.log(count) + tokens, np.inf)

    # A model as narrow as this does not reach the target at any depth.
    narrow = (terms.coefficients["width"] / excess) ** (1 / terms.exponents["width"])
    width, depth = _best_whole(log_compute, slope, best.width, width_multiple, narrow)
    width_part, depth_part, _, _ = _shape(terms, np.log(width), np.log(depth), embeddings)
    data = excess - width_part - depth_part
    tokens = (terms.coefficients["data"] / data) ** (1 / exponent)
    return plan_of(terms, {"width": width, "depth": depth, "data": tokens}, embeddings)


def _best_whole(
    cost: Callable[[Values, Values], Values],
    slope: Callable[[Values, Values], Values],
    width: float,
    multiple: int,
    narrow: float = 0.0,
) -> tuple[float, float]:
    """(width, depth) of least cost, among multiples above `narrow` and depths 1, 2, ...

    `cost` is convex in (log width, log depth), and `slope` has the sign of its
    derivative by log depth. So at each width the best whole depth is next to the
    best real one, 1 or more. And the cost there is convex in log width: where it
    is no less than that of a whole shape within, no shape further out is better.
    The search grows around `width` until that holds at both of its ends.
    """
    if not width < 2**53:
        raise ValueError(f"the best width is {width:g}: too large to build")
    first, reach = int(narrow // multiple) + 1, 8
    middle = max(round(width / multiple), first)
    while True:
        start = max(middle - reach, first)
        widths = multiple * np.arange(start, middle + reach + 1, dtype=float)
        log_widths = np.log(widths)
        real = rising_root(lambda log_depth, at=log_widths: slope(at, log_depth))
        real = np.maximum(real, 0.0)
        below = np.floor(np.exp(real))
        depths = np.stack([below, below + 1])
        costs = cost(log_widths, np.log(depths))
        row, column = np.unravel_index(np.argmin(costs), costs.shape)
        bound = cost(log_widths, real)
        least = costs[row, column]
        low_end = start == first or (column > 0 and bound[0] >= least)
        if low_end and column < len(widths) - 1 and bound[-1] >= least:
            return widths[column], depths[row, column]
        reach *= 2


def _read_one(parameters: Parameters, goal: float, width_multiple: int, embeddings: float) -> Terms:
    """The one law of a buildable model, checked with the multiple."""
    terms = read_terms(parameters, embeddings)
    need_shape(terms)
    numbers = [*terms.exponents.values(), *terms.coefficients.values(), terms.floor, goal]
    if any(map(np.ndim, numbers)):
        raise ValueError("a buildable model is of one law and one goal, not of draws")
    if positive("width_multiple", width_multiple) % 1:
        raise ValueError(f"width_multiple is {width_multiple:g}, not whole")
    return terms


def _shape(
    terms: Terms, log_width: Values, log_depth: Values, embeddings: float
) -> tuple[Values, Values, Values, Values]:
    """The width's part, the depth's part, N, and the blocks' share of N."""
    width, depth = (
        terms.coefficients[name] * np.exp(-terms.exponents[name] * log)
        for name, log in (("width", log_width), ("depth", log_depth))
    )
    blocks = BLOCKS * np.exp(2 * log_width + log_depth)
    count = blocks + embeddings * np.exp(log_width)
    return width, depth, count, blocks / count
