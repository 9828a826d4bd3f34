"""What a run writes into its folder: `history.jsonl` line by line, and whole JSON files."""

from __future__ import annotations

import json
import math
import os
import platform
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

HISTORY = "history.jsonl"


class History:
    """Append-only `history.jsonl`, one JSON object per line.

    Attributes:
        lines: how many complete lines the file holds. A checkpoint stores this number, so that
            a resumed run can go back to what the checkpoint knew.
    """

    def __init__(self, path: Path, lines: int):
        self.lines = lines
        self._file = path.open("a", encoding="utf-8")

    @classmethod
    def open(cls, folder: str | Path, keep: int = 0) -> History:
        """Open the folder's history for appending, after its first `keep` complete lines.

        Later lines, and a last line that was only half written, are cut off.

        Raises:
            ValueError: the file holds fewer than `keep` complete lines.
        """
        path = Path(folder) / HISTORY
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = _complete_lines(path)
        if len(lines) < keep:
            raise ValueError(f"{path} holds {len(lines)} complete lines; {keep} were expected")
        if path.exists():
            os.truncate(path, sum(len(line) for line in lines[:keep]))
        return cls(path, keep)

    @staticmethod
    def lines_of(folder: str | Path) -> int:
        """How many complete lines the folder's history holds; 0 if there is none."""
        return len(_complete_lines(Path(folder) / HISTORY))

    def append(self, record: dict[str, Any]) -> None:
        """Write one record and hand it to the operating system (non-finite floats as null)."""
        self._file.write(_dumps(record) + "\n")
        self._file.flush()
        self.lines += 1

    def close(self) -> None:
        """Close the file; no more records can be appended."""
        self._file.close()

    def __enter__(self) -> History:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_history(folder: str | Path) -> list[dict[str, Any]]:
    """All records of a run folder's history; empty if there is none.

    A run that was killed may have left half a last line, which is dropped.

    Raises:
        ValueError: any other line is not JSON.
    """
    path = Path(folder) / HISTORY
    lines = _complete_lines(path)
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            records.append(json.loads(line))
        except ValueError as error:
            if number < len(lines):
                raise ValueError(f"{path}, line {number}: not JSON ({error})") from None
    return records


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file, all of it or nothing.

    Whoever reads the file sees the old content or the new one, never half of either.

    Raises:
        OSError: the folder cannot be written. The old file stays as it was.
    """
    path = Path(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp is private to its owner; give the file the usual permissions instead.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def clear_halves(folder: str | Path) -> None:
    """Remove what a process that was killed in `write_whole` has left in a run folder."""
    for place in (Path(folder), Path(folder) / "rungs", Path(folder) / "figures"):
        for half in place.glob(".?*.?*.????????"):
            half.unlink(missing_ok=True)


def write_json(path: str | Path, obj: Any) -> None:
    """Write `obj` to `path` as JSON, all of it or nothing.

    Non-finite floats become null; NumPy scalars and arrays become numbers and lists.

    Raises:
        TypeError: something in `obj` has no JSON form. The old file stays as it was.
        OSError: the folder cannot be written. The old file stays as it was.
    """
    write_whole(path, (_dumps(obj, indent=2) + "\n").encode())


def versions(*more: str) -> dict[str, str | None]:
    """Versions of Python, of toydepth, of what it computes with, and of `more` packages.

    null for what is not installed.
    """
    found: dict[str, str | None] = {"python": platform.python_version()}
    for name in ("toydepth", "jax", "flax", "optax", "orbax-checkpoint", "numpy", "scipy", *more):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def _complete_lines(path: Path) -> list[bytes]:
    """The lines that end in a newline; what follows the last newline was never finished."""
    if not path.exists():
        return []
    with path.open("rb") as file:
        return [line for line in file if line.endswith(b"\n")]


def _dumps(obj: Any, indent: int | None = None) -> str:
    return json.dumps(plain(obj), allow_nan=False, indent=indent)


def plain(obj: Any) -> Any:
    """`obj` in JSON's own types. JSON has no NaN and no infinity: they become null."""
    if isinstance(obj, dict):
        return {key: plain(value) for key, value in obj.items()}
    if isinstance(obj, list | tuple):
        return [plain(value) for value in obj]
    if isinstance(obj, np.ndarray | np.generic):
        return plain(obj.tolist())
    if isinstance(obj, float) and not math.isfinite(obj):
        return None
    return obj
