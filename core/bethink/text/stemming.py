"""English stems, so that "deployed" finds "deploying".

This is Martin Porter's algorithm of 1980, written from the published definition
(https://snowballstem.org/algorithms/porter/stemmer.html). A word loses suffixes step by step. Most
steps touch a suffix only inside a region of the word: R1 starts after the first consonant that
follows a vowel, R2 is the same region of R1. A consonant ``y`` is written ``Y`` during the steps.
A change of stems requires a higher ``SEGMENT_FORMAT`` and a new name of ``HashEmbedder``.
"""

from __future__ import annotations

from functools import lru_cache

from ..model.patterns import lazy_pattern

_Rules = dict[str, list[tuple[str, str]]]

_DOUBLES = frozenset(["bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"])
_CONSONANT_Y = lazy_pattern("^y|([aeiouy])y")
_VOWEL = lazy_pattern("[aeiouy]")
_REGION = lazy_pattern("[^aeiouy]*[aeiouy]+[^aeiouy]")
_SHORT_WORD = lazy_pattern("[^aeiouy]+[aeiouy][^aeiouywxY]")


def _rules(table: str) -> _Rules:
    """Read "suffix>replacement" and group by the last two letters, the longest suffix first."""
    rules: _Rules = {}
    for entry in sorted(table.split(), key=lambda entry: -entry.index(">")):
        suffix, _, replacement = entry.partition(">")
        rules.setdefault(suffix[-2:], []).append((suffix, replacement))
    return rules


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
_DERIVED_ENDS = frozenset(["ll", *_STEP_2, *_STEP_3, *_STEP_4])


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the stem of an English word in lower case.

    A word of one or two letters stays: Porter's program adds the exception to his paper.
    """
    if len(word) < 3:
        return word
    if "y" in word:
        return _run_steps(_CONSONANT_Y.sub(r"\1Y", word)).replace("Y", "y")
    return _run_steps(word)


def uninflect(word: str) -> str:
    """Return what the plural and the verb forms of an English word in lower case have in common.

    "Fails", "failed" and "failing" become "fail", and "failures" becomes "failur", as "failure".
    """
    return _run_step_1(word).removesuffix("e") if len(word) > 2 else word


def _run_steps(word: str) -> str:
    """Run steps 1 to 5; most words leave before step 2, since no suffix of steps 2 to 5 fits."""
    word = _run_step_1(word)
    if word[-1] == "e" or word[-2:] in _DERIVED_ENDS:
        region = _REGION.match(word)
        return _remove_derivation(word, region.end()) if region else word
    return word


def _run_step_1(word: str) -> str:
    """Remove the endings of the plural and of verb forms."""
    if word[-1] == "s":  # step 1a
        if word.endswith(("sses", "ies")):
            word = word[:-2]
        elif not word.endswith("ss"):
            word = word[:-1]
    if word.endswith(("ed", "ing")):
        word = _remove_inflection(word)
    if word[-1] in "yY" and _VOWEL.search(word, 0, len(word) - 1):  # step 1c
        word = word[:-1] + "i"
    return word


def _remove_inflection(word: str) -> str:
    """Run step 1b."""
    if word.endswith("eed"):
        return word[:-1] if _REGION.match(word, 0, len(word) - 3) else word
    base = word[: -2 if word[-1] == "d" else -3]
    if not _VOWEL.search(base):
        return word
    # "hop(p)ing" loses the double letter, "hoping" and "sized" get the silent e back.
    if base.endswith(("at", "bl", "iz")) or _SHORT_WORD.fullmatch(base):
        return base + "e"
    return base[:-1] if base[-2:] in _DOUBLES else base


def _remove_derivation(word: str, r1: int) -> str:
    """Run steps 2 to 5; *r1* is the start of R1."""
    region = _REGION.match(word, r1)
    r2 = region.end() if region else len(word)
    word = _replace_suffix(word, _STEP_2, r1)
    word = _replace_suffix(word, _STEP_3, r1)
    if not word.endswith("ion") or word[-4:-3] in "st":  # "-ion" goes after s or t only
        word = _replace_suffix(word, _STEP_4, r2)
    if word[-1] == "e":  # step 5a: an e stays where the rest is a short word, as in "hope"
        base = word[:-1]
        if len(base) >= r2 or (len(base) >= r1 and not _SHORT_WORD.fullmatch(base)):
            word = base
    return word[:-1] if word.endswith("ll") and len(word) > r2 else word  # step 5b


def _replace_suffix(word: str, rules: _Rules, region: int) -> str:
    """Replace the longest suffix that fits, if the suffix lies inside the region."""
    for suffix, replacement in rules.get(word[-2:], ()):
        if word.endswith(suffix):
            start = len(word) - len(suffix)
            return word[:start] + replacement if start >= region else word
    return word
