"""The machinery of a schema: what a setting may be, and how a configuration is read with it.

A schema is a frozen dataclass of settings and of further such dataclasses; a verb has one.
`defaults(schema)` is what Hydra composes on; `read_schema(schema, cfg)` checks what it composed.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass
from typing import Any


class SettingError(ValueError):
    """What a user got wrong, as one line: a setting's name, its value and what is allowed.

    Attributes:
      setting: its name on the command line, such as `train.steps` or `data.path`.
      value: what it was; None if it was not given.
      allowed: what is wrong, or what would be allowed; one line of printable text.

    >>> try:
    ...     toydepth.train_ladder(overrides=["train.steps=0"])
    ... except toydepth.SettingError as error:
    ...     print(error)
    train.steps=0 is not allowed: it must be a whole number from 1 to 1000000000, or a list of them
    """

    def __init__(self, setting: str, value: Any, allowed: str):
        super().__init__(setting, value, allowed)  # so that it can be pickled
        self.setting = setting
        self.value = value
        self.allowed = allowed

    def __str__(self) -> str:
        return f"{show(self.setting)}={show(self.value)} is not allowed: {self.allowed}"


def show(value: Any, most: int = 80) -> str:
    """A value as a person types it on the command line, cut where it is very long."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = printable(list(value) if isinstance(value, tuple) else value)
    return text if len(text) <= most else text[: most - 3] + "..."


def listed(names: Collection[Any], most: int = 8) -> str:
    """Names, the first `most` of them."""
    first = [show(name) for name in list(names)[:most]]
    if len(names) > most:
        first.append(f"and {len(names) - most} more")
    return ", ".join(first) or "none"


def printable(text: object) -> str:
    """Any text with what is not printable escaped, line breaks too, as a terminal may show it."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(text))


def fold(text: object) -> str:
    """Any text as one printable line."""
    return printable(" ".join(str(text).split()))


def reason(error: BaseException, *, brief: bool = False) -> str:
    """An exception as one line; `brief` of another library, whose words may be many."""
    name = type(error).__name__
    if not brief:
        return fold(f"{name}: {error}")
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{name}: {show(lines[0], 160)}" if lines else name


@dataclass(frozen=True)
class Check:
    """What a setting may be: words for a person, and a function that reads the value.

    The function raises ValueError or TypeError on a value that is not allowed.
    """

    allowed: str
    read: Callable[[Any], Any]


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError


def whole(low: int, high: int) -> Check:
    def read(value):
        _require(isinstance(value, int) and not isinstance(value, bool) and low <= value <= high)
        return value

    return Check(f"a whole number from {low} to {high}", read)


def number(low: float = -math.inf, high: float = math.inf, *, above: float = -math.inf) -> Check:
    """A finite number in [low, high], and strictly greater than `above`."""

    def read(value):
        _require(isinstance(value, int | float) and not isinstance(value, bool))
        value = float(value)
        _require(math.isfinite(value) and low <= value <= high and value > above)
        return value

    bounds = [f"above {above:g}"] if above > -math.inf else []
    bounds += [f"at least {low:g}"] if low > -math.inf else []
    bounds += [f"at most {high:g}"] if high < math.inf else []
    return Check(" ".join(["a finite number", " and ".join(bounds)]).strip(), read)


def length() -> Check:
    """A number above 0. Infinity is kept as the word `inf`: JSON has no number for it."""
    finite = number(above=0)

    def read(value):
        return "inf" if value in ("inf", math.inf) else finite.read(value)

    return Check("a number above 0, or inf", read)


def choice(*names: str) -> Check:
    def read(value):
        _require(isinstance(value, str) and value in names)
        return value

    return Check("one of " + ", ".join(names), read)


def text() -> Check:
    def read(value):
        _require(isinstance(value, str) and value.strip() != "" and value.isprintable())
        return value

    return Check("printable text", read)


def address() -> Check:
    def read(value):
        _require(isinstance(value, str))
        host, _, port = value.rpartition(":")
        _require(re.fullmatch(r"[A-Za-z0-9._\-\[\]:]{1,255}", host) is not None)
        _require(port.isascii() and port.isdecimal() and 0 < int(port) < 65536)
        return value

    return Check("HOST:PORT", read)


def flag() -> Check:
    def read(value):
        _require(isinstance(value, bool))
        return value

    return Check("true or false", read)


def optional(check: Check) -> Check:
    return Check(
        f"{check.allowed}, or null", lambda value: None if value is None else check.read(value)
    )


def either(first: Check, second: Check) -> Check:
    def read(value):
        try:
            return first.read(value)
        except (TypeError, ValueError):
            return second.read(value)

    return Check(f"{first.allowed}, or {second.allowed}", read)


def several(check: Check, *, distinct: bool = True, none: bool = False) -> Check:
    """One value or a list of them; read as a tuple. With `none`, null and [] are the empty one."""

    def read(value):
        if none and value is None:
            return ()
        values = value if isinstance(value, list | tuple) else [value]
        _require((none or len(values) > 0) and len(values) <= 256)
        values = tuple(check.read(v) for v in values)
        _require(not distinct or len(set(values)) == len(values))
        return values

    words = "a list of different ones" if distinct else "a list of them"
    choices = [check.allowed, f"or {words}", *(["or null for none"] if none else [])]
    return Check(", ".join(choices), read)


def one_or_several(check: Check) -> Check:
    """One value or a list of different ones, read as a tuple; a list of one is that one."""
    many = several(check)

    def read(value):
        values = many.read(value)
        return values[0] if len(values) == 1 else values

    return Check(many.allowed, read)


def setting(default: Any, check: Check, meaning: str) -> Any:
    """A field of a schema. Its default is read as any value is, so that `Schema()` is valid."""
    metadata = {"check": check, "meaning": meaning, "written": default}
    return field(default=check.read(default), metadata=metadata)


def _inner(f: Field) -> type | None:
    """The schema of a field that holds further settings; None for one setting."""
    return f.type if isinstance(f.type, type) and is_dataclass(f.type) else None


def defaults(schema: type) -> dict[str, Any]:
    """The default configuration as plain nested data, for Hydra to compose on."""
    return {
        f.name: f.metadata["written"] if (inner := _inner(f)) is None else defaults(inner)
        for f in fields(schema)
    }


def read_schema(schema: type, cfg: Any, prefix: str = "") -> Any:
    """Checks a composed configuration, plain nested data, and freezes it as `schema`.

    `prefix` is the dotted name of where `cfg` stands, for messages. A setting that is missing has
    its default: a run keeps its configuration longer than the schema stays as it is.

    Raises:
      SettingError: for the first setting that is unknown or not allowed.
    """
    known = {f.name: f for f in fields(schema)}
    if not isinstance(cfg, Mapping):
        raise SettingError(prefix.rstrip("."), cfg, f"it holds the settings {', '.join(known)}")
    for name in cfg:
        if name not in known:
            raise SettingError(f"{prefix}{name}", cfg[name], unknown(known))
    values = {}
    for name, f in known.items():
        where = f"{prefix}{name}"
        if (inner := _inner(f)) is not None:
            values[name] = read_schema(inner, cfg.get(name, {}), f"{where}.")
            continue
        value = cfg.get(name, f.default)
        check: Check = f.metadata["check"]
        try:
            values[name] = check.read(value)
        except (TypeError, ValueError, OverflowError):
            raise SettingError(where, value, f"it must be {check.allowed}") from None
    return schema(**values)


def unknown(known: Iterable[str]) -> str:
    """What to say of a setting that does not exist."""
    return f"there is no such setting; there are {', '.join(sorted(known))}"


def flatten(node: Any, prefix: str = "") -> Iterable[tuple[str, Any]]:
    """(dotted name, value) of every setting of a checked configuration, tuples as lists."""
    for f in fields(node):
        value = getattr(node, f.name)
        if is_dataclass(value):
            yield from flatten(value, f"{prefix}{f.name}.")
        else:
            yield f"{prefix}{f.name}", list(value) if isinstance(value, tuple) else value


def nested(node: Any) -> dict[str, Any]:
    """A checked configuration as plain nested data, tuples as lists: what it is read from."""
    found: dict[str, Any] = {}
    for f in fields(node):
        value = getattr(node, f.name)
        listed = list(value) if isinstance(value, tuple) else value
        found[f.name] = nested(value) if is_dataclass(value) else listed
    return found


def meanings(schema: type, prefix: str = "") -> Iterable[tuple[str, Any, str, str]]:
    """(name, default, meaning, what it may be) of every setting, for `--help`."""
    for f in fields(schema):
        if (inner := _inner(f)) is not None:
            yield from meanings(inner, f"{prefix}{f.name}.")
        else:
            check: Check = f.metadata["check"]
            yield f"{prefix}{f.name}", f.metadata["written"], f.metadata["meaning"], check.allowed
