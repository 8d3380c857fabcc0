"""The scopes in memory, within a bound: beyond, the least recently used scope is dropped.

A small namespace is first packed: the index is kept as bytes, which take a fifth of the room.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final, TypeAlias

from ..model.namespaces import Scope, covers, scopes_over
from .scope import ScopeIndex

MAX_RESIDENT: Final = 1 << 30

_UNPACKED_SHARE: Final = 1 / 4  # of the bound; used lately, and not packed while there are others
_PACKED_SHARE: Final = 1 / 4  # of the bytes of an index, about; measured
_PLACE_BYTES: Final = 250  # of a packed index beside the bytes: a name, and places in dicts

_Place: TypeAlias = tuple[Hashable, Scope]  # a moment, None for the present, and a scope


class ScopeLRU:
    """Indexes by scope, about *most* bytes together, None for no bound.

    The ``indexes`` of the present and those of moments are in one order of use. The most recent
    index always stays, however large. Sizes are read again only when an index changes or a
    different index is used, so that repeated use is free. Packed indexes are older than all others,
    and know no later change: ``forget`` drops those of changed namespaces.
    """

    def __init__(self, most: int | None = MAX_RESIDENT) -> None:
        self._most = most
        self.indexes: dict[Scope, ScopeIndex] = {}
        self._held: dict[_Place, ScopeIndex] = {}
        self._last: ScopeIndex | None = None
        self._unions = set[Scope]()  # the scopes of several namespaces among the indexes
        self._counted: dict[_Place, int] = {}
        self._bytes = 0
        self._packed: dict[str, bytes] = {}
        self._packed_bytes = 0

    @property
    def nbytes(self) -> int:
        """The bytes of all indexes together."""
        return self._bytes + self._packed_bytes

    def containing(self, namespace: str) -> list[Scope]:
        """Return the resident scopes that contain *namespace*."""
        single = [scope for scope in scopes_over(namespace) if scope in self.indexes]
        return single + [scope for scope in self._unions if covers(scope, namespace)]

    def holds(self, scope: Scope) -> bool:
        """Return whether *scope* is in memory, packed or not."""
        return scope in self.indexes or scope in self._packed

    def get(self, scope: Scope, moment: Hashable = None) -> ScopeIndex | None:
        """Return the index of *scope* if resident, and make the index the most recent."""
        index = self._held.get((moment, scope))
        if index is not None and index is not self._last:
            self._use((moment, scope), index)
        return index

    def add(self, index: ScopeIndex, moment: Hashable = None) -> None:
        """Add an index, of the present or of a *moment*, as the most recent."""
        self._use((moment, index.scope), index)
        self._count((moment, index.scope))

    def unpack(self, scope: Scope) -> bytes | None:
        """Remove and return the packed index of *scope*, None if not packed."""
        data = self._packed.pop(scope, None) if isinstance(scope, str) else None
        if data is not None:
            self._packed_bytes -= _PLACE_BYTES + len(data)
        return data

    def forget(self, namespaces: Iterable[str] | None = None) -> None:
        """Drop the packed indexes of *namespaces*, or all."""
        for name in list(self._packed) if namespaces is None else namespaces:
            self.unpack(name)

    def _use(self, place: _Place, index: ScopeIndex) -> None:
        if self._held:
            self._count(next(reversed(self._held)))
        self._held.pop(place, None)
        self._held[place] = self._last = index
        moment, scope = place
        if moment is None:
            self.indexes.pop(scope, None)
            self.indexes[scope] = index
            if isinstance(scope, tuple):
                self._unions.add(scope)

    def evict(self, changed: Iterable[ScopeIndex] = ()) -> list[ScopeIndex]:
        """Drop the indexes beyond the bound; return the dropped indexes of the present.

        *changed* indexes are measured again, and so is each moment that shares parts with them.
        """
        for index in changed:
            self._count((None, index.scope))
            if len(self._held) > len(self.indexes):
                self._count_moments(index.scope)
        gone: list[ScopeIndex] = []
        while self._held and self._most is not None and self.nbytes > self._most:
            (moment, scope), index = next(iter(self._held.items()))
            is_last, is_small = len(self._held) == 1, moment is None and index.is_small
            enough = is_last or not is_small or self._bytes <= self._most * _UNPACKED_SHARE
            if self._packed and enough:
                self.unpack(next(iter(self._packed)))
            elif is_last:
                break
            else:
                self._remove((moment, scope))
                if moment is None:
                    gone.append(index)
                if is_small and index.nbytes * _PACKED_SHARE < self._most:
                    self._pack(index)
        return gone

    def _pack(self, index: ScopeIndex) -> None:
        data = index.packed()
        self._packed[str(index.scope)] = data
        self._packed_bytes += _PLACE_BYTES + len(data)

    def drop(self, index: ScopeIndex) -> None:
        """Let go of an index of the present."""
        self._remove((None, index.scope))

    def drop_moment(self, moment: Hashable) -> None:
        """Let go of the indexes of *moment*."""
        for place in list(self._held):
            if place[0] is moment:
                self._remove(place)

    def _remove(self, place: _Place) -> None:
        moment, scope = place
        index = self._held.pop(place)
        self._bytes -= self._counted.pop(place, 0)
        if index is self._last:
            self._last = next(reversed(self._held.values()), None)
        if moment is None:
            del self.indexes[scope]
            self._unions.discard(scope)
            self._count_moments(scope)

    def _count_moments(self, scope: Scope) -> None:
        for place in list(self._held):
            if place[0] is not None and place[1] == scope:
                self._count(place)

    def _count(self, place: _Place) -> None:
        moment, scope = place
        origin = None if moment is None else self.indexes.get(scope)
        index = self._held[place]
        taken = index.nbytes - (0 if origin is None else index.shared_bytes(origin))
        self._bytes += taken - self._counted.get(place, 0)
        self._counted[place] = taken
