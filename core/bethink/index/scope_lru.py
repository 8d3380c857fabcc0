"""The scopes in memory, within a bound: beyond it, the one that was not used for longest goes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ..model.namespaces import Scope
from .scope import ScopeIndex

MAX_RESIDENT: Final = 1 << 30


class ScopeLRU:
    """Indexes by scope, of about *most* bytes together at most, None for no bound.

    They are in order of their use. The one used last always stays, however large it is. What an
    index takes is looked at when it changes and when another is used, so that using the same one
    again costs nothing.
    """

    def __init__(self, most: int | None = MAX_RESIDENT) -> None:
        self._most = most
        self.indexes: dict[Scope, ScopeIndex] = {}
        self._counted: dict[Scope, int] = {}
        self._bytes = 0

    def among(self, scopes: Iterable[Scope]) -> list[ScopeIndex]:
        """Return the indexes of those of *scopes* that are in memory."""
        return [self.indexes[scope] for scope in scopes if scope in self.indexes]

    def used(self, scope: Scope) -> ScopeIndex | None:
        """Return the index of *scope*, from now on the one used last, if it is in memory."""
        index = self.indexes.get(scope)
        if index is not None and index is not self._last:
            self._use(index)
        return index

    def add(self, index: ScopeIndex) -> None:
        """Take in an index, from now on the one used last."""
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

    def crowded_out(self, changed: Iterable[ScopeIndex] = ()) -> list[ScopeIndex]:
        """Let go of what there is no room for, some having *changed*, and return it."""
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
        self._bytes -= self._counted.pop(index.scope, 0)

    def _count(self, index: ScopeIndex) -> None:
        taken = index.nbytes
        self._bytes += taken - self._counted.get(index.scope, 0)
        self._counted[index.scope] = taken
