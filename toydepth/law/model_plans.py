"""Models and budgets that follow from a fitted law, with bootstrap intervals."""

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from toydepth.law.prepared import Prepared
from toydepth.scaling import (
    Draws,
    Interval,
    Plan,
    aspect_ratio,
    buildable_for_compute,
    buildable_for_loss,
    for_compute,
    for_loss,
    for_parameters,
    percentiles,
    shape_price,
    smallest_model,
)

AWAY = (1 / 4, 1 / 2, 1, 2, 4)  # ratios m / l, in units of the best, whose price is told
COSTS = ("width", "depth", "parameters", "tokens", "compute")  # of what more is needed
SLOPE = 1.01  # step of compute over which scalings are measured
DRAWS = 400  # at most, for bands


class Coefficients(NamedTuple):
    """A law that a plan can be made from, for sizes in units of one.

    `draws` has the same keys, one entry per bootstrap draw that can be planned from; None
    without a bootstrap. `lost` draws cannot be: they do without a term.
    """

    values: dict[str, float]
    draws: dict[str, Float[np.ndarray, "draws"]] | None
    lost: int
    embeddings: float

    @property
    def has_shape(self) -> bool:
        return "exponent_width" in self.values


def coefficients(prepared: Prepared, draws: Draws | None) -> Coefficients:
    """The fitted law in tokens, layers and widths of one.

    Raises:
      ValueError: the law is not one of width, depth and data, or of parameters and data; its
        depth is counted from an offset, which N = 12 m^2 l is not; or its best fit does without
        one of its terms.
    """
    fit, plan = prepared.fit, prepared.study.plan
    if prepared.study.data.depth_offset:
        raise ValueError("N = 12 m^2 l counts all layers, and the law counts depth from an offset")
    variables = set(fit.law.variables)
    if variables not in ({"width", "depth", "data"}, {"parameters", "data"}):
        raise ValueError(
            "a plan needs a law of width, depth and data, or of parameters and data; this one "
            f"depends on {', '.join(fit.law.variables)}"
        )
    values = {name: found.value for name, found in fit.parameters.items()}
    for name, value in values.items():
        if name != "floor" and not value > 0:
            raise ValueError(f"{name} is {value:.3g}: no size is best")
    usable, lost = None, 0
    if draws is not None:
        count = prepared.study.bootstrap.resamples
        columns = {name: np.broadcast_to(x, count) for name, x in draws.parameters.items()}
        sound = [np.isfinite(x) & ((x > 0) | (name == "floor")) for name, x in columns.items()]
        good = np.all(sound, axis=0)
        lost = int(np.sum(~good))
        if good.any():
            usable = _in_ones({name: column[good] for name, column in columns.items()}, prepared)
    embeddings = 0.0
    if plan.vocabulary is not None:
        embeddings = float(plan.vocabulary * (1 if plan.tied else 2))
    return Coefficients(_in_ones(values, prepared), usable, lost, embeddings)


def _in_ones(parameters: dict[str, Any], prepared: Prepared) -> dict[str, Any]:
    """c / (x / unit)^a = c unit^a / x^a."""
    found = dict(parameters)
    for variable, unit in prepared.units.items():
        factor = unit ** parameters[f"exponent_{variable}"]
        found[f"coefficient_{variable}"] = parameters[f"coefficient_{variable}"] * factor
    return found


def plans(prepared: Prepared, law: Coefficients) -> dict[str, Any]:
    """What law.json says of planning."""
    plan = prepared.study.plan
    found: dict[str, Any] = {
        "rules": _rules(law),
        "embeddings_per_width": law.embeddings,
        "draws": 0 if law.draws is None else len(law.draws["exponent_data"]),
        "draws_without_a_plan": law.lost,
        "scalings": _scalings(prepared, law),
        "budgets": [_budget(law, compute, plan.width_multiple) for compute in plan.compute],
        "targets": [_target(law, target, plan.width_multiple) for target in plan.target_loss],
    }
    if law.has_shape:
        found = {"aspect_ratio": best_ratio(prepared, law), **found}
    return found


def warnings(prepared: Prepared, plans: dict[str, Any]) -> list[str]:
    """Sentences on plans that are not to be trusted."""
    found = []
    lost, kept = plans["draws_without_a_plan"], plans["draws"]
    if lost:
        found.append(
            f"{lost} of {lost + kept} bootstrap draws do without a term and plan nothing: plans "
            "have no upper end where those are more than 2.5 %"
        )
    spent = training_compute(prepared)
    asked = [plan["compute"] for plan in plans["budgets"]]
    asked += [plan["cheapest"]["compute"]["value"] for plan in plans["targets"]]
    beyond = [f"{c:.2g}" for c in asked if not spent.min() <= c <= spent.max()]
    if beyond:
        found.append(
            f"the rows were trained with {spent.min():.1e} to {spent.max():.1e} FLOP; plans for "
            f"{', '.join(beyond)} FLOP trust the law beyond them"
        )
    return found


def training_compute(prepared: Prepared) -> Float[np.ndarray, "rows"]:
    """6 N D of each row, FLOP; N = 12 m^2 l where the law has a shape."""
    sizes = prepared.rows.variables
    return 6 * parameters_of(prepared) * sizes["data"]


def parameters_of(prepared: Prepared) -> Float[np.ndarray, "rows"]:
    sizes = prepared.rows.variables
    return (
        sizes["parameters"] if "parameters" in sizes else 12 * sizes["width"] ** 2 * sizes["depth"]
    )


def _rules(law: Coefficients) -> str:
    """How parameters and compute are counted."""
    embeddings = f" + {law.embeddings:g} m" if law.embeddings else ""
    return (f"N = 12 m^2 l{embeddings}, " if law.has_shape else "") + "C = 6 N D"


def best_ratio(prepared: Prepared, law: Coefficients) -> dict[str, Any]:
    """The best m / l; where its exponents differ, at the geometric mean of the rows' N."""
    values = law.values
    count = None
    if values["exponent_width"] != values["exponent_depth"]:
        count = typical_parameters(prepared)
    found = _told(*_both(lambda p: aspect_ratio(p, count), law), law)
    return {**found, "at_parameters": count}


def typical_parameters(prepared: Prepared) -> float:
    return float(np.exp(np.log(parameters_of(prepared)).mean()))


def _both(ask: Callable[[dict[str, Any]], Any], law: Coefficients) -> tuple[Any, Any]:
    """What `ask` makes of the fitted law, and of the draws, None without them."""
    return ask(law.values), None if law.draws is None else ask(law.draws)


def _told(value: float, drawn: Float[np.ndarray, "draws"] | None, law: Coefficients, costs=False):
    """{value, stderr, low, high} by the bootstrap.

    Draws that cannot reach a target, or cannot be planned from, are nan. They would cost more
    than any number, so that what costs has no upper end where they are more than 2.5 %.
    """
    if drawn is None:
        return {"value": float(value), "stderr": None, "low": None, "high": None}
    drawn = np.concatenate([np.atleast_1d(drawn), np.full(law.lost, np.nan)])
    unknown = np.isnan(drawn)
    interval = percentiles(np.where(unknown, np.inf if costs else np.nan, drawn))
    few = unknown.mean() > 0.025 or np.sum(~unknown) < 2
    stderr = None if few else float(np.std(drawn[~unknown], ddof=1))
    return {"value": float(value), "stderr": stderr, "low": interval.low, "high": interval.high}


def _describe(ask: Callable[[dict[str, Any]], Plan], law: Coefficients) -> dict[str, Any]:
    """Each number of the plan that `ask` makes of a law, with its interval."""
    best, drawn = _both(ask, law)

    def told(read: Callable[[Plan], Any], costs: bool = False) -> dict[str, float | None]:
        return _told(read(best), None if drawn is None else read(drawn), law, costs)

    found = {name: told(attrgetter(name), name in COSTS) for name in _numbers(best)}
    if best.width is not None:
        found["aspect_ratio"] = told(lambda plan: plan.width / plan.depth)
    found["parts"] = {name: told(lambda plan, n=name: plan.parts[n]) for name in best.parts}
    return found


def _numbers(plan: Plan) -> list[str]:
    """The names of what a plan has."""
    names = [f.name for f in dataclasses.fields(plan) if f.name != "parts"]
    return [name for name in names if getattr(plan, name) is not None]


def _flat(plan: Plan) -> dict[str, float]:
    return {name: float(getattr(plan, name)) for name in _numbers(plan)}


def _budget(law: Coefficients, compute: float, multiple: int) -> dict[str, Any]:
    found = _describe(lambda p: for_compute(p, compute, law.embeddings), law)
    found["compute"] = compute
    if law.has_shape:
        built = buildable_for_compute(law.values, compute, multiple, law.embeddings)
        found["buildable"] = _flat(built)
        found["shape_price"] = _prices(law, compute)
    return found


def _prices(law: Coefficients, compute: float) -> list[dict[str, Any]]:
    """What shapes away from the best cost at a budget."""
    best = for_compute(law.values, compute, law.embeddings)
    ratios = np.array(AWAY) * float(best.width / best.depth)
    value = shape_price(law.values, ratios, compute, law.embeddings)
    drawn = None
    if law.draws is not None:
        drawn = shape_price(some(law.draws), ratios, compute, law.embeddings).compute_factor
    rows = []
    for i, ratio in enumerate(ratios):
        interval = percentiles(drawn[i]) if drawn is not None else Interval(None, None)
        rows.append(
            {
                "aspect_ratio": float(ratio),
                "compute_factor": float(value.compute_factor[i]),
                "low": interval.low,
                "high": interval.high,
                "loss": float(value.plan.loss[i]),
            }
        )
    return rows


def some(draws: dict[str, Float[np.ndarray, "draws"]]) -> dict[str, Float[np.ndarray, "some"]]:
    """As many draws as a band needs."""
    return {name: column[:DRAWS] for name, column in draws.items()}


def _target(law: Coefficients, target: float, multiple: int) -> dict[str, Any]:
    found = {
        "loss": target,
        "cheapest": _describe(lambda p: for_loss(p, target, law.embeddings), law),
        "smallest": _describe(lambda p: smallest_model(p, target, law.embeddings), law),
    }
    if law.has_shape:
        found["buildable"] = _flat(buildable_for_loss(law.values, target, multiple, law.embeddings))
    return found


def _scalings(prepared: Prepared, law: Coefficients) -> dict[str, Any]:
    """How the best model grows with compute: slopes of logarithms at the rows' typical compute."""
    count = typical_parameters(prepared)
    tokens = np.exp(np.log(prepared.rows.variables["data"]).mean())
    compute = float(6 * count * tokens)

    def slope(read: Callable[[Plan], Any]) -> dict[str, float | None]:
        def ask(p):
            one, two = (for_compute(p, compute * step, law.embeddings) for step in (1, SLOPE))
            return np.log(read(two) / read(one)) / np.log(SLOPE)

        return _told(*_both(ask, law), law)

    found = {
        "at_compute": compute,
        "parameters_with_compute": slope(attrgetter("parameters")),
        "tokens_with_compute": slope(attrgetter("tokens")),
        "excess_loss_with_compute": slope(_excess),
    }
    if law.has_shape:

        def best(p, n):
            return for_parameters(p, n, law.embeddings)

        def ratio_of_parts(p):
            parts = best(p, count).parts
            return parts["width"] / parts["depth"]

        def fall(p):
            one, two = (_excess(best(p, count * step)) for step in (1, SLOPE))
            return np.log(two / one) / np.log(SLOPE)

        found["width_part_to_depth_part"] = _told(*_both(ratio_of_parts, law), law)
        found["excess_loss_with_parameters"] = _told(*_both(fall, law), law)
    return found


def _excess(plan: Plan) -> Any:
    """The loss above the floor."""
    return sum(plan.parts.values())
