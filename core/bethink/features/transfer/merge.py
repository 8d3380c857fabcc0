"""Merging: the memories of a second store are added, with times and vectors.

A record of both stores stays one record. A new record is added. A new near-duplicate of a record
merges: the fuller record, else the record of this store, supersedes the second. So every merged
record is known by id and text, and merging again changes nothing.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import numpy as np

from ...errors import StorageError, ValidationError
from ...memory.engine import Engine, Transaction
from ...memory.writing import supersede
from ...model import fields
from ...model.arrays import Vector
from ...model.filters import Compare
from ...model.namespaces import EVERYWHERE, Scope, covers
from ...model.port import EMBEDDED, LogQuery, Row, Stored
from ...model.progress import Tell, counted
from ...model.records import (
    LOWEST_LIVE,
    RECORD_FIELDS,
    MemoryRecord,
    State,
    different,
    non_empty_fields,
)
from ...model.values import Value
from ...storage import FullBackend, Link, file_of, open_backend
from ..duplicates import DuplicateSearch, Match, combine, has_more_words, last_access
from ..files import is_chunked, path_of
from ..links import set_link
from ..statements import MIN_DUPLICATE_COSINE, parse_record
from ..undo import successors
from .merge_conflicts import key_conflicts, last_changed_at

_MERGED_STATES: Final[tuple[State, ...]] = ("live", "superseded", "archived")
_LATER_CHANGE_FIELDS: Final = tuple(name for name, each in RECORD_FIELDS.items() if not each.local)
"""The fields that the later of two changes of a record decides."""
_TEXT_FIELDS: Final = ("content", "value", "author")
_Text: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Merged(Value):
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
    """The visible rows and the links of a second store, and the embedder of the vectors.

    ``changed_at`` is the time when each live record with a key last changed the text or value.
    ``hidden`` are the ids of the other records.
    """

    backend: FullBackend
    rows: Sequence[Row]
    hidden: Sequence[str]
    links: Sequence[Link]
    embedder: str | None
    changed_at: Mapping[str, float]

    @classmethod
    def load(
        cls,
        backend: FullBackend,
        now: float,
        current: Callable[[MemoryRecord], MemoryRecord] = lambda record: record,
        scope: Scope = EVERYWHERE,
    ) -> ForeignStore:
        """Read the visible records of *backend* in *scope*; *current* adds pending accesses."""
        rows: list[Row] = []
        hidden: list[str] = []
        with backend.journal_reader.full_scan() as everything:
            for row in everything.records():
                record = row.record
                is_visible = record.state in _MERGED_STATES and not record.expired(now)
                if is_visible and covers(scope, record.namespace):
                    rows.append(replace(row, record=current(record)))
                else:
                    hidden.append(record.id)
        links = backend.journal_reader.links([row.record.id for row in rows], backend.head())
        keyed = [row.record for row in rows if row.record.state == "live" and row.record.key]
        changed_at = {record.id: last_changed_at(backend, record) for record in keyed}
        return cls(backend, rows, hidden, links, backend.setting("embedder"), changed_at)


def merge_from(
    engine: Engine,
    other: Engine | str | os.PathLike[str],
    scope: Scope,
    least: float,
    tell: Tell | None = None,
) -> Merged:
    """Merge the memories in *scope* of an open store, or of the store at the location *other*."""
    engine.check_open()
    if isinstance(other, Engine):
        other.check_open()
        check_other(engine, other.backend.location, itself=other is engine)
        foreign = ForeignStore.load(other.backend, engine.clock(), other.current, scope)
        return merge(engine, foreign, least, tell)
    if not isinstance(other, str | os.PathLike):
        kind = type(other).__name__
        raise ValidationError(f"merge_from needs a store or the path of one, not {kind}")
    if (file := file_of(other)) is not None:
        path = fields.path("other", file)
        if not os.path.isfile(path):
            raise StorageError(path, "there is no such file")
        if not os.path.getsize(path):
            raise StorageError(path, "it is empty, so no store")
        check_other(engine, path)
    with closing(open_backend(other)) as backend:
        check_other(engine, backend.location)
        return merge(engine, ForeignStore.load(backend, engine.clock(), scope=scope), least, tell)


def check_other(
    engine: Engine, location: str, *, itself: bool = False, what: str = "merged with"
) -> None:
    """Refuse the store of *engine* itself as the second store."""
    own = engine.backend.location
    if ":memory:" not in (own, location):
        files = os.path.exists(own) and os.path.exists(location)
        itself = itself or own == location or (files and os.path.samefile(own, location))
    if itself:
        raise ValidationError(f"a store cannot be {what} itself")


def merge(
    engine: Engine,
    foreign: ForeignStore,
    least: float = MIN_DUPLICATE_COSINE,
    tell: Tell | None = None,
) -> Merged:
    """Merge *foreign*, all or nothing; near-duplicates have a cosine of at least *least*."""
    rows = foreign.rows
    if rows and foreign.embedder != engine.embedder.name:
        own = engine.embed([row.record for row in rows])
        rows = [
            replace(row, vectors={**row.vectors, EMBEDDED: vector})
            for row, vector in zip(rows, own, strict=True)
        ]
    # The search for near-duplicates takes long, so all that can be found before is found before
    # the transaction.
    known = engine.backend.find([row.record.id for row in rows])
    new = [row for row in rows if row.record.state == "live" and row.record.id not in known]
    absent = np.zeros(engine.dimension(), np.float32)
    vectors = [row.vectors.get(EMBEDDED, absent) for row in new]
    duplicates = DuplicateSearch(engine, [row.record for row in new], vectors, least)
    former = {
        row.record.id: list(_texts_of(foreign.backend, row.record.id))
        for row in rows
        if row.record.id in known
        and _text_fields(row.record) != _text_fields(known[row.record.id].record)
    }
    # *closing* writes all pending accesses first, so that accesses are compared with all of ours.
    with engine.writing(closing=True, guarded=False) as transaction:
        merged = _Merge(transaction, engine.backend, duplicates, foreign, former).run(rows, tell)
    engine.index.save()
    return merged


class _Merge:
    """One merge in one transaction: the ids of foreign records here, and the counts so far."""

    def __init__(
        self,
        transaction: Transaction,
        backend: FullBackend,
        duplicates: DuplicateSearch,
        foreign: ForeignStore,
        former: Mapping[str, Sequence[_Text]],
    ) -> None:
        self._transaction = transaction
        self._backend = backend
        self._foreign = foreign
        self._former = former  # foreign id -> the texts that a changed record had over there
        self._writer = transaction.writer
        self._duplicates = duplicates
        duplicates.begin(transaction)
        keyed = [row.record for row in foreign.rows if row.record.id in foreign.changed_at]
        places = Counter(map(_place, keyed))
        self._chunked = {place for place, chunks in places.items() if chunks > 1}
        self._ids: dict[str, str] = {}  # foreign id -> id here
        self._originals: dict[str, str] = {}  # derived id -> id that it was derived from
        self._changed_at: dict[str, float] = {}
        self._successors: dict[str, str | None] = {}
        self._outdated: dict[str, str] = {}  # id here -> id of the winner of the key conflict
        self._kept: set[tuple[str, str]] = set()  # places where their text lost
        self._counts = dict.fromkeys(("added", "same", "absorbed", "outdated", "erased"), 0)
        self._known = self._writer.find_ever([row.record.id for row in foreign.rows])
        self._missing = {row.record.id for row in foreign.rows} - self._known.keys()
        self._met = self._chunked | self._held(keyed)

    def run(self, rows: Sequence[Row], tell: Tell | None) -> Merged:
        """Write *rows* and the links; return the result."""
        # If an earlier merge gave our record of a hidden foreign id a derived id over there, the
        # derived id leads back to our record.
        for id, (_, ours) in self._writer.find(self._foreign.hidden).items():
            self._originals[_derived_id(id, ours)] = id
        self._ids = {row.record.id: self._id_here(row.record) for row in rows}
        if self._originals:  # the first pass found more originals
            self._ids = {row.record.id: self._id_here(row.record) for row in rows}
        self._changed_at = {self._ids[id]: at for id, at in self._foreign.changed_at.items()}
        local = [replace(row, record=self._with_local_ids(row.record)) for row in rows]
        chosen: dict[str, Row] = {}  # a record and its copies over there have one id here
        for row in local:
            if row.record.state == "live" or row.record.id not in chosen:
                chosen[row.record.id] = row
        self._counts["same"] += len(local) - len(chosen)
        local = list(chosen.values())
        local_records = [row.record for row in local]
        self._successors = {each.id: each.superseded_by for each in local_records}
        # A text of several chunks wins or loses as a whole, so keys are settled before any record
        # is written.
        keyed = [each for each in local_records if each.key and each.state == "live"]
        self._met |= {_place(each) for each in keyed if each.id not in self._missing}
        open_places = self._met & {_place(each) for each in keyed if not self._is_held(each)}
        self._settle_keys([each for each in keyed if _place(each) in open_places])
        for row in counted(local, tell, len(local)):
            found = self._find(row.record.id)
            if found is None:
                self._counts["added"] += 1
                self._add(row)
            elif found.record.state == "erased":
                self._counts["erased"] += 1
            else:
                self._counts["same"] += 1
                self._reconcile(*found, row)
        for link in self._foreign.links:
            self._link(link)
        renamed = {theirs: ours for theirs, ours in self._ids.items() if theirs != ours}
        return Merged(**self._counts, renamed=renamed)

    def _held(self, theirs: Iterable[MemoryRecord]) -> set[tuple[str, str]]:
        """Return the places of *theirs* that a record here has."""
        keys = defaultdict[str, set[str]](set)
        for record in theirs:
            keys[record.namespace] |= {str(record.key), path_of(record)}
        return {
            _place(each.record)
            for namespace, named in keys.items()
            for each in self._writer.outlines(namespace, Compare(("key",), "$in", list(named)))
        }

    def _is_held(self, theirs: MemoryRecord) -> bool:
        """Return whether the record of the same id here is live in the same place."""
        _, ours = self._known.get(theirs.id, (0, None))
        return (
            ours is not None
            and (ours.state, ours.namespace, ours.key) == ("live", theirs.namespace, theirs.key)
            and not ours.expired(self._transaction.now)
        )

    def _find(self, id: str) -> Stored | None:
        """Return the record with *id*; ask only for what was not read, or has changed, before."""
        if id in self._missing:
            return None
        found = self._known.get(id)
        if found is None or found.row in self._transaction.rows:
            found = self._writer.find_ever([id]).get(id)
        return found

    def _id_here(self, record: MemoryRecord) -> str:
        """Return the id of *record* here: the foreign id, unless a different text has the id.

        A text that the record here had before, or takes over, is no different text, but a chunk
        that differs always is: chunks of two texts must not mix.
        """
        id = self._originals.get(record.id, record.id)
        while found := self._find(id):
            if found.record.state == "erased" or _text_fields(found.record) == _text_fields(record):
                break
            copied = self._find(_derived_id(id, record))  # by an earlier merge
            if self._replaces(record, found.record) and not copied:
                break
            self._originals[_derived_id(id, found.record)] = id
            if _place(record) not in self._chunked and _had_text(self._backend, id, record):
                break
            id = _derived_id(id, record)
        return id

    def _replaces(self, theirs: MemoryRecord, ours: MemoryRecord) -> bool:
        """Return whether a record of both stores, no chunk, has a later text over there.

        A live record over there replaces no hidden record. If each text once replaced the second,
        the later change of the records counts.
        """
        is_hidden = theirs.state == "live" != ours.state
        if is_hidden or _text_fields(ours) not in self._former.get(ours.id, ()):
            return False
        if _place(theirs) in self._chunked or is_chunked(self._transaction, ours):
            return False
        later = theirs.updated_at > ours.updated_at
        return later or not _had_text(self._backend, ours.id, theirs)

    def _with_local_ids(self, record: MemoryRecord) -> MemoryRecord:
        by = record.superseded_by
        return replace(record, id=self._ids[record.id], superseded_by=by and self._ids.get(by, by))

    def _settle_keys(self, records: Sequence[MemoryRecord]) -> None:
        """Let the later text win where both stores have different texts for a key or path."""
        live: dict[str, Any] = {"state": "live", "superseded_by": None}
        for each in key_conflicts(self._transaction, self._backend, records, self._changed_at):
            self._outdated |= {record.id: each.winner.id for record in each.outdated}
            if each.outdated:
                self._kept.add(_place(each.winner))
            for row, record in each.superseded:
                supersede(self._transaction, row, record, each.winner.id)
            for row, record in each.revived:
                after = replace(record, **live, updated_at=self._transaction.now)
                self._transaction.change(row, record, after, {}, "merge", live)

    def _add(self, row: Row) -> None:
        """Add a new record, as it is, as superseded, or beside a near-duplicate."""
        record = row.record
        self._missing.discard(record.id)
        if record.state == "live":
            by = self._outdated.get(record.id)
            found = None if by else self._duplicates.to(self._transaction, parse_record(record))
            if found is not None:
                self._counts["absorbed"] += 1
                self._add_near_duplicate(found, row)
                return
            if by := by or self._keep_holder(record):
                self._counts["outdated"] += 1
                record = replace(record, state="superseded", superseded_by=by)
        self._transaction.add(record, row.vectors, non_empty_fields(record))

    def _add_near_duplicate(self, found: Match, row: Row) -> None:
        """Add a near-duplicate of the record *found*: the fuller record absorbs the second.

        No text changes, so both records stay known by their texts.
        """
        at_row, ours, _ = found
        record = row.record
        # If our record superseded the new record over there, the accesses are counted already.
        counted = _leads_to(self._successors, ours.id, record.id)
        if has_more_words(record, ours):
            # The supersession comes right before: ``undo`` looks for supersessions there.
            supersede(self._transaction, at_row, ours, record.id)
            at = max(record.updated_at, self._transaction.now)  # the foreign clock may be ahead
            record = replace(combine(record, ours, counted=counted), updated_at=at)
            self._transaction.add(record, row.vectors, non_empty_fields(record))
            self._duplicates.add(parse_record(record))
        else:
            gone = replace(record, state="superseded", superseded_by=ours.id)
            self._transaction.add(gone, row.vectors, non_empty_fields(gone))
            self._duplicates.absorb(self._transaction, found, parse_record(record), counted=counted)

    def _keep_holder(self, record: MemoryRecord) -> str | None:
        """Return the id of a later holder of *record*'s key here; supersede an earlier holder."""
        met = record.key and _place(record) in self._met
        holder = met and self._writer.by_key(record.namespace, str(record.key))
        if not holder:
            return None
        row, ours = holder
        theirs_at = self._changed_at.get(record.id, record.occurred_at)
        later = last_changed_at(self._backend, ours) >= theirs_at
        if later and not ours.expired(self._transaction.now):
            return ours.id
        supersede(self._transaction, row, ours, record.id)
        return None

    def _reconcile(self, row: int, ours: MemoryRecord, foreign: Row) -> None:
        """Update a record of both stores: the later change counts, and the most accesses.

        A record superseded in the second store is superseded here, unless the successor is
        superseded by the record here; otherwise the state stays.
        """
        theirs, vectors = foreign.record, dict[str, Vector]()
        after = replace(
            ours,
            access_count=max(ours.access_count, theirs.access_count),
            last_accessed_at=last_access(ours, theirs),
        )
        if theirs.updated_at > ours.updated_at:
            later = {name: getattr(theirs, name) for name in _LATER_CHANGE_FIELDS}
            if ours.state == "live":
                later["outcome"] = max(theirs.outcome, LOWEST_LIVE)
                # Each store may have superseded the other's record: a circle would hide both. Nor
                # does a text that lost supersede a chunk of the text that won.
                if theirs.state == "superseded" and _place(ours) not in self._kept:
                    chain = successors(self._transaction, theirs)
                    if all(each.id != ours.id for each in chain):
                        later |= {"state": "superseded", "superseded_by": theirs.superseded_by}
            after = replace(after, **later)
        if after.state == "live" and self._replaces(theirs, ours):
            after = replace(after, **{name: getattr(theirs, name) for name in _TEXT_FIELDS})
            vectors.update(foreign.vectors)
        changes = {name: getattr(after, name) for name in different(ours, after)}
        if changes:
            # With the time of the merge, the next merge would pass over a change made before.
            at = changes["updated_at"] = max(ours.updated_at, theirs.updated_at)
            after = replace(after, updated_at=at)
            self._transaction.change(row, ours, after, vectors, "merge", changes)

    def _link(self, link: Link) -> None:
        """Create a link of the second store between the records here."""
        source, target = self._ids.get(link.source), self._ids.get(link.target)
        if source is None or target is None:
            return
        found = self._writer.find_ever([source, target])
        if source != target and not any(found[end].record.state == "erased" for end in found):
            set_link(self._transaction, found[source].record, link.kind, target, holds=True)


def _leads_to(successors: Mapping[str, str | None], id: str, target: str) -> bool:
    """Return whether the chain of *successors* of the record *id* contains *target*."""
    seen = set[str]()
    while (by := successors.get(id)) is not None and by not in seen:
        seen.add(by)
        id = by
    return target in seen


def _had_text(backend: FullBackend, id: str, record: MemoryRecord) -> bool:
    """Return whether the record with *id* once had the text of *record*."""
    return _text_fields(record) in _texts_of(backend, id)


def _texts_of(backend: FullBackend, id: str) -> Iterator[_Text]:
    """Yield the texts that the record with *id* had, oldest first."""
    told: dict[str, Any] = {"content": ""}
    for entry in reversed(backend.log(LogQuery(id=id))):
        told |= entry.changes
        yield tuple(told.get(name) for name in _TEXT_FIELDS)


def _place(record: MemoryRecord) -> tuple[str, str]:
    return record.namespace, path_of(record)


def _text_fields(record: MemoryRecord) -> _Text:
    return tuple(getattr(record, name) for name in _TEXT_FIELDS)


def _derived_id(id: str, record: MemoryRecord) -> str:
    """Return the new id of a different text with *id*, always equal for equal texts."""
    text = fields.to_json([id, *_text_fields(record)])
    return f"{id[:17]}{hashlib.sha256(text.encode()).hexdigest()[:15]}"
