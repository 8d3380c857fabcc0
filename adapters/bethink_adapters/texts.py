"""Texts of a framework as a record can hold them, and a recall can ask."""

from __future__ import annotations

import re
from typing import Final, TypeVar

from bethink.fields import MAX_CONTENT

Query = TypeVar("Query", str, str | None)

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def askable(query: Query) -> Query:
    """Return *query* as ``recall`` takes it, which refuses what is no text."""
    return storable(query, MAX_CONTENT) if isinstance(query, str) else query


def storable(text: str, limit: int) -> str:
    """Return the first *limit* characters of *text*, lone surrogates replaced."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text[:limit])
