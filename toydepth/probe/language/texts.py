"""Texts from a file, a folder, JSON Lines or a corpus of the hub, read as they are asked for."""

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from toydepth.probe.language.hub import INSTALL, unreachable
from toydepth.settings import SettingError, listed, reason, show

FINEWEB = "HuggingFaceFW/fineweb:sample-10BT"  # the corpus of the depth paper
CORPUS_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?(:[\w.-]+)?")
JSON_LINES = (".jsonl", ".ndjson")
PART = 1 << 20  # characters of a long file that are tokenised at once


@dataclass(frozen=True)
class Texts:
    """Documents, which can be read once.

    Attributes:
      documents: the texts.
      whole: whether all of a long text is wanted, as of a book; otherwise its beginning, as of
        one document of a corpus among millions.
      source: where they come from, as it was asked for.
    """

    documents: Iterator[str]
    whole: bool
    source: str | None

    def __iter__(self) -> Iterator[str]:
        return self.documents


def read_texts(text: str | None, *, column: str = "text", limit: int | None = None) -> Texts:
    """Finds the texts; reads none before it is asked for.

    Args:
      text: a text file in UTF-8, a folder of *.txt and *.md files, at any depth, a file of JSON
        Lines (*.jsonl, *.ndjson), or a corpus of the hub that `datasets` can stream, as
        OWNER/NAME or OWNER/NAME:CONFIGURATION, of which the training split is read. FineWeb's
        sample of 10 billion tokens if None.
      column: the field of JSON Lines, or the column of the corpus, that has the text.
      limit: how many texts at most. A long text file counts as one for each million characters.

    Raises:
      SettingError: of `text`, `column` or `limit`; of a line of the file when it is read.
    """
    if limit is not None and limit < 1:
        raise SettingError("limit", limit, "it must be a whole number from 1")
    documents, whole = _find(text, column)
    return Texts(islice(documents, limit), whole, text)


def _find(text: str | None, column: str) -> tuple[Iterator[str], bool]:
    if text is None:
        return _corpus(text, FINEWEB, column), False
    path = Path(os.path.expanduser(text))
    try:
        if text and path.is_dir():  # not the working folder for an empty name
            files = sorted(p for p in path.rglob("*") if p.suffix.lower() in (".txt", ".md"))
            files = [file for file in files if file.is_file()]
            if not files:
                raise SettingError("text", text, "it is a folder without *.txt and *.md files")
            return chain.from_iterable(_parts(text, file) for file in files), True
        if path.is_file():
            path.open("rb").close()
            if path.suffix.lower() in JSON_LINES:
                return _json_lines(text, path, column), False
            return _parts(text, path), True
        missing = not (text and path.exists())
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        if isinstance(error, SettingError):
            raise
        why = getattr(error, "strerror", None) or error
        raise SettingError("text", text, f"it cannot be read ({show(why)})") from None
    if not missing:
        raise SettingError("text", text, "it is neither a file nor a folder")
    if not CORPUS_ID.fullmatch(text) or path.suffix.lower() in (".txt", ".md", *JSON_LINES):
        raise SettingError(
            "text", text, "there is no such file or folder, and it is not an id of the hub"
        )
    return _corpus(text, text, column), False


def _lines(text: str, path: Path, read: Callable) -> Iterator:
    """What `read` gets from the open file, one after the other, as long as it gets anything."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            while part := read(file):
                yield part
    except UnicodeDecodeError:
        raise SettingError("text", text, f"{show(path.name)} is not UTF-8 text") from None
    except OSError as error:
        why = f"{show(path.name)} cannot be read ({show(error.strerror)})"
        raise SettingError("text", text, why) from None


def _parts(text: str, path: Path) -> Iterator[str]:
    """A text file in parts of about a million characters, which end where a line does."""
    return _lines(text, path, lambda file: file.read(PART) + file.readline(PART))


def _json_lines(text: str, path: Path, column: str) -> Iterator[str]:
    for number, line in enumerate(_lines(text, path, lambda file: file.readline()), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise SettingError("text", text, f"line {number} is not a JSON object")
        yield _cell(row, column, f"line {number}")


def _cell(row: dict, column: str, place: str) -> str:
    cell = row.get(column)
    if not isinstance(cell, str):
        strings = [name for name, value in row.items() if isinstance(value, str)]
        raise SettingError(
            "column", column, f"{place} has no text of that name; it has {listed(strings)}"
        )
    return cell


def _corpus(text: str | None, corpus: str, column: str) -> Iterator[str]:
    """A corpus of the hub, streamed."""
    try:
        import datasets
    except ImportError:
        raise SettingError("text", text, f"a corpus of the hub needs datasets: {INSTALL}") from None
    name, _, configuration = corpus.partition(":")
    what = f"{name}, the default, " if text is None else ""
    offline = unreachable()
    if offline:
        raise SettingError(
            "text",
            text,
            f"{what or 'it is no file or folder here, and as a corpus of the hub it '}"
            f"cannot be streamed: {offline}; give text=FILE",
        )
    try:
        rows = datasets.load_dataset(name, configuration or None, split="train", streaming=True)
    except Exception as error:  # of many libraries, from the network to the formats of files
        raise SettingError(
            "text",
            text,
            f"{what}cannot be streamed from the hub ({reason(error, brief=True)}); "
            "give text=FILE, or OWNER/NAME:CONFIGURATION of a corpus",
        ) from None
    return _stream(text, rows, column)


def _stream(text: str | None, rows, column: str) -> Iterator[str]:
    rows = iter(rows)
    number = 0
    while True:
        number += 1
        try:
            row = next(rows)
        except StopIteration:
            return
        except Exception as error:
            raise SettingError(
                "text", text, f"the stream broke at row {number} ({reason(error, brief=True)})"
            ) from None
        yield _cell(row, column, f"row {number}")
