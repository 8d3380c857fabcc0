"""Unix times as dates and as search terms."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from .tokenizer import token_terms

MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september",
           "october", "november", "december")  # fmt: skip
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def utc(timestamp: float) -> datetime | None:
    """Return a Unix time as a datetime in UTC, None outside the years 1 to 9999."""
    try:
        return _EPOCH + timedelta(seconds=timestamp)
    except (OverflowError, ValueError):
        return None


def date_words(timestamp: float) -> list[str]:
    """Return day, month and year of a Unix time as search terms; none outside years 1 to 9999."""
    when = utc(timestamp)
    return [] if when is None else [*day_terms(when.month, when.day), str(when.year)]


def day_terms(month: int, day: int) -> list[str]:
    """Return the search terms of a day of the year, as ``date_words`` orders the terms."""
    return [str(day), *token_terms(MONTHS[month - 1])]
