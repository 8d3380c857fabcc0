"""What a framework gives as a record can hold it, and a recall can ask."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from bethink.adapting import MAX_CONTENT

Query = TypeVar("Query", str, str | None)

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def askable(query: Query) -> Query:
    """Return *query* as ``recall`` takes it, which refuses what is no text."""
    return storable(query, MAX_CONTENT) if isinstance(query, str) else query


def storable(text: str, limit: int) -> str:
    """Return the first *limit* characters of *text*, lone surrogates replaced."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text[:limit])


def jsonable(value: Any) -> Any:
    """Return *value* as JSON has it; a number that is not finite becomes its name."""
    return json.loads(json.dumps(value), parse_constant=str)


def aware(when: datetime) -> datetime:
    """Return *when*, in UTC if it tells no time zone."""
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when
