"""The words that decide whether two statements differ: denials, changes, exclusions.

English, apart from denials. All sets hold folded words, or stems where noted. The longer lists
stand in ``lexicon.txt``, a section for each constant.
"""

from __future__ import annotations

from pathlib import Path

from ...text import MONTHS as _MONTHS
from ...text import STOP_WORDS, read_sections, stem, word_set
from ...text import WEEKDAYS as _WEEKDAYS

_LISTS = read_sections(Path(__file__).with_name("lexicon.txt"))


def _words(name: str) -> frozenset[str]:
    return word_set(" ".join(_LISTS[name]))


def _stems(name: str) -> frozenset[str]:
    return frozenset(map(stem, _words(name)))


def _items(name: str) -> list[str]:
    return "".join(_LISTS[name]).split(";")


def _pairs(name: str) -> list[list[str]]:
    return [line.split(": ") for line in _LISTS[name]]


DENIALS = _words("DENIALS")
"""Words that deny a statement, for now or for good."""

UNSPACED_DENIALS = "[不没沒未无無]|ない|ませ|なく|ไม่|안 |않|없"
"""Denials as a pattern of parts of words, for scripts without spaces and for Korean."""

CHANGES = _stems("CHANGES")
"""Stems that announce the end of a former state."""

SYNONYMS = {
    stem(word): stem(frame) for frame, words in _pairs("SYNONYMS") for word in words.split()
}
"""Stems by the stem of a synonymous statement."""

RELATIONS = frozenset(SYNONYMS.values())

POSTS = _stems("POSTS")
"""Stems of things with one holder at a time."""

UNIQUE = POSTS | frozenset(map(stem, ("prefer", "recent", "latest")))
"""Stems that make a possession unique."""

SINGLE_VALUED = POSTS | _stems("SINGLE_VALUED")
"""Stems of relations with one value at a time."""

MULTI_VALUED = _stems("MULTI_VALUED")
"""Stems of relations with several values at once, under any names."""

KINDS = tuple(frozenset(map(stem, line.split())) for line in _LISTS["KINDS"])
"""Stems of things that usually are single at a time."""


def _opposites() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for pair in _items("OPPOSITES"):
        one, other = (stem(word) for word in pair.split())
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in found.items()}


OPPOSITES = _opposites()
"""Stems by the stems that exclude them."""

PREFIXES = ("un", "in", "im", "ir", "dis", "non", "de", "mis")
"""Prefixes that turn a word into the opposite."""

MONTHS = {form: name for name in _MONTHS for form in (name, name[:3])} | {"sept": "september"}
"""Names of months by all forms."""
WEEKDAYS = {form: name for name in _WEEKDAYS for form in (name, name + "s")}
_COUNT = "two three four five six seven eight nine ten eleven twelve"
NUMBERS = {word: str(number) for number, word in enumerate(_COUNT.split(), 2)} | {
    "twenty": "20",
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "dozen": "12",
}

VALUES = NUMBERS.keys() | WEEKDAYS.keys() | MONTHS.keys()
"""Words that are values."""

MONEY = {word: currency for currency, words in _pairs("MONEY") for word in words.split()}
"""Currencies by all words and signs."""

SCALES = {"k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6, "bn": 1e9, "billion": 1e9}
"""Words after a number that multiply the number."""

SHARES = word_set("% percent")
HOURS = word_set("am pm oclock")
ORDINAL_ENDINGS = word_set("st nd rd th")
ORDINALS = ORDINAL_ENDINGS | {"of", "the"}

NUMBERED = _words("NUMBERED")
"""Things with a number for a name: "ticket 3"."""

DETERMINERS = word_set("the my our")
FIRST_PERSON = word_set("i my me mine we our us im ive id")
SUBJECTS = FIRST_PERSON | word_set("user users")
"""Words for the subject of a memory, such as the user, that say nothing about the statement."""
SPEAKER_TERM = "i"
"""The term for the subject where a statement has hardly any words."""

INDEFINITE = NUMBERS.keys() | _words("INDEFINITE")
"""First words of a statement about nobody in particular."""

FORMS_OF_BE = _words("FORMS_OF_BE")

WEAK_VERBS = _words("WEAK_VERBS")
"""Words of little meaning that are still no synonyms."""

_EMPTY = WEAK_VERBS | _words("EMPTY")
UNITS = {
    form: (kind, float(size))
    for kind, size, *names in map(str.split, _items("UNITS"))
    for name in names
    for word in {name, name.replace("meter", "metre").replace("liter", "litre")}
    for form in ((word, word + "s") if len(word) > 2 else (word,))
}
"""The kind of value that a number with the unit is, and the size of the unit, by unit."""

TIMES = frozenset(("year", "quarter", "month", "day", "weekday"))
"""Kinds of values that name a time."""

COUNTED = frozenset(("number", *(kind for kind, _ in UNITS.values())))
"""Kinds of values that count things."""

MEASURES = UNITS.keys() | MONEY.keys() | SCALES.keys() | SHARES | word_set("time times")
"""Units, which give an amount but no thing."""

MEASURE_TERMS = frozenset(map(stem, MEASURES))
NO_OWNERS = CHANGES | MEASURE_TERMS
"""Stems that own no thing after."""
ADDITIONS = word_set("also additionally another besides")
ADDITION_ENDINGS = (" too", " as well")
"""Phrases, anywhere or at the end, that add something to the former state."""

QUESTIONS = _words("QUESTIONS")
"""First words of a question."""

AUXILIARIES = FORMS_OF_BE | _words("AUXILIARIES")
"""First words of a question or a statement."""

CONJUNCTIONS = word_set("so and but also or")
PARTICLES = _words("PARTICLES")
DIRECTIONS = word_set("from to for by against")
ROLES = PARTICLES | DIRECTIONS | word_set("about at through between")
OPPOSITE_ROLES = tuple(
    frozenset(pair.split())
    for pair in ("on off", "in out", "into out", "up down", "over under", "before after",
                 "with without", "from to", "for against")
)  # fmt: skip
UNFINISHED = ROLES | FORMS_OF_BE | word_set("a an the of and or")
"""Words that no text ends with, unless a sign follows in the place of a word."""
QUANTIFIERS = _words("QUANTIFIERS")
"""Words for how much of a statement holds, how often, or how surely."""
DETAIL_TERMS = MEASURE_TERMS | frozenset(map(stem, QUANTIFIERS))
PRONOUNS = _words("PRONOUNS")
MODIFIERS = QUANTIFIERS | PRONOUNS | _words("MODIFIERS")
"""Words that make a second statement about an equal subject."""
BASE_FORMS = {short: word for short, word in map(str.split, _items("BASE_FORMS"))}
"""Variants of words of MANNER, by the form that counts."""
_ALWAYS_COMPARED = DENIALS | HOURS | VALUES
NO_CONTENT = STOP_WORDS | _EMPTY | SUBJECTS | _ALWAYS_COMPARED
"""Words that say nothing about the subject of a statement."""
