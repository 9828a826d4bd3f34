"""`read_table` and `fit_table`: one law on any table of training runs, in Python."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from toydepth.law.columns import NAMES
from toydepth.law.rows import Rows, check_rows, read_rows
from toydepth.law.table_files import Table
from toydepth.scaling import Law, LawFit, fit_law
from toydepth.settings import SettingError

CHINCHILLA = Law({"width": None, "depth": None, "data": None}, floor=True)


def read_table(
    table: str | Path | Mapping[str, Sequence[Any]] | Any,
    variables: Sequence[str] = ("width", "depth", "data"),
    columns: Mapping[str, str | None] | None = None,
    *,
    drop_invalid: bool = False,
) -> Rows:
    """Training runs as checked arrays: positive, finite sizes and losses.

    Args:
      table: a file (.csv, .tsv, .jsonl, .ndjson, .parquet), a pandas or polars frame, or a mapping
        of columns.
      variables: what to read beside the loss, of width, depth, data (tokens), time (steps) and
        parameters.
      columns: variable, or "loss" -> the column that holds it; others are found by the names that
        the field uses (d_model, n_layers, num_tokens, ...).
      drop_invalid: leave out rows with a number that is missing, not positive or not finite.

    Raises:
      SettingError: a column is not there or not the only one, or a cell holds no such number.

    >>> table = {"n_layers": [4, 8, 16], "eval": [0.51, 0.26, 0.12]}
    >>> rows = toydepth.read_table(table, ["depth"], {"loss": "eval"})
    >>> rows.variables["depth"], rows.columns["depth"]
    (array([ 4.,  8., 16.]), 'n_layers')
    """
    variables = [variables] if isinstance(variables, str) else variables
    for name in columns or {}:
        if name not in NAMES:
            raise SettingError("columns", name, f"there are {', '.join(NAMES)}")
    for name in variables:
        if name not in NAMES or name == "loss":
            known = ", ".join(known for known in NAMES if known != "loss")
            raise SettingError("variables", name, f"there are {known}")
    if isinstance(table, str | Path):
        return read_rows(table, variables, columns, drop_invalid=drop_invalid)
    return check_rows(_in_memory(table), "table", variables, columns, drop_invalid=drop_invalid)


def fit_table(
    table: str | Path | Mapping[str, Sequence[Any]] | Any,
    law: Law = CHINCHILLA,
    columns: Mapping[str, str | None] | None = None,
    *,
    drop_invalid: bool = False,
    huber: float | None = None,
    seed: int = 0,
) -> LawFit:
    """A law fitted to a table of training runs (arXiv 2602.05970, section 2).

    Args:
      table, columns, drop_invalid: as for `read_table`; the law says which variables are read.
      law: L = sum of c_v / x_v^a_v + L0, by default with free exponents of width, depth and data.
      huber: the log residual at which Huber's loss turns linear; None for least squares.
      seed: draws the points that the search starts from.

    Raises:
      SettingError: the table is not what it should be.
      ValueError: the law cannot be fitted to it, as with fewer rows than parameters.

    >>> table = {"n_layers": [4, 8, 16, 32], "loss": [0.51, 0.26, 0.124, 0.063]}
    >>> fit = toydepth.fit_table(table, toydepth.Law({"depth": None}, floor=False))
    >>> round(fit.parameters["exponent_depth"].value, 2)
    1.01
    """
    rows = read_table(table, law.variables, columns, drop_invalid=drop_invalid)
    return fit_law(law, rows.variables, rows.losses, huber=huber, seed=seed)


def _in_memory(frame: Any) -> Table:
    """A frame or a mapping of columns as the readers of files would give it."""
    if not hasattr(frame, "__getitem__") or not (
        isinstance(frame, Mapping) or hasattr(frame, "columns")
    ):
        words = "it is a file, a pandas or polars frame, or a mapping of columns"
        raise SettingError("table", type(frame).__name__, words)
    names = list(frame.columns if hasattr(frame, "columns") else frame)
    lengths = {len(frame[name]) for name in names}
    if len(lengths) != 1 or lengths == {0}:
        raise SettingError("table", f"{sorted(lengths)} rows", "its columns are of one length")

    def values(name: str) -> list[Any]:
        return [None if cell is None else _number(cell) for cell in np.asarray(frame[name], object)]

    return Table(names, range(1, lengths.pop() + 1), values)


def _number(cell: Any) -> Any:
    """NumPy's numbers as Python's."""
    return cell.item() if isinstance(cell, np.generic) else cell
