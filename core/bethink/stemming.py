"""English stems, so that "deployed" finds "deploying".

This is the Snowball English stemmer ("Porter2"), written from its published definition
(https://snowballstem.org/algorithms/english/stemmer.html, as of Snowball 3.1). A word is cut step
by step; most suffixes are only touched inside a region of the word: R1 starts after the first
non-vowel that follows a vowel, R2 is the same again inside R1. A consonant ``y`` is written ``Y``
while at work.
"""

from __future__ import annotations

import re
from functools import lru_cache

_Rules = dict[str, tuple[tuple[str, str, str], ...]]

_VOWELS = frozenset("aeiouy")
_Y = frozenset("yY")
_E_OR_L = frozenset("el")
_WHOLE_WORDS = {
    "skies": "sky", "idly": "idl", "gently": "gentl", "ugly": "ugli", "early": "earli",
    "only": "onli", "singly": "singl", "sky": "sky", "skis": "ski", "news": "news", "howe": "howe",
    "atlas": "atlas", "cosmos": "cosmos", "bias": "bias", "andes": "andes",
}  # fmt: skip
_KEEP_EED = frozenset(["exceed", "proceed", "succeed"])
_KEEP_ING = frozenset(["inning", "outing", "canning", "herring", "earring", "evening"])
_DOUBLES = frozenset(["bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"])

_CONSONANT_Y = re.compile("^y|([aeiouy])y")
_VOWEL = re.compile("[aeiouy]")
_SHORT_SYLLABLE = re.compile("[^aeiouy][aeiouy][^aeiouywxY]")
_REGION = re.compile("[^aeiouy]*[aeiouy]+[^aeiouy]")
_REGION_1 = re.compile(
    "arsen|commun|emerg|gener|inter|later|organ|past|univers|[^aeiouy]*[aeiouy]+[^aeiouy]"
)


def _rules(table: str) -> _Rules:
    """Read "suffix>replacement/letters that must come before" and group by the last two letters."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for entry in table.split():
        suffix, _, rest = entry.partition(">")
        replacement, _, before = rest.partition("/")
        found.setdefault(suffix[-2:], []).append((suffix, replacement, before))
    return {end: tuple(sorted(rules, key=lambda r: -len(r[0]))) for end, rules in found.items()}


_STEP_2 = _rules(
    "tional>tion enci>ence anci>ance abli>able entli>ent izer>ize ization>ize ational>ate "
    "ation>ate ator>ate alism>al aliti>al alli>al fulness>ful ousli>ous ousness>ous iveness>ive "
    "iviti>ive biliti>ble bli>ble ogist>og ogi>og/l fulli>ful lessli>less li>/cdeghkmnrt"
)
_STEP_3 = _rules("tional>tion ational>ate alize>al icate>ic iciti>ic ical>ic ful> ness>")
_STEP_4 = _rules(
    "al> ance> ence> er> ic> able> ible> ant> ement> ment> ent> ism> ate> iti> ous> ive> ize> "
    "ion>/st"
)
_DERIVED = frozenset(_STEP_2) | frozenset(_STEP_3) | frozenset(_STEP_4)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Cut an English word, given in lower case, to its stem; two letters or fewer stay as is."""
    if len(word) < 3:
        return word
    if word in _WHOLE_WORDS:
        return _WHOLE_WORDS[word]
    if "'" in word:
        word = _without_apostrophes(word)
    if "y" in word:
        return _cut(_CONSONANT_Y.sub(r"\1Y", word)).replace("Y", "y")
    return _cut(word)


def _without_apostrophes(word: str) -> str:
    """Do step 0."""
    word = word.removeprefix("'")
    for suffix in ("'s'", "'s", "'"):
        if word.endswith(suffix):
            return word.removesuffix(suffix)
    return word


def _cut(word: str) -> str:
    """Do steps 1 to 5; most words leave early because nothing in them looks like a suffix."""
    whole = word
    last = word[-1:]
    if last == "s" or (last == "d" and word.endswith("ied")):
        word = _without_plural(word)
    if word.endswith(("ed", "ing", "edly", "ingly")):
        word = _without_inflection(word, whole)
    last = word[-1:]
    if last in _Y and len(word) > 2 and word[-2] not in _VOWELS:
        word = word[:-1] + "i"
    elif last not in _E_OR_L and word[-2:] not in _DERIVED:
        return word
    region = _REGION_1.match(whole)
    return _without_derivation(word, region.end()) if region else word


def _without_plural(word: str) -> str:
    """Do step 1a."""
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith(("us", "ss")) or not _VOWEL.search(word, 0, len(word) - 2):
        return word
    return word[:-1]


def _without_inflection(word: str, whole: str) -> str:
    """Do step 1b; *whole* is the word before step 1a, which fixes the regions."""
    base = word.removesuffix("ly")
    region = _REGION_1.match(whole)
    r1 = region.end() if region else len(whole)
    if base.endswith("eed"):
        return base[:-1] if len(base) - 3 >= r1 and base not in _KEEP_EED else word
    if word in _KEEP_ING:
        return word
    base = base[: -2 if base.endswith("ed") else -3]
    if word.endswith("ing") and len(base) == 2 and base[1] == "y" and base[0] not in _VOWELS:
        return base[0] + "ie"
    if not _VOWEL.search(base):
        return word
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if base[-2:] in _DOUBLES:
        return base if len(base) == 3 and base[0] in "aeo" else base[:-1]
    return base + "e" if len(base) == r1 and _ends_short(base) else base


def _ends_short(word: str) -> bool:
    """Say whether the word ends in a short syllable."""
    if len(word) == 2:
        return word[0] in _VOWELS and word[1] not in _VOWELS
    return bool(_SHORT_SYLLABLE.match(word[-3:])) or word.endswith("past")


def _without_derivation(word: str, r1: int) -> str:
    """Do steps 2 to 5, all of which only touch suffixes inside R1."""
    region = _REGION.match(word, r1)
    r2 = region.end() if region else len(word)
    word = _replaced(word, _STEP_2, r1)
    if word.endswith("ative"):
        word = word[:-5] if len(word) - 5 >= r2 else word
    else:
        word = _replaced(word, _STEP_3, r1)
    word = _replaced(word, _STEP_4, r2)
    stop = len(word) - 1
    if word[-1:] == "e":
        return word[:-1] if stop >= r2 or (stop >= r1 and not _ends_short(word[:-1])) else word
    return word[:-1] if stop >= r2 and word.endswith("ll") else word


def _replaced(word: str, rules: _Rules, region: int) -> str:
    """Apply the longest suffix that fits, if it lies inside the region."""
    for suffix, replacement, before in rules.get(word[-2:], ()):
        if word.endswith(suffix):
            start = len(word) - len(suffix)
            if start >= region and (not before or word[start - 1] in before):
                return word[:start] + replacement
            return word
    return word
