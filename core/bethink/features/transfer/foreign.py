"""Records of foreign systems with the source's times, counts, outcomes and past; for importers.

An empty store gets every version of a record, journaled at the version's own time, so a moment
before the import answers as the source did. A store with a journal gets the last versions,
journaled now: entries with earlier times would change what the store's own past answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

from ...errors import SourceError, ValidationError
from ...memory.engine import Engine, Transaction
from ...memory.memories import Memories
from ...model import fields as checks
from ...model.arrays import Vector
from ...model.port import EMBEDDED
from ...model.records import (
    LOWEST_LIVE,
    RECORD_FIELDS,
    MemoryRecord,
    State,
    different,
    embedded_text,
    non_empty_fields,
)
from ...storage import ACCESS_FIELDS
from ..duplicates import last_access
from ..history import take_snapshot
from ..links import LINK_ACTIONS, check_ends, check_kind, set_link
from ..outcomes import note_import
from .lines import checked_fields, record_of

_IMPORTED_AT: Final = "imported_at"
"""The change of a "store" entry that holds the time of the import."""

_EARNED_FIELDS: Final[Mapping[str, Any]] = {
    **{"outcome": 0.0, "access_count": 0, "last_accessed_at": None},
    **{"state": "live", "superseded_by": None},
}
"""Fields that use changes, as a new record has them."""
_OTHER_ACTIONS: Final = frozenset(("store", "erase", "touch", "snapshot", *LINK_ACTIONS))
"""Actions of entries that do not change the fields of a record."""
_PLACE_FIELDS: Final = ("id", "namespace", "key", "created_at")
_STATE: Final = ("state", "superseded_by")
_MOVABLE_STATES: Final[tuple[State, ...]] = ("live", "archived")


class PastChange(NamedTuple):
    """A change *at* a time of the source, Unix seconds, to *fields*; *action* names the verb."""

    at: float
    action: str
    fields: Mapping[str, Any]


class ForeignLink(NamedTuple):
    """A checked link between two records, made *at* a time of the source."""

    source: str
    kind: str
    target: str
    at: float


class _Version(NamedTuple):
    at: float
    action: str
    record: MemoryRecord


ForeignRecord: TypeAlias = tuple[_Version, ...]
"""The checked versions of a record, oldest first."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """The result of an import: the ids of ``added`` and of ``changed`` records.

    In a store with a journal, ``without_past`` records left earlier versions behind, and the
    moments named ``snapshots`` were left out.
    """

    added: frozenset[str]
    changed: frozenset[str]
    without_past: int
    snapshots: tuple[str, ...]


def foreign_record(
    store: Memories, given: Mapping[str, Any], past: Sequence[PastChange] = ()
) -> ForeignRecord:
    """Return the checked versions of a record; a wrong field raises ``ValidationError``.

    *given* are the fields of the record now, by the names of ``MemoryRecord``: an id, a namespace,
    a content or a value, and more. *past* has the changes that led there, oldest first, from the
    "store" on. A field that no change tells was always so, but outcome, accesses and state began as
    a new record's. Where *past* leads elsewhere, a version by "import" follows. Without a
    ``created_at`` the record was created by the first change, without *past* now.
    """
    known = {name: value for name, value in given.items() if value is not None or name == "value"}
    born = known.get("created_at", past[0].at if past else _undated(store, given.get("id")))
    times = dict.fromkeys(("created_at", "occurred_at", "updated_at"), born)
    last = _checked(store, record_of({"content": "", **times, **known}))
    versions: list[_Version] = []
    record = replace(last, **_EARNED_FIELDS, updated_at=last.created_at)
    for change in past or (PastChange(last.created_at, "store", {}),):
        at = checks.timestamp("at", change.at)
        if versions and not change.fields.keys() <= ACCESS_FIELDS:  # else no update
            record = replace(record, updated_at=at)
        action = checks.label("action", change.action)
        if (action in _OTHER_ACTIONS) if versions else (action != "store"):
            raise ValidationError(f"{action!r} is no action of change {len(versions) + 1}")
        record = _checked(store, replace(record, **_known_fields(change.fields)))
        versions.append(_Version(at, action, record))
    if "updated_at" not in known:
        last = replace(last, updated_at=record.updated_at)
    if set(different(record, last)) <= {"updated_at"}:
        versions[-1] = versions[-1]._replace(record=last)
    else:
        versions.append(_Version(last.updated_at, "import", last))
    return tuple(versions)


def _undated(store: Memories, id: object) -> float:
    """Return the time of a record without any: now, or the time when the record came here."""
    found = store._engine.backend.find([checks.identifier("id", id)])
    return next((record.created_at for _, record in found.values()), store._engine.clock())


def _known_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    if wrong := [name for name in given if name not in RECORD_FIELDS]:
        raise ValidationError(f"unknown field {wrong[0]!r}")
    return checked_fields(given)


def foreign_link(source: str, kind: str, target: str, at: float) -> ForeignLink:
    """Return a checked link, made *at* a time of the source; errors are ``relate``'s."""
    source, target = check_ends(source, target)
    return ForeignLink(source, check_kind(kind), target, checks.timestamp("at", at))


def import_foreign(
    store: Memories,
    records: Sequence[ForeignRecord],
    links: Sequence[ForeignLink] = (),
    snapshots: Mapping[str, float] | None = None,
) -> Arrived:
    """Write foreign *records*, *links* between the records and named moments; all or nothing.

    An empty store gets the past, too. In a store with a journal, a later change of the source
    changes a record with a known id, and the higher number of accesses counts. Namespace and key
    stay, and so does the state of a superseded record. Forgotten and erased records stay forgotten
    and erased. Records forgotten by the source come along with the past only.
    """
    engine = store._engine
    engine.check_open()
    named = {
        checks.label("a snapshot's name", name): checks.timestamp("at", at)
        for name, at in (snapshots or {}).items()
    }
    vectors = _vectors(engine, [versions[-1].record for versions in records])
    with engine.writing(closing=True) as transaction:
        taken = engine.backend.journal_reader.snapshots()
        writing = _Import(engine, transaction, vectors)
        if transaction.base or taken:
            writing.present(records, links)
        else:
            writing.past(records, links, named)
        if writing.added:
            note_import(transaction)
    engine.index.save()
    kept = {each.name for each in taken} | writing.snapshots
    left_out = tuple(name for name in named if name not in kept)
    return Arrived(
        frozenset(writing.added), frozenset(writing.changed), writing.without_past, left_out
    )


def _checked(store: Memories, record: MemoryRecord) -> MemoryRecord:
    """Return *record* as the store takes it; refuse a record that no verb could have made."""
    checks.check_held(record.content, record.value)
    if record.state == "erased":
        raise ValidationError("the state of an imported record cannot be 'erased'")
    if record.state == "live" and record.outcome < LOWEST_LIVE:
        raise ValidationError(f"outcome of a live record must be at least {LOWEST_LIVE}")
    admitted, own = store._engine.admit(record), store._engine.source
    if own is not None and admitted.source != own:
        raise SourceError(admitted.id, admitted.source, own)
    return admitted


def _vectors(engine: Engine, records: Sequence[MemoryRecord]) -> dict[str, Vector]:
    """Return a vector for each record whose text the store does not have, by id."""
    known = engine.backend.find([record.id for record in records])
    new = [
        record
        for record in records
        if record.id not in known or embedded_text(known[record.id].record) != embedded_text(record)
    ]
    ids = [record.id for record in new]
    return dict(zip(ids, engine.embed(new), strict=True))


class _Import:
    """One import in one transaction."""

    def __init__(
        self, engine: Engine, transaction: Transaction, vectors: Mapping[str, Vector]
    ) -> None:
        self._engine = engine
        self._transaction = transaction
        self._vectors = vectors
        self._now = transaction.now
        self.added: set[str] = set()
        self.changed: set[str] = set()
        self.snapshots: set[str] = set()
        self.without_past = 0

    def past(
        self,
        records: Iterable[ForeignRecord],
        links: Iterable[ForeignLink],
        snapshots: Mapping[str, float],
    ) -> None:
        """Write every version at the version's time, in order of time."""
        steps: list[tuple[float, Callable[[], None]]] = []
        stored: dict[str, float] = {}
        for versions in records:
            due = -math.inf
            for number, version in enumerate(versions):
                due = min(max(due, version.at), self._now)
                steps.append((due, partial(self._change if number else self._add, version)))
                stored.setdefault(version.record.id, due)
        for link in links:
            due = max(link.at, *(stored.get(id, math.inf) for id in (link.source, link.target)))
            steps.append((min(due, self._now), partial(self._link, link)))
        for name, at in snapshots.items():
            steps.append((min(at, self._now), partial(self._snapshot, name)))
        for due, step in sorted(steps, key=itemgetter(0)):
            self._transaction.now = due
            step()
        self._transaction.now = self._now

    def present(self, records: Iterable[ForeignRecord], links: Iterable[ForeignLink]) -> None:
        """Write the last version of each record, now."""
        for versions in records:
            last = versions[-1]
            found = self._transaction.writer.find_ever([last.record.id]).get(last.record.id)
            if found is not None:
                self._reconcile(*found, last.record)
            elif last.record.state != "forgotten":
                self._add(last)
                self.without_past += len(versions) > 1
        for link in links:
            self._link(link)

    def _add(self, version: _Version) -> None:
        record = version.record
        self.added.add(record.id)
        vectors = {EMBEDDED: self._vectors[record.id]}
        told = {**non_empty_fields(record), _IMPORTED_AT: self._now}
        self._transaction.add(record, vectors, told)

    def _change(self, version: _Version) -> None:
        row, before = self._transaction.writer.find([version.record.id])[version.record.id]
        self._write(row, before, version.record, version.action, {})

    def _reconcile(self, row: int, ours: MemoryRecord, theirs: MemoryRecord) -> None:
        """Update a known record: a later change of the source counts, and the most accesses."""
        if ours.state in ("forgotten", "erased"):
            return
        seen: dict[str, Any] = {
            "access_count": max(ours.access_count, theirs.access_count),
            "last_accessed_at": last_access(ours, theirs),
        }
        after = replace(ours, **seen)
        if theirs.updated_at > ours.updated_at:
            kept = _PLACE_FIELDS if ours.state in _MOVABLE_STATES else (*_PLACE_FIELDS, *_STATE)
            after = replace(theirs, **{name: getattr(ours, name) for name in kept}, **seen)
        if different(ours, after):
            self.changed.add(ours.id)
            vectors = {}
            if embedded_text(ours) != embedded_text(after):
                made = self._vectors.get(ours.id)  # None if the text has changed since
                vectors[EMBEDDED] = self._engine.embed([after])[0] if made is None else made
            self._write(row, ours, after, "import", vectors)

    def _write(
        self,
        row: int,
        before: MemoryRecord,
        after: MemoryRecord,
        action: str,
        vectors: Mapping[str, Vector],
    ) -> None:
        changes = {name: getattr(after, name) for name in different(before, after)}
        if after.updated_at == self._transaction.now:
            changes.pop("updated_at", None)
        else:
            changes["updated_at"] = after.updated_at
        self._transaction.change(row, before, after, vectors, action, changes)

    def _link(self, link: ForeignLink) -> None:
        found = self._transaction.writer.find([link.source, link.target])
        if len(found) == 2 and all(record.state != "erased" for _, record in found.values()):
            source = found[link.source].record
            set_link(self._transaction, source, link.kind, link.target, holds=True)

    def _snapshot(self, name: str) -> None:
        take_snapshot(self._transaction, name)
        self.snapshots.add(name)
