"""What the fields of records may be: pydantic's types, as strict as JSON lets them be."""

import dataclasses
import sys
from collections.abc import Callable
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainValidator
from pydantic_core import PydanticCustomError

from toydepth.files import plain

LARGEST = 2**63 - 1  # of whole numbers: what NumPy can hold
LARGEST_FLOAT = sys.float_info.max


class Record(BaseModel):
    """A frozen model that takes what it says and nothing else: True is no number, NaN neither."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        serialize_by_alias=True,
        protected_namespaces=(),
    )

    def changed(self, **fields: Any) -> Self:
        """The same with other fields, which are checked, too."""
        own = {name: value for name, value in self if name != "schema_"}
        return type(self)(**own | fields)

    @classmethod
    def from_fit(cls, found: Any) -> Self | None:
        """The record of a dataclass with the same fields, such as a fit's; None of None."""
        return None if found is None else cls(**plain(dataclasses.asdict(found)))


def shown(value: Any) -> str:
    """Such as 'x' or [0.1], as far as there is room in a line; always text that can be encoded."""
    try:
        return f"{value!r:.60}"
    except RecursionError:
        return "nested without end"


def wrong(words: str, field: str = "", value: Any = None) -> PydanticCustomError:
    """What a validator raises: `words` say what is allowed, of a field of what it was given."""
    return PydanticCustomError(
        "wrong", "{words}", {"words": words, "field": field, "value": shown(value)}
    )


def _only(accepts: Callable[[Any], bool], words: str) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if not accepts(value):
            raise wrong(words)
        return value

    return check


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) <= LARGEST_FLOAT
    )


def _is_setting(value: Any) -> bool:
    several = value if isinstance(value, list | tuple) else [value]
    return all(its is None or isinstance(its, bool | str) or _is_number(its) for its in several)


def _is_temperature(value: Any) -> bool:
    several = value if isinstance(value, list | tuple) and value else [value]
    return value is None or all(map(_is_number, several))


T = TypeVar("T")
Several = Annotated[tuple[T, ...], Field(strict=False)]  # JSON's lists become tuples
Whole = Annotated[int, Field(ge=0, le=LARGEST)]
Count = Annotated[int, Field(ge=1, le=LARGEST)]
# Pydantic's own str refuses the name of a file that is no text, for which Python has a str.
Text = Annotated[
    str, PlainValidator(_only(lambda value: isinstance(value, str), "a text"), str)
]  # fmt: skip
Length = Annotated[
    Any,  # as pydantic writes it, and a number or "inf" as it reads it
    PlainValidator(
        _only(lambda x: _is_number(x) or x == "inf", "a number or inf"), float | Literal["inf"]
    ),
]
Exponent = Annotated[
    Any,
    PlainValidator(
        _only(lambda x: _is_number(x) or x == "free", "a number or free"), float | Literal["free"]
    ),
]
Setting = Annotated[
    Any, PlainValidator(_only(_is_setting, "a setting"), bool | float | str | list | None)
]
Temperature = Annotated[
    Any,
    PlainValidator(
        _only(_is_temperature, "a number, a list of them, or null"), float | list[float] | None
    ),
]
Axis = Literal["depth", "width"]  # what the size of a rung is


def without_none(fields: dict[str, Any]) -> dict[str, Any]:
    """For a record of facts that only some have."""
    return {name: value for name, value in fields.items() if value is not None}
