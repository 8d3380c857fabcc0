"""Check arguments against the JSON Schema of a tool: the few keywords that the tools use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

Schema = Mapping[str, Any]
_SHOWN: Final = 100
"""The most characters of a wrong value in a message."""

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


class ArgumentError(Exception):
    """A wrong argument, told in a sentence that a model can act on."""


def check(schema: Schema, value: Any, name: str = "arguments") -> None:
    """Raise ``ArgumentError`` unless *value* fits *schema*; *name* is the value's name."""
    if "type" in schema and not _is_of(value, schema["type"]):
        raise ArgumentError(
            f"{name} must be {_spelled(schema['type'])}, not {_with_article(_kind(value))}"
        )
    if "enum" in schema and value not in schema["enum"]:
        allowed = ", ".join(map(repr, schema["enum"]))
        raise ArgumentError(f"{name} must be one of {allowed}, not {_brief(value)}")
    _check_bounds(schema, value, name)
    if isinstance(value, list) and "items" in schema:
        for place, each in enumerate(value):
            check(schema["items"], each, f"{name}[{place}]")
    if isinstance(value, dict) and "properties" in schema:
        _check_members(schema, value)


def _check_members(schema: Schema, value: Mapping[str, Any]) -> None:
    known = schema["properties"]
    for name in value:
        if name not in known and schema.get("additionalProperties") is False:
            raise ArgumentError(
                f"unknown argument {_brief(name)}; known: {', '.join(known) or 'none'}"
            )
    for name in schema.get("required", ()):
        if name not in value:
            raise ArgumentError(f"the argument {name!r} is missing")
    for name, each in value.items():
        if name in known:
            check(known[name], each, name)


def _check_bounds(schema: Schema, value: Any, name: str) -> None:
    if isinstance(value, str | list):
        unit = "characters" if isinstance(value, str) else "items"
        kind = "Length" if isinstance(value, str) else "Items"
        least, most, size = schema.get(f"min{kind}", 0), schema.get(f"max{kind}"), len(value)
        if least and not (value.strip() if isinstance(value, str) else value):
            raise ArgumentError(f"{name} must not be empty")
        if most is not None and size > most:
            raise ArgumentError(f"{name} has {size:,} {unit}; at most {most:,} are allowed")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        lowest, highest = schema.get("minimum"), schema.get("maximum")
        if (lowest is not None and value < lowest) or (highest is not None and value > highest):
            span = f"be at least {lowest}" if highest is None else f"lie in [{lowest}, {highest}]"
            raise ArgumentError(f"{name} must {span}, not {_brief(value)}")


def _is_of(value: Any, types: str | Sequence[str]) -> bool:
    names = [types] if isinstance(types, str) else types
    if isinstance(value, bool):
        return "boolean" in names
    return any(isinstance(value, _TYPES[name]) for name in names)


def _spelled(types: str | Sequence[str]) -> str:
    names = [types] if isinstance(types, str) else types
    return " or ".join(map(_with_article, names))


def _with_article(kind: str) -> str:
    """Return the name of a type of JSON with an article."""
    return kind if kind == "null" else f"{'an' if kind[0] in 'aio' else 'a'} {kind}"


def _brief(value: object) -> str:
    """Return *value* as Python shows the value, cut after some characters."""
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    return next(name for name, kinds in _TYPES.items() if isinstance(value, kinds))
