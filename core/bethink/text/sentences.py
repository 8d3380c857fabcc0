"""The kinds of sentences: questions, instructions, mentions of a time, and small talk.

The index saves the results: a change requires a higher ``SEGMENT_FORMAT``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache
from itertools import filterfalse
from operator import itemgetter
from typing import Final

from ..model.patterns import lazy_pattern
from .dates import MONTHS, WEEKDAYS
from .emoji import is_emoji
from .tokenizer import terms
from .word_lists import STOP_WORDS

_QUESTION_MARKS: Final = ("?", "\uff1f", "\u061f")
_CLOSING_MARKS: Final = " \t\r\n!\"'\u201d\u2019)]*_~`"
_TIMES: Final = (
    "yesterday today tonight tomorrow ago recently minute hour day week weekend month year decade "
    "century morning noon afternoon evening night midnight spring summer autumn winter"
)
_FIRST: Final = itemgetter(0)
# Verbs that make a story of "Always wanted …" and small talk of "Never mind".
_STORY_VERBS: Final = (
    "been|felt|forgot|had|heard|knew|liked|lost|loved|met|mind|missed|needed|saw|seen|thought|told|"
    "tried|wanted|was|went|were|wished|worked"
)
_INSTRUCTION: Final = lazy_pattern(
    r"\W*(?:(?:please|also|and|so|ok|okay)\W+)*(?:always|never|from now on)\b"
    rf"(?!\W+(?:{_STORY_VERBS})\b)",
    re.IGNORECASE,
)


def is_question(text: str) -> bool:
    """Return whether the text ends with a question mark, before quotes and brackets."""
    return text.rstrip(_CLOSING_MARKS).endswith(_QUESTION_MARKS)


def is_instruction(text: str) -> bool:
    """Return whether the text is a standing instruction in English: "Always …", "Never …".

    "Always wanted to see Rome" and "Never mind" are no instructions.
    """
    return _INSTRUCTION.match(text) is not None


def mentions_time(found: Collection[str]) -> bool:
    """Return whether search terms may name a time or a duration; words in English.

    A number may be a year, a day or an hour.
    """
    return not _time_terms().isdisjoint(found) or any(map(str.isdigit, map(_FIRST, found)))


def count_content_words(found: Iterable[str]) -> int:
    """Return the number of distinct search terms, stop words and emoji aside."""
    content = set(found) - _stop_terms()
    return len(content) - sum(map(is_emoji, filterfalse(str.isascii, content)))


@cache
def _time_terms() -> frozenset[str]:
    return frozenset(terms(" ".join((_TIMES, *WEEKDAYS, *MONTHS))))


@cache
def _stop_terms() -> frozenset[str]:
    return frozenset(terms(" ".join(STOP_WORDS)))
