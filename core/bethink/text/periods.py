"""The periods that an English question names: "last Friday", "in early May", "over Christmas".

Days are days in UTC, as everywhere. A month, season or feast without a year and a day of the week
are the latest before the question. "This weekend" and "on Friday" may be to come, and name no
period, but "did … on Friday" does. Queries are never saved: a change of this file needs no
new ``SEGMENT_FORMAT``.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeAlias, cast

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
_SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # first months
_FEASTS: Final = {  # the month, the day and the number of days
    "christmas eve": (12, 24, 1), "christmas": (12, 24, 3), "new year's eve": (12, 31, 1),
    "new year": (12, 31, 2), "halloween": (10, 31, 1), "easter": (0, 0, 4),
}  # fmt: skip
_PARTS: Final = {  # which part, of how many
    "early": (0, 3), "beginning": (0, 3), "start": (0, 3), "mid": (1, 3), "middle": (1, 3),
    "late": (2, 3), "end": (2, 3), "first": (0, 0), "second": (1, 0), "third": (2, 0),
    "fourth": (3, 0), "last": (-1, 0),
}  # fmt: skip

_NUMBER: Final = rf"{'|'.join(_NUMBERS)}|\d{{1,3}}"
_COUNT: Final = rf"(?:an? )?(?P<count>{_NUMBER}) (?:of )?"
_UNIT: Final = f"(?P<unit>{'|'.join(_UNITS)})"
# "Jan's" names a person.
_MONTHS: Final = "|".join(f"{name[:3]}(?:{name[3:]}|(?!'))" for name in MONTHS)
_MONTH: Final = f"(?P<month>sept|{_MONTHS})"
_FEAST: Final = rf"(?P<feast>{'|'.join(_FEASTS)})(?:'s)?(?: day)?"
_WEEKDAY: Final = f"(?P<weekday>{'|'.join(WEEKDAYS)})"
_DAY_OF_MONTH: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR: Final = r"(?P<year>(?:19|20)\d\d)"
_BEFORE: Final = lazy_pattern(
    rf"(?<!\w)(?:(?:(?:an? )?(?P<steps>the|{_NUMBER}) (?:of )?(?P<step>day|week|month)s? )?"
    r"(?P<bound>since|after|before|until) )?"
    r"(?:(?:the )?(?P<part>early|late|mid|(?:beginning|start|middle|end) of"
    r"|(?:first|second|third|fourth|last) (?:\w+ )?(?:half|quarter|weekend|week|days) (?:of|in))"
    r"[ -](?:in )?)?"
    r"(?P<in>(?<=since )|(?<=after )|(?<=before )|(?<=until )"
    r"|(?:in|during|of|over|around|(?:the )?(?:last|this|past)) )?(?P<at>(?:at|on) )?"
    r"(?:(?:the|last|this|past) )*$"
)
_A_YEAR: Final = lazy_pattern(rf"\b{_YEAR}\b")
# "In May last year", and "last year at Easter".
_OF_A_YEAR: Final = rf"(?:{'|'.join((*MONTHS, *_SEASONS, *_FEASTS))})\b"
_YEAR_AFTER: Final = lazy_pattern(rf"\b({_OF_A_YEAR}),?(?: of)?(?: the)? (last|this) year\b")
_YEAR_BEFORE: Final = lazy_pattern(
    rf"\b(last|this) year,? ((?:in|at|over|during|on) (?:the )?{_OF_A_YEAR})"
)
_BETWEEN: Final = lazy_pattern(
    r"\b(?:between|from) (\S+(?: \S+)?(?: \d{4})?) (?:and|to|until) (\S+(?: \S+){0,2})"
)
# "In Spring" may be the name of a framework, "from Summer" of a girl; "does this fall" is a verb.
_NAMES: Final = lazy_pattern(
    r"(?<!the )(?<!last )(?<!this )(?<!past )\b(?:Spring|Summer|Winter)\b(?!(?: of)? \d{4})"
    r"|\b(?i:spring (?:boot|cloud|data|framework|mvc|security)"
    r"|(?:does|did|can|could|may|might|should|will|would) this (?:fall|spring))\b"
)
_MAY_NAME: Final = lazy_pattern(
    r"day\b|last|tonight|this|ago|past|previous|weekend|the (?:week|month|quarter|year)|\d{4}"
    rf"|q[1-4]|{'|'.join((*_SEASONS, *_FEASTS))}|(?:sept|{'|'.join(name[:3] for name in MONTHS)})\b"
    rf"|{'|'.join(MONTHS)}"
)
_MOST: Final = 32  # periods that a text names; a longer list is no question


class Period(NamedTuple):
    """The time from *start* to before *end*, in Unix seconds."""

    start: float
    end: float


def asked_periods(text: str, now: float) -> list[Period]:
    """Return the periods that *text*, asked at the time *now*, names."""
    moment = utc(now)
    if moment is None or not _MAY_NAME.search(text.lower()):
        return []
    rest = _NAMES.sub("|", text).lower().replace("\u2019", "'")
    if " year" in rest:
        rest = _YEAR_BEFORE.sub(r"\2 \1 year", rest)
        rest = _YEAR_AFTER.sub(lambda year: f"{year[1]} {moment.year - (year[2] == 'last')}", rest)
    if (match := _BETWEEN.search(rest)) and (period := _between(match[1], match[2], now)):
        return [period]
    today = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    found = []
    for pattern, rule, signs in _RULES:
        for match in pattern.finditer(rest):
            start, end = match.span()
            before = cast("re.Match[str]", _BEFORE.search(rest, max(start - 50, 0), start))
            if signs and all(before[sign] is None for sign in ("part", *signs)):
                continue
            rest = rest[: before.start()] + "|" * (end - before.start()) + rest[end:]
            try:
                days = _beside(before, _part_of(before, rule(match, today)), today)
            except (OverflowError, ValueError):  # no day of the calendar
                continue
            if days is not None:
                found.append(Period(days[0].timestamp(), days[1].timestamp()))
            if len(found) == _MOST:
                return found
    return found


def _between(one: str, other: str, now: float) -> Period | None:
    """Return the time from *one* to *other*, None unless each names a single period."""
    # "Between May and July 2023": the year is of both.
    if (year := _A_YEAR.search(other)) and not _A_YEAR.search(one):
        one += " " + year[0]
    first, last = (asked_periods(f"in {each}", now) for each in (one, other))
    if not len(first) == len(last) == 1:
        return None
    start, end = first[0].start, last[0].end
    end = end if end > start else now
    return Period(start, end) if start < end else None


def _part_of(match: re.Match[str], days: _Days) -> _Days:
    """Return the part of the *days* that the match names, such as "early", "first week"."""
    if not match["part"]:
        return days
    (first, end), words = days, match["part"].split()
    place, parts = _PARTS[words[0]]
    parts = parts or {"half": 2, "quarter": 4}.get(words[-2], 0)
    length = (end - first).days / parts * _DAY if parts else 7 * _DAY
    start = end - length if place < 0 else first + place * length
    return start, start + length


def _beside(match: re.Match[str], days: _Days, today: datetime) -> _Days | None:
    """Return the days that begin or end with the *days*, or lie some time away; None for all."""
    (first, end), bound, step = days, match["bound"], match["step"]
    if bound is None:
        return days
    if step is None:
        return (first, max(end, today + _DAY)) if bound in ("since", "after") else None
    ends = bound in ("before", "until")
    length = round(_UNITS[step]) * _DAY
    if match["steps"] == "the":
        return (first - length, first) if ends else (end, end + length)
    span = _span(match["steps"], step)
    return _around(first - span if ends else end - _DAY + span, step)


def _around(middle: datetime, unit: str) -> _Days:
    """Return the days around the *middle* that people call so many days, weeks, months away."""
    around = max(round(_UNITS[unit] / 2), 1) * _DAY
    return middle - around, middle + around + _DAY


def _span(count: str, unit: str) -> timedelta:
    return timedelta(round((_NUMBERS.get(count) or int(count)) * _UNITS[unit]))


def _one_day(first: datetime) -> _Days:
    return first, first + _DAY


def _yesterday(match: re.Match[str], today: datetime) -> _Days:
    return _one_day(today - _DAY)


def _today(match: re.Match[str], today: datetime) -> _Days:
    return _one_day(today)


def _ago(match: re.Match[str], today: datetime) -> _Days:
    return _around(today - _span(match["count"], match["unit"]), match["unit"])


def _last_few(match: re.Match[str], today: datetime) -> _Days:
    return today - _span(match["count"] or "one", match["unit"]), today + _DAY


def _this(match: re.Match[str], today: datetime) -> _Days:
    return _unit(match["unit"], today)[0], today + _DAY


def _whole(match: re.Match[str], today: datetime) -> _Days:
    return _unit(match["unit"], today)


def _last(match: re.Match[str], today: datetime) -> _Days:
    first, end = _unit(match["unit"], _unit(match["unit"], today)[0] - _DAY)
    return _unit(match["unit"], first - _DAY) if "before last" in match[0] else (first, end)


def _unit(unit: str, day: datetime) -> _Days:
    """Return the week, month, quarter or year with the *day*."""
    if unit == "week":
        first = day - day.weekday() * _DAY
        return first, first + 7 * _DAY
    months = {"month": 1, "quarter": 3}.get(unit, 12)
    first = day.replace(day=1, month=day.month - (day.month - 1) % months)
    return first, _months_later(first, months)


def _months_later(first: datetime, months: int) -> datetime:
    years, month = divmod(first.month - 1 + months, 12)
    return first.replace(year=first.year + years, month=month + 1)


def _weekend(match: re.Match[str], today: datetime) -> _Days:
    saturday = today - (today.weekday() - 5) % 7 * _DAY
    return saturday, saturday + 2 * _DAY


def _weekday(match: re.Match[str], today: datetime) -> _Days:
    back = (today.weekday() - WEEKDAYS.index(match["weekday"])) % 7
    return _one_day(today - (back or 7) * _DAY)


def _date(match: re.Match[str], today: datetime) -> _Days:
    return _one_day(datetime.fromisoformat(match["date"]).replace(tzinfo=today.tzinfo))


def _day_of_month(match: re.Match[str], today: datetime) -> _Days:
    return _one_day(_latest(match, today, _month_number(match), int(match["day"])))


def _month(match: re.Match[str], today: datetime) -> _Days:
    first = _latest(match, today, _month_number(match), 1)
    return first, _months_later(first, 1)


def _month_number(match: re.Match[str]) -> int:
    return next(i for i, name in enumerate(MONTHS, 1) if name.startswith(match["month"][:3]))


def _quarter(match: re.Match[str], today: datetime) -> _Days:
    first = _latest(match, today, 3 * int(match["quarter"]) - 2, 1)
    return first, _months_later(first, 3)


def _season(match: re.Match[str], today: datetime) -> _Days:
    first = _latest(match, today, _SEASONS[match["season"]], 1)
    end = _months_later(first, 3)
    if end > today and match.string[: match.start()].endswith("last "):
        first, end = (day.replace(year=day.year - 1) for day in (first, end))
    return first, end


def _feast(match: re.Match[str], today: datetime) -> _Days:
    month, day, length = _FEASTS[match["feast"]]
    first = _latest(match, today, month, day) if month else _good_friday(match, today)
    return first, first + length * _DAY


def _good_friday(match: re.Match[str], today: datetime) -> datetime:
    """Return the Friday before Easter, in the matched year or the latest before *today*."""
    year = int(match["year"] or today.year)
    # The rule of Gauss, for the years 1900 to 2099.
    moon = (19 * (year % 19) + 24) % 30
    days = moon + (2 * (year % 4) + 4 * (year % 7) + 6 * moon + 5) % 7
    days -= 7 * (days == 35 or (days == 34 and moon == 28 and year % 19 > 10))
    first = datetime(year, 3, 20, tzinfo=today.tzinfo) + days * _DAY
    if match["year"] or first <= today:
        return first
    return _good_friday(match, today.replace(year=today.year - 1, month=12, day=31))


def _latest(match: re.Match[str], today: datetime, month: int, day: int) -> datetime:
    """Return the *day* of the *month*, in the matched year or the latest before *today*."""
    if match["year"]:
        return today.replace(year=int(match["year"]), month=month, day=day)
    for year in range(today.year, today.year - 9, -1):  # up to eight years to 29 February
        if day <= monthrange(year, month)[1]:
            found = today.replace(year=year, month=month, day=day)
            if found <= today:
                return found
    raise ValueError(day)


def _year(match: re.Match[str], today: datetime) -> _Days:
    return _unit("year", today.replace(year=int(match["year"]), month=1, day=1))


# A rule does not see what an earlier rule has matched. A name that may be no time, or to come,
# needs a sign before: "in" and "at" for prepositions, "part" for "the first half of" and the like.
_RULES: Final[tuple[tuple[re.Pattern[str], _Rule, tuple[str, ...]], ...]] = tuple(
    (lazy_pattern(rf"\b(?:{pattern})\b"), rule, tuple(signs.split()))
    for pattern, rule, signs in (
        (r"yesterday|last night", _yesterday, ""),
        (r"today|tonight|this (?:morning|afternoon|evening)", _today, ""),
        (r"(?P<date>\d{4}-\d\d-\d\d)", _date, ""),
        (rf"{_DAY_OF_MONTH} (?:of )?{_MONTH}\b\.?(?:,?(?: of)? {_YEAR})?", _day_of_month, ""),
        (rf"{_MONTH}\b\.? {_DAY_OF_MONTH}\b(?:,? {_YEAR})?", _day_of_month, ""),
        (rf"{_MONTH}\b\.?(?:,| of)? {_YEAR}", _month, ""),
        (rf"{_MONTH}(?P<year>)", _month, "in"),
        (rf"q(?P<quarter>[1-4])(?: of)? {_YEAR}", _quarter, ""),
        (r"q(?P<quarter>[1-4])(?P<year>)", _quarter, "in"),
        (rf"(?P<season>{'|'.join(_SEASONS)})(?: of)? {_YEAR}", _season, ""),
        (rf"(?P<season>{'|'.join(_SEASONS)})(?P<year>)", _season, "in"),
        (rf"{_FEAST}(?:,| of)? {_YEAR}", _feast, ""),
        (rf"{_FEAST}(?P<year>)", _feast, "in at"),
        (rf"{_YEAR}(?:(?<=since \d{{4}})|(?! \w))", _year, "bound"),  # not "after 2000 steps"
        (rf"(?:in|during|of|for|from) {_YEAR}", _year, ""),
        (rf"{_COUNT}{_UNIT}s? ago", _ago, ""),
        (rf"(?:last|past|previous) {_COUNT}{_UNIT}s?", _last_few, ""),
        (r"past (?P<count>)(?P<unit>week|month|year)", _last_few, ""),
        (r"(?P<unit>week|month|year) before last", _last, ""),
        (r"(?<!last )(?P<unit>week|month|quarter|year)", _whole, "part"),
        (r"this (?P<unit>week|month|quarter|year)", _this, ""),
        (r"(?:last|previous) (?P<unit>week|month|quarter|year)(?! of\b)", _last, ""),
        (r"(?:last|past|previous|over the) weekend", _weekend, ""),
        (r"(?:did|was|were|had|happened)\b.{0,200} (?:on|at) (?:the )?weekend", _weekend, ""),
        (rf"(?:last|past|previous) {_WEEKDAY}", _weekday, ""),
        (rf"(?:did|was|were|had|happened)\b.{{0,200}} on (?:the )?{_WEEKDAY}", _weekday, ""),
    )
)
