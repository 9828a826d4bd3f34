"""Find and read what runs left behind: result.json, schema 1."""

import json
import math
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from toydepth.config import DRAWN_BY

SKIPPED = ("checkpoints", "wandb")


class ResultError(ValueError):
    """A folder or a file that is not what it should be; the message is one line."""


def find_runs(folder: Path) -> tuple[list[Path], list[Path]]:
    """(result.json files, job folders without one) at and below `folder`, in order of path.

    A job folder holds Hydra's `.hydra`, left by train. Symlinks are not followed, and
    `checkpoints` and `wandb` are not entered. Raises ResultError if there is
    neither.
    """
    if not folder.is_dir():
        raise ResultError(f"RUN={folder} is not a run: no such folder")
    results, unfinished = [], []
    for parent, folders, files in os.walk(folder, onerror=_refuse_folder):
        here = Path(parent)
        if "result.json" in files and not (here / "result.json").is_symlink():
            results.append(here / "result.json")
        elif ".hydra" in folders:
            config = here / ".hydra" / "config.yaml"
            if not config.exists() or left_by_train(config):
                unfinished.append(here)
        folders[:] = sorted(name for name in folders if name not in SKIPPED and name != ".hydra")
    if not results and not unfinished:
        raise ResultError(f"RUN={folder} is not a run: no result.json below it")
    return results, unfinished


def left_by_train(mark: Path) -> bool:
    """Whether Hydra left the file for train; other verbs' folders lie beside its own."""
    try:
        return re.search(r"^teacher:", mark.read_text(errors="replace"), re.MULTILINE) is not None
    except OSError:
        return False


def read_result(path: Path) -> dict[str, Any]:
    """The contents of one result.json, with every field that a report uses checked.

    Raises ResultError, naming the file and the field.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ResultError(f"{path} cannot be read: {str(error).splitlines()[0]}") from None
    try:
        result = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ResultError(f"{path} is not JSON: {error}") from None
    if not isinstance(result, dict) or "schema" not in result:
        raise ResultError(f"{path} is not a toydepth result: it has no schema")
    if result["schema"] != 1 or isinstance(result["schema"], bool):
        raise ResultError(f"{path} has schema {result['schema']!r}; this toydepth reads schema 1")
    try:
        _check(result)
    except _Wrong as wrong:
        raise ResultError(f"{path} is not a toydepth result: {wrong}") from None
    return result


def exponent_words(exponent: dict[str, Any] | None) -> str:
    """Such as "0.34 (0.33 to 0.35)", as far as it is known."""
    if exponent is None:
        return "-"
    words = f"{exponent['value']:.2f}"
    if exponent["low"] is not None:
        words += f" ({exponent['low']:.2f} to {exponent['high']:.2f})"
    return words


class _Wrong(ValueError):
    pass


def _refuse_folder(error: OSError):
    raise ResultError(f"{error.filename} cannot be searched: {error.strerror}")


def _refuse_constant(name: str):
    raise ValueError(f"{name} is not a JSON number")


def _check(result: dict[str, Any]) -> None:
    need = partial(_need, "", result)
    need("status", _one_of("completed", "diverged", "failed"), "completed, diverged or failed")
    if result["status"] == "failed":  # it may have failed before anything else was known
        return
    need("teacher", lambda value: isinstance(value, dict), "an object")
    teacher = partial(_need, "teacher.", result["teacher"])
    teacher("kind", lambda value: isinstance(value, str), "a word")
    teacher("seed", _whole(0), "a whole number, 0 or more")
    teacher("depth", _whole(0), "a whole number, 0 or more")
    teacher("width", _whole(1), "a whole number, 1 or more")
    for name in DRAWN_BY.get(result["teacher"]["kind"], ()):
        teacher(name, lambda value: _finite(value) or value == "inf", "a number or inf")
    axis = {"axis": "depth"} | result  # a run of before there were others has depths
    _need("", axis, "axis", _one_of("depth", "width"), "depth or width")
    need("student", lambda value: isinstance(value, dict), "an object")
    need("objective", lambda value: isinstance(value, str), "a word")
    need("head", lambda value: value is None or isinstance(value, str), "a word or null")
    need("settings", lambda value: isinstance(value, dict), "an object")
    settings = {"seed": 0} | result["settings"]
    _need("settings.", settings, "seed", _whole(0), "a whole number, 0 or more")
    need("rungs", lambda value: isinstance(value, list), "a list")
    for index, rung in enumerate(result["rungs"]):
        field = _check_rung(f"rungs[{index}]", rung, axis["axis"])
        field("status", _one_of("completed", "diverged"), "completed or diverged")
        named = partial(_need, f"rungs[{index}].", {"observed": None, "peak_rate": None} | rung)
        named("observed", _numbers, "an object of finite numbers, or null")
        named("peak_rate", lambda value: value is None or _finite(value), "a number or null")
        field(
            "converged",
            lambda value: value is None or isinstance(value, bool),
            "true, false or null",
        )
        for name in ("loss", "loss_stderr"):
            field(name, lambda value: value is None or _finite(value), "a finite number or null")
    alpha = {"alpha": None} | result
    _need("", alpha, "alpha", _exponent, "an exponent (value, low, high), or null")
    ramp = {"ramp_diverged": []} | result
    _need("", ramp, "ramp_diverged", lambda value: isinstance(value, list), "a list")
    for index, rung in enumerate(ramp["ramp_diverged"]):
        field = _check_rung(f"ramp_diverged[{index}]", rung, axis["axis"])
        field("diverged_step", _whole(0), "a whole number, 0 or more")


def _check_rung(
    name: str, rung: Any, axis: str
) -> Callable[[str, Callable[[Any], bool], str], None]:
    """Checks what names a rung; the returned function checks another of its fields."""
    if not isinstance(rung, dict):
        raise _Wrong(f"{name} is {str(rung)[:60]}, not an object")
    field = partial(_need, f"{name}.", rung)
    field(axis, _whole(1), "a whole number, 1 or more")
    field("replica", _whole(0), "a whole number, 0 or more")
    field("temperature", lambda value: value is None or _finite(value), "a finite number or null")
    return field


def _need(
    prefix: str, fields: dict[str, Any], name: str, accepts: Callable[[Any], bool], allowed: str
) -> None:
    if name not in fields:
        raise _Wrong(f"{prefix}{name} is missing")
    if not accepts(fields[name]):
        raise _Wrong(f"{prefix}{name} is {str(fields[name])[:60]!r}, not {allowed}")


def _one_of(*words: str):
    return lambda value: isinstance(value, str) and value in words


def _whole(least: int):
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def _numbers(value: Any) -> bool:
    return value is None or (isinstance(value, dict) and all(map(_finite, value.values())))


def _exponent(value: Any) -> bool:
    """Null, or an exponent, with an interval or without."""
    if not isinstance(value, dict):
        return value is None
    interval = [value.get("low"), value.get("high")]
    return _finite(value.get("value")) and (interval == [None] * 2 or all(map(_finite, interval)))


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
