"""What kind of thing a text says: whether it asks, tells a time or much else, or instructs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from operator import itemgetter
from typing import Final

from ..model.patterns import lazy_pattern
from .dates import MONTHS
from .stop_words import STOP_WORDS
from .tokenizer import terms

_QUESTION_MARKS: Final = ("?", "\uff1f", "\u061f")
_CLOSING_MARKS: Final = " \t\r\n!\"'\u201d\u2019)]*_~`"
_TIMES: Final = frozenset(
    terms(
        "yesterday today tonight tomorrow ago recently minute hour day week weekend month year "
        "decade century morning noon afternoon evening night midnight spring summer autumn winter "
        "monday tuesday wednesday thursday friday saturday sunday " + " ".join(MONTHS)
    )
)
_FIRST: Final = itemgetter(0)
_SILENT: Final = frozenset(terms(" ".join(STOP_WORDS)))
_PAST: Final = (
    "been|felt|forgot|had|heard|knew|liked|lost|loved|met|mind|missed|needed|saw|seen|thought|told|"
    "tried|wanted|was|went|were|wished|worked"
)
_INSTRUCTION: Final = lazy_pattern(
    r"\W*(?:(?:please|also|and|so|ok|okay)\W+)*(?:always|never|from now on)\b"
    rf"(?!\W+(?:{_PAST})\b)",
    re.IGNORECASE,
)


def ends_asking(text: str) -> bool:
    """Tell whether the text ends with a question mark, but for quotes and the like after it."""
    return text.rstrip(_CLOSING_MARKS).endswith(_QUESTION_MARKS)


def tells_time(found: Collection[str]) -> bool:
    """Tell whether a text of these search terms may say when or how long; of words, in English.

    A number may be a year, a day or an hour.
    """
    return not _TIMES.isdisjoint(found) or any(map(str.isdigit, map(_FIRST, found)))


def telling(found: Iterable[str]) -> int:
    """Count the distinct of these search terms, without those of stop words."""
    return len(set(found) - _SILENT)


def instructs(text: str) -> bool:
    """Tell whether the text is a standing instruction in English: "Always", "Never" do so.

    "Always wanted to see Rome" and "Never mind" are none.
    """
    return _INSTRUCTION.match(text) is not None
