"""English stems, so that "deployed" finds "deploying".

This is Martin Porter's algorithm of 1980, written from its published definition
(https://snowballstem.org/algorithms/porter/stemmer.html). A word is cut step by step; most suffixes
are only touched inside a region of the word: R1 starts after the first consonant that follows a
vowel, R2 is the same again inside R1. A consonant ``y`` is written ``Y`` while at work.
"""

from __future__ import annotations

from functools import lru_cache

from ..model.patterns import lazy_pattern

_Rules = dict[str, tuple[tuple[str, str], ...]]

_DOUBLES = frozenset(["bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"])
_CONSONANT_Y = lazy_pattern("^y|([aeiouy])y")
_VOWEL = lazy_pattern("[aeiouy]")
_REGION = lazy_pattern("[^aeiouy]*[aeiouy]+[^aeiouy]")
_SHORT_WORD = lazy_pattern("[^aeiouy]+[aeiouy][^aeiouywxY]")


def _rules(table: str) -> _Rules:
    """Read "suffix>replacement" and group by the last two letters, the longest suffix first."""
    found: dict[str, list[tuple[str, str]]] = {}
    for entry in table.split():
        suffix, _, replacement = entry.partition(">")
        found.setdefault(suffix[-2:], []).append((suffix, replacement))
    return {end: tuple(sorted(rules, key=lambda r: -len(r[0]))) for end, rules in found.items()}


_STEP_2 = _rules(
    "ational>ate tional>tion enci>ence anci>ance izer>ize abli>able alli>al entli>ent eli>e "
    "ousli>ous ization>ize ation>ate ator>ate alism>al iveness>ive fulness>ful ousness>ous "
    "aliti>al iviti>ive biliti>ble"
)
_STEP_3 = _rules("icate>ic ative> alize>al iciti>ic ical>ic ful> ness>")
_STEP_4 = _rules(
    "al> ance> ence> er> ic> able> ible> ant> ement> ment> ent> ion> ou> ism> ate> iti> ous> ive> "
    "ize>"
)
_DERIVED = frozenset(["ll", *_STEP_2, *_STEP_3, *_STEP_4])


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Cut an English word, given in lower case, to its stem.

    Two letters or fewer stay as they are, as in Porter's own program, though not in his paper.
    """
    if len(word) < 3:
        return word
    if "y" in word:
        return _cut(_CONSONANT_Y.sub(r"\1Y", word)).replace("Y", "y")
    return _cut(word)


def _cut(word: str) -> str:
    """Do all steps; most words leave early because nothing in them looks like a suffix."""
    if word[-1] == "s":
        word = _without_plural(word)
    if word.endswith(("ed", "ing")):
        word = _without_inflection(word)
    if word[-1] in "yY" and _VOWEL.search(word, 0, len(word) - 1):
        word = word[:-1] + "i"
    if word[-1] == "e" or word[-2:] in _DERIVED:
        region = _REGION.match(word)
        return _without_derivation(word, region.end()) if region else word
    return word


def _without_plural(word: str) -> str:
    """Do step 1a."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word if word.endswith("ss") else word[:-1]


def _without_inflection(word: str) -> str:
    """Do step 1b."""
    if word.endswith("eed"):
        region = _REGION.match(word, 0, len(word) - 3)
        return word[:-1] if region else word
    base = word[: -2 if word[-1] == "d" else -3]
    if not _VOWEL.search(base):
        return word
    if base.endswith(("at", "bl", "iz")) or _SHORT_WORD.fullmatch(base):
        return base + "e"
    return base[:-1] if base[-2:] in _DOUBLES else base


def _without_derivation(word: str, r1: int) -> str:
    """Do steps 2 to 5, given where R1 starts."""
    region = _REGION.match(word, r1)
    r2 = region.end() if region else len(word)
    word = _replaced(word, _STEP_2, r1)
    word = _replaced(word, _STEP_3, r1)
    if not word.endswith("ion") or word[-4:-3] in "st":
        word = _replaced(word, _STEP_4, r2)
    if word[-1] == "e":
        word = _without_e(word, r1, r2)
    return word[:-1] if word.endswith("ll") and len(word) > r2 else word


def _without_e(word: str, r1: int, r2: int) -> str:
    """Do step 5a."""
    base = word[:-1]
    if len(base) < r1 or (len(base) < r2 and _SHORT_WORD.fullmatch(base)):
        return word
    return base


def _replaced(word: str, rules: _Rules, region: int) -> str:
    """Apply the longest suffix that fits, if it lies inside the region."""
    for suffix, replacement in rules.get(word[-2:], ()):
        if word.endswith(suffix):
            start = len(word) - len(suffix)
            return word[:start] + replacement if start >= region else word
    return word
