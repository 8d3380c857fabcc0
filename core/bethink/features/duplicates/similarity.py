"""The similarity of two records by words, so that one record may stand for both.

Two texts are near-duplicates only if one has all words of the second, with equal figures, signs
and little words that turn a sentence ("all", "some", "might"). So candidates of a text are looked
up by the text's rarest word, and by texts whose rarest word occurs in the text: unrelated texts
are never compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Final, TypeAlias

import numpy as np

from ...index import DECIMALS, cosines, directions
from ...memory.engine import Engine
from ...model.arrays import Floats, Positions, Vector
from ...model.patterns import lazy_pattern
from ...model.port import EMBEDDED
from ...model.records import MemoryRecord
from ...text import is_instruction, stem, word_set
from ..statements import (
    BASE_FORMS,
    DIRECTIONS,
    FORMS_OF_BE,
    MIN_DUPLICATE_COSINE,
    MODIFIERS,
    NUMBERS,
    WEAK_VERBS,
    ParsedRecord,
    are_duplicates,
    are_spelled_apart,
)
from .repetition import fact_identity

Similarity: TypeAlias = Callable[[str, str], float]
"""Returns the cosine of the vectors of two records, given by ids."""

_KEPT: Final = 1 << 22  # numbers of vectors: 32 MB
_AT_ONCE: Final = 512
_WORDS: Final = lazy_pattern(r"[^\W\d_]+")
_RUNS: Final = lazy_pattern(r"\w+(?:'\w+)*")
_APOSTROPHES: Final = lazy_pattern("['\u2019]")
_A_FEW: Final = lazy_pattern("\\ba (?=few\\b)")  # more than "few"
_SHORTENED: Final = lazy_pattern("['\u2019](?=(?:m|re|ve|ll)\\b)")
_STRESS: Final = word_set(
    "always all every both each i we you our my your they their us should must will this these "
    "those too"
)
"""Modifiers that a text may add without saying anything else."""
_IMPORTED: Final = lazy_pattern("[0-9a-f]{12}5[0-9a-f]{3}[89ab][0-9a-f]{15}")  # a UUID of a name
_ANY = ""  # is among the words of every text, so that one without words is found, too


def are_interchangeable(a: ParsedRecord, b: ParsedRecord) -> bool:
    """Return whether one record may stand for both, where the vectors are similar.

    Beyond ``are_duplicates``, both records need one namespace, source, author, key, value and day,
    and no conversation: a turn repeated in a conversation was said twice. The manner must be equal:
    the actor, the amount, the certainty, and whether the text is a question.
    """
    if _bucket(a) != _bucket(b):
        return False
    one, other = _Entry(a), _Entry(b)
    return one.has_words_of(other) and are_duplicates(a, b)


def is_within(a: ParsedRecord, b: ParsedRecord) -> bool:
    """Return whether one text stands in the other: "use tabs" in "we always use tabs in Go".

    The longer text may add a value, but no denial, doubt, exception, option, path or letter.
    """
    if _fact(a) != _fact(b) or a.features.denials != b.features.denials:
        return False
    shorter, longer = _word_list(a), _word_list(b)
    if len(shorter) > len(longer):
        a, b, shorter, longer = b, a, longer, shorter
    if len(shorter) < 2 or f" {' '.join(shorter)} " not in f" {' '.join(longer)} ":
        return False
    added = Counter(longer) - Counter(shorter)
    if not (MODIFIERS - _STRESS).isdisjoint(added):
        return False
    if not Counter(a.features.signs) <= Counter(b.features.signs) or _differ_in_emoji(a, b):
        return False
    return not are_spelled_apart(a.features.text, b.features.text)


def _differ_in_emoji(a: ParsedRecord, b: ParsedRecord) -> bool:
    one, other = a.features.emoji, b.features.emoji
    return bool(one and other) and one != other


def _word_list(parsed: ParsedRecord) -> list[str]:
    return _RUNS.findall(parsed.features.text.casefold())


def _modifiers(text: str, signs: Sequence[str]) -> tuple[str, ...]:
    """Return the words that turn the meaning, the numbers and the *signs*, sorted.

    The first "always" of an instruction says nothing: "always use tabs" is "use tabs".
    """
    words = _WORDS.findall(
        _APOSTROPHES.sub("", _SHORTENED.sub(" ", _A_FEW.sub("some ", text.casefold())))
    )
    if is_instruction(text) and "always" in words:
        words.remove("always")
    turning = (form for word in words if (form := BASE_FORMS.get(word, word)) in MODIFIERS)
    numbers = (NUMBERS[word] for word in words if word in NUMBERS)
    return tuple(sorted((*turning, *numbers, *signs)))


def _tenses(words: Sequence[str]) -> dict[str, bool]:
    """Return, by stem, whether words are of the past ("lived") or not ("lives").

    "Is used" and "using" are of any time.
    """
    return {
        stem(word): word.endswith("ed")
        for i, word in enumerate(words)
        if not word.endswith("ing") and FORMS_OF_BE.isdisjoint(words[max(0, i - 2) : i])
    }


class _Entry:
    """A parsed record with content words, weak words, directions, and tenses."""

    __slots__ = ("all_words", "parsed", "tenses", "towards", "words")

    def __init__(self, parsed: ParsedRecord) -> None:
        told = _WORDS.findall(parsed.record.content.casefold())
        self.parsed = parsed
        self.words = frozenset((*parsed.features.words, _ANY))
        self.all_words = self.words.union(map(stem, WEAK_VERBS.intersection(told)))
        self.towards = DIRECTIONS.intersection(told)
        self.tenses = _tenses(told)

    def has_words_of(self, other: _Entry) -> bool:
        """Return whether one text has all words of the other, in compatible tenses."""
        one, two = self.all_words, other.all_words
        if not (one <= two or two <= one):
            return False
        if not (self.towards <= other.towards or other.towards <= self.towards):
            return False
        if _differ_in_emoji(self.parsed, other.parsed):
            return False
        shared = self.tenses.keys() & other.tenses.keys()
        return all(self.tenses[word] == other.tenses[word] for word in shared)


@dataclass(slots=True)
class _Group:
    """Texts of equal subject and figures: by each word, and by the rarest word."""

    having: dict[str, list[_Entry]] = field(default_factory=dict)
    rarest: dict[str, list[_Entry]] = field(default_factory=dict)

    def add(self, entry: _Entry) -> None:
        lists = {word: self.having.setdefault(word, []) for word in sorted(entry.words)}
        rarest = min(lists, key=lambda word: len(lists[word]))
        self.rarest.setdefault(rarest, []).append(entry)
        for entries in lists.values():
            entries.append(entry)

    def around(self, words: frozenset[str]) -> Iterator[_Entry]:
        """Yield the texts that have all of *words*, and the texts with only some."""
        with_rarest = min((self.having.get(word, []) for word in words), key=len)
        yield from (entry for entry in with_rarest if words <= entry.words)
        for word in words:
            yield from (entry for entry in self.rarest.get(word, ()) if entry.words < words)


class DuplicateIndex:
    """Parsed records, searchable for the nearest near-duplicate of a cosine of *least* or more."""

    def __init__(self, similarity: Similarity, least: float = MIN_DUPLICATE_COSINE) -> None:
        self._similarity = similarity
        self._least = least
        self._entries: dict[str, _Entry] = {}
        self._groups: dict[Hashable, _Group] = {}
        self._facts: dict[Hashable, _Group] = {}

    def add(self, parsed: ParsedRecord) -> None:
        """Add a parsed record, or replace the record with an equal id."""
        entry = self._entries[parsed.record.id] = _Entry(parsed)
        self._groups.setdefault(_bucket(parsed), _Group()).add(entry)
        if self._least < MIN_DUPLICATE_COSINE:
            self._facts.setdefault(_fact(parsed), _Group()).add(entry)

    def forget(self, id: str) -> None:
        """Know a record no more."""
        self._entries.pop(id, None)

    def find_nearest(self, parsed: ParsedRecord) -> tuple[ParsedRecord, float] | None:
        """Return the record most similar to *parsed* with the similarity, None without a match.

        An equal text comes first, and among equal similarities the oldest.
        """
        entry = _Entry(parsed)
        near = self._around(self._groups.get(_bucket(parsed)), entry)
        same = [
            other.parsed
            for other in near
            if entry.has_words_of(other) and are_duplicates(parsed, other.parsed)
        ]
        within = self._around(self._facts.get(_fact(parsed)), entry)
        same += [other.parsed for other in within if is_within(parsed, other.parsed)]
        alike = [(other, self._compare_vectors(parsed.record, other.record)) for other in same]
        found = (pair for pair in alike if pair[1] >= self._least)
        return min(found, key=partial(_order, parsed.record.content), default=None)

    def _around(self, group: _Group | None, entry: _Entry) -> Iterator[_Entry]:
        """Yield the known texts of a group with all words of a text, or with only some."""
        around = () if group is None else group.around(entry.words)
        return (other for other in around if self._entries.get(other.parsed.record.id) is other)

    def _compare_vectors(self, one: MemoryRecord, other: MemoryRecord) -> float:
        """Return the cosine of two records; of equal texts no vector is asked for."""
        return 1.0 if one.content == other.content else self._similarity(one.id, other.id)


def _bucket(parsed: ParsedRecord) -> Hashable:
    """Return the fields that two records must share to be near-duplicates, besides words."""
    features = parsed.features
    modifiers = _modifiers(parsed.record.content, features.signs)
    return _fact(parsed), features.figures, features.denials, modifiers


def _fact(parsed: ParsedRecord) -> Hashable:
    """Return the fields that two records must share if one text stands in the other.

    Turns of a conversation and texts without words share with nothing.
    """
    record = parsed.record
    if record.thread is not None or not record.content:
        return record.id, object()
    return record.namespace, _source(record), *fact_identity(record)


def _source(record: MemoryRecord) -> str | None:
    """Return the source: no merge may take a text from a caller who trusts one source alone.

    The source of an imported record is the record's own name, and counts as none.
    """
    return None if is_imported(record) else record.source


def is_imported(record: MemoryRecord) -> bool:
    """Return whether the id of *record* is made from a name, as the ids of imports are."""
    return _IMPORTED.fullmatch(record.id) is not None


def _order(content: str, found: tuple[ParsedRecord, float]) -> tuple[bool, float, float, str]:
    record, cosine = found[0].record, found[1]
    return record.content != content, -cosine, record.created_at, record.id


def similarity_function(engine: Engine, ids: Sequence[str]) -> Similarity:
    """Return a function for the similarity of the records with *ids*; 0 without a vector."""
    rows = engine.backend.rows_of(ids)

    @lru_cache(max(_KEPT // engine.dimension(), 2))
    def direction(id: str) -> Floats | None:
        row = rows.get(id, -1)
        vector = engine.backend.vectors([row], EMBEDDED).get(row)
        return None if vector is None else directions(vector[None])

    def similarity(one: str, other: str) -> float:
        a, b = direction(one), direction(other)
        return 0.0 if a is None or b is None else float(cosines(a, b[0])[0])

    return similarity


def similarities(engine: Engine, ids: Sequence[str], pairs: Positions) -> Floats:
    """Return the cosine of the vectors of each of *pairs*, places in *ids*; 0 without a vector."""
    rows_of, dimension = engine.backend.rows_of(ids), engine.dimension()
    rows = np.array([rows_of.get(id, -1) for id in ids], dtype=np.int64)[pairs]
    found, most = np.empty(len(pairs)), max(_KEPT // dimension // 2, 1)
    for start in range(0, len(pairs), most):
        unique, places = np.unique(rows[start : start + most], return_inverse=True)
        vectors = engine.backend.vectors(unique.tolist(), EMBEDDED)
        absent = np.zeros(dimension, dtype=np.float32)
        exact = directions(np.stack([vectors.get(row, absent) for row in unique.tolist()]))
        places = places.reshape(-1, 2)
        for at in range(0, len(places), _AT_ONCE):
            one, other = places[at : at + _AT_ONCE].T
            similar = np.einsum("ij,ij->i", exact[one], exact[other])
            found[start + at : start + at + len(one)] = similar.round(DECIMALS)
    return found


def cosine(one: Vector, other: Vector) -> float:
    """Return the cosine of two vectors as in recall; 0 for a zero vector."""
    first, second = directions(np.stack((one, other)))
    return float(cosines(first[None], second)[0])
