"""The journal, snapshots, differences between two moments, and the versions of a fact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from ..errors import NotFoundError
from ..memory.engine import Transaction
from ..model import fields
from ..model.namespaces import Scope, check_namespace, check_scope, covers
from ..model.patterns import lazy_pattern
from ..model.port import LogQuery, Moment, entry_at
from ..model.records import LogEntry, MemoryRecord, Snapshot, When, spelled_alike
from ..model.values import Value
from ..storage import Current, JournalReader, changed_fields, records_at, replayed
from .past import PastVerbs

_OTHER_MOMENT: Final = lazy_pattern(r"#?\d+(?:\.\d+)?[smhdw]?")  # an entry, seconds, an age


@dataclass(frozen=True, slots=True)
class Change(Value):
    """A record ``before`` and ``after`` a change."""

    before: MemoryRecord
    after: MemoryRecord

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields that differ, accesses aside."""
        return changed_fields(self.before, self.after)


@dataclass(frozen=True, slots=True)
class Diff(Value):
    """Changes among the live records of a scope from entry ``since`` to entry ``until``.

    ``removed`` holds records in the state before. Each part is in order of insertion.
    """

    since: int
    until: int
    added: tuple[MemoryRecord, ...]
    changed: tuple[Change, ...]
    removed: tuple[MemoryRecord, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


@dataclass(frozen=True, slots=True)
class Version(Value):
    """The content and value of a fact from entry ``seq`` on, made at the time ``at``.

    Entry ``until_seq`` ended the version at the time ``until`` by the action ``ended_by``. All
    three are None for a version that stands, or has expired without ``expire``. The record
    ``replaced_by`` took over the key or the fact, None if the fact was taken away.
    """

    id: str
    content: str
    value: Any
    seq: int
    at: float
    until_seq: int | None = None
    until: float | None = None
    ended_by: str | None = None
    replaced_by: str | None = None


class HistoryVerbs(PastVerbs):
    """The verbs ``log``, ``entry``, ``snapshot``, ``snapshots``, ``diff`` and ``audit``."""

    def log(
        self,
        *,
        limit: int | None = 100,
        id: str | None = None,
        namespace: Scope | None = None,
        since: int = 0,
        until: int | None = None,
        skip_damaged: bool = False,
    ) -> list[LogEntry]:
        """Return the journal, newest first: of a record, of a namespace, after entry *since*.

        *until* is the last entry to return, None for the newest entry.
        Entries "touch" and "snapshot" belong to no single record: ``id`` and ``namespace`` are
        None. A damaged entry raises ``CorruptStoreError`` with the entry's number; with
        *skip_damaged*, the entry is listed with the action "damaged" and no changes.
        """
        scope = None if namespace is None else check_scope(namespace)
        most = fields.limit("limit", limit)
        of = None if id is None else fields.identifier("id", id)
        skip = fields.boolean("skip_damaged", skip_damaged)
        first = fields.integer("since", since, 0)
        last = None if until is None else fields.integer("until", until, 0)
        return self._engine.backend.log(LogQuery(most, of, scope, first, last, skip))

    def entry(self, seq: int) -> LogEntry:
        """Return journal entry *seq*; an unknown or compacted entry raises ``NotFoundError``."""
        found = entry_at(self._engine.backend, fields.integer("seq", seq, 1))
        if found is None:
            raise NotFoundError("journal entry", str(seq))
        return found

    def snapshot(self, name: str) -> Snapshot:
        """Give the present a *name* for later.

        A name in use, or a name that reads as a moment ("2026-11-24", "2d", "#7"), raises
        ``ValidationError``.
        The journal gets an entry "snapshot" right after the named moment.
        """
        label = fields.label("name", name)
        if _OTHER_MOMENT.fullmatch(label) or fields.iso_seconds(label) is not None:
            fields.fail(f"{label!r} reads as a moment; a snapshot needs a different name")
        with self._engine.writing(closing=True) as transaction:
            return take_snapshot(transaction, label)

    def snapshots(self) -> list[Snapshot]:
        """Return the snapshots, oldest first."""
        return self._engine.backend.journal_reader.snapshots()

    def diff(self, since: When, until: When | None = None, *, namespace: Scope = "default") -> Diff:
        """Return the live records of *namespace* added, changed or removed between two moments.

        *until* None is the present. An *until* before *since* gives the way back. Accesses alone
        are no change.
        """
        start, scope, end = self._moments.find(since), check_scope(namespace), self._moment(until)
        journal_reader = self._engine.backend.journal_reader
        first, last = sorted((start.seq, end.seq))
        changed = journal_reader.candidates(scope, last, first)
        expired = journal_reader.expiring(scope, *sorted((start.at, end.at)))
        found = {each.ordinal: each for each in (*changed, *expired)}
        records = [found[ordinal] for ordinal in sorted(found)]
        before, after = (_readable(journal_reader, records, at, scope) for at in (start, end))
        both = [Change(before[id], after[id]) for id in before if id in after]
        return Diff(
            start.seq,
            end.seq,
            tuple(record for id, record in after.items() if id not in before),
            tuple(change for change in both if change.fields),
            tuple(record for id, record in before.items() if id not in after),
        )

    def audit(
        self,
        key: str,
        *,
        namespace: str = "default",
        as_of: When | None = None,
        limit: int | None = None,
    ) -> list[Version]:
        """Return every version of the fact *key*, with times and successors, oldest first.

        With *as_of*, a moment as in ``as_of``, return the versions known at the moment; with
        *limit*, only the last so many.
        """
        place = check_namespace(namespace), fields.label("key", key)
        seq, most = self._moment(as_of).seq, fields.limit("limit", limit)
        if most == 0:
            return []
        backend, asked = self._engine.backend, -1 if most is None else most + 1
        while True:
            holders = backend.journal_reader.key_holders(*place, seq, asked)
            found: list[Version] = []
            for current in holders:
                entries = backend.log(LogQuery(id=current.record.id))[::-1]
                known = (entry for entry in entries if entry.seq <= seq)
                found += _versions(known, (*place, "live"))
            found.sort(key=lambda version: version.seq)
            if most is None:
                return found
            # No version of a record is later than the last change of the record.
            is_late = len(found) >= most and found[-most].seq >= holders[-1].revision
            if is_late or len(holders) < asked:
                return found[-most:]
            asked *= 4

    def _moment(self, when: When | None) -> Moment:
        """Return the moment *when*, the present for None."""
        if when is None:
            return Moment(self._engine.backend.head(), self._engine.clock())
        return self._moments.find(when)


def take_snapshot(transaction: Transaction, name: str) -> Snapshot:
    """Name the moment before the new entry; refuse a name in use."""
    writer, now = transaction.writer, transaction.now
    taken = Snapshot(name, writer.head(), now)
    writer.snapshot(name, now)
    writer.journal("snapshot", now, None, None, None, {"name": name})
    return taken


def _readable(
    journal_reader: JournalReader, records: Sequence[Current], moment: Moment, scope: Scope
) -> dict[str, MemoryRecord]:
    """Return the *records* that were readable in *scope* at *moment*, by id."""
    return {
        each.record.id: each.record
        for each in records_at(journal_reader, records, moment.seq)
        if each.record.state == "live"
        and covers(scope, each.record.namespace)
        and not each.record.expired(moment.at)
    }


def _versions(entries: Iterable[LogEntry], place: tuple[str, str, str]) -> Iterator[Version]:
    """Yield the versions of a record while namespace, key and state were *place*."""
    version: Version | None = None
    told: dict[str, Any] = {}
    for entry in entries:
        told = replayed(told, entry.changes, entry.at)
        text = told.get("content", ""), told.get("value")
        holds = (told.get("namespace"), told.get("key"), told.get("state")) == place
        if version and not (holds and spelled_alike(text, (version.content, version.value))):
            heir = version.id if holds else told.get("superseded_by")
            yield replace(
                version,
                until_seq=entry.seq,
                until=entry.at,
                ended_by=entry.action,
                replaced_by=heir,
            )
            version = None
        if holds and version is None:
            version = Version(str(entry.id), *text, entry.seq, entry.at)
    if version is not None:
        yield version
