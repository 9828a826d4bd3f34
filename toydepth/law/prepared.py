"""The table and the law that the settings ask for, checked, and the fit."""

from collections.abc import Hashable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from toydepth.law.law_settings import VARIABLES, Study
from toydepth.law.published import PUBLISHED, fetch
from toydepth.law.rows import Rows, exclude_highest, read_rows, subtract_depth
from toydepth.scaling import Law, LawFit, by_clusters, fit_law
from toydepth.settings import SettingError

SHAPE = ("width", "depth", "parameters")  # what tells one model from another


class Prepared(NamedTuple):
    """What a study starts from.

    Attributes:
      study: its settings.
      everything: all valid rows, as they stand in the table.
      rows: the rows that are fitted.
      units: what each of the law's variables is counted in.
      fit: the law fitted to `rows`.
    """

    study: Study
    everything: Rows
    rows: Rows
    units: dict[str, float]
    fit: LawFit

    @property
    def huber(self) -> float | None:
        return self.study.fit.huber_delta if self.study.fit.loss == "huber" else None

    @property
    def sizes(self) -> dict[str, Float[np.ndarray, "rows"]]:
        return in_units(self.rows, self.units)

    @property
    def shapes(self) -> list[Hashable] | None:
        """The model of each row; None for a law without a model's size."""
        return shapes_of(self.rows)


def select(rows: Rows, depth_offset: float, highest: int) -> Rows:
    """The rows that are fitted: depth counted from the offset, the highest losses left out.

    Raises SettingError where a depth is not above the offset or no row is left.
    """
    return exclude_highest(subtract_depth(rows, depth_offset), highest)


def in_units(rows: Rows, units: dict[str, float]) -> dict[str, Float[np.ndarray, "rows"]]:
    return {name: values / units[name] for name, values in rows.variables.items()}


def counted_in(unit: float) -> str:
    """A unit in words."""
    names = {1e3: "in thousands", 1e6: "in millions", 1e9: "in billions"}
    return names.get(unit, f"in units of {unit:g}")


def shapes_of(rows: Rows) -> list[Hashable] | None:
    columns = [rows.variables[name] for name in SHAPE if name in rows.variables]
    return list(zip(*(column.tolist() for column in columns), strict=True)) if columns else None


def law_of(study: Study) -> Law:
    """The law that the settings ask for."""
    asked = {name: getattr(study.law, name) for name in VARIABLES}
    exponents = {
        name: None if exponent == "free" else exponent
        for name, exponent in asked.items()
        if exponent is not None
    }
    return Law(exponents, study.law.floor)


@lru_cache(maxsize=8)  # a command checks its jobs before it runs them
def prepare(study: Study) -> Prepared:
    """Reads the table and fits the law.

    Raises:
      SettingError: the table is not there, or not what it should be.
      SettingError: a setting does not suit the table or the law.
    """
    law, data = law_of(study), study.data
    for name in VARIABLES:
        column = getattr(data.columns, name)
        if column is not None and name not in law.exponents:
            raise SettingError(f"data.columns.{name}", column, f"the law has no term in {name}")
    if study.plan.vocabulary is not None and not {"width", "depth"} <= set(law.exponents):
        words = "embeddings count by the width, and the law has no width and depth"
        raise SettingError("plan.vocabulary", study.plan.vocabulary, words)
    published = PUBLISHED.get(data.source)
    columns = {name: getattr(data.columns, name) for name in (*law.exponents, "loss")}
    everything = read_rows(
        data.path or fetch(data.source),
        law.variables,
        columns,
        prefer=published.prefer if published else None,
        drop_invalid=data.drop_invalid,
    )
    rows = select(everything, data.depth_offset, data.exclude_highest)
    units = {name: getattr(data.units, name) for name in law.variables}
    shapes = shapes_of(rows)
    if study.errors == "shapes" and (shapes is None or len(set(shapes)) < 2):
        words = "shapes are told apart by width, depth or parameters, and two are needed"
        raise SettingError("errors", "shapes", words)
    if np.ptp(rows.losses) == 0:
        words = f"every loss is {rows.losses[0]:g}: there is nothing to fit"
        raise SettingError("data.path", rows.source, words)
    huber = study.fit.huber_delta if study.fit.loss == "huber" else None
    try:
        fit = fit_law(
            law,
            in_units(rows, units),
            rows.losses,
            huber=huber,
            starts=study.fit.starts,
            seed=study.seed,
        )
    except ValueError as error:
        raise SettingError("data.path", rows.source, f"{error}") from None
    if study.errors == "shapes":
        fit = by_clusters(fit, shapes)
    for target in study.plan.target_loss:
        if target <= fit.floor:
            words = f"no model goes below the fitted floor, {fit.floor:.4g}"
            raise SettingError("plan.target_loss", target, words)
    return Prepared(study, everything, rows, units, fit)
