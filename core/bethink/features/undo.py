"""Undoing one mutation by a new journal entry: history is never rewritten."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ..errors import NotFoundError, ValidationError
from ..memory.engine import Engine, Transaction
from ..memory.memories import Memories
from ..memory.writing import check_key_free, successor_of
from ..model import fields
from ..model.arrays import Vector
from ..model.port import EMBEDDED, LogQuery, entry_at
from ..model.records import LogEntry, MemoryRecord, State, different, embedded_text
from ..storage import (
    PART,
    SILENT_FIELDS,
    FullBackend,
    RecordAt,
    changed_fields,
    records_at,
    refuse_compacted,
)
from .files import refuse_gaps
from .links import LINK_ACTIONS, undo_link

_HINTS: Final[Mapping[State, str]] = {
    "forgotten": "; restore it first",
    "archived": "; unarchive it first",
}

_ACCESS_COUNTING_ACTIONS: Final = ("merge", "undo")
"""Actions that add the accesses of a second record to a record, or subtract them again."""

_UNDOING_ACTIONS: Final = ("undo", "expire")
"""Actions of the entries that an undo writes."""


@dataclass(frozen=True, slots=True)
class _Reversal:
    """A journal entry to undo.

    ``after`` is the record right after the entry. While the ``checked`` fields are unchanged since,
    the fields ``back`` can be given back. ``accesses`` came from a second record.
    """

    seq: int
    after: MemoryRecord
    back: Mapping[str, Any]
    checked: Collection[str]
    accesses: int = 0

    def changed(self, now: MemoryRecord) -> list[str]:
        """Return the checked fields that have changed since the entry."""
        return [name for name in different(self.after, now) if name in self.checked]


class UndoVerbs(Memories):
    """The verb ``undo``."""

    def undo(self, entry: int | LogEntry) -> MemoryRecord:
        """Undo the mutation of journal *entry*, by a new entry; return the record.

        *entry* is a journal entry or an entry's number. Undoing the storing of a fact makes the
        superseded record of the fact live again. Undoing any entry of a change of ``Files``, or of
        an undo, takes the whole change, or the whole undo, back. An entry whose fields a later
        entry changed raises ``ValidationError``, as do touches, snapshots and erasures, the update
        that first gave a record a named vector, and an undo that would hide a fact; an unknown
        entry raises ``NotFoundError``.
        """
        number = entry.seq if isinstance(entry, LogEntry) else entry
        seq, engine = fields.integer("entry", number, 1), self._engine
        found = entry_at(engine.backend, seq)
        if found is not None and found.action in LINK_ACTIONS:
            return undo_link(engine, found)
        given, steps, parts = _plan_reversals(engine.backend, seq)
        ids = [step.after.id for step in steps]
        # Embedding takes long, so the transaction begins afterwards. If a text has changed
        # meanwhile, the vector is wrong, and all begins again.
        while True:
            known = engine.backend.find(ids)
            vectors = [_vectors(engine, known[step.after.id].record, step) for step in steps]
            with engine.writing(guarded=False) as transaction:
                transaction.parts = 0 if parts else None
                rows = transaction.writer.find(ids)
                unchanged = all(_same_text(rows[id].record, known[id].record) for id in ids)
                if unchanged:
                    undone = {
                        step.after.id: _reverse(transaction, *rows[step.after.id], step, its)
                        for step, its in zip(steps, vectors, strict=True)
                    }
                    for id, back in undone.items():
                        _refuse_hiding(transaction, seq, rows[id].record, back)
                    _refuse_gaps(transaction, seq)
            if unchanged:
                return engine.current(undone[given.after.id])


def _same_text(one: MemoryRecord, other: MemoryRecord) -> bool:
    return (one.content, one.author) == (other.content, other.author)


def _vectors(engine: Engine, known: MemoryRecord, step: _Reversal) -> dict[str, Vector]:
    """Return the vectors that the record *known* has after the undo, if other than now."""
    vectors, back = _former_vectors(engine.backend, step), replace(known, **step.back)
    if embedded_text(back) != embedded_text(known):
        vectors[EMBEDDED] = engine.embed([back])[0]
    return vectors


def _plan_reversals(backend: FullBackend, seq: int) -> tuple[_Reversal, list[_Reversal], bool]:
    """Return the reversal of entry *seq*, and the reversals of all entries to undo with *seq*.

    The newest entry comes first, so that a key is free before a former holder takes the key back.
    Other records changed again since are left out, unless the entries are parts of one change of a
    text: then the last value is True, and no part may have changed since.
    """
    entry = entry_at(backend, seq)
    first = seq if entry is None else seq - entry.changes.get(PART, 0)
    refuse_compacted(backend.journal_reader, first - 1)
    if entry is None:
        raise NotFoundError("journal entry", str(seq))
    if entry.id is None:
        raise ValidationError(f"entry {seq} ({entry.action}) cannot be undone")
    if (step := _reversal(backend, entry)) is None:
        raise ValidationError(f"what entry {seq} told has been erased")
    if parts := _find_parts(backend, entry):
        steps = [_reversal(backend, part) for part in reversed(parts)]
        whole = [each for each in steps if each is not None]
        if len(whole) < len(steps):
            raise ValidationError(f"a part of what entry {seq} told has been erased")
        for each in whole:
            _check_last(backend, each)
        return step, whole, True
    find = _find_undone_together if entry.action == "undo" else _find_superseded
    found = find(backend, entry)
    now = backend.find([each.after.id for each in found])
    others = [each for each in found if not each.changed(now[each.after.id].record)]
    if not (step.back or others or _former_vectors(backend, step)):
        raise ValidationError(f"entry {seq} ({entry.action}) changed nothing to be undone")
    _check_last(backend, step)
    return step, sorted([step, *others], key=lambda each: -each.seq), False


def _find_parts(backend: FullBackend, entry: LogEntry) -> list[LogEntry]:
    """Return the entries that tell one change together with *entry*, oldest first.

    Return an empty list for an entry that tells the whole change. Erased entries are included.
    """
    first, parts = entry.seq - entry.changes.get(PART, 0), list[LogEntry]()
    while (part := entry_at(backend, first + len(parts))) and part.at == entry.at:
        if part.changes and part.changes.get(PART, 0) != len(parts):
            break
        parts.append(part)
    while parts and not parts[-1].changes:
        parts.pop()
    if first < entry.seq >= first + len(parts):
        raise ValidationError(f"a part of what entry {entry.seq} told is missing")
    return parts if len(parts) > 1 else []


def _reversal(backend: FullBackend, entry: LogEntry) -> _Reversal | None:
    """Return the reversal of an entry about a record, None if a part has been erased."""
    seq, id = entry.seq, entry.id or ""
    before, after = _records_at(backend, id, seq - 1, seq)
    if after is None or (before is None and entry.action != "store"):
        return None
    if before is None:
        # The opposite of storing is forgetting, so any change since would be lost.
        everything = frozenset(MemoryRecord.__slots__) - SILENT_FIELDS
        return _Reversal(seq, after.record, {"state": "forgotten"}, everything)
    names = changed_fields(before.record, after.record)
    back = {name: getattr(before.record, name) for name in names}
    counted = entry.action in _ACCESS_COUNTING_ACTIONS
    accesses = after.record.access_count - before.record.access_count if counted else 0
    return _Reversal(seq, after.record, back, names, accesses)


def _records_at(backend: FullBackend, id: str, *moments: int) -> list[RecordAt | None]:
    """Return the record at each moment, None before the record was stored and once erased."""
    reader = backend.journal_reader
    known = reader.current([id])
    return [next(iter(records_at(reader, known, seq)), None) for seq in moments]


def _check_last(backend: FullBackend, step: _Reversal) -> None:
    """Refuse an entry whose fields a later entry changed, and name the later entry.

    A later entry that was undone does not count, nor does the entry that undid the later entry.
    """
    undone: set[int] = set()
    for later in backend.log(LogQuery(id=step.after.id, since=step.seq)):  # newest first
        undoes = later.changes.get("undoes", 0)
        if later.seq in undone:
            continue
        if undoes > step.seq:
            undone.add(undoes)
        elif again := ", ".join(sorted(later.changes.keys() & frozenset(step.checked))):
            raise ValidationError(
                f"entry {step.seq} cannot be undone: entry {later.seq} ({later.action}) changed "
                f"{again} after it; undo that first"
            )


def _find_superseded(backend: FullBackend, entry: LogEntry) -> list[_Reversal]:
    """Return the reversals of the supersessions that came with a new or merged record."""
    back = {"state": "live", "superseded_by": None}
    found = _supersessions(backend, entry)
    return [_Reversal(seq, superseded, back, tuple(back)) for seq, superseded in found]


def _supersessions(backend: FullBackend, entry: LogEntry) -> Iterator[tuple[int, MemoryRecord]]:
    """Yield the entries of supersessions that came with a new or merged record, newest first.

    Each entry comes with the superseded record right after the entry.
    """
    seq, told = entry.seq, entry.action != "store" and bool(entry.changes)
    among = entry.changes.get("merged", ()) if told else None
    # A write journals supersessions right before the new record: the search walks back to the
    # first entry about anything else.
    cut = backend.journal_reader.cut()
    first = 0 if cut is None else cut.seq
    while earlier := entry_at(backend, seq := seq - 1):
        if seq <= first or (among is not None and earlier.id not in among):
            break
        [old] = _records_at(backend, earlier.id or "", earlier.seq)
        if old is None and earlier.action == "supersede":
            continue  # erased since
        if old is None or earlier.changes.get("superseded_by") != entry.id:
            break
        yield earlier.seq, old.record


def _find_undone_together(backend: FullBackend, entry: LogEntry) -> list[_Reversal]:
    """Return the reversals of the other entries that one undo wrote with *entry*."""
    depth, undone = _trace(backend, entry)
    written = set() if undone is None else _written_together(backend, undone)
    steps: list[_Reversal] = []
    for way in (-1, 1):
        seq, last = entry.seq, entry.changes.get("undoes", 0)
        while (other := entry_at(backend, seq := seq + way)) and other.action in _UNDOING_ACTIONS:
            if not (undoes := other.changes.get("undoes", 0)):
                continue  # an expired holder of a key, or erased since
            others_depth, undone = _trace(backend, other)
            # An undo takes the newest entry back first.
            if (undoes > last) == (way > 0) or others_depth != depth or undone is None:
                break
            if undone.seq not in written:
                break
            last = undoes
            if step := _reversal(backend, other):
                steps.append(step)
    return steps


def _trace(backend: FullBackend, entry: LogEntry) -> tuple[int, LogEntry | None]:
    """Return how many undos lie between *entry* and a first change, and the entry of the change.

    The entry is None if erased or no longer in the journal.
    """
    depth, found = 0, entry
    while found.action == "undo":
        undoes = found.changes.get("undoes", 0)
        earlier = entry_at(backend, undoes) if 0 < undoes < found.seq else None
        if earlier is None:
            return depth, None
        depth, found = depth + 1, earlier
    return depth, found


def _written_together(backend: FullBackend, entry: LogEntry) -> set[int]:
    """Return the numbers of *entry* and of the entries that one undo takes back with *entry*."""
    by, cause = entry.changes.get("superseded_by"), entry
    while by is not None and cause.id != by:
        later = entry_at(backend, cause.seq + 1)
        erased = later is not None and not later.changes
        if later is None or not (erased or by in (later.id, later.changes.get("superseded_by"))):
            return {entry.seq}
        cause = later
    written = {cause.seq, *(seq for seq, _ in _supersessions(backend, cause))}
    return written if entry.seq in written else {entry.seq}


def _former_vectors(backend: FullBackend, step: _Reversal) -> dict[str, Vector]:
    """Return the named vectors that the entry removed from the record."""
    names = backend.journal_reader.vector_names(step.seq)
    [before] = _records_at(backend, step.after.id, step.seq - 1) if names else [None]
    if before is None:
        return {}
    vectors: dict[str, Vector] = {}
    for name in names:
        found = backend.journal_reader.former_vectors([before.row], name)
        if not found:
            raise ValidationError(
                f"entry {step.seq} cannot be undone: it gave vectors {name!r} first"
            )
        vectors[name] = found[before.row]
    return vectors


def _reverse(
    transaction: Transaction,
    row: int,
    now: MemoryRecord,
    step: _Reversal,
    vectors: Mapping[str, Vector],
) -> MemoryRecord:
    """Give the record *now* the fields from before the entry; return the record."""
    refused = f"entry {step.seq} cannot be undone"
    if changed := step.changed(now):
        raise ValidationError(f"{refused}: {', '.join(sorted(changed))} changed after it")
    if "state" not in step.back and now.state != "live":
        hint = _HINTS.get(now.state, "")
        raise ValidationError(f"{refused}: its record is {now.state}{hint}")
    # Accesses counted since stay counted; only the accesses of the second record go.
    accesses = now.access_count - step.accesses
    back = replace(now, **step.back, access_count=accesses, updated_at=transaction.now)
    changes = {**step.back, "undoes": step.seq}
    if step.accesses:
        changes["access_count"] = accesses
    if back.state == "live":
        check_key_free(transaction, back)
    transaction.change(row, now, back, vectors, "undo", changes)
    return back


def successors(transaction: Transaction, record: MemoryRecord) -> list[MemoryRecord]:
    """Return the record that superseded *record*, the successor's successor, and so on."""
    found: dict[str, MemoryRecord] = {}
    while (later := successor_of(transaction, record)) is not None and later.id not in found:
        record = found[later.id] = later
    return list(found.values())


def _refuse_hiding(
    transaction: Transaction, seq: int, now: MemoryRecord, back: MemoryRecord
) -> None:
    """Refuse to hide the fact of the record *now* behind a record that does not stand.

    A successor must not be erased, nor superseded by the very record; the last successor of a live
    record must not be forgotten.
    """
    if back.state != "superseded":
        return
    refused, chain = f"entry {seq} cannot be undone", successors(transaction, back)
    if not chain or chain[0].state == "erased" or any(each.id == back.id for each in chain):
        raise ValidationError(
            f"{refused}: record {back.superseded_by!r}, which superseded its record, is erased or "
            "superseded by that"
        )
    last = chain[-1]
    if now.state == "live" and last.state in ("forgotten", "erased"):
        hint = _HINTS.get(last.state, "")
        raise ValidationError(
            f"{refused}: record {last.id!r}, which superseded its record, is {last.state}{hint}"
        )


def _refuse_gaps(transaction: Transaction, seq: int) -> None:
    try:
        refuse_gaps(transaction)
    except ValidationError as error:
        raise ValidationError(f"entry {seq} cannot be undone: {error}") from None
