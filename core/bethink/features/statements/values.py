"""The values that a statement tells: numbers, amounts, dates, times and identifiers."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, TypeAlias

from ...model.patterns import lazy_pattern
from ...text import stem
from . import lexicon as lex

_Reading: TypeAlias = tuple[str, str, str, str]

_MAX_NUMBERS: Final = 4
NEAR_TERMS: Final = 6

_SEGMENTS = lazy_pattern(r"[^\W_]+")
THOUSANDS = lazy_pattern(r"(?<=\d),(?=\d{3}(?!\d))")


@dataclass(frozen=True, slots=True)
class Value:
    """A number, date, time or identifier, the counted term (``head``), and the terms ``near``.

    ``amount`` is the size in the basic unit of the kind, ``told`` the number as written and
    ``unit`` the unit; of an identifier, the shape, such as "a-a-0". ``per`` is the time of a rate,
    as in "per minute".
    """

    kind: str
    amount: str
    told: str
    unit: str
    head: str
    near: frozenset[str]
    per: str


def find_values(tokens: list[str], terms: list[str], last: tuple[str, ...]) -> Iterator[Value]:
    """Yield the values of a statement; *last* is the subject of the statement before.

    Numbers in rows are sums and lists, and not the subject of a statement.
    """
    named = [
        (i, *value)
        for i, token in enumerate(tokens)
        if not (token.isalpha() and token not in lex.VALUES) and (value := _parse_value(tokens, i))
    ]
    if sum(kind in lex.COUNTED for _, kind, *_ in named) > _MAX_NUMBERS:
        named = [value for value in named if value[1] not in lex.COUNTED]
    # A unit belongs to the amount and names no thing, so a unit is no content.
    content = ["" if t in lex.MEASURES else term for t, term in zip(tokens, terms, strict=True)]
    places = [i for i, term in enumerate(content) if term]
    for i, kind, amount, number, unit in named:
        at = bisect_left(places, i)
        around = places[max(at - NEAR_TERMS, 0) : at + NEAR_TERMS]
        near = frozenset(content[j] for j in around if j != i)
        head = next(filter(None, content[i + 1 : i + 3]), "") if kind in lex.COUNTED else ""
        near = near if len(near) > 1 else near.union(last)
        yield Value(kind, amount, number, unit, head, near, _per(tokens, i))


def _per(tokens: list[str], i: int) -> str:
    """Return the unit of the value at a place, or an empty string."""
    for per, unit in pairwise(tokens[i + 1 : i + 5]):
        if per in ("per", "a", "an", "each", "every") and unit in lex.UNITS:
            return stem(unit)
    return ""


def _parse_value(tokens: list[str], i: int) -> _Reading | None:
    """Return kind, amount, number and unit of the value at a place; see ``Value``."""
    token = lex.NUMBERS.get(tokens[i], tokens[i])
    if token in lex.WEEKDAYS:
        return _date("weekday", lex.WEEKDAYS[token])
    before, (after, then) = tokens[i - 1] if i else "", (*tokens[i + 1 : i + 3], "", "")[:2]
    if token in lex.MONTHS:
        sure = token != "may" or before in ("in", "of") or before.isdigit() or after.isdigit()
        return _date("month", lex.MONTHS[token]) if sure else None
    if is_identifier(token):
        return "identifier", token, token, _SEGMENTS.sub(_shape, token)
    if not is_number(token) or "ago" in (after, then):  # "two days ago": a new day every day
        return None
    amount = _amount(token)
    if (month := _month(tokens, i)) and len(amount) < 3:
        return _date("day", f"{month} {amount}")
    if before == "q" and len(amount) == 1:
        return _date("quarter", amount)
    if after in lex.HOURS or ":" in token:
        return _date("time", _clock(token, after))
    return _measure(amount, before, after, then)


def _date(kind: str, amount: str) -> _Reading:
    return kind, amount, amount, ""


def _shape(segment: re.Match[str]) -> str:
    return "a" if segment[0].isalpha() else "0" if segment[0].isdigit() else "x"


def _measure(amount: str, before: str, after: str, then: str) -> _Reading:
    """Return kind, amount, number and unit of a number between the given tokens."""
    scale = lex.SCALES.get(after, 1.0)
    if after == "m" and before not in lex.MONEY and then not in lex.MONEY:
        scale = 1.0  # meters
    if scale > 1:
        amount, after = _scale(amount, scale), then
    if money := lex.MONEY.get(before) or lex.MONEY.get(after):
        return "money", f"{amount} {money}", amount, money
    if scale == 1 and len(amount) == 4 and amount.isdigit() and amount[:2] in ("19", "20"):
        return _date("year", amount)
    if after in lex.SHARES:
        return _date("percent", amount)
    kind, size = lex.UNITS.get(after, ("number", 1.0))
    return kind, _scale(amount, size), amount, after if kind != "number" else ""


def _scale(amount: str, factor: float) -> str:
    try:
        return amount if factor == 1 else f"{float(amount) * factor:.15g}"
    except ValueError:
        return amount


def _clock(token: str, half: str) -> str:
    """Return a time of day on the 24-hour clock."""
    hour, _, rest = token.partition(":")
    if not hour.isdecimal():
        return token
    hours = int(hour) % 12 + 12 * (half == "pm") if half in ("am", "pm") else int(hour)
    return f"{hours}:{rest or '00'}"


def _month(tokens: list[str], i: int) -> str:
    """Name the month beside a number, as in "5th of May" and "May 5"."""
    after = [token for token in tokens[i + 1 : i + 4] if token not in lex.ORDINALS][:1]
    return next(
        (lex.MONTHS[t] for t in (*tokens[max(0, i - 1) : i], *after) if t in lex.MONTHS), ""
    )


def _amount(token: str) -> str:
    plain = THOUSANDS.sub("", token)
    try:
        return str(int(plain)) if plain.isdecimal() else f"{float(plain):.15g}"
    except ValueError:
        return plain


@lru_cache(maxsize=1 << 14)
def figure(token: str) -> str:
    """Return the value of a number, weekday or month, or an empty string."""
    if is_number(token):
        return _amount(token)
    return lex.NUMBERS.get(token) or lex.WEEKDAYS.get(token) or lex.MONTHS.get(token, "")


def is_number(token: str) -> bool:
    """Return whether a number begins."""
    return token[0].isdigit() or token[0] == "-"


def is_identifier(token: str) -> bool:
    """Return whether *token* mixes letters with digits or signs, as in "e4711" and "utf-8"."""
    return token.isascii() and not token.isalpha() and token[0].isalpha() and "@" not in token
