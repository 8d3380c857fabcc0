"""The resident index: recall reads memory instead of the file, a ``ScopeIndex`` per scope in use.

A scope is loaded on the first recall. Later writes of the process are added at once, writes of
other processes from the journal before the next recall. Beyond the memory bound, the least
recently used scope is dropped; unsaved parts are saved later.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np

from ..errors import StorageError
from ..model.namespaces import EVERYWHERE, Scope, Subtree
from ..model.port import Backend, Changes, Loading, Row
from ..model.records import MemoryRecord
from .access_buffer import AccessBuffer
from .documents import document
from .keyword import FANOUT, SEAL
from .reader import ScopeReader
from .recent_rows import RecentRows
from .scope import Accessed, ScopeIndex
from .scope_lru import MAX_RESIDENT, ScopeLRU
from .unit_vectors import DECIMALS, cosines, directions
from .vectors import Scan

__all__ = [
    "DECIMALS",
    "MAX_RESIDENT",
    "Accessed",
    "ResidentIndex",
    "Scan",
    "ScopeIndex",
    "cosines",
    "directions",
    "document",
]

_logger = logging.getLogger(__name__)

_WORTH_SAVING: Final = 512
_WORTH_HOLDING: Final = 16
_AT_ONCE: Final = FANOUT * SEAL
_MANY: Final = 100_000
_SPARE: Final = 31 << 20  # glibc heeds nothing larger than 32 MiB


class ResidentIndex:
    """The scopes of *backend* in memory, kept current; hold ``lock`` while using a scope.

    All scopes take about *most* bytes together; None means no bound.
    """

    def __init__(
        self, backend: Backend, dimension: Callable[[], int], most: int | None = MAX_RESIDENT
    ) -> None:
        self.lock = threading.RLock()
        self._backend = backend
        self._dimension = dimension
        self._residents = ScopeLRU(most)
        self._seen = backend.head()
        self._unsaved = False
        self._unindexed: Counter[str] = Counter()
        self._held = RecentRows()
        self.touches = AccessBuffer()

    def start_anew(self) -> None:
        """Continue in a forked child: with a new lock, without the parent's pending accesses."""
        self.lock = threading.RLock()
        self.touches = AccessBuffer()

    @property
    def behind(self) -> bool:
        """Whether a commit is not in the index yet."""
        return self._backend.head() != self._seen

    def open(self, scope: Scope) -> ScopeIndex:
        """Return the current index of *scope*."""
        self._catch_up()
        index = self._residents.used(scope)
        if index is None:
            index = ScopeIndex.of(
                ScopeReader(self._backend, scope), self._dimension(), self._backend.load(scope)
            )
            if isinstance(scope, str):
                self._held.forget(self._held.of(scope))
            pending = self.touches.unwritten(index.loaded_at)
            for id, row in self._backend.rows_of(list(pending)).items():
                index.touch([row], *pending[id])
            self._residents.add(index)
            if index.size >= _MANY:
                _keep_pages()
            self._unsaved |= index.unsettled
        self._make_room()
        return index

    def _built(self, scope: Scope, loading: Loading) -> ScopeIndex:
        return ScopeIndex.of(ScopeReader(self._backend, scope), self._dimension(), loading)

    def apply(self, changes: Changes) -> None:
        """Add the process's own commit; commits in between are caught up with later."""
        with self.lock:
            if changes.base == self._seen:
                self._take(changes)
            self._held.settle()
            self._held.forget(changes.rows)
            unindexed = [
                row for row in changes.live if row.record.namespace not in self._residents.indexes
            ]
            fresh = Counter(row.record.namespace for row in unindexed)
            self._unindexed.update(fresh)
            self._unsaved |= any(self._unindexed[namespace] >= SEAL for namespace in fresh)
            if len(unindexed) >= _WORTH_HOLDING:
                self._held.take(unindexed, in_part=len(unindexed) < len(changes.live))
                if not self._unsaved:  # or else they are about to be indexed
                    self._held.settle()

    def touch(self, found: Sequence[tuple[int, MemoryRecord]], at: float) -> None:
        """Count an access at the time *at* of each row and record, before the access is written."""
        self.touches.add((record.id for _, record in found), at)
        rows = [row for row, _ in found]
        for index in self._covering({record.namespace for _, record in found}):
            index.touch(rows, 1, at)

    def save(self, *, closing: bool = False) -> None:
        """Keep sealed blocks in the file for a faster start; when *closing*, tails as well."""
        if not (self._unsaved or closing):
            return
        with self.lock:
            try:
                self._save_all(closing=closing)
                self._unsaved = False
            except StorageError as error:
                # What was stored is stored; only the next start is slower.
                _logger.warning("the index of %s is not saved: %s", self._backend.location, error)
            finally:
                self._held.settle()

    def rebuild(self, namespaces: Iterable[str]) -> None:
        """Index and save the rows again whose saved index was erased together with erased rows."""
        with self.lock:
            try:
                self._catch_up()
                for namespace in namespaces:
                    self._unindexed[namespace] = self._save_loose(namespace, closing=True)
            except StorageError as error:
                _logger.warning("the index of %s is not saved: %s", self._backend.location, error)

    def _save_all(self, *, closing: bool) -> None:
        if not closing:
            self._catch_up()  # or what another process erased meanwhile would make it come too late
        for namespace in self._unindexed.keys() - self._residents.indexes.keys():
            if self._unindexed[namespace] >= (_WORTH_SAVING if closing else SEAL):
                self._unindexed[namespace] = self._save_loose(namespace, closing=closing)
        for index in self._residents.indexes.values():
            self._save(index, closing=closing)

    def _save_loose(self, namespace: str, *, closing: bool) -> int:
        """Index the rows of *namespace* without a segment; return the number of rows left.

        Many small segments just before the rows merge with the rows. Unless *closing*, only full
        segments are made.
        """
        while True:
            loading = self._backend.load(namespace, loose=_AT_ONCE, held=self._held.rows)
            whole = len(loading.loose) - (0 if closing else len(loading.loose) % SEAL)
            indexed = replace(loading, loose=loading.loose[:whole])
            index = self._built(namespace, indexed)
            saved = self._save(index, closing=closing)
            if whole:
                last = indexed.loose[-1].row
                self._held.forget(row for row in self._held.of(namespace) if row <= last)
            if len(loading.loose) < _AT_ONCE or not saved:
                return index.keyword.loose + len(loading.loose) - whole

    def _save(self, index: ScopeIndex, *, closing: bool) -> bool:
        """Save the unsaved blocks of *index*; return whether no write came in between."""
        if closing and index.keyword.loose >= _WORTH_SAVING:
            index.keyword.seal()
        if not index.unsettled:
            return True
        touched = self._backend.rows_of(list(self.touches.unwritten()))
        unsaved = index.unsaved(self._seen, self._backend.by_row(list(touched.values())))
        numbers = self._backend.save([segment for _, segment in unsaved]) if unsaved else []
        for (number, _), saved in zip(unsaved, numbers, strict=True):
            index.keyword.settle(number, saved)
        return None not in numbers

    def _catch_up(self) -> None:
        if self.behind:
            self._take(self._backend.changes(self._seen, tuple(self._residents.indexes)))

    def _take(self, changes: Changes) -> None:
        if changes.erased:
            self._held.clear()
        for index in self._covering(changes.erased):  # it holds words of what was erased
            self._residents.drop(index)
            self._note_unsaved(index)
        affected = (
            list(self._residents.indexes.values())
            if changes.namespaces is None
            else self._covering(changes.namespaces)
        )
        seen_by = defaultdict[Scope, list[Row]](list)
        for row in self.touches.counted(changes.live if affected else (), changes.head):
            for scope in _seeing(row.record.namespace):
                seen_by[scope].append(row)
        gone = changes.rows.difference(row.row for row in changes.live)
        for index in affected:
            try:
                index.apply(seen_by[index.scope], gone)
            except BaseException:  # such as an interruption: half of it may be in
                self._residents.drop(index)
                raise
            self._unsaved |= index.unsettled
        self._seen = changes.head
        self._make_room(affected)

    def _covering(self, namespaces: Iterable[str]) -> list[ScopeIndex]:
        """Return the resident scopes that contain any of *namespaces*."""
        scopes = {scope for namespace in namespaces for scope in _seeing(namespace)}
        return self._residents.among(scopes)

    def _make_room(self, changed: Iterable[ScopeIndex] = ()) -> None:
        """Drop scopes beyond the bound, but remember the unsaved parts."""
        for index in self._residents.crowded_out(changed):
            self._note_unsaved(index)

    def _note_unsaved(self, index: ScopeIndex) -> None:
        if isinstance(index.scope, str):
            self._unindexed[index.scope] = index.keyword.unsaved
            self._unsaved |= index.keyword.unsaved >= SEAL


def _keep_pages() -> None:
    """Let freed memory stay with the process, for the temporary arrays of the next recall.

    glibc learns from the freeing of one large piece; untouched, the piece costs nothing. Without
    the lesson, pages are returned and fetched at every recall: a third of the time for a million
    memories.
    """
    np.empty(_SPARE, dtype=np.uint8)


@lru_cache(maxsize=4096)
def _seeing(namespace: str) -> tuple[Scope, ...]:
    """Return every scope that contains *namespace*."""
    steps = namespace.split("/")
    paths = ("/".join(steps[:end]) for end in range(1, len(steps) + 1))
    return (EVERYWHERE, namespace, *map(Subtree, paths))
