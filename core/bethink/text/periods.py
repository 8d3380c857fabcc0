"""The periods that an English question names: "last Friday", "two weeks ago", "in May 2023".

Days are days in UTC, as everywhere. A month without a year and a day of the week are the latest
before the question. "This weekend" and "on Friday" may be to come, and name no period, but "did …
on Friday" does. Queries are never saved: a change of this file needs no new ``SEGMENT_FORMAT``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeAlias

from ..model.patterns import lazy_pattern
from .dates import MONTHS, WEEKDAYS, utc

_Days: TypeAlias = tuple[datetime, datetime]
"""The first day, and the day after the last day."""

_Rule: TypeAlias = Callable[[re.Match[str], datetime], _Days]
"""Returns the days that a match names, for a question of the given day."""

_DAY: Final = timedelta(days=1)
_UNITS: Final = {"day": 1, "week": 7, "month": 30.44, "year": 365.25}  # days
_NUMBERS: Final = {
    "a": 1, "an": 1, "one": 1, "two": 2, "couple": 2, "three": 3, "few": 3, "four": 4, "five": 5,
    "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip

_COUNT: Final = rf"(?:an? )?(?P<count>{'|'.join(_NUMBERS)}|\d{{1,3}}) (?:of )?"
_UNIT: Final = f"(?P<unit>{'|'.join(_UNITS)})"
_MONTH: Final = f"(?P<month>{'|'.join(MONTHS)})"
_DAY_OF_MONTH: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR: Final = r"(?P<year>(?:19|20)\d\d)"
_MAY_NAME: Final = lazy_pattern(
    rf"day\b|last|tonight|this|ago|past|previous|weekend|\d{{4}}|{'|'.join(MONTHS)}"
)


class Period(NamedTuple):
    """The time from *start* to before *end*, in Unix seconds."""

    start: float
    end: float


def asked_periods(text: str, now: float) -> list[Period]:
    """Return the periods that *text*, asked at the time *now*, names."""
    rest, moment = text.lower(), utc(now)
    if moment is None or not _MAY_NAME.search(rest):
        return []
    today = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    found = []
    for pattern, rule in _RULES:
        for match in pattern.finditer(rest):
            bound = match["bound"]
            try:
                first, end = rule(match, today)
                end = max(end, today + _DAY) if bound in ("since", "after") else end
                period = Period(first.timestamp(), end.timestamp())
            except (OverflowError, ValueError):  # no day of the calendar
                continue
            if bound not in ("before", "until"):
                found.append(period)
        rest = pattern.sub("|", rest)
    return found


def _one_day(first: datetime) -> _Days:
    return first, first + _DAY


def _yesterday(match: re.Match[str], today: datetime) -> _Days:
    return _one_day(today - (2 * _DAY if match["before"] else _DAY))


def _today(match: re.Match[str], today: datetime) -> _Days:
    return _one_day(today)


def _ago(match: re.Match[str], today: datetime) -> _Days:
    middle, around = today - _span(match), max(round(_UNITS[match["unit"]] / 2), 1) * _DAY
    return middle - around, middle + around + _DAY


def _last_few(match: re.Match[str], today: datetime) -> _Days:
    return today - _span(match), today + _DAY


def _span(match: re.Match[str]) -> timedelta:
    count = match["count"] or "one"
    return timedelta(round((_NUMBERS.get(count) or int(count)) * _UNITS[match["unit"]]))


def _this(match: re.Match[str], today: datetime) -> _Days:
    return _start_of(match["unit"], today), today + _DAY


def _last(match: re.Match[str], today: datetime) -> _Days:
    end = _start_of(match["unit"], today)
    return _start_of(match["unit"], end - _DAY), end


def _start_of(unit: str, day: datetime) -> datetime:
    if unit == "week":
        return day - day.weekday() * _DAY
    return day.replace(day=1) if unit == "month" else day.replace(month=1, day=1)


def _weekend(match: re.Match[str], today: datetime) -> _Days:
    saturday = today - (today.weekday() - 5) % 7 * _DAY
    return saturday, saturday + 2 * _DAY


def _weekday(match: re.Match[str], today: datetime) -> _Days:
    back = (today.weekday() - WEEKDAYS.index(match["weekday"])) % 7
    return _one_day(today - (back or 7) * _DAY)


def _date(match: re.Match[str], today: datetime) -> _Days:
    return _one_day(datetime.fromisoformat(match["date"]).replace(tzinfo=today.tzinfo))


def _day_of_month(match: re.Match[str], today: datetime) -> _Days:
    return _one_day(_latest(match, today, int(match["day"])))


def _month(match: re.Match[str], today: datetime) -> _Days:
    first = _latest(match, today, 1)
    return first, (first + 31 * _DAY).replace(day=1)


def _latest(match: re.Match[str], today: datetime, day: int) -> datetime:
    """Return the *day* of the matched month, in the matched year or the latest before *today*."""
    year, month = int(match["year"] or today.year), MONTHS.index(match["month"]) + 1
    found = today.replace(year=year, month=month, day=day)
    return found if match["year"] or found <= today else found.replace(year=year - 1)


def _year(match: re.Match[str], today: datetime) -> _Days:
    first = today.replace(year=int(match["year"]), month=1, day=1)
    return first, first.replace(year=first.year + 1)


# A rule does not see what an earlier rule has matched.
_RULES: Final[tuple[tuple[re.Pattern[str], _Rule], ...]] = tuple(
    (lazy_pattern(rf"\b(?:(?P<bound>since|after|before|until) )?(?:{pattern})\b"), rule)
    for pattern, rule in (
        (r"(?:the )?(?P<before>day before )?yesterday|last night", _yesterday),
        (r"today|tonight|this (?:morning|afternoon|evening)", _today),
        (rf"{_COUNT}{_UNIT}s? ago", _ago),
        (rf"(?:last|past|previous) {_COUNT}{_UNIT}s?", _last_few),
        (r"past (?P<count>)(?P<unit>week|month|year)", _last_few),
        (r"this (?P<unit>week|month|year)", _this),
        (r"(?:last|previous) (?P<unit>week|month|year)", _last),
        (r"(?:last|past|previous|over the) weekend", _weekend),
        (rf"(?:last|past|previous) (?P<weekday>{'|'.join(WEEKDAYS)})", _weekday),
        (r"(?P<date>\d{4}-\d\d-\d\d)", _date),
        (rf"{_DAY_OF_MONTH} (?:of )?{_MONTH}(?:,? {_YEAR})?", _day_of_month),
        (rf"{_MONTH} {_DAY_OF_MONTH}(?:,? {_YEAR})?", _day_of_month),
        (rf"{_MONTH},? {_YEAR}", _month),
        (rf"(?:in|during|of|last|this|early|late|mid) {_MONTH}(?P<year>)", _month),
        (rf"(?:in|during|of|for|from) {_YEAR}", _year),
        (rf"(?:did|was|were|had)\b.* on (?:the )?(?P<weekday>{'|'.join(WEEKDAYS)})", _weekday),
    )
)
