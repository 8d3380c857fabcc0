"""Moments in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from .tokenizer import chunk_terms

MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september",
           "october", "november", "december")  # fmt: skip
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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
    return [str(when.day), *chunk_terms(MONTHS[when.month - 1]), str(when.year)]
