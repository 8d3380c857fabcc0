"""The filter language as a model, so that the schema tells what the server takes."""

from __future__ import annotations

from typing import Annotated, Any, Final, Generic, Self, TypeVar

from pydantic import (
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    StrictBool,
    StrictStr,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from bethink.adapting import check_where

from .types import Body, Number, Present, Time

_PATHS: Final = r"^(metadata(\.[^.]+)+|value(\.[^.]+)*)$"

T = TypeVar("T")

Measure = Number | StrictStr
_Plain = StrictBool | Measure | list[Any] | None
_Object = Annotated[
    dict[str, Any],
    WithJsonSchema(
        {
            "type": "object",
            "additionalProperties": True,
            "propertyNames": {"pattern": r"^(?!\$)"},
        }
    ),
]
"""A mapping to equal; a name that begins with "$" would be an operator."""


def _unset() -> Any:
    """Return the value of an operator that is not given, and so never read."""


class _Operators(Body):
    """Operators on a field, of which at least one must be given; all must hold."""

    model_config = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False, json_schema_extra={"minProperties": 1}
    )
    exists: StrictBool = Field(True, alias="$exists")

    @model_validator(mode="after")
    def _holds_some(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("a condition needs an operator")
        return self


class _Comparison(_Operators):
    """Operators on a value of any kind."""

    eq: Present | None = Field(None, alias="$eq")
    ne: Present | None = Field(None, alias="$ne")
    among: list[Any] = Field([], alias="$in")
    not_among: list[Any] = Field([], alias="$nin")


class Condition(_Comparison):
    """Operators on the tags."""

    contains: StrictStr | None = Field(None, alias="$contains")
    contains_any: list[StrictStr | None] = Field([], alias="$contains_any")
    opposite: _Plain | Condition = Field(None, alias="$not")


class Inside(_Comparison):
    """Operators on a path in metadata or value, where a mapping may be meant."""

    gt: Measure = Field(0, alias="$gt")
    gte: Measure = Field(0, alias="$gte")
    lt: Measure = Field(0, alias="$lt")
    lte: Measure = Field(0, alias="$lte")
    contains: Present | None = Field(None, alias="$contains")
    contains_any: list[Any] = Field([], alias="$contains_any")
    opposite: _Plain | Inside | _Object = Field(None, alias="$not")


class _Typed(_Operators, Generic[T]):
    """Operators on a value of one kind."""

    eq: T | None = Field(None, alias="$eq")
    ne: T | None = Field(None, alias="$ne")
    gt: T = Field(default_factory=_unset, alias="$gt")
    gte: T = Field(default_factory=_unset, alias="$gte")
    lt: T = Field(default_factory=_unset, alias="$lt")
    lte: T = Field(default_factory=_unset, alias="$lte")
    among: list[T | None] = Field([], alias="$in")
    not_among: list[T | None] = Field([], alias="$nin")


class Texts(_Typed[StrictStr]):
    """Operators on a text."""

    contains: StrictStr | None = Field(None, alias="$contains")
    contains_any: list[StrictStr | None] = Field([], alias="$contains_any")
    opposite: StrictStr | Texts | None = Field(None, alias="$not")


class Numbers(_Typed[Number]):
    """Operators on a number."""

    opposite: Number | Numbers | None = Field(None, alias="$not")


class Moments(_Typed[Time]):
    """Operators on a time."""

    opposite: Time | Moments | None = Field(None, alias="$not")


_Text = StrictStr | Texts | None
_Number = Number | Numbers | None
_Instant = Time | Moments | None


class Where(Body):
    """A filter, as in the guide: fields with conditions, $and, $or, $not, metadata and value."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)
    __pydantic_extra__: dict[str, _Plain | Inside | _Object] = Field(init=False)

    id: _Text = None
    namespace: _Text = None
    content: _Text = None
    key: _Text = None
    thread: _Text = None
    author: _Text = None
    category: _Text = None
    source: _Text = None
    superseded_by: _Text = None
    tags: _Plain | Condition = None
    importance: _Number = None
    confidence: _Number = None
    access_count: _Number = None
    outcome: _Number = None
    created_at: _Instant = None
    occurred_at: _Instant = None
    updated_at: _Instant = None
    expires_at: _Instant = None
    last_accessed_at: _Instant = None
    every: list[Where] = Field([], alias="$and")
    some: list[Where] = Field([], alias="$or")
    opposite: Where | None = Field(None, alias="$not")

    @model_validator(mode="before")
    @classmethod
    def _has_a_meaning(cls, given: Any) -> Any:
        check_where(given)  # the core's error names the mistake, the model's all alternatives
        return given

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the schema: further names are paths in metadata or value."""
        schema = handler(core)
        found = handler.resolve_ref_schema(schema)
        found["patternProperties"] = {_PATHS: found.pop("additionalProperties", {})}
        found["additionalProperties"] = False
        found["properties"]["$not"] = {"$ref": "#/components/schemas/Where"}
        return schema


def plain(where: Where | None) -> dict[str, Any] | None:
    """Return *where* as the core takes a filter."""
    return None if where is None else where.model_dump(by_alias=True, exclude_unset=True)
