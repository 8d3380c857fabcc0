"""Moments in words."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from .cutting import chunk_terms, terms

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september",
           "october", "november", "december")  # fmt: skip
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TELLING: Final = frozenset(
    terms(
        "yesterday today tonight tomorrow ago recently minute hour day week weekend month year "
        "decade century morning noon afternoon evening night midnight spring summer autumn winter "
        "monday tuesday wednesday thursday friday saturday sunday "
    )
    + terms(" ".join(_MONTHS))
)


def utc(timestamp: float) -> datetime | None:
    """Return a Unix time as a moment in UTC, None outside the years 1 to 9999."""
    try:
        return _EPOCH + timedelta(seconds=timestamp)
    except (OverflowError, ValueError):
        return None


def date_words(timestamp: float) -> list[str]:
    """Spell a Unix time in UTC as search terms: day, month, year; none outside years 1 to 9999."""
    when = utc(timestamp)
    if when is None:
        return []
    return [str(when.day), *chunk_terms(_MONTHS[when.month - 1]), str(when.year)]


def tells_time(found: Iterable[str]) -> bool:
    """Tell whether a text of these search terms may say when or how long; of words, in English.

    A number may be a year, a day or an hour.
    """
    return any(term in _TELLING or term[0].isdigit() for term in found)
