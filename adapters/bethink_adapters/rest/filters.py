"""The filter language as a model, so that the schema tells what the server takes."""

from __future__ import annotations

from typing import Annotated, Any, Final

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


class Condition(Body):
    """Operators on a field; all must hold."""

    model_config = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False, json_schema_extra={"minProperties": 1}
    )
    eq: Present | None = Field(None, alias="$eq")
    ne: Present | None = Field(None, alias="$ne")
    gt: Measure = Field(0, alias="$gt")
    gte: Measure = Field(0, alias="$gte")
    lt: Measure = Field(0, alias="$lt")
    lte: Measure = Field(0, alias="$lte")
    among: list[Any] = Field([], alias="$in")
    not_among: list[Any] = Field([], alias="$nin")
    contains: Present | None = Field(None, alias="$contains")
    contains_any: list[Any] = Field([], alias="$contains_any")
    exists: StrictBool = Field(True, alias="$exists")
    opposite: _Plain | Condition = Field(None, alias="$not")

    @model_validator(mode="after")
    def _holds_some(self) -> Condition:
        if not self.model_fields_set:
            raise ValueError("a condition needs an operator")
        return self


class Inside(Condition):
    """Operators on a path in metadata or value, where a mapping may be meant."""

    opposite: _Plain | Inside | _Object = Field(None, alias="$not")


class Moments(Body):
    """Operators on a time."""

    model_config = Condition.model_config
    eq: Time | None = Field(None, alias="$eq")
    ne: Time | None = Field(None, alias="$ne")
    gt: Time = Field(0.0, alias="$gt")
    gte: Time = Field(0.0, alias="$gte")
    lt: Time = Field(0.0, alias="$lt")
    lte: Time = Field(0.0, alias="$lte")
    among: list[Time | None] = Field([], alias="$in")
    not_among: list[Time | None] = Field([], alias="$nin")
    exists: StrictBool = Field(True, alias="$exists")
    opposite: Time | Moments | None = Field(None, alias="$not")

    @model_validator(mode="after")
    def _holds_some(self) -> Moments:
        if not self.model_fields_set:
            raise ValueError("a condition needs an operator")
        return self


_Field = _Plain | Condition
_Instant = Time | Moments | None


class Where(Body):
    """A filter, as in the guide: fields with conditions, $and, $or, $not, metadata and value."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)
    __pydantic_extra__: dict[str, _Plain | Inside | _Object] = Field(init=False)

    id: _Field = None
    namespace: _Field = None
    content: _Field = None
    key: _Field = None
    thread: _Field = None
    author: _Field = None
    category: _Field = None
    source: _Field = None
    superseded_by: _Field = None
    tags: _Field = None
    importance: _Field = None
    confidence: _Field = None
    access_count: _Field = None
    outcome: _Field = None
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

    def plain(self) -> dict[str, Any]:
        """Return the filter of the core."""
        return self.model_dump(by_alias=True, exclude_unset=True)


def plain(where: Where | None) -> dict[str, Any] | None:
    """Return *where* as the core takes a filter."""
    return None if where is None else where.plain()
