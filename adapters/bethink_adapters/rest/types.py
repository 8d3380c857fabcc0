"""The types of arguments, with the patterns and bounds that the core checks."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Final

from fastapi import Query as InAddress
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    StringConstraints,
    WithJsonSchema,
)
from pydantic import Strict as StrictType
from pydantic.functional_validators import AfterValidator

from bethink.adapting import MAX_CONTENT, MAX_LABEL

from .settings import MAX_BATCH

_CONTROL: Final = r"\x00-\x1f\x7f-\x9f"
NAMESPACE: Final = rf"^([^/{_CONTROL}]+/)*\**[^/*{_CONTROL}][^/{_CONTROL}]*$"
"""Segments joined by "/"; the last is not made of asterisks alone."""
_VISIBLE: Final = r"[^\s\x00-\x20\x7f-\xa0\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f\u3000\ufeff]"
_STORABLE: Final = rf"^[^\x00]*{_VISIBLE}[^\x00]*$"
"""A text that is not blank, and that a file can hold."""
PATTERNS_TOLD: Final[Mapping[str, str]] = {
    NAMESPACE: "must be a path such as users/ann; subtree=true adds all below",
    _VISIBLE: "must not be blank",
    _STORABLE: "must not be blank, nor hold a NUL",
}
"""What each pattern asks for, in words."""
MAX_TIME: Final = 1e12
"""The greatest time, in Unix seconds before or after 1970."""


class Body(BaseModel):
    """The body of a request: no unknown field, no value of a different type."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


def _iso(text: str) -> str:
    datetime.fromisoformat(text)
    return text


def _flag(value: object) -> object:
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


def _integral(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


_text = partial(StringConstraints, strict=True)
Namespace = Annotated[str, _text(pattern=NAMESPACE, max_length=1024)]
Label = Annotated[str, _text(pattern=_VISIBLE, min_length=1, max_length=MAX_LABEL)]
"""A text that is not blank."""
Id = Annotated[str, _text(pattern=_STORABLE, min_length=1, max_length=MAX_LABEL)]
Ids = Annotated[list[Id], Field(min_length=1, max_length=MAX_BATCH)]
Text = Annotated[str, _text(max_length=MAX_LABEL)]
Kind = Annotated[str, _text(pattern=_STORABLE, max_length=64)]
Content = Annotated[str, _text(pattern=_VISIBLE, min_length=1, max_length=MAX_CONTENT)]
Query = Annotated[str, _text(max_length=MAX_CONTENT)]
Unit = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(ge=-MAX_TIME, le=MAX_TIME), StrictType()]
"""A time, in Unix seconds."""
Time = (
    Seconds
    | Annotated[
        str,
        AfterValidator(_iso),
        StrictType(),
        Field(max_length=64, json_schema_extra={"format": "date-time"}),
    ]
)
Moment = Annotated[
    str,
    Field(
        max_length=MAX_LABEL,
        pattern=_VISIBLE,
        description='"#12" is a journal entry; Unix seconds; ISO 8601; or the name of a snapshot',
    ),
]
Tags = Annotated[list[Label], Field(max_length=MAX_BATCH)]
Flag = Annotated[bool, BeforeValidator(_flag), StrictType()]
"""A boolean in the address: true or false."""
Named = Annotated[Namespace | None, InAddress()]
"""A namespace in the address, if any."""
Switch = Annotated[Flag, InAddress()]
At = Annotated[Moment | None, InAddress()]
Filter = Annotated[str | None, InAddress(description="a filter as JSON")]
Integral = BeforeValidator(_integral)
"""Lets 2.0 pass for 2, as JSON does; stands after the bounds."""
Number = Annotated[StrictInt | StrictFloat, WithJsonSchema({"type": "number"})]
Present = StrictBool | Number | StrictStr | list[Any] | dict[str, Any]
"""A JSON value other than null."""
