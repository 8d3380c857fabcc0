"""Texts and values of a framework in a form for records and recalls."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from hashlib import sha256
from typing import Any, Final, TypeVar
from uuid import UUID

from bethink import ValidationError
from bethink.adapting import MAX_CONTENT, plain

Query = TypeVar("Query", str, str | None)

_decode: Final = json.JSONDecoder(parse_constant=str).decode
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_LEVELS: Final = 128  # as in the store


def askable(query: Query) -> Query:
    """Return a text *query* within the limits of ``recall``; any other value as given."""
    return storable(query, MAX_CONTENT) if isinstance(query, str) else query


def storable(text: str, limit: int) -> str:
    """Return the first *limit* characters of *text*, lone surrogates replaced."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text[:limit])


def plain_text(content: object) -> str:
    """Return the text of a message's *content*, a str or a list of parts; pictures have none."""
    parts = content if isinstance(content, list) else [content]
    texts = (part.get("text") if isinstance(part, Mapping) else part for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))


def digest(text: str) -> str:
    """Return a name of 32 characters for *text*: different texts have different names."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def jsonable(value: Any) -> Any:
    """Return *value* after a trip through JSON; a number that is not finite becomes a text."""
    return _decode(json.dumps(value))


def aware(when: datetime) -> datetime:
    """Return *when*; a time without a time zone is in UTC."""
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when


def written(name: str, value: object) -> Any:
    """Return a copy of *value* in JSON types: ISO 8601 for times, text for a UUID.

    Any other value beyond JSON raises ``ValidationError`` with *name* and the place within.
    """
    try:
        return plain(name, value)
    except ValidationError:
        return _written(name, value, _LEVELS)


def _written(name: str, value: Any, levels: int) -> Any:
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if not levels:
        return plain(name, value, 0)  # refused
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {
            str.__str__(key): _written(f"{name}[{key!r}]", item, levels - 1)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_written(f"{name}[{place}]", item, levels - 1) for place, item in enumerate(value)]
    return plain(name, value)
