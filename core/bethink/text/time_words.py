"""Periods in other languages, put into the English that ``periods.py`` reads.

"Im letzten März" becomes "in last march", and "il y a deux semaines" becomes "two week ago".
``times.txt`` has the words. Every other word becomes "x", since a word of time in English may mean
anything else: "im Fall Meyer". Queries are never saved: a change of the words needs no new
``SEGMENT_FORMAT``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Final

from ..model.patterns import lazy_pattern
from .dates import MONTHS, WEEKDAYS
from .tokenizer import fold
from .word_lists import read_sections

UNSPACED: Final = "Chinese and Japanese"

# "De Julio" is of a person, but not "3 de Julio"; months are written so, too.
_PERSON: Final = lazy_pattern(
    r"(?<!\d )\b(?:de |do |von |d['\u2019])(?:Julio|Marco|Abril|Avril|August)\b(?! (?:de )?\d)"
)
_JOINTS: Final = lazy_pattern(r"(?<=\D)[-'\u2019](?=\D)")
_DATE: Final = lazy_pattern(r"(?:(\d{4})年)?(1[0-2]|[1-9])月(?:(\d{1,2})日)?")
_YEAR: Final = lazy_pattern(r"(\d{4})年")

_DAYS: Final = "|".join(WEEKDAYS)
_MONTHS: Final = "|".join(MONTHS)
_UNIT: Final = "day|week|month|year"
_NAMED: Final = rf"{_MONTHS}|{_DAYS}|{_UNIT}|weekend|spring|summer|autumn|winter|christmas|easter"
_COUNT: Final = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|few"
# Other languages have another order of words: "last" and "ago" move.
_ORDERS: Final = [
    (lazy_pattern(rf"\b({_NAMED}) last\b(?! (?:{_UNIT}))"), r"last \1"),
    (lazy_pattern(rf"\b({_COUNT}) last ({_UNIT})\b"), r"last \1 \2"),
    (lazy_pattern(rf"\bago ({_COUNT}|\d+) ({_UNIT})\b"), r"\1 \2 ago"),
    (lazy_pattern(r"\b(early|mid|late) (?:of |the )+"), r"\1 "),
    (lazy_pattern(rf"(?<=\d)\.(?= (?:{_MONTHS}))"), ""),
    (lazy_pattern(r"\byear (?=\d{4}\b)"), ""),
    # "Ropa de verano" is for any summer.
    (lazy_pattern(r"\bof (?:spring|summer|autumn|winter)\b(?! (?:of )?\d{4}\b)"), "x"),
]


@cache
def time_words() -> Mapping[str, Mapping[str, str]]:
    """Return the words of time in English by the word of a language, by the name of the language.

    Words have no accents.
    """
    lists = read_sections(Path(__file__).with_name("times.txt"))
    found, english = {}, [line.split() for line in lists.pop("English")]
    for name, lines in lists.items():
        rows = [line.split() for line in lines]
        if name == UNSPACED:
            pairs = [(f" {row[0]} ", word) for row in rows for word in row[1:]]
        else:
            cells = zip(chain(*english), chain(*rows), strict=True)
            pairs = [(each, word) for each, words in cells for word in words.split("/")]
        spaced = ((each.replace("_", " "), word.replace("_", " ")) for each, word in pairs)
        found[name] = {word: each for each, word in spaced if word != "-"}
    return found


@cache
def _pattern(language: str) -> re.Pattern[str]:
    """Return the pattern of all words, the longest of several words of time first."""
    known = "|".join(sorted(time_words()[language], key=len, reverse=True))
    unspaced = language == UNSPACED
    return re.compile(f"{known}|[^\\x00-\\x7f]" if unspaced else rf"\b(?:{known})\b|[^\W\d]\w*")


def times_in_english(text: str, language: str) -> str:
    """Return *text* with the words of time in English and in English order, "x" for the others."""
    if language == UNSPACED:
        plain = _YEAR.sub(r" in \1 ", _DATE.sub(_date, text))
    else:
        plain = _JOINTS.sub(" ", fold(_PERSON.sub("x", text)))
    table = time_words()[language]
    plain = " ".join(_pattern(language).sub(lambda word: table.get(word[0], "x"), plain).split())
    for pattern, order in _ORDERS:
        plain = pattern.sub(order, plain)
    return plain


def _date(match: re.Match[str]) -> str:
    year, month, day = match.groups()
    return f" in {' '.join(filter(None, (day, MONTHS[int(month) - 1], year)))} "
