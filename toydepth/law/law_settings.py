"""The schema of fitting scaling laws: every setting, its default, what it may be and what it means.

`study(cfg)` checks a composed configuration and turns it into the frozen `Study` that the verb
`law` works from.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toydepth.config import Tracker
from toydepth.settings import (
    Check,
    SettingError,
    choice,
    either,
    flag,
    number,
    optional,
    read_schema,
    setting,
    several,
    text,
    whole,
)

VARIABLES = ("width", "depth", "data", "time", "parameters")  # that a law may depend on


def column(holds: str) -> str | None:
    return setting(None, optional(text()), f"column of {holds}; null finds it by a common name")


def unit(variable: str) -> float:
    return setting(1.0, number(1e-30, 1e30), f"what the fit counts {variable} in; 1e6 is millions")


def term(variable: str, default: str | None) -> float | str | None:
    exponent = either(Check("free", choice("free").read), number(above=0, high=20))
    words = f"exponent of {variable}, fitted or fixed; null for a law without it"
    return setting(default, optional(exponent), words)


def resamples() -> Check:
    """So few that an interval means nothing are refused, none at all are not."""
    return Check(
        "0 or a whole number from 20 to 1000000", either(whole(0, 0), whole(20, 10**6)).read
    )


@dataclass(frozen=True)
class Columns:
    width: str | None = column("the width")
    depth: str | None = column("the layers")
    data: str | None = column("the tokens or examples seen")
    time: str | None = column("the training steps")
    parameters: str | None = column("the parameters")
    loss: str | None = column("the loss")


@dataclass(frozen=True)
class Units:
    width: float = unit("width")
    depth: float = unit("depth")
    data: float = unit("data")
    time: float = unit("time")
    parameters: float = unit("parameters")


@dataclass(frozen=True)
class Data:
    source: str = setting(
        "table", choice("chinchilla", "gemstones", "table"), "a published table or any other"
    )
    path: str | None = setting(None, optional(text()), "the file of the table")
    columns: Columns = Columns()
    units: Units = Units()
    exclude_highest: int = setting(
        0, whole(0, 10**9), "rows left out, those with the highest loss first"
    )
    drop_invalid: bool = setting(
        False, flag(), "leave out rows that no law can be fitted to, instead of refusing them"
    )
    depth_offset: float = setting(0.0, number(0, 1000), "subtracted from depth; the papers try 2")


@dataclass(frozen=True)
class Law:
    width: float | str | None = term("width", "free")
    depth: float | str | None = term("depth", "free")
    data: float | str | None = term("data", "free")
    time: float | str | None = term("time", None)
    parameters: float | str | None = term("parameters", None)
    floor: bool = setting(True, flag(), "a loss that no size removes")


@dataclass(frozen=True)
class Fit:
    loss: str = setting("squares", choice("squares", "huber"), "of the residuals of log loss")
    huber_delta: float = setting(
        1e-3, number(above=0, high=10), "log residual at which Huber turns linear"
    )
    starts: int = setting(16, whole(1, 10_000), "points from which the best minimum is looked for")


@dataclass(frozen=True)
class Bootstrap:
    resamples: int = setting(1000, resamples(), "tables drawn for the intervals; 0 draws none")


@dataclass(frozen=True)
class Compare:
    folds: int = setting(10, whole(2, 1000), "of the cross-validation that laws are compared by")


@dataclass(frozen=True)
class Robustness:
    exclude: tuple[int, ...] = setting(
        (1, *range(10, 101, 10)),
        several(whole(0, 10**9), none=True),
        "numbers of highest losses left out, a fit for each",
    )
    depth_offsets: tuple[float, ...] = setting(
        (0.0, 2.0),
        several(number(0, 1000), none=True),
        "numbers subtracted from depth, a fit for each",
    )


@dataclass(frozen=True)
class Plan:
    compute: tuple[float, ...] = setting(
        (1e20, 1e22, 1e24),
        several(number(1e6, 1e40), none=True),
        "FLOP to plan the best model for",
    )
    target_loss: tuple[float, ...] = setting(
        None, several(number(above=0), none=True), "losses to plan the cheapest model for"
    )
    width_multiple: int = setting(64, whole(1, 65_536), "widths are rounded to multiples of it")
    vocabulary: int | None = setting(
        None, optional(whole(2, 10**9)), "tokens; with it, embeddings count as parameters"
    )
    tied: bool = setting(True, flag(), "one matrix is both embedding and head")


@dataclass(frozen=True)
class Study:
    """One job: a law fitted to one table, with all that is asked about the fit."""

    data: Data = Data()
    law: Law = Law()
    fit: Fit = Fit()
    errors: str = setting(
        "rows",
        choice("rows", "shapes"),
        "what errs independently, for standard errors and intervals: rows, or shapes with all "
        "their rows",
    )
    bootstrap: Bootstrap = Bootstrap()
    compare: Compare = Compare()
    robustness: Robustness = Robustness()
    plan: Plan = Plan()
    export: tuple[str, ...] = setting(
        None, several(choice("latex", "csv"), none=True), "further forms of the tables"
    )
    tracker: Tracker = Tracker()
    seed: int = setting(0, whole(0, 2**31 - 1), "draws starts, resamples and folds")


def study(cfg: Mapping[str, Any]) -> Study:
    """Checks a composed configuration, plain nested data, and freezes it.

    Raises:
      SettingError: for the first setting that is unknown or not allowed.
    """
    checked = read_schema(Study, cfg)
    if checked.data.source == "table" and checked.data.path is None:
        raise SettingError("data.path", None, "data.source=table needs the file of a table")
    if all(getattr(checked.law, name) is None for name in VARIABLES):
        words = f"a law needs a term: one of {', '.join(VARIABLES)} is free or a fixed exponent"
        raise SettingError(f"law.{VARIABLES[0]}", None, words)
    return checked
