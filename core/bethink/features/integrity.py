"""Integrity: checks of everything stored, and repair of everything derived.

Texts are the truth, and the journal holds the texts a second time. Where the two differ, nobody
can know the right text, so nothing is repaired. Data derived from texts, the index and the
embedder's vectors, can always be made again, and so can the backend's own lookup indexes.
A journal entry that nobody can read is lost, and stays reported.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Final

from ..embedders import stated_dimension
from ..errors import CorruptStoreError, StorageError, ValidationError
from ..memory.engine import Engine
from ..memory.memories import Memories
from ..model import fields
from ..model.namespaces import EVERYWHERE
from ..model.port import DIMENSION_SETTING, EMBEDDED
from ..model.progress import Progress, Tell, telling
from ..model.records import MemoryRecord, different
from ..model.values import Value
from ..storage import (
    ACCESS_FIELDS,
    BASE,
    Access,
    Entry,
    Inspection,
    Move,
    Problem,
    ProblemKind,
    RecordTrace,
    record_of,
    replayed,
)
from .transfer import copy_by_export

MAX_PROBLEMS: Final = 1000
"""The most problems that ``verify`` returns."""

_BATCH_RECORDS: Final = 64


@dataclass(frozen=True, slots=True)
class Integrity(Value):
    """The result of ``verify``: no problems, or the first ``problems`` of a damaged store."""

    problems: tuple[Problem, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no problem was found."""
        return not self.problems

    def __bool__(self) -> bool:
        return self.ok


@dataclass(frozen=True, slots=True)
class Repair(Value):
    """The result of ``repair``: the problems that are ``mended``, and the problems ``left``."""

    mended: tuple[Problem, ...] = ()
    left: tuple[Problem, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is damaged any more."""
        return not self.left

    def __bool__(self) -> bool:
        return self.ok


class IntegrityVerbs(Memories):
    """The verbs ``verify``, ``repair`` and ``backup``."""

    def verify(self, *, progress: Progress = None) -> Integrity:
        """Check everything in the file and report damage; nothing is changed.

        Pages and tables, the journal's chain, every record against the journal, vectors, links,
        snapshots, the saved index; with an integrity key all codes and the anchor. At most 1,000
        problems are returned. *progress*, see ``reembed``, counts journal entries and records; an
        error there ends the check.
        """
        with telling(progress) as tell:
            return Integrity(_find_problems(self._engine, MAX_PROBLEMS, tell))

    def repair(self) -> Repair:
        """Make indexes and the embedder's vectors again, if ``verify`` finds damage.

        Texts, fields and your own named vectors stay unchanged; the report lists repaired and
        remaining problems. An unreadable or missing journal entry is lost: the entry is emptied,
        a new entry "repair" tells the whole record, ``as_of`` leaves the record out in between,
        and ``verify`` goes on to report the loss. With an integrity key, the journal stays
        unchanged.
        """
        before = left = _find_problems(self._engine)
        # Early damage may have caused the rest, so each repair is followed by a new check.
        for repaired in _REPAIRS:
            if repaired(self._engine, left):
                left = _find_problems(self._engine)
        remaining = frozenset(left)
        return Repair(tuple(each for each in before if each not in remaining), left)

    def backup(self, target: str | os.PathLike[str]) -> None:
        """Copy the store into the new file *target*, while threads and processes go on writing.

        The copy holds one moment, with all history, and opens as a store, with the same
        integrity key if there is one. The complete copy appears at once, checked and for the owner
        only. A database is copied by an export: the journal gets a hash chain of its own. An
        existing *target* raises ``ValidationError``, damage ``CorruptStoreError``.
        """
        path = os.path.abspath(fields.path("target", target))
        self._engine.check_open()
        if os.path.lexists(path):
            raise ValidationError(f"{path} exists already, and a backup overwrites nothing")
        self._engine.flush()
        if not self._engine.backend.backup(path):
            copy_by_export(self, path)


def _find_problems(
    engine: Engine, most: int | None = None, tell: Tell | None = None
) -> tuple[Problem, ...]:
    """Return all problems, or the first *most*."""
    engine.check_open()
    with engine.backend.inspect(tell) as inspection:
        return tuple(islice(_problems(inspection, partial(_known_dimension, engine)), most))


def _known_dimension(engine: Engine) -> int | None:
    """Return the length that the file's embedder states, None if unknown."""
    try:
        own = engine.backend.setting("embedder") == engine.embedder.name
        return stated_dimension(engine.embedder) if own else None
    except Exception:  # whatever a model or a service behind it raises
        return None


def _repair_lookup_indexes(engine: Engine, found: Sequence[Problem]) -> bool:
    """Let the backend build the lookup indexes again; return whether any was damaged."""
    if not any(problem.kind == "file" for problem in found):
        return False
    try:
        with engine.backend.write() as writer:
            repaired = writer.repairer.repair_indexes()
    except CorruptStoreError:  # more than an index is damaged, or was changed without the key
        return False
    if repaired:
        _rebuild_index(engine, engine.backend.namespaces(EVERYWHERE))
    return repaired


def _repair_dimension(engine: Engine, found: Sequence[Problem]) -> bool:
    """Store the length of the embedder's vectors again, if the vectors have the stated length."""
    if not any((problem.kind, problem.where) == ("fact", DIMENSION_SETTING) for problem in found):
        return False
    with engine.backend.inspect() as inspection:
        usual = inspection.usual_dimension(EMBEDDED)
    dimension = _known_dimension(engine)
    if dimension is None or usual not in (dimension, None):
        return False
    try:
        with engine.writing() as transaction:
            transaction.writer.set_setting(DIMENSION_SETTING, str(dimension))
        engine.adopt(engine.embedder)  # the known dimension was the damaged setting
    except CorruptStoreError:  # it was changed without the key
        return False
    _rebuild_index(engine, engine.backend.namespaces(EVERYWHERE))
    return True


def _repair_vectors(engine: Engine, found: Sequence[Problem]) -> bool:
    """Make damaged vectors and saved segments again from texts; return whether any was damaged.

    Without the settings of the embedder, nothing is made.
    """
    kinds = {problem.kind for problem in found}
    lost = any(
        each.kind == "fact" and each.where in ("embedder", DIMENSION_SETTING) for each in found
    )
    if lost or kinds.isdisjoint(("segment", "vector")):
        return False
    damaged = sorted({each.where for each in found if each.kind == "vector"})
    for start in range(0, len(damaged), _BATCH_RECORDS):
        _embed_records(engine, damaged[start : start + _BATCH_RECORDS])
    _rebuild_index(engine)
    return True


def _repair_journal(engine: Engine, found: Sequence[Problem]) -> bool:
    """Empty lost journal entries, and journal the records anew; return whether any was lost."""
    if {problem.kind for problem in found}.isdisjoint(("journal", "record")):
        return False
    try:
        with engine.writing(guarded=False) as transaction:
            lost = transaction.writer.repairer.empty_lost_entries()
            ids = {id for id in lost.values() if id is not None}
            if None in lost.values():  # what the journal no longer tells may have been there
                ids |= {problem.where for problem in found if problem.kind == "record"}
            for row, record in transaction.writer.find(sorted(ids)).values():
                if record.state != "erased":
                    after = replace(record, updated_at=transaction.now)
                    told = {name: getattr(after, name) for name in MemoryRecord.__slots__}
                    transaction.change(row, record, after, {}, "repair", told)
    except CorruptStoreError:  # a record is damaged, too, or was changed without the key
        return False
    return bool(lost)


_REPAIRS: Final = (_repair_lookup_indexes, _repair_journal, _repair_dimension, _repair_vectors)


def _rebuild_index(engine: Engine, namespaces: Iterable[str] = ()) -> None:
    """Index the saved namespaces and *namespaces* again."""
    with engine.writing(guarded=False) as transaction:
        transaction.erased |= transaction.writer.repairer.discard().union(namespaces)
    engine.index.rebuild(transaction.erased)


def _embed_records(engine: Engine, ids: list[str]) -> None:
    """Give the records among *ids*, erased records aside, new vectors of the store's embedder."""
    found = engine.backend.find(ids).values()
    records = [record for _, record in found if record.state != "erased"]
    texts = {record.id: record.content for record in records}
    vectors = dict(zip(texts, engine.embed(records), strict=True))
    with engine.writing(guarded=False) as transaction:
        for id, (row, record) in transaction.writer.find(list(vectors)).items():
            if record.content != texts[id]:
                continue  # changed, and so embedded, meanwhile
            after = replace(record, updated_at=transaction.now)
            if record.state != "live":
                transaction.writer.repairer.embed(row, vectors[id])
            transaction.change(row, record, after, {EMBEDDED: vectors[id]}, "repair", {})


def _problems(inspection: Inspection, dimension: Callable[[], int | None]) -> Iterator[Problem]:
    """Yield the damage of the file, then the differences of records from the journal."""
    yield from inspection.damage(dimension)
    replayed_moves = Counter[Move]()
    try:
        for trace in inspection.traces():
            try:
                replay = _ReplayedRecord(trace)
            except (TypeError, ValueError):
                yield Problem("record", trace.id, "what the journal tells of it makes no sense")
                continue
            yield from replay.problems
            replayed_moves.update(replay.left)
        stored_moves = inspection.moves()
    except StorageError as error:
        yield Problem("file", error.path or "", error.reason)
        return
    for id, namespace, _ in (stored_moves - replayed_moves) | (replayed_moves - stored_moves):
        yield Problem("departure", id, f"that it left {namespace!r} is noted wrongly")


class _ReplayedRecord:
    """A record as replayed from the journal, and the differences from the stored record.

    ``left`` are the former places of the record.
    """

    def __init__(self, trace: RecordTrace) -> None:
        self.problems: list[Problem] = []
        self.left = Counter[Move]()
        self._trace = trace
        self._fields: dict[str, Any] = {}
        self._row: int | None = None
        self._is_lost = False  # what an earlier entry told
        self._erased = max((s.seq for s in trace.entries if s.action == "erase"), default=0)
        # Accesses are stored beside the journal; only together, in order, do both give the count.
        events: list[Entry | Access] = [*trace.entries, *trace.accesses]
        for event in sorted(events, key=lambda event: event.seq):
            if isinstance(event, Access):
                self._check_access(event)
            else:
                self._replay(event)
        self._compare()

    def _report(self, what: str, kind: ProblemKind = "record", where: str = "") -> None:
        self.problems.append(Problem(kind, where or self._trace.id, what))

    def _check_access(self, access: Access) -> None:
        count, last = self._fields.get("access_count", 0), self._fields.get("last_accessed_at")
        noted = access.count, access.last
        if access.seq >= self._erased and access.journaled is not None:
            times, at = access.journaled
            # Clocks may step back, and the last access never does.
            counted = count + times, at if last is None else max(at, last)
        elif self._erased <= access.seq <= self._trace.daily:
            counted = max(noted[0], count + 1), max(noted[1], last or noted[1])
        else:
            self._report(f"no journal entry tells of its access noted for entry {access.seq}")
            return
        if counted != noted:
            where = f"{self._trace.id}, entry {access.seq}"
            self._report("it is noted wrongly", "access", where)
        # From here on by the journal, so that a wrong row is reported once.
        self._fields["access_count"], self._fields["last_accessed_at"] = counted

    def _replay(self, step: Entry) -> None:
        report = partial(self._report, kind="journal", where=f"entry {step.seq}")
        if step.was != self._row:
            report("it changed a row that there was not")
        self._row = step.row
        if step.changes is None:
            if step.seq > self._erased:
                report("what it told is gone, though its record was not erased")
                self._is_lost = True
            return
        if step.seq < self._erased:
            report("it still tells what was erased")
        before = self._place()
        self._fields = replayed(self._fields, step.changes, step.at)
        whole = None if self._is_lost else step.full_record
        if whole is not None and step.seq <= self._trace.daily:  # not all touches before are kept
            self._fields |= {name: whole[name] for name in ACCESS_FIELDS & whole.keys()}
        if whole is not None and _record(self._fields) != _record(whole):
            report("it tells its record in two ways")
        if not self._is_lost and step.namespace != self._fields.get("namespace"):
            report("it is in another namespace")
        # A trigger notes each move in a table, so replayed moves must equal the table's rows.
        if before is not None and before != self._place():
            self.left[before] += 1

    def _place(self) -> Move | None:
        if "namespace" not in self._fields:
            return None
        return self._trace.id, self._fields["namespace"], self._fields.get("key")

    def _compare(self) -> None:
        trace, replay = self._trace, _record(self._fields)
        if trace.record and trace.record.state == "erased" and trace.revision <= trace.cut:
            if trace.entries:  # only the tombstone stays
                self._report("the journal still tells of it")
            return
        if trace.record is None:
            self._report("it cannot be read")
        elif replay is None:
            self._report("the journal does not tell all of it")
        elif names := different(replay, trace.record):
            self._report(f"{', '.join(names)}: not what the journal tells")
        first = trace.entries[0] if trace.entries else None
        if first is None or first[:3:2] != self._first_place(first):
            self._report("the entry that stored it is missing")
        seqs = [*(step.seq for step in trace.entries), *(each.seq for each in trace.accesses)]
        last = max(seqs, default=0)
        # A compacted journal no longer tells which entry up to the cut changed the record last.
        revision = min(max(trace.revision, last), trace.cut) if last <= trace.cut else last
        if (trace.row, trace.revision) != (self._row, revision):
            self._report("its row or revision is not what the journal tells")

    def _first_place(self, first: Entry) -> tuple[int | None, str]:
        """Return number and action that the *first* entry must have."""
        if self._trace.ordinal > self._trace.cut:
            return self._trace.ordinal, "store"
        return first.row, BASE


def _record(fields: Any) -> MemoryRecord | None:
    """Return the record with *fields*, None if a required field is missing."""
    try:
        return record_of(fields)
    except StorageError:
        return None
