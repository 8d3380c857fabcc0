"""The scopes in memory, within a bound: beyond, the least recently used scope is dropped."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from ..model.namespaces import EVERYWHERE, Scope, Subtree, covers
from .scope import ScopeIndex

MAX_RESIDENT: Final = 1 << 30


class ScopeLRU:
    """Indexes by scope, about *most* bytes together, None for no bound.

    Indexes are in order of use. The most recent index always stays, however large. Sizes are read
    again only when an index changes or a different index is used, so that repeated use is free.
    """

    def __init__(self, most: int | None = MAX_RESIDENT) -> None:
        self._most = most
        self.indexes: dict[Scope, ScopeIndex] = {}
        self._unions = set[Scope]()  # the scopes of several namespaces among the indexes
        self._counted: dict[Scope, int] = {}
        self._bytes = 0

    def containing(self, namespace: str) -> list[Scope]:
        """Return the resident scopes that contain *namespace*."""
        single = [scope for scope in _single_scopes(namespace) if scope in self.indexes]
        return single + [scope for scope in self._unions if covers(scope, namespace)]

    def get(self, scope: Scope) -> ScopeIndex | None:
        """Return the index of *scope* if resident, and make the index the most recent."""
        index = self.indexes.get(scope)
        if index is not None and index is not self._last:
            self._use(index)
        return index

    def add(self, index: ScopeIndex) -> None:
        """Add an index as the most recent."""
        self._use(index)
        self._count(index)

    @property
    def _last(self) -> ScopeIndex | None:
        return next(reversed(self.indexes.values()), None)

    def _use(self, index: ScopeIndex) -> None:
        if self._last is not None:
            self._count(self._last)
        self.indexes.pop(index.scope, None)
        self.indexes[index.scope] = index
        if isinstance(index.scope, tuple):
            self._unions.add(index.scope)

    def evict(self, changed: Iterable[ScopeIndex] = ()) -> list[ScopeIndex]:
        """Drop and return the indexes beyond the bound; *changed* indexes are measured again."""
        for index in changed:
            self._count(index)
        gone: list[ScopeIndex] = []
        while self._most is not None and self._bytes > self._most and len(self.indexes) > 1:
            gone.append(next(iter(self.indexes.values())))
            self.drop(gone[-1])
        return gone

    def drop(self, index: ScopeIndex) -> None:
        """Let go of an index."""
        del self.indexes[index.scope]
        self._unions.discard(index.scope)
        self._bytes -= self._counted.pop(index.scope, 0)

    def _count(self, index: ScopeIndex) -> None:
        taken = index.nbytes
        self._bytes += taken - self._counted.get(index.scope, 0)
        self._counted[index.scope] = taken


@lru_cache(maxsize=4096)
def _single_scopes(namespace: str) -> tuple[Scope, ...]:
    """Return every scope that contains *namespace*, unions of scopes aside."""
    steps = namespace.split("/")
    paths = ("/".join(steps[:end]) for end in range(1, len(steps) + 1))
    return (EVERYWHERE, namespace, *map(Subtree, paths))
