"""Values of a framework in JSON types: times and UUIDs become texts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any, Final
from uuid import UUID

from bethink import ValidationError
from bethink.adapting import plain

_LEVELS: Final = 128  # as in the store


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
