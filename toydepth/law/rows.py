"""Training runs, checked: what a fit on logarithms can be given."""

import math
import os.path
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from toydepth.law.columns import find_columns
from toydepth.law.table_files import Table, place, read_file
from toydepth.settings import SettingError, show


@dataclass(frozen=True)
class Rows:
    """Positive, finite sizes and losses of training runs, in the units of their file.

    Attributes:
      variables: by name: width, depth, data, time or parameters.
      losses: the loss of each run.
      lines: where each row starts in the file, from 1, a header counted; in Parquet, which has
        no lines, the number of the row.
      columns: the column that each variable, and "loss", was read from.
      read: rows of the file.
      dropped: those left out since a number was not positive and finite.
      excluded: those left out since the loss was among the highest.
      source: the file.
    """

    variables: dict[str, Float[np.ndarray, "rows"]]
    losses: Float[np.ndarray, "rows"]
    lines: Int[np.ndarray, "rows"]
    columns: dict[str, str]
    read: int
    dropped: int
    excluded: int
    source: str


def read_rows(
    path: str | Path,
    wanted: Sequence[str],
    columns: Mapping[str, str | None] | None = None,
    *,
    prefer: Mapping[str, str] | None = None,
    drop_invalid: bool = False,
) -> Rows:
    """Reads the wanted variables and the loss; other columns may hold anything.

    Args:
      path: a file that ends in .csv, .tsv, .jsonl, .ndjson or .parquet.
      wanted: variables, of width, depth, data, time and parameters.
      columns: the column of a variable or of "loss", to be read whatever its name.
      prefer: columns to take, if the file has them, before those of the usual names.
      drop_invalid: leave out rows with a number that is missing, not positive or not finite.

    Raises:
      SettingError: of `data.path` for the file and its rows, of `data.columns.VARIABLE` for a
        column that is not there or not the only one.
    """
    path = Path(os.path.expanduser(path))  # a shell leaves the ~ of data.path=~/runs.csv
    table = read_file(path)
    return check_rows(table, str(path), wanted, columns, prefer=prefer, drop_invalid=drop_invalid)


def check_rows(
    table: Table,
    source: str,
    wanted: Sequence[str],
    columns: Mapping[str, str | None] | None = None,
    *,
    prefer: Mapping[str, str] | None = None,
    drop_invalid: bool = False,
) -> Rows:
    """The same of a table that is in memory, called `source`. Raises as `read_rows` does."""
    found = find_columns(table.names, [*wanted, "loss"], columns or {}, prefer or {})
    cells = {column: table.values(column) for column in found.values()}
    numbers = {column: np.array([_positive(cell) for cell in cells[column]]) for column in cells}
    valid = ~np.isnan(list(numbers.values())).any(axis=0)
    if not valid.all() and not (drop_invalid and valid.any()):
        examples = []
        for row in np.flatnonzero(~valid)[:3]:
            column = next(column for column in numbers if np.isnan(numbers[column][row]))
            where = place(source, table.lines[row])
            examples.append(f"{where}: {show(column)} is {_shown(cells[column][row])}")
        remedy = "no row is left" if drop_invalid else "data.drop_invalid=true leaves them out"
        raise SettingError(
            "data.path",
            source,
            f"{(~valid).sum()} of {len(valid)} rows lack a positive, finite number "
            f"({', '.join(examples)}{', ...' if (~valid).sum() > 3 else ''}); {remedy}",
        )
    return Rows(
        variables={variable: numbers[found[variable]][valid] for variable in wanted},
        losses=numbers[found["loss"]][valid],
        lines=np.array(table.lines)[valid],
        columns=found,
        read=len(valid),
        dropped=int((~valid).sum()),
        excluded=0,
        source=source,
    )


def exclude_highest(rows: Rows, count: int) -> Rows:
    """Keeps the rows whose loss is below the `count`-th highest; all of them for 0.

    It is the papers' rule, loss < sorted(loss)[-count]: rows that tie with the `count`-th highest
    go too.

    Raises:
      SettingError: of `data.exclude_highest`, if it is negative or no row is left.
    """
    if count == 0:
        return rows
    if not 0 < count < len(rows.losses):
        raise _excluding(count, rows)
    keep = rows.losses < np.sort(rows.losses)[-count]
    if not keep.any():
        raise _excluding(count, rows)
    return replace(
        rows,
        variables={variable: values[keep] for variable, values in rows.variables.items()},
        losses=rows.losses[keep],
        lines=rows.lines[keep],
        excluded=rows.excluded + int((~keep).sum()),
    )


def _excluding(count: int, rows: Rows) -> SettingError:
    return SettingError(
        "data.exclude_highest",
        count,
        f"it must be a whole number from 0 that leaves some of the {len(rows.losses)} rows",
    )


def subtract_depth(rows: Rows, offset: float) -> Rows:
    """Counts the depth from `offset`: the papers compare fits in l with fits in l - 2.

    Raises:
      SettingError: of `data.depth_offset`, where a depth would not be positive.
    """
    if offset == 0:
        return rows
    if "depth" not in rows.variables:
        raise SettingError("data.depth_offset", offset, "the depth is not among the variables")
    depth = rows.variables["depth"] - offset
    bad = np.flatnonzero(~(np.isfinite(depth) & (depth > 0)))
    if bad.size:
        where = ", ".join(place(rows.source, rows.lines[row]) for row in bad[:3])
        raise SettingError(
            "data.depth_offset",
            offset,
            f"{bad.size} of {len(depth)} depths would not be positive "
            f"({where}{', ...' if bad.size > 3 else ''}); "
            f"the lowest is {rows.variables['depth'].min():g}",
        )
    return replace(rows, variables={**rows.variables, "depth": depth})


def _positive(cell: Any) -> float:
    """The number in a cell; NaN if it is not one, or has no logarithm."""
    if isinstance(cell, bool) or not isinstance(cell, Real | Decimal):
        return math.nan
    number = float(cell)
    return number if 0 < number < math.inf else math.nan


def _shown(cell: Any) -> str:
    if cell is None:
        return "missing"
    if isinstance(cell, str):
        return f"'{show(cell)}'"
    return f"{cell:g}" if isinstance(cell, float) else show(str(cell))
