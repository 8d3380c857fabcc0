"""Taking one mutation back, by a new entry: history is never rewritten."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ..errors import NotFoundError, ValidationError
from ..memory.engine import Engine, Transaction
from ..memory.memories import Memories
from ..memory.writing import check_key_free, comes_after, successor_of
from ..model import fields
from ..model.port import EMBEDDED, Backend, Vector
from ..model.records import LogEntry, MemoryRecord, State, different, embedded_text
from ..model.replay import SILENT, RecordAt, records_at, said_differently
from .files import refuse_gaps
from .links import LINKING
from .links import undo as undo_link

_HINTS: Final[Mapping[State, str]] = {
    "forgotten": "; restore it first",
    "archived": "; unarchive it first",
}

_ACCESS_COUNTING_ACTIONS: Final = ("merge", "undo")
"""What counts the accesses of one record with another's, or takes that back."""


@dataclass(frozen=True, slots=True)
class _Reversal:
    """An entry to be taken back.

    ``left`` is the record as the entry left it; as long as its ``checked`` fields are still so, the
    fields ``back`` can be given back to it. So many accesses were ``counted`` with another record.
    """

    seq: int
    left: MemoryRecord
    back: Mapping[str, Any]
    checked: Collection[str]
    counted: int = 0

    def changed(self, now: MemoryRecord) -> list[str]:
        """Return the checked fields that are not as the entry left them."""
        return [name for name in different(self.left, now) if name in self.checked]


def undo(engine: Engine, seq: int) -> MemoryRecord:
    """Take back entry *seq*; return its record as it is now."""
    engine.check_open()
    entry = engine.backend.journal_reader.entry(seq)
    if entry is not None and entry.action in LINKING:
        return undo_link(engine, entry)
    first, *others = steps = _plan_reversals(engine.backend, seq)
    while True:  # until no one else changes the text while it is being embedded
        known = engine.backend.get([first.left.id])[first.left.id]
        after = replace(known, **first.back)
        vectors = _former_vectors(engine.backend, first)
        if embedded_text(after) != embedded_text(known):
            vectors[EMBEDDED] = engine.embed([after])[0]
        with engine.writing(guarded=False) as transaction:
            found = transaction.writer.find([each.left.id for each in steps])
            row, now = found[first.left.id]
            same = (now.content, now.author) == (known.content, known.author)
            if same:
                undone = _reverse(transaction, row, now, first, vectors)
                for each in others:
                    _reverse(transaction, *found[each.left.id], each, {})
                _refuse_gaps(transaction, seq)
        if same:
            return engine.current(undone)


def _plan_reversals(backend: Backend, seq: int) -> list[_Reversal]:
    """Return the entries to be taken back, *seq* first."""
    entry = backend.journal_reader.entry(seq)
    if entry is None:
        raise NotFoundError("journal entry", str(seq))
    if entry.id is None:
        raise ValidationError(f"entry {seq} ({entry.action}) cannot be undone")
    before, after = (_record_at(backend, entry.id, moment) for moment in (seq - 1, seq))
    if after is None or (before is None and entry.action != "store"):
        raise ValidationError(f"what entry {seq} told has been erased")
    if before is None:
        everything = frozenset(MemoryRecord.__slots__) - SILENT
        steps = [_Reversal(seq, after.record, {"state": "forgotten"}, everything)]
        steps += _find_superseded(backend, entry)
    else:
        names = said_differently(before.record, after.record)
        back = {name: getattr(before.record, name) for name in names}
        merged = entry.action in _ACCESS_COUNTING_ACTIONS
        counted = after.record.access_count - before.record.access_count if merged else 0
        steps = [_Reversal(seq, after.record, back, names, counted)]
        steps += _find_superseded(backend, entry, entry.changes.get("merged", ()))
        if not back and not _former_vectors(backend, steps[0]) and len(steps) == 1:
            raise ValidationError(f"entry {seq} ({entry.action}) changed nothing to be undone")
    _check_last(backend, steps[0])
    return steps


def _record_at(backend: Backend, id: str, seq: int) -> RecordAt | None:
    found = records_at(backend.journal_reader, backend.journal_reader.current([id]), seq)
    return found[0] if found else None


def _check_last(backend: Backend, step: _Reversal) -> None:
    """Refuse what a later entry has changed again, and name that entry.

    One that was taken back itself does not count, nor does what took it back.
    """
    undone: set[int] = set()
    for later in backend.log(None, step.left.id, None, step.seq):
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
    """Return the steps that make live again what the record of *entry* superseded with it.

    What has changed again since is left as it is. With *among*, only records with these ids.
    """
    steps: list[_Reversal] = []
    seq = entry.seq
    while earlier := backend.journal_reader.entry(seq := seq - 1):
        if among is not None and earlier.id not in among:
            break
        old = _record_at(backend, earlier.id, earlier.seq) if earlier.id else None
        if old is None and earlier.action == "supersede":
            continue  # erased since
        if old is None or earlier.changes.get("superseded_by") != entry.id:
            break
        names = ("state", "superseded_by")
        step = _Reversal(earlier.seq, old.record, {"state": "live", "superseded_by": None}, names)
        if not step.changed(old.current.record):
            steps.append(step)
    return steps


def _former_vectors(backend: Backend, step: _Reversal) -> dict[str, Vector]:
    """Return the named vectors that the entry took from the record."""
    if (before := _record_at(backend, step.left.id, step.seq - 1)) is None:
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
    if changed := step.changed(now):
        raise ValidationError(
            f"entry {step.seq} cannot be undone: {', '.join(sorted(changed))} changed after it"
        )
    if "state" not in step.back and now.state != "live":
        first = _HINTS.get(now.state, "")
        raise ValidationError(
            f"entry {step.seq} cannot be undone: its record is {now.state}{first}"
        )
    accesses = now.access_count - step.counted
    back = replace(now, **step.back, access_count=accesses, updated_at=transaction.now)
    changes = {**step.back, "undoes": step.seq}
    if step.counted:
        changes["access_count"] = accesses
    if back.state == "live":
        check_key_free(transaction, back)
    if back.state == "superseded":
        _check_successor(transaction, step, back)
    transaction.change(row, now, back, vectors, "undo", changes)
    return back


def _check_successor(transaction: Transaction, step: _Reversal, back: MemoryRecord) -> None:
    """Refuse to put a record behind one that was erased, or that it came to stand before itself."""
    by, successor = back.superseded_by, successor_of(transaction, back)
    erased = successor is None or successor.state == "erased"
    if erased or comes_after(transaction, by, back.id):
        raise ValidationError(
            f"entry {step.seq} cannot be undone: record {by!r}, which superseded its record, is "
            "erased or superseded by that"
        )


def _refuse_gaps(transaction: Transaction, seq: int) -> None:
    try:
        refuse_gaps(transaction)
    except ValidationError as error:
        raise ValidationError(f"entry {seq} cannot be undone: {error}") from None


class UndoVerbs(Memories):
    """The verb ``undo``."""

    def undo(self, entry: int | LogEntry) -> MemoryRecord:
        """Take back the mutation of journal *entry*, by a new entry; return its record.

        An entry is given itself or by its number. Undoing the storing of a fact gives the fact back
        to the record it was taken from. An entry whose work a later one changed raises
        ``ValidationError``, as do touches, snapshots and erasures, an unknown one
        ``NotFoundError``.
        """
        seq = entry.seq if isinstance(entry, LogEntry) else entry
        return undo(self._engine, fields.integer("entry", seq, 1))
