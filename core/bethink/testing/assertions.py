"""Assertions on recalled memories; a failure shows the recalled memories and the reasons.

An assertion calls ``recall`` without counting an access, so that a test changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import iscoroutinefunction
from typing import Any, Final, Protocol, TypeAlias, Unpack
from unicodedata import normalize

from ..aio import AsyncMemoryStore
from ..errors import ValidationError
from ..features.why_not import WhyNot
from ..memory.ranking import Ranking
from ..memory.reading import RecallOptions
from ..model.records import LogEntry, MemoryRecord, RecallResult, When

Expected: TypeAlias = str | MemoryRecord
"""A record, identified by id; or a text that is part of the content, in any case."""

_CANDIDATES: Final = 3
_LONGEST: Final = 200


class Recalls(Protocol):
    """Any object with ``recall`` like ``MemoryStore``; ``why_not`` and ``log`` add details."""

    def recall(self, *args: Any, **kwargs: Any) -> list[RecallResult]:
        """Return the recalled memories, best first."""


class Options(RecallOptions, total=False):
    """The arguments of ``recall`` except the query and ``touch``."""

    k: int
    ranking: Ranking | None
    as_of: When | None


Store: TypeAlias = Recalls | AsyncMemoryStore


def recalled_contents(store: Store, query: str | None, **options: Unpack[Options]) -> list[str]:
    """Return the contents of the recalled memories, best first."""
    return [result.memory.content for result in _Recall(store, query, options).results]


def assert_recalls(
    store: Store, query: str | None, *expected: Expected, **options: Unpack[Options]
) -> None:
    """Assert that every one of *expected* is among the recalled memories, in any order."""
    __tracebackhide__ = True
    recall = _Recall(store, query, options)
    missing = [each for each in _checked(expected) if recall.rank(each) is None]
    if missing:
        recall.fail(f"did not return {' and '.join(map(_named, missing))}", missing)


def assert_recalls_first(
    store: Store, query: str | None, expected: Expected, **options: Unpack[Options]
) -> None:
    """Assert that the first recalled memory is *expected*."""
    __tracebackhide__ = True
    recall = _Recall(store, query, options)
    (wanted,) = _checked([expected])
    rank = recall.rank(wanted)
    if rank is None:
        recall.fail(f"did not return {_named(wanted)}, which should come first", [wanted])
    elif rank > 1:
        recall.fail(f"returned {_named(wanted)} at rank {rank}, which should come first")


def assert_not_recalls(
    store: Store, query: str | None, *unexpected: Expected, **options: Unpack[Options]
) -> None:
    """Assert that none of *unexpected* is among the *k* recalled memories."""
    __tracebackhide__ = True
    recall = _Recall(store, query, options)
    ranks = {_named(each): recall.rank(each) for each in _checked(unexpected)}
    found = [f"{name} at rank {rank}" for name, rank in ranks.items() if rank is not None]
    if found:
        recall.fail(f"returned {', '.join(found)}, which it should not")


class _Recall:
    """One recall, with everything to report about the result."""

    def __init__(self, store: Store, query: str | None, options: Options) -> None:
        if "touch" in options:
            raise ValidationError("an assertion leaves no access behind; do not say touch")
        self._store = _synchronous(store)
        self._query = query
        self._options = options
        self.results = self._store.recall(query, touch=False, **options)

    def rank(self, expected: Expected) -> int | None:
        """Return the rank, from 1, of the first result that is *expected*."""
        ranks = enumerate((result.memory for result in self.results), start=1)
        return next((rank for rank, memory in ranks if _is(expected, memory)), None)

    def fail(self, verdict: str, missing: Sequence[Expected] = ()) -> None:
        """Raise an ``AssertionError`` with the whole report."""
        __tracebackhide__ = True
        given = [repr(self._query), *(f"{key}={value!r}" for key, value in self._options.items())]
        lines = [f"recall({', '.join(given)}) {verdict}.", *self._ranked(bool(missing))]
        for expected in missing:
            lines += self._why_not(expected)
        raise AssertionError("\n".join(lines))

    def _ranked(self, instead: bool) -> list[str]:
        if not self.results:
            return ["Nothing was recalled."]
        lines = [f"Recalled{' instead' if instead else ''}, best first:"]
        for rank, result in enumerate(self.results, start=1):
            lines.append(f"  {rank}. {_shown(result.memory)} [{result.memory.id}]")
            lines.append(f"     {result.explain()}")
        return lines

    def _why_not(self, expected: Expected) -> list[str]:
        """Report the reason that keeps each possible *expected* record out of the answer."""
        ask: Callable[..., WhyNot] | None = getattr(self._store, "why_not", None)
        found = self._candidates(expected)
        if ask is None or found is None:
            return []
        if not found:
            return [f"Nothing in the journal holds {_named(expected)}."]
        lines = [f"Why not {_named(expected)}:"]
        for id, shown in list(found.items())[:_CANDIDATES]:
            why = ask(id, self._query, **self._options)
            lines.append(f"  {why}: {shown}")
            if why.explanation is not None:
                lines.append(f"     {why.explanation}")
        if (more := len(found) - _CANDIDATES) > 0:
            lines.append(f"  and {more} more that hold it")
        return lines

    def _candidates(self, expected: Expected) -> dict[str, str] | None:
        """Return the records that are or were *expected*, the latest first, with descriptions.

        The journal also knows records that no reading verb returns. None without a journal.
        """
        if isinstance(expected, MemoryRecord):
            return {expected.id: _shown(expected)}
        log: Callable[..., list[LogEntry]] | None = getattr(self._store, "log", None)
        if log is None:
            return None
        latest: dict[str, str] = {}
        found: dict[str, str] = {}
        for entry in log(limit=None):
            content = entry.changes.get("content")
            if entry.id is None or not isinstance(content, str):
                continue
            now = latest.setdefault(entry.id, content)
            if _holds(content, expected):
                changed = "" if _holds(now, expected) else f", since changed to {_cut(now)}"
                found.setdefault(entry.id, f"{_cut(content)}{changed}")
        return found


def _synchronous(store: Store) -> Recalls:
    if isinstance(store, AsyncMemoryStore):
        return store.sync
    recall, kind = getattr(store, "recall", None), type(store).__name__
    if recall is None:
        raise ValidationError(f"{kind} recalls nothing; pass a MemoryStore")
    if iscoroutinefunction(recall):
        raise ValidationError(f"recall of {kind} is to be awaited; pass the store behind it")
    return store


def _checked(expected: Sequence[Expected]) -> Sequence[Expected]:
    """Return *expected* if the assertion can fail: no empty list, and no empty text."""
    if not expected:
        raise ValidationError("say what to expect: texts or records")
    for each in expected:
        if not isinstance(each, str | MemoryRecord):
            raise ValidationError(f"expect a text or a MemoryRecord, not {type(each).__name__}")
        if isinstance(each, str) and not each.strip():
            raise ValidationError("an empty text is part of every content; expect a longer one")
    return expected


def _is(expected: Expected, memory: MemoryRecord) -> bool:
    if isinstance(expected, MemoryRecord):
        return expected.id == memory.id
    return _holds(memory.content, expected)


def _holds(content: str, text: str) -> bool:
    return _folded(text) in _folded(content)


def _folded(text: str) -> str:
    """Return *text* without differences of case and of spelled accents."""
    return normalize("NFC", normalize("NFC", text).casefold())


def _named(expected: Expected) -> str:
    return _shown(expected) if isinstance(expected, MemoryRecord) else repr(expected)


def _shown(memory: MemoryRecord) -> str:
    return _cut(memory.content) if memory.content else f"value {_cut(memory.value)}"


def _cut(thing: object) -> str:
    shown = repr(thing)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
