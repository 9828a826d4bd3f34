"""What is wrong with data, as one line that names the setting to change."""

from collections.abc import Collection
from typing import Any


class DataError(ValueError):
    """A setting that the data do not allow.

    Attributes:
      setting: its name on the command line, such as `data.path` or `data.columns.width`.
      value: what it was, None if it was not given.
      allowed: what is wrong, or what would be allowed; one line of printable text.
    """

    def __init__(self, setting: str, value: Any, allowed: str):
        super().__init__(f"{setting}={show(value)} is not allowed: {allowed}")
        self.setting = setting
        self.value = value
        self.allowed = allowed


def show(value: Any) -> str:
    """Anything as short printable text: a file can hold what a terminal must not see."""
    text = "null" if value is None else str(value)
    text = text.encode("unicode_escape").decode()
    return text if len(text) <= 80 else text[:77] + "..."


def listed(names: Collection[str], most: int = 12) -> str:
    """Names of columns, the first `most` of them."""
    first = [show(name) for name in list(names)[:most]]
    if len(names) > most:
        first.append(f"and {len(names) - most} more")
    return ", ".join(first) or "none"
