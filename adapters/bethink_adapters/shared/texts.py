"""Texts and values of a framework in a form for records and recalls."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final, TypeVar

from bethink.adapting import MAX_CONTENT

Query = TypeVar("Query", str, str | None)

_decode: Final = json.JSONDecoder(parse_constant=str).decode
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


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
