"""What is wrong with a language model or its text, as one line that names the setting."""

from collections.abc import Collection
from typing import Any

INSTALL = "pip install 'toydepth[llm]'"


class LanguageError(ValueError):
    """A setting that the model or the text does not allow.

    Attributes:
      setting: its name on the command line, such as `model` or `text`.
      value: what it was, None if it was not given.
      allowed: what is wrong, or what would be allowed; one line of printable text.
    """

    def __init__(self, setting: str, value: Any, allowed: str):
        super().__init__(f"{setting}={show(value)} is not allowed: {allowed}")
        self.setting = setting
        self.value = value
        self.allowed = allowed


class UnknownArchitecture(LanguageError):
    """A measurement that steps inside the model does not know its parts.

    Hidden states and their angles need no such knowledge, and still come.
    """

    def __init__(self, model: str, measurement: str):
        super().__init__(
            "model", model, f"{measurement} does not know this architecture; the angles still come"
        )


def show(value: Any, most: int = 80) -> str:
    """Anything as short printable text: a file can hold what a terminal must not see."""
    text = "null" if value is None else str(value)
    text = text.encode("unicode_escape").decode()
    return text if len(text) <= most else text[: most - 3] + "..."


def listed(names: Collection[Any], most: int = 8) -> str:
    """Names, the first `most` of them."""
    first = [show(name) for name in list(names)[:most]]
    if len(names) > most:
        first.append(f"and {len(names) - most} more")
    return ", ".join(first) or "none"


def reason(error: BaseException) -> str:
    """The first line of another library's error, which may be long and many lines."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    name = type(error).__name__
    return f"{name}: {show(lines[0], 160)}" if lines else name
