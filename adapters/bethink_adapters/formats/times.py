"""Times in the notations of foreign files, and times as text without loss of a digit."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import parsedate_to_datetime
from math import floor
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FINEST: Final = 16
_LONGEST: Final = 64
_FRACTION: Final = re.compile(r"(.*:\d\d)[.,](\d+)(.*)")
_NUMBER: Final = re.compile(r"-?\d{9,20}(\.\d+)?", re.ASCII)
_MAIL: Final = re.compile(r"(?:\w{3}, )?\d{1,2} \w{3} \d{4} \d\d:\d\d(?::\d\d)?(?: \S+)?")
_SPELLED: Final = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
_DATES: Final = (
    *("%Y/%m/%d", "%Y/%m/%d %H:%M", "%Y/%m/%d %H:%M:%S", "%Y.%m.%d", "%d.%m.%Y"),
    *("%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y", "%A, %B %d, %Y"),
)
"""Dates in which day and month cannot be confused."""

# Beyond the first of each, a number is no moment of an agent's life in the unit before it.
_UNITS: Final = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))


def moment(value: object) -> float | None:
    """Return a time as Unix seconds: a number of seconds down to nanoseconds, or a text.

    A text is ISO 8601, RFC 2822, digits, or a date such as "2024/04/30" or "30 April 2024"; without
    a zone, UTC. Digits that spell a date, as in 20240430, are the date. None stays None; anything
    else raises ``ValueError``.
    """
    if value is None or value == "":
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        told = _spelled(str(value))
        return _seconds(value) if told is None else told.timestamp()
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise ValueError(f"not a time: {str(value)[:_LONGEST]!r}")
    text, fraction = value.strip(), "0"
    if _NUMBER.fullmatch(text) and _spelled(text) is None:
        return _seconds(float(text))
    if parts := _FRACTION.fullmatch(text):
        text, fraction = parts[1] + parts[3], f"0.{parts[2]}"
    told = _read(text)
    if told is None:
        raise ValueError(f"not a time: {value!r}")
    whole = (told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp()
    return float(Decimal(whole) + Decimal(fraction))


def _read(text: str) -> datetime | None:
    """Return the time that *text* tells in one of the known notations."""
    if told := _spelled(text):
        return told
    with suppress(ValueError):
        return datetime.fromisoformat(text)
    if _MAIL.fullmatch(text):
        with suppress(ValueError):
            return parsedate_to_datetime(text)
    for form in _DATES:
        with suppress(ValueError):
            return datetime.strptime(text, form)
    return None


def _spelled(digits: str) -> datetime | None:
    """Return the date, or the date and time, that *digits* spell, if any."""
    if form := _SPELLED.get(len(digits)) if digits.isascii() and digits.isdigit() else None:
        with suppress(ValueError):
            told = datetime.strptime(digits, form).replace(tzinfo=UTC)
            return told if 1970 <= told.year < 2100 else None
    return None


def _seconds(number: int | float) -> float:
    unit = next((unit for least, unit in _UNITS if abs(number) >= least), 1)
    try:
        return float(number) / unit
    except OverflowError:
        raise ValueError("not a time: the number is too long") from None


def to_text(seconds: float) -> str | float:
    """Return Unix seconds as ISO 8601 in UTC; ``moment`` makes the very same float of the text.

    A year without four digits in ISO 8601 stays a number, and so does a tiny fraction.
    """
    exact = Decimal(repr(seconds))
    if int(exact.as_tuple().exponent) < -_FINEST:
        return seconds
    whole = floor(exact)
    try:
        shown = (_EPOCH + timedelta(seconds=whole)).replace(tzinfo=None).isoformat()
    except OverflowError:
        return seconds
    digits = format(exact - whole, "f").partition(".")[2].rstrip("0")
    return f"{shown}.{digits}Z" if digits else f"{shown}Z"
