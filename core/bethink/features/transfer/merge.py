"""Merging: the memories of a second store are added, with times and vectors.

A record of both stores stays one record. A new record is added. A new near-duplicate of a record
merges: the fuller record, else the record of this store, supersedes the second. So every merged
record is known by id and text, and merging again changes nothing.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import numpy as np

from ...errors import StorageError, ValidationError
from ...memory.engine import Engine, Transaction
from ...memory.writing import comes_after, leads_to, supersede
from ...model import fields
from ...model.journal import non_empty_fields
from ...model.port import EMBEDDED, Backend, Link, Row
from ...model.records import LOWEST_LIVE, RECORD_FIELDS, MemoryRecord, State, different
from ...storage import open_backend
from ..duplicates import DuplicateSearch, Found, combined, is_fuller
from ..statements import read
from .merge_conflicts import key_conflicts, last_changed_at

_MERGED_STATES: Final[tuple[State, ...]] = ("live", "superseded", "archived")
_LATER_CHANGE_FIELDS: Final = tuple(name for name, each in RECORD_FIELDS.items() if not each.local)
"""The fields that the later of two changes of a record decides."""

Current: TypeAlias = Callable[[MemoryRecord], MemoryRecord]


@dataclass(frozen=True, slots=True)
class Merged:
    """The result of a merge.

    ``added`` are new records, including records that a later holder of the key supersedes at once
    (``outdated``) and near-duplicates (``absorbed``). ``same`` were known; ``erased`` records stay
    erased. ``renamed`` maps ids that had a different text in this store to the new ids.
    """

    added: int = 0
    same: int = 0
    absorbed: int = 0
    outdated: int = 0
    erased: int = 0
    renamed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForeignStore:
    """The rows and links of a second store, and the embedder of the vectors.

    ``told`` is the time when each live record with a key last changed the text or value. ``gone``
    are the ids of records that the second store hides.
    """

    rows: Sequence[Row]
    gone: Sequence[str]
    links: Sequence[Link]
    embedder: str | None
    told: Mapping[str, float]

    @classmethod
    def of(
        cls, backend: Backend, now: float, current: Current = lambda record: record
    ) -> ForeignStore:
        """Read all visible records of *backend*; *current* adds pending accesses."""
        rows: list[Row] = []
        gone: list[str] = []
        with backend.journal_reader.full_scan() as everything:
            for row in everything.records():
                if row.record.state in _MERGED_STATES and not row.record.expired(now):
                    rows.append(replace(row, record=current(row.record)))
                else:
                    gone.append(row.record.id)
        links = backend.journal_reader.links([row.record.id for row in rows], backend.head())
        keyed = [row.record for row in rows if row.record.state == "live" and row.record.key]
        told = {record.id: last_changed_at(backend, record) for record in keyed}
        return cls(rows, gone, links, backend.fact("embedder"), told)


def merge_from(engine: Engine, other: Engine | str | os.PathLike[str]) -> Merged:
    """Merge the memories of an open store, or of the store in the file *other*."""
    engine.check_open()
    if isinstance(other, Engine):
        other.check_open()
        _check_other(engine, other.backend.location, itself=other is engine)
        return merge(engine, ForeignStore.of(other.backend, engine.clock(), other.current))
    if not isinstance(other, str | os.PathLike):
        kind = type(other).__name__
        raise ValidationError(f"merge_from needs a store or the path of one, not {kind}")
    path = fields.path("other", str(other).removeprefix("sqlite:///"))
    if not os.path.isfile(path):
        raise StorageError(path, "there is no such file")
    if not os.path.getsize(path):
        raise StorageError(path, "it is empty, so no store")
    _check_other(engine, path)
    with closing(open_backend(path)) as backend:
        return merge(engine, ForeignStore.of(backend, engine.clock()))


def _check_other(engine: Engine, location: str, *, itself: bool = False) -> None:
    own = engine.backend.location
    files = ":memory:" not in (own, location) and os.path.exists(own) and os.path.exists(location)
    if itself or (files and os.path.samefile(own, location)):
        raise ValidationError("a store cannot be merged with itself")


def merge(engine: Engine, incoming: ForeignStore) -> Merged:
    """Merge *incoming*, all or nothing."""
    rows = _embedded(engine, incoming)
    known = engine.backend.get([row.record.id for row in rows])
    fresh = [row for row in rows if row.record.state == "live" and row.record.id not in known]
    absent = np.zeros(engine.dimension(), np.float32)
    vectors = [row.vectors.get(EMBEDDED, absent) for row in fresh]
    nearest = DuplicateSearch(engine, [row.record for row in fresh], vectors)
    with engine.writing(
        closing=True, guarded=False
    ) as transaction:  # so that accesses are compared with all
        joined = _Merge(transaction, engine.backend, nearest, incoming).take(rows)
    engine.index.save()
    return joined


def _embedded(engine: Engine, incoming: ForeignStore) -> list[Row]:
    """Return the rows with vectors of this store's embedder."""
    if not incoming.rows or incoming.embedder == engine.embedder.name:
        return list(incoming.rows)
    made = engine.embed([row.record for row in incoming.rows])
    return [
        replace(row, vectors={**row.vectors, EMBEDDED: vector})
        for row, vector in zip(incoming.rows, made, strict=True)
    ]


class _Merge:
    """Incoming records in the form to write, and the counts of the result."""

    def __init__(
        self,
        transaction: Transaction,
        backend: Backend,
        nearest: DuplicateSearch,
        incoming: ForeignStore,
    ) -> None:
        self._transaction = transaction
        self._backend = backend
        self._incoming = incoming
        self._writer = transaction.writer
        self._nearest = nearest
        nearest.begin(transaction)
        self._ids: dict[str, str] = {}
        self._own: dict[str, str] = {}
        self._told: dict[str, float] = {}
        self._successors: dict[str, str | None] = {}
        self._outdated: dict[str, str] = {}
        self._counts = dict.fromkeys(("added", "same", "absorbed", "outdated", "erased"), 0)

    def take(self, rows: Sequence[Row]) -> Merged:
        """Write *rows* and the links; return the result."""
        for id, (_, ours) in self._writer.find(self._incoming.gone).items():
            self._own[_derived_id(id, ours)] = (
                id  # by which it is kept there if it says another text
            )
        self._ids = {row.record.id: self._id_here(row.record) for row in rows}
        if self._own:  # some may be known there by an id that was made for them
            self._ids = {row.record.id: self._id_here(row.record) for row in rows}
        self._told = {self._ids[id]: at for id, at in self._incoming.told.items()}
        named = [replace(row, record=self._named(row.record)) for row in rows]
        self._successors = {row.record.id: row.record.superseded_by for row in named}
        self._settle([row.record for row in named])
        for row in named:
            self._take(row)
        for link in self._incoming.links:
            self._link(link)
        renamed = {theirs: ours for theirs, ours in self._ids.items() if theirs != ours}
        return Merged(**self._counts, renamed=renamed)

    def _id_here(self, record: MemoryRecord) -> str:
        """Return the id of *record* here: the own id, unless a different text has the id."""
        id = self._own.get(record.id, record.id)
        while found := self._writer.find([id]).get(id):
            if found[1].state == "erased" or _text_fields(found[1]) == _text_fields(record):
                break
            self._own[_derived_id(id, found[1])] = id
            id = _derived_id(id, record)
        return id

    def _named(self, record: MemoryRecord) -> MemoryRecord:
        """Return *record* with the ids of the record and the successor in this store."""
        by = record.superseded_by
        return replace(record, id=self._ids[record.id], superseded_by=by and self._ids.get(by, by))

    def _settle(self, records: Sequence[MemoryRecord]) -> None:
        """Let the later texts win where both stores have different texts for a key or path."""
        back: dict[str, Any] = {"state": "live", "superseded_by": None}
        for each in key_conflicts(self._transaction, self._backend, records, self._told):
            self._outdated |= {record.id: each.head.id for record in each.outdated}
            for row, record in each.superseded:
                supersede(self._transaction, row, record, each.head.id)
            for row, record in each.revived:
                after = replace(record, **back, updated_at=self._transaction.now)
                self._transaction.change(row, record, after, {}, "merge", back)

    def _take(self, row: Row) -> None:
        record = row.record
        found = self._writer.find([record.id]).get(record.id)
        if found is None:
            self._add(row, record)
        elif found[1].state == "erased":
            self._counts["erased"] += 1
        else:
            self._counts["same"] += 1
            self._reconcile(*found, record)

    def _add(self, row: Row, record: MemoryRecord) -> None:
        self._counts["added"] += 1
        if record.state == "live":
            by = self._outdated.get(record.id)
            found = None if by else self._nearest.to(self._transaction, read(record))
            if found is not None:
                self._counts["absorbed"] += 1
                self._add_beside(found, row, record)
                return
            if by := by or self._held_by(record):
                self._counts["outdated"] += 1
                record = replace(record, state="superseded", superseded_by=by)
        self._transaction.add(record, row.vectors, non_empty_fields(record))

    def _add_beside(self, found: Found, row: Row, record: MemoryRecord) -> None:
        """Add a near-duplicate *record* of the record *found*: the fuller absorbs the second.

        No text changes, so both records stay known by their texts.
        """
        place, kept, _ = found
        # Whether the other store had the record supersede the very one that is kept here.
        counted = leads_to(self._successors.get(kept.id), record.id, self._successors.get)
        if is_fuller(record, kept):  # undoing it brings back what is superseded just before
            supersede(self._transaction, place, kept, record.id)
            at = max(record.updated_at, self._transaction.now)  # their clock may be ahead
            record = replace(combined(record, kept, counted=counted), updated_at=at)
            self._transaction.add(record, row.vectors, non_empty_fields(record))
            self._nearest.add(read(record))
        else:
            gone = replace(record, state="superseded", superseded_by=kept.id)
            self._transaction.add(gone, row.vectors, non_empty_fields(gone))
            self._nearest.absorb(self._transaction, found, read(record), counted=counted)

    def _held_by(self, record: MemoryRecord) -> str | None:
        """Give the key to the later of two facts; return the holder's id if the holder stays."""
        if record.key is None:
            return None
        row, holder = self._writer.by_key(record.namespace, record.key) or (0, None)
        if holder is None:
            return None
        later = last_changed_at(self._backend, holder) >= self._told.get(
            record.id, record.occurred_at
        )
        if later and not holder.expired(self._transaction.now):
            return holder.id
        supersede(self._transaction, row, holder, record.id)
        return None

    def _reconcile(self, row: int, ours: MemoryRecord, theirs: MemoryRecord) -> None:
        """Update a record of both stores: the later change counts, and the most accesses.

        A record superseded in the second store is superseded here, unless by a record that it
        supersedes here; otherwise the state stays.
        """
        accessed = [at for at in (ours.last_accessed_at, theirs.last_accessed_at) if at is not None]
        after = replace(
            ours,
            access_count=max(ours.access_count, theirs.access_count),
            last_accessed_at=max(accessed, default=None),
        )
        if theirs.updated_at > ours.updated_at:
            later = {name: getattr(theirs, name) for name in _LATER_CHANGE_FIELDS}
            if ours.state == "live":
                later["outcome"] = max(theirs.outcome, LOWEST_LIVE)
            if ours.state == "live" and self._is_superseded(theirs):
                later |= {"state": theirs.state, "superseded_by": theirs.superseded_by}
            after = replace(after, **later)
        changes = {name: getattr(after, name) for name in different(ours, after)}
        if changes:
            at = self._transaction.now
            if theirs.updated_at > at:  # their clock is ahead, and this is no earlier change
                at = changes["updated_at"] = theirs.updated_at
            after = replace(after, updated_at=at)
            self._transaction.change(row, ours, after, {}, "merge", changes)

    def _is_superseded(self, theirs: MemoryRecord) -> bool:
        """Return whether *theirs* is superseded, by no record that *theirs* supersedes here."""
        return theirs.state == "superseded" and not comes_after(
            self._transaction, theirs.superseded_by, theirs.id
        )

    def _link(self, link: Link) -> None:
        """Create the links of the second store between the records here."""
        source, target = self._ids.get(link.source), self._ids.get(link.target)
        if source is None or target is None or self._writer.linked(source, link.kind, target):
            return
        found = self._writer.find([source, target])
        if source != target and not any(found[end][1].state == "erased" for end in found):
            self._transaction.link(found[source][1], link.kind, target, holds=True)


def _text_fields(record: MemoryRecord) -> tuple[object, ...]:
    return record.content, record.value, record.author


def _derived_id(id: str, record: MemoryRecord) -> str:
    """Return the new id of a different text with *id*, always equal for equal texts."""
    said = fields.to_json([id, *_text_fields(record)])
    return f"{id[:17]}{hashlib.sha256(said.encode()).hexdigest()[:15]}"
