"""Undoing one mutation by a new journal entry: history is never rewritten."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ..errors import CompactedError, NotFoundError, ValidationError
from ..memory.engine import Transaction
from ..memory.memories import Memories
from ..memory.writing import check_key_free, comes_after, successor_of
from ..model import fields
from ..model.arrays import Vector
from ..model.port import EMBEDDED, Backend, LogQuery, entry_at
from ..model.records import LogEntry, MemoryRecord, State, different, embedded_text
from ..model.replay import SILENT_FIELDS, RecordAt, changed_fields, records_at
from .files import refuse_gaps
from .links import LINK_ACTIONS, undo_link

_HINTS: Final[Mapping[State, str]] = {
    "forgotten": "; restore it first",
    "archived": "; unarchive it first",
}

_ACCESS_COUNTING_ACTIONS: Final = ("merge", "undo")
"""Actions that add the accesses of a second record to a record, or subtract them again."""


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
        superseded record of the fact live again. An entry whose fields a later entry changed raises
        ``ValidationError``, as do touches, snapshots and erasures; an unknown entry raises
        ``NotFoundError``.
        """
        given = entry.seq if isinstance(entry, LogEntry) else entry
        seq, engine = fields.integer("entry", given, 1), self._engine
        engine.check_open()
        found = entry_at(engine.backend, seq)
        if found is not None and found.action in LINK_ACTIONS:
            return undo_link(engine, found)
        first, *others = _plan_reversals(engine.backend, seq)
        id = first.after.id
        # Embedding takes long, so the transaction begins afterwards. If the text has changed
        # meanwhile, the vector is wrong, and all begins again.
        while True:
            known = engine.backend.find([id])[id].record
            back = replace(known, **first.back)
            vectors = _former_vectors(engine.backend, first)
            if embedded_text(back) != embedded_text(known):
                vectors[EMBEDDED] = engine.embed([back])[0]
            with engine.writing(guarded=False) as transaction:
                rows = transaction.writer.find([id, *(each.after.id for each in others)])
                row, now = rows[id]
                unchanged = (now.content, now.author) == (known.content, known.author)
                if unchanged:
                    # The key must be free again before the superseded records take the key back.
                    undone = _reverse(transaction, row, now, first, vectors)
                    for each in others:
                        _reverse(transaction, *rows[each.after.id], each, {})
                    _refuse_gaps(transaction, seq)
            if unchanged:
                return engine.current(undone)


def _plan_reversals(backend: Backend, seq: int) -> list[_Reversal]:
    """Return the entries to undo: *seq* first, then the supersessions that came with *seq*."""
    entry = entry_at(backend, seq)
    cut = backend.journal_reader.cut()
    if cut is not None and seq <= cut.seq:
        raise CompactedError(seq - 1, cut.seq, cut.at)
    if entry is None:
        raise NotFoundError("journal entry", str(seq))
    if entry.id is None:
        raise ValidationError(f"entry {seq} ({entry.action}) cannot be undone")
    before, after = (_record_at(backend, entry.id, moment) for moment in (seq - 1, seq))
    if after is None or (before is None and entry.action != "store"):
        raise ValidationError(f"what entry {seq} told has been erased")
    if before is None:
        # The opposite of storing is forgetting, so any change since would be lost.
        everything = frozenset(MemoryRecord.__slots__) - SILENT_FIELDS
        step = _Reversal(seq, after.record, {"state": "forgotten"}, everything)
        steps = [step, *_find_superseded(backend, entry)]
    else:
        names = changed_fields(before.record, after.record)
        back = {name: getattr(before.record, name) for name in names}
        merged = entry.action in _ACCESS_COUNTING_ACTIONS
        accesses = after.record.access_count - before.record.access_count if merged else 0
        step = _Reversal(seq, after.record, back, names, accesses)
        steps = [step, *_find_superseded(backend, entry, entry.changes.get("merged", ()))]
        if not back and not _former_vectors(backend, step) and len(steps) == 1:
            raise ValidationError(f"entry {seq} ({entry.action}) changed nothing to be undone")
    _check_last(backend, step)
    return steps


def _record_at(backend: Backend, id: str, seq: int) -> RecordAt | None:
    found = records_at(backend.journal_reader, backend.journal_reader.current([id]), seq)
    return found[0] if found else None


def _check_last(backend: Backend, step: _Reversal) -> None:
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


def _find_superseded(
    backend: Backend, entry: LogEntry, among: Collection[str] | None = None
) -> list[_Reversal]:
    """Return the reversals of the supersessions that the record of *entry* caused.

    Records changed again since are left out. With *among*, only records with the ids in *among*.
    """
    steps: list[_Reversal] = []
    seq = entry.seq
    # A write journals supersessions right before the new record: the search walks back to the
    # first entry about anything else.
    cut = backend.journal_reader.cut()
    first = 0 if cut is None else cut.seq
    while earlier := entry_at(backend, seq := seq - 1):
        if seq <= first or (among is not None and earlier.id not in among):
            break
        old = _record_at(backend, earlier.id, earlier.seq) if earlier.id else None
        if old is None and earlier.action == "supersede":
            continue  # erased since
        if old is None or earlier.changes.get("superseded_by") != entry.id:
            break
        back = {"state": "live", "superseded_by": None}
        step = _Reversal(earlier.seq, old.record, back, tuple(back))
        if not step.changed(old.current.record):
            steps.append(step)
    return steps


def _former_vectors(backend: Backend, step: _Reversal) -> dict[str, Vector]:
    """Return the named vectors that the entry removed from the record."""
    if (before := _record_at(backend, step.after.id, step.seq - 1)) is None:
        return {}
    vectors: dict[str, Vector] = {}
    for name in backend.journal_reader.vector_names(step.seq):
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
    if back.state == "superseded":
        # A successor that is erased, or superseded by this very record, would hide the fact.
        by, successor = back.superseded_by, successor_of(transaction, back)
        erased = successor is None or successor.state == "erased"
        if erased or comes_after(transaction, by, back.id):
            raise ValidationError(
                f"{refused}: record {by!r}, which superseded its record, is erased or superseded "
                "by that"
            )
    transaction.change(row, now, back, vectors, "undo", changes)
    return back


def _refuse_gaps(transaction: Transaction, seq: int) -> None:
    try:
        refuse_gaps(transaction)
    except ValidationError as error:
        raise ValidationError(f"entry {seq} cannot be undone: {error}") from None
