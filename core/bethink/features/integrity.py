"""Integrity: checks of everything stored, and repair of everything derived.

Texts are the truth, and the journal holds the texts a second time. Where the two differ, nobody
can know the right text, so nothing is repaired. Data derived from texts, the index and the
embedder's vectors, can always be made again, and so can the backend's own lookup indexes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Final

from ..errors import CorruptStoreError, StorageError
from ..memory.engine import Engine
from ..memory.memories import Memories
from ..model.namespaces import EVERYWHERE
from ..model.port import DIMENSION, EMBEDDED, Access, Entry, Inspection, Place, RecordTrace
from ..model.records import Integrity, MemoryRecord, Problem, ProblemKind, Repair, different
from ..model.replay import record_of, replayed

MOST: Final = 1000
"""So many problems are told of at most by ``verify``."""

_AT_ONCE: Final = 64


def verify(engine: Engine) -> Integrity:
    """Check everything in the store, without a change."""
    return Integrity(_found(engine, MOST))


def repair(engine: Engine) -> Repair:
    """Make damaged derived data again, and nothing else.

    An early repair may have been the cause of further damage, so the rest is checked again.
    """
    before = left = _found(engine)
    for mended in (_mend_indexes, _mend_dimension, _mend_vectors):
        if mended(engine, left):
            left = _found(engine)
    still = frozenset(left)
    return Repair(tuple(each for each in before if each not in still), left)


def _found(engine: Engine, most: int | None = None) -> tuple[Problem, ...]:
    """Return all problems, or the first *most*."""
    engine.check_open()
    with engine.backend.inspect() as inspection:
        return tuple(islice(_problems(inspection, engine.known_dimension), most))


def _mend_indexes(engine: Engine, found: Sequence[Problem]) -> bool:
    """Let the backend build the lookup indexes again; return whether any was damaged."""
    if not any(problem.kind == "file" for problem in found):
        return False
    try:
        with engine.backend.write() as writer:
            mended = writer.mend_indexes()
    except CorruptStoreError:  # more than an index is damaged, or was changed without the key
        return False
    if mended:
        _index_anew(engine, engine.backend.namespaces(EVERYWHERE))
    return mended


def _mend_dimension(engine: Engine, found: Sequence[Problem]) -> bool:
    """Store the length of the embedder's vectors again, if the vectors have the stated length."""
    if not any((problem.kind, problem.where) == ("fact", DIMENSION) for problem in found):
        return False
    with engine.backend.inspect() as inspection:
        usual = inspection.usual_length(EMBEDDED)
    told = engine.known_dimension()
    if told is None or usual not in (told, None):
        return False
    try:
        engine.note_dimension(told)
    except CorruptStoreError:  # it was changed without the key
        return False
    _index_anew(engine, engine.backend.namespaces(EVERYWHERE))
    return True


def _mend_vectors(engine: Engine, found: Sequence[Problem]) -> bool:
    """Make damaged vectors and saved segments again from texts; return whether any was damaged.

    Without the facts about the embedder, nothing is made.
    """
    kinds = {problem.kind for problem in found}
    lost = any(each.kind == "fact" and each.where in ("embedder", DIMENSION) for each in found)
    if lost or kinds.isdisjoint(("segment", "vector")):
        return False
    damaged = sorted({each.where for each in found if each.kind == "vector"})
    for start in range(0, len(damaged), _AT_ONCE):
        _embed_again(engine, damaged[start : start + _AT_ONCE])
    _index_anew(engine)
    return True


def _index_anew(engine: Engine, namespaces: Iterable[str] = ()) -> None:
    """Index the saved namespaces and *namespaces* again."""
    with engine.writing(guarded=False) as transaction:
        transaction.erased |= transaction.writer.discard().union(namespaces)
    engine.index.rebuild(transaction.erased)


def _embed_again(engine: Engine, ids: list[str]) -> None:
    """Give the records among *ids*, erased records aside, new vectors of the store's embedder."""
    records = [each for each in engine.backend.get(ids).values() if each.state != "erased"]
    texts = {record.id: record.content for record in records}
    vectors = dict(zip(texts, engine.embed(records), strict=True))
    with engine.writing(guarded=False) as transaction:
        for id, (row, record) in transaction.writer.find(list(vectors)).items():
            if record.content != texts[id]:
                continue  # changed, and so embedded, meanwhile
            after = replace(record, updated_at=transaction.now)
            if record.state != "live":
                transaction.writer.embed(row, vectors[id])
            transaction.change(row, record, after, {EMBEDDED: vectors[id]}, "repair", {})


def _problems(inspection: Inspection, told: Callable[[], int | None]) -> Iterator[Problem]:
    yield from inspection.damage(told)
    left = Counter[Place]()
    try:
        for life in inspection.traces():
            try:
                retold = _Retold(life)
            except (TypeError, ValueError):
                yield Problem("record", life.id, "what the journal tells of it makes no sense")
                continue
            yield from retold.problems
            left.update(retold.left)
        noted = inspection.moves()
    except StorageError as error:
        yield Problem("file", error.path or "", error.reason)
        return
    for id, namespace, _ in (noted - left) | (left - noted):
        yield Problem("departure", id, f"that it left {namespace!r} is noted wrongly")


class _Retold:
    """A record as replayed from the journal, and the differences from the stored record.

    ``left`` are the former places of the record.
    """

    def __init__(self, life: RecordTrace) -> None:
        self.problems: list[Problem] = []
        self.left = Counter[Place]()
        self._life = life
        self._fields: dict[str, Any] = {}
        self._row: int | None = None
        self._erased = max((s.seq for s in life.steps if s.action == "erase"), default=0)
        events: list[Entry | Access] = [*life.steps, *life.accesses]
        for event in sorted(events, key=lambda event: event.seq):
            if isinstance(event, Access):
                self._count(event)
            else:
                self._take(event)
        self._compare()

    def _say(self, what: str, kind: ProblemKind = "record", where: str = "") -> None:
        self.problems.append(Problem(kind, where or self._life.id, what))

    def _count(self, access: Access) -> None:
        if access.seq < self._erased or access.told is None:
            self._say(f"no journal entry tells of its access noted for entry {access.seq}")
            return
        times, at = access.told
        last = max(at, self._fields.get("last_accessed_at") or at)
        counted = self._fields.get("access_count", 0) + times, last
        if counted != (access.count, access.last):
            where = f"{self._life.id}, entry {access.seq}"
            self._say("it is noted wrongly", "access", where)
        self._fields["access_count"], self._fields["last_accessed_at"] = counted

    def _take(self, step: Entry) -> None:
        say = partial(self._say, kind="journal", where=f"entry {step.seq}")
        if step.was != self._row:
            say("it changed a row that there was not")
        self._row = step.row
        if step.changes is None:
            if step.seq > self._erased:
                say("what it told is gone, though its record was not erased")
            return
        if step.seq < self._erased:
            say("it still tells what was erased")
        before = self._place()
        self._fields = replayed(self._fields, step.changes, step.at)
        if step.whole is not None and _record(self._fields) != _record(step.whole):
            say("it tells its record in two ways")
        if step.namespace != self._fields.get("namespace"):
            say("it is in another namespace")
        if before is not None and before != self._place():
            self.left[before] += 1

    def _place(self) -> Place | None:
        if "namespace" not in self._fields:
            return None
        return self._life.id, self._fields["namespace"], self._fields.get("key")

    def _compare(self) -> None:
        life, told = self._life, _record(self._fields)
        if life.record is None:
            self._say("it cannot be read")
        elif told is None:
            self._say("the journal does not tell all of it")
        elif names := different(told, life.record):
            self._say(f"{', '.join(names)}: not what the journal tells")
        first = life.steps[0] if life.steps else None
        if first is None or (first.seq, first.action) != (life.ordinal, "store"):
            self._say("the entry that stored it is missing")
        told_of = [*(step.seq for step in life.steps), *(each.seq for each in life.accesses)]
        last = max(told_of, default=0)
        if (life.row, life.revision) != (self._row, last):
            self._say("its row or revision is not what the journal tells")


def _record(fields: Any) -> MemoryRecord | None:
    try:
        return record_of(fields)
    except StorageError:
        return None


class IntegrityVerbs(Memories):
    """The verbs ``verify`` and ``repair``."""

    def verify(self) -> Integrity:
        """Check everything in the file and report damage; nothing is changed.

        Pages and tables, the journal's chain, every record against the journal, vectors, links,
        snapshots, the saved index; with an integrity key all codes and the anchor.
        """
        return verify(self._engine)

    def repair(self) -> Repair:
        """Make indexes and the embedder's vectors again, if ``verify`` finds damage.

        Texts, fields, the journal and your own named vectors stay unchanged; the report lists
        repaired and remaining problems.
        """
        return repair(self._engine)
