"""Files with named columns: CSV, JSON Lines and Parquet, all read into one kind of table."""

import csv
import io
import json
import stat
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from toydepth.settings import SettingError, listed, show


class Table(NamedTuple):
    """The columns of a file, not yet checked.

    Attributes:
      names: of the columns, in the file's order.
      lines: where each row starts, from 1; in Parquet, which has no lines, the row's number.
      values: the cells of the column named, one for each row, None where there is none. Cells
        that are numbers are numbers, in CSV too.
    """

    names: list[str]
    lines: Sequence[int]
    values: Callable[[str], list[Any]]


def read_file(path: Path) -> Table:
    """Reads the file by the ending of its name.

    Raises:
      SettingError: of `data.path`, if it cannot be read, or is no table of at least one row.
    """
    content = _content(path)
    read = READERS.get(path.suffix.lower())
    if read is None:
        raise _unreadable(path, f"its name must end in {', '.join(READERS)}")
    table = read(path, content)
    if not table.lines:
        raise _unreadable(path, "it has no rows")
    return table


def place(path: str, line: int) -> str:
    """What to call a row of that file."""
    return f"{'row' if path.lower().endswith('.parquet') else 'line'} {line}"


def _unreadable(path: Path, why: str) -> SettingError:
    return SettingError("data.path", str(path), why)


def _content(path: Path) -> bytes:
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode):
            return path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        why = getattr(error, "strerror", None) or error
        raise _unreadable(path, f"it cannot be read ({show(why)})") from None
    raise _unreadable(path, "it is a folder" if stat.S_ISDIR(mode) else "it is not a file")


def _text(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _unreadable(path, f"line {line} is not UTF-8 text") from None


def _refuse_repeated(path: Path, names: list[str], where: str) -> None:
    # A spreadsheet's empty last columns have no name; none of them is ever asked for.
    repeated = [name for name, count in Counter(names).items() if name and count > 1]
    if repeated:
        raise _unreadable(path, f"{where} more than one column named {listed(repeated, 12)}")


def _read_csv(path: Path, content: bytes, delimiter: str = ",") -> Table:
    text = io.StringIO(_text(path, content), newline="")
    reader = csv.reader(text, delimiter=delimiter, skipinitialspace=True, strict=True)
    lines, rows = [], []
    line = 1
    try:
        for row in reader:
            if row:  # not a blank line
                lines.append(line)
                rows.append(row)
            line = reader.line_num + 1  # a quoted cell may span lines
    except csv.Error as error:
        raise _unreadable(path, f"line {line} is not CSV ({show(error)})") from None
    if not rows:
        raise _unreadable(path, "it is empty")
    names = [name.strip() for name in rows[0]]
    _refuse_repeated(path, names, f"line {lines[0]} has")
    for line, row in zip(lines[1:], rows[1:], strict=True):
        if len(row) != len(names):
            raise _unreadable(
                path, f"line {line} has {len(row)} cells where the header has {len(names)}"
            )

    def values(name):
        index = names.index(name)
        return [_number(row[index]) for row in rows[1:]]

    return Table(names, lines[1:], values)


def _number(cell: str) -> float | str:
    try:
        # Python reads 1_000, and no other program does.
        return cell if "_" in cell else float(cell)
    except ValueError:
        return cell


def _read_tsv(path: Path, content: bytes) -> Table:
    return _read_csv(path, content, delimiter="\t")


def _read_json_lines(path: Path, content: bytes) -> Table:
    lines, rows = [], []
    for line, text in enumerate(io.StringIO(_text(path, content), newline=None), start=1):
        if not text.strip():
            continue
        try:
            # Objects as pairs, to see a name given twice; whole numbers as floats, since Python
            # refuses those of very many digits.
            pairs = json.loads(text, object_pairs_hook=tuple, parse_int=float)
        except (ValueError, RecursionError):
            pairs = None
        if not isinstance(pairs, tuple):
            raise _unreadable(path, f"line {line} is not a JSON object")
        _refuse_repeated(path, [name for name, _ in pairs], f"line {line} has")
        lines.append(line)
        rows.append(dict(pairs))
    if not rows:
        raise _unreadable(path, "it is empty")
    names = list(dict.fromkeys(name for row in rows for name in row))
    return Table(names, lines, lambda name: [row.get(name) for row in rows])


def _read_parquet(path: Path, content: bytes) -> Table:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise _unreadable(
            path, "to read Parquet, install pyarrow: pip install 'toydepth[parquet]'"
        ) from None

    # Arrow's own errors and Python's: not Parquet, cut short, or cells that Python cannot hold.
    broken = (pyarrow.ArrowException, OSError, ValueError, KeyError, OverflowError)

    def refusal(error):
        return _unreadable(
            path, f"it is not a sound Parquet file ({show(' '.join(str(error).split()))})"
        )

    try:
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(content))
        names, count = file.schema_arrow.names, file.metadata.num_rows
    except broken as error:
        raise refusal(error) from None
    _refuse_repeated(path, names, "it has")

    def values(name):
        try:
            cells = file.read(columns=[name]).column(name).to_pylist()
            if len(cells) != count:
                raise ValueError(f"{name} has {len(cells)} of {count} cells")
            return cells
        except broken as error:
            raise refusal(error) from None

    return Table(names, range(1, count + 1), values)


READERS: dict[str, Callable[[Path, bytes], Table]] = {
    ".csv": _read_csv,
    ".tsv": _read_tsv,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".parquet": _read_parquet,
}
