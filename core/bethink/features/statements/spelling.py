"""Capitals: two texts with a word in other capitals name two values, such as two passwords."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from ...model.patterns import lazy_pattern
from .lexicon import HOURS

# Not "3PM" and "10gb", where capitals say nothing.
_WORDS: Final = lazy_pattern(r"(?<![^\W_])(?!\d+[^\W\d_]{0,3}(?!\w))[^\W_]\w*")
# The first word of a sentence has a capital or not; an inner capital ("userId") is chosen.
_FIRST_WORDS: Final = lazy_pattern(
    r"(?:\A|[.!?\u2026\u3002\uff01\uff1f][^\w\s]{0,3}\s)[\W\d_]{0,20}([^\W\d_]\w*)"
)
_INNER_CAPITAL: Final = lazy_pattern(r"[a-z][A-Z]")


def are_spelled_apart(one: str, other: str) -> bool:
    """Return whether a word of both texts has other capitals in each.

    Texts wholly in capitals tell nothing of a word, nor does the first word of a sentence.
    """
    if one == other or one.isupper() or other.isupper():
        return False
    told, others = _spellings(one), _spellings(other)
    return any(told[word] != others[word] for word in told.keys() & others.keys())


@lru_cache(maxsize=1024)
def _spellings(text: str) -> Mapping[str, tuple[str, ...]]:
    """Return the spellings of each word, in order; the first words of sentences aside."""
    first = {found.start(1): found[1] for found in _FIRST_WORDS.finditer(text)}
    spelled: dict[str, dict[str, None]] = {}
    for found in _WORDS.finditer(text):
        word = found.group()
        if found.start() in first:
            if _INNER_CAPITAL.search(word) is None:
                continue
            word = word[0].lower() + word[1:]
        if (folded := word.casefold()) not in HOURS:
            spelled.setdefault(folded, {})[word] = None
    return {word: tuple(forms) for word, forms in spelled.items()}
