"""Times in the notations of foreign files, and times as text without loss of a digit."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import floor
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FINEST: Final = 16
_LONGEST: Final = 64
_FRACTION: Final = re.compile(r"(.*:\d\d)[.,](\d+)(.*)")

# Beyond the first of each, a number is no moment of an agent's life in the unit before it.
_UNITS: Final = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))


def moment(value: object) -> float | None:
    """Return a time as Unix seconds: a number of seconds down to nanoseconds, or ISO 8601 text.

    A text without a zone is taken for UTC. None stays None; anything else raises ``ValueError``.
    """
    if value is None or value == "":
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _seconds(value)
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise ValueError(f"not a time: {str(value)[:_LONGEST]!r}")
    text, fraction = value.strip(), "0"
    if parts := _FRACTION.fullmatch(text):
        text, fraction = parts[1] + parts[3], f"0.{parts[2]}"
    try:
        told = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"not a time: {value!r}") from None
    whole = (told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp()
    return float(Decimal(whole) + Decimal(fraction))


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
