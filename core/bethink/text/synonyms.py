"""English words that may stand for one another: "kids" for "children", "doctor" for "physician".

``synonyms.txt`` beside it has a line for each search term, in alphabetical order: up to three other
terms, the likest first, and how alike each is, in percent. ``embedders/static/make_synonyms.py``
says how it was made.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, NamedTuple

FILE: Final = Path(__file__).with_name("synonyms.txt")


class Synonym(NamedTuple):
    """A search term that may stand for another, and how alike they are: a cosine, from .6 to 1."""

    term: str
    likeness: float


@lru_cache(maxsize=1 << 14)
def synonyms(term: str) -> tuple[Synonym, ...]:
    """Return the terms that may stand for *term*, the likest first."""
    lines, head = _lines(), f"{term} "
    place = bisect_left(lines, head)
    if place == len(lines) or not lines[place].startswith(head):
        return ()
    told = lines[place].split()[1:]
    pairs = zip(told[::2], told[1::2], strict=True)
    return tuple(Synonym(other, int(percent) / 100) for other, percent in pairs)


@cache
def _lines() -> list[str]:
    return FILE.read_text(encoding="ascii").splitlines()
