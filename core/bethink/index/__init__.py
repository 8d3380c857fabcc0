"""The resident index: recall reads memory instead of the file, a ``ScopeIndex`` per scope in use.

A scope is loaded on the first recall. Later writes of the process are added at once, writes of
other processes from the journal before the next recall. Beyond the memory bound, the least
recently used scope is dropped; unsaved parts are saved later.

A list of a few scopes is searched in the indexes of the scopes. The indexes of moments count in the
memory bound.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, TypeAlias

import numpy as np

from ..errors import EmbedderMismatchError, StorageError
from ..model.namespaces import EVERYWHERE, Everywhere, Scope, Subtree, to_pattern
from ..model.port import Backend, Changes, IndexData, Row
from ..model.records import MemoryRecord
from .access_buffer import AccessBuffer
from .combining import Combiner
from .documents import document as document
from .joined import JoinedIndex, parts_of
from .keyword import BLOCK_DOCUMENTS, MERGED_BLOCKS
from .keyword_scoring import keyword_scores as keyword_scores
from .reader import ScopeReader as ScopeReader
from .recent_rows import RecentRows
from .scope import Accessed as Accessed
from .scope import ScopeIndex as ScopeIndex
from .scope_lru import MAX_RESIDENT as MAX_RESIDENT
from .scope_lru import ScopeLRU
from .segments import unsaved_segments
from .unit_vectors import DECIMALS as DECIMALS
from .unit_vectors import cosines as cosines
from .unit_vectors import directions as directions
from .vectors import EarlyScan as EarlyScan
from .vectors import Scan as Scan
from .vectors import VectorColumn as VectorColumn
from .vectors import scan_early

SearchedIndex: TypeAlias = ScopeIndex | JoinedIndex
"""The index of one scope, or of a few scopes."""

_logger = logging.getLogger(__name__)

_MIN_SAVED_ROWS: Final = 512  # in a namespace; fewer are indexed again at the next start
_MIN_SHARED_ROWS: Final = 128  # saved at once for other processes
_MIN_RECENT_ROWS: Final = 16  # of one write; fewer are read again from the file
_BATCH_ROWS: Final = MERGED_BLOCKS * BLOCK_DOCUMENTS  # indexed at a time on closing
_KEEP_PAGES_FROM: Final = 100_000  # rows of a scope
_FREED_BYTES: Final = 31 << 20  # glibc heeds nothing larger than 32 MiB
_MIN_PAST_SHARE: Final = 1 / 8  # of the rows; with fewer, the rows of a moment are read anew


class ResidentIndex:
    """The scopes of *backend* in memory, kept current; hold ``lock`` while using a scope.

    All scopes take about *most* bytes together; None means no bound.
    """

    def __init__(
        self,
        backend: Backend,
        dimension: Callable[[], int],
        check_embedder: Callable[[str | None], None],
        most: int | None = MAX_RESIDENT,
    ) -> None:
        self.lock = threading.RLock()
        self.combiner = Combiner(scan_early)
        self._backend = backend
        self._dimension = dimension
        self._check_embedder = check_embedder
        self._scopes = ScopeLRU(most)
        self._seen, self._breaks = backend.head(), backend.breaks
        self._unsaved = False
        self._unindexed: Counter[str] = Counter()
        self._recent = RecentRows()
        self._moments = set[ResidentIndex]()
        self.touches = AccessBuffer()

    def start_anew(self) -> None:
        """Continue in a forked child: with new locks, without the parent's pending accesses.

        An index of a moment may have been in use by a thread that the child has not.
        """
        self.lock = threading.RLock()
        self.combiner = Combiner(scan_early)
        self.touches = AccessBuffer()
        for moment in self._moments:
            self._scopes.drop_moment(moment)
            moment.start_anew()

    @property
    def nbytes(self) -> int:
        """The bytes of the indexes in memory, of the present and of moments."""
        return self._scopes.nbytes

    @property
    def behind(self) -> bool:
        """Whether a commit is not in the index yet."""
        return self._backend.head() != self._seen or self._backend.breaks != self._breaks

    def large(self, scope: Scope, name: str, dimension: int) -> ScopeIndex | None:
        """Return an index in memory, of *scope* or a part, with many vectors called *name*.

        The only method that needs no lock; the index is for early reads only.
        """
        for each in parts_of(scope):
            index = self._scopes.indexes.get(each)
            column = None if index is None else index.vectors.get(name)
            if column is not None and column.dimension == dimension and column.has_early_scans:
                return index
        return None

    def open(self, scope: Scope) -> SearchedIndex:
        """Return the current index of *scope*."""
        scopes = parts_of(scope)
        if any(map(self._scopes.holds, scopes)):  # others are read as of now
            self._catch_up()
        parts = [self._open(each) for each in scopes]
        self._make_room()
        return parts[0] if len(parts) == 1 else JoinedIndex(parts)

    def _open(self, scope: Scope) -> ScopeIndex:
        index = self._scopes.get(scope)
        if index is None and (data := self._scopes.unpack(scope)) is not None:
            reader = ScopeReader(self._backend, scope)
            index = ScopeIndex.unpacked(reader, self._dimension(), data)
            self._scopes.add(index)
        if index is None:
            loaded = self._load(scope)
            index = self._build(scope, loaded)
            index.reader.keep(loaded.unindexed)
            if isinstance(scope, str):
                self._recent.forget(self._recent.of(scope))
            self._count_pending(index)
            self._scopes.add(index)
            if index.size >= _KEEP_PAGES_FROM:
                # From the freeing of one large piece, which costs nothing untouched, glibc learns
                # to keep freed pages for the next recall's temporary arrays. Otherwise pages are
                # returned and fetched at each recall: a third of the time for a million memories.
                np.empty(_FREED_BYTES, dtype=np.uint8)
            if self._backend.is_remote and isinstance(scope, str) and not self._backend.read_only:
                with self._warning():  # other processes read a segment instead of the rows
                    self._save(index, least=_MIN_SHARED_ROWS)
            self._unsaved |= index.has_new_blocks
        return index

    def of(self, scope: Scope, data: IndexData) -> ScopeIndex:
        """Return an index of the rows of *data* alone, which is not kept."""
        index = self._build(scope, data)
        self._count_pending(index)
        return index

    def _count_pending(self, index: ScopeIndex) -> None:
        """Count the accesses that were not in the file when *index* was read."""
        # After writes that are not in the index yet, a record may have come from anywhere.
        scope = index.scope if index.loaded_at == self._seen else EVERYWHERE
        if pending := self.touches.unwritten(scope, index.loaded_at):
            for id, row in self._backend.rows_of(list(pending)).items():
                index.touch([row], *pending[id])

    def _load(self, scope: Scope) -> IndexData:
        """Read a scope; the rows of small namespaces are saved first, so that none is read again.

        Segments that turn out to be unusable are replaced.
        """
        load = self._backend.load
        if (
            not isinstance(scope, Subtree | Everywhere)
            or self._backend.read_only
            or self._backend.count(scope, None) < BLOCK_DOCUMENTS
        ):
            return load(scope)
        pattern = to_pattern(scope)
        with self._warning():
            self._save_unindexed(pattern, closing=True)
        data = load(scope)
        has_segments = any(segment.namespace == pattern for segment in data.segments)
        if len(data.unindexed) >= _MIN_SAVED_ROWS and not has_segments:
            with self._warning():
                self._save(self._build(pattern, load(pattern)), least=_MIN_SAVED_ROWS)
        return data

    @contextmanager
    def _warning(self, *more: type[Exception]) -> Iterator[None]:
        """Warn of an error: what was stored is stored; only the next start is slower."""
        caught: tuple[type[Exception], ...] = (StorageError, *more)
        try:
            yield
        except caught as error:
            _logger.warning("the index of %s is not saved: %s", self._backend.location, error)

    def _build(self, scope: Scope, data: IndexData) -> ScopeIndex:
        if data.head < self._seen:  # a backup was put back; what is saved is not as new
            self._catch_up()
        if data.head != self._seen:
            self._check_embedder(data.embedder or self._backend.setting("embedder"))
        return ScopeIndex.of(ScopeReader(self._backend, scope), self._dimension(), data)

    def apply(self, changes: Changes) -> None:
        """Add the process's own commit; commits in between are caught up with later."""
        with self.lock:
            if changes.base == self._seen:
                self._apply_changes(changes)
            self._recent.trim()
            self._recent.forget(changes.rows)
            unindexed = [
                row for row in changes.live if row.record.namespace not in self._scopes.indexes
            ]
            fresh = Counter(row.record.namespace for row in unindexed)
            self._unindexed.update(fresh)
            self._unsaved |= any(self._unindexed[name] >= BLOCK_DOCUMENTS for name in fresh)
            if len(unindexed) >= _MIN_RECENT_ROWS:
                self._recent.take(unindexed, in_part=len(unindexed) < len(changes.live))
                if not self._unsaved:  # or else they are about to be indexed
                    self._recent.trim()

    def touch(self, found: Sequence[tuple[int, MemoryRecord]], at: float) -> None:
        """Count an access at the time *at* of each row and record, before the access is written."""
        namespaces = {record.id: record.namespace for _, record in found}
        self.touches.add(namespaces, at)
        changed = set(namespaces.values())
        self._scopes.forget(changed)
        for index in self._covering(changed):
            index.touch([row for row, _ in found], 1, at)

    def save(self, *, closing: bool = False) -> None:
        """Keep full blocks in the file for a faster start; when *closing*, tails as well."""
        if not (self._unsaved or closing):
            return
        with self.lock:
            try:
                with self._warning(EmbedderMismatchError):
                    self._save_all(closing=closing)
                    self._unsaved = False
            finally:
                self._recent.trim()

    def clear(self) -> None:
        """Drop every scope, since all vectors of the embedder have changed."""
        for index in list(self._scopes.indexes.values()):
            self._scopes.drop(index)
        self._scopes.forget()
        self.drop_moments()
        self._recent.clear()

    def copy_at(
        self, scope: Scope, seq: int, backend: Backend
    ) -> tuple[ScopeIndex, int, Sequence[str]] | None:
        """Return a copy of the index of *scope* that reads from *backend*.

        Beside the copy: the journal position, and the records whose accesses are not written. None
        if the index is not resident, is older than *seq* or a break, or holds mostly later rows.
        """
        with self.lock:
            index = self._scopes.indexes.get(scope)
            if index is None or self._seen < seq or self._backend.breaks != self._breaks:
                return None
            rows = index.columns["row"]
            if np.count_nonzero(rows <= seq) < _MIN_PAST_SHARE * len(rows):
                return None
            twin = index.copy(ScopeReader(backend, scope))
            return twin, self._seen, list(self.touches.unwritten())

    def add_moment(self, moment: ResidentIndex) -> None:
        """Keep scopes of *moment* from now on."""
        with self.lock:
            self._moments.add(moment)

    def at_moment(self, scope: Scope, moment: ResidentIndex) -> ScopeIndex | None:
        """Return the index of *scope* at *moment* if in memory."""
        with self.lock:
            return self._scopes.get(scope, moment)

    def keep_at_moment(self, index: ScopeIndex, moment: ResidentIndex) -> None:
        """Keep the *index* of a scope at *moment* within the bound, unless *moment* was dropped."""
        with self.lock:
            if moment in self._moments:
                self._scopes.add(index, moment)
                self._make_room()

    def drop_moments(self, moments: Iterable[ResidentIndex] | None = None) -> None:
        """Drop *moments* with all scopes, or every moment."""
        with self.lock:
            for moment in list(self._moments if moments is None else moments):
                self._moments.discard(moment)
                self._scopes.drop_moment(moment)

    def rebuild(self, namespaces: Iterable[str]) -> None:
        """Index and save the rows again whose saved index was erased together with erased rows."""
        with self.lock, self._warning():
            self._catch_up()
            for namespace in namespaces:
                self._unindexed[namespace] = self._save_unindexed(namespace, closing=True)

    def _save_all(self, *, closing: bool) -> None:
        if not closing:
            self._catch_up()  # or what another process erased meanwhile would make it come too late
        for namespace in self._unindexed.keys() - self._scopes.indexes.keys():
            if self._unindexed[namespace] >= (_MIN_SAVED_ROWS if closing else BLOCK_DOCUMENTS):
                self._unindexed[namespace] = self._save_unindexed(namespace, closing=closing)
        for index in self._scopes.indexes.values():
            self._save(index, least=_MIN_SAVED_ROWS if closing else None)

    def _save_unindexed(self, namespace: str, *, closing: bool) -> int:
        """Index the rows of *namespace* without a segment; return the number of rows left.

        Many small segments just before the rows merge with the rows. Unless *closing*, only full
        segments are made.
        """
        while True:
            data = self._backend.load(namespace, limit=_BATCH_ROWS, recent=self._recent.rows)
            rows = data.unindexed
            whole = len(rows) - (0 if closing else len(rows) % BLOCK_DOCUMENTS)
            index = self._build(namespace, replace(data, unindexed=rows[:whole]))
            saved = self._save(index, least=_MIN_SAVED_ROWS if closing else None)
            if whole:
                last = rows[whole - 1].row
                self._recent.forget(row for row in self._recent.of(namespace) if row <= last)
            if len(rows) < _BATCH_ROWS or not saved:
                return index.keyword.tail_size + len(rows) - whole

    def _save(self, index: ScopeIndex, *, least: int | None) -> bool:
        """Save the unsaved blocks of *index*, and a tail of at *least* so many rows.

        Return whether no write came in between.
        """
        if least is not None and index.keyword.tail_size >= least:
            with index.changing():
                index.keyword.freeze()
        if not index.has_new_blocks:
            return True
        touched = self._backend.rows_of(list(self.touches.unwritten(index.scope)))
        records = self._backend.by_row(list(touched.values()))
        unsaved = unsaved_segments(index, max(self._seen, index.loaded_at), records)
        numbers = self._backend.save([segment for _, segment in unsaved]) if unsaved else []
        for (number, _), saved in zip(unsaved, numbers, strict=True):
            index.keyword.mark_saved(number, saved)
        return None not in numbers

    def _catch_up(self) -> None:
        if self.behind:
            changes = self._backend.changes(self._seen, tuple(self._scopes.indexes))
            breaks = self._backend.breaks
            if breaks != self._breaks or changes.head < self._seen:  # a backup was put back
                changes = replace(changes, erased=None)
            self._check_embedder(changes.embedder or self._backend.setting("embedder"))
            self._apply_changes(changes)
            self._breaks = breaks

    def _apply_changes(self, changes: Changes) -> None:
        everywhere = list(self._scopes.indexes.values())
        if changes.erased != frozenset():
            self._recent.clear()
            self.drop_moments()
        outdated = everywhere if changes.erased is None else self._covering(changes.erased)
        for index in outdated:  # it holds words of what was erased
            self._scopes.drop(index)
            self._note_unsaved(index)
        self._scopes.forget(changes.erased)
        self._scopes.forget(None if changes.incomplete else changes.namespaces)
        affected = self._covering(changes.namespaces)
        self.touches.follow(changes)
        seen_by = defaultdict[Scope, list[Row]](list)
        for row in self.touches.counted(changes.live if affected else (), changes.head):
            for scope in self._scopes.containing(row.record.namespace):
                seen_by[scope].append(row)
        gone = changes.rows.difference(row.row for row in changes.live)
        for index in affected:
            try:
                if index.loaded_at < changes.head:
                    index.apply(seen_by[index.scope], gone)
            except BaseException:  # such as an interruption: half of it may be in
                self._scopes.drop(index)
                raise
            self._unsaved |= index.has_new_blocks
        self._seen = changes.head
        self._make_room(affected)

    def _covering(self, namespaces: Iterable[str]) -> list[ScopeIndex]:
        """Return the resident indexes of the scopes that contain any of *namespaces*."""
        containing = self._scopes.containing
        scopes = {scope for namespace in namespaces for scope in containing(namespace)}
        return [self._scopes.indexes[scope] for scope in scopes]

    def _make_room(self, changed: Iterable[ScopeIndex] = ()) -> None:
        """Drop scopes beyond the bound, but remember the unsaved parts."""
        for index in self._scopes.evict(changed):
            self._note_unsaved(index)

    def _note_unsaved(self, index: ScopeIndex) -> None:
        if isinstance(index.scope, str):
            self._unindexed[index.scope] = index.keyword.unsaved
            self._unsaved |= index.keyword.unsaved >= BLOCK_DOCUMENTS
