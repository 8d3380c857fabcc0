"""Past records, replayed from the journal entry by entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from ..errors import CompactedError, CorruptStoreError
from ..model.records import MemoryRecord, different
from .abilities import Current, JournalReader, RecordHistory

_FIELDS: Final = frozenset(MemoryRecord.__slots__)
ACCESS_FIELDS: Final = frozenset(("access_count", "last_accessed_at"))
SILENT_FIELDS: Final = ACCESS_FIELDS | {"updated_at"}
"""The fields that change without a request of the caller."""


class PastRecord(NamedTuple):
    """A past record with the row of the moment, beside the current record."""

    row: int
    record: MemoryRecord
    current: Current


RecordAt: TypeAlias = Current | PastRecord
"""A record at some moment, changed since or not."""


def refuse_compacted(journal_reader: JournalReader, seq: int) -> None:
    """Raise ``CompactedError`` if the records as of the entry *seq* are gone."""
    cut = journal_reader.cut()
    if cut is not None and seq < cut.seq:
        raise CompactedError(seq, cut.seq, cut.at)


def records_at(
    journal_reader: JournalReader, records: Sequence[Current], seq: int
) -> list[RecordAt]:
    """Return the *records* that existed at *seq*, in any state, with the fields of the moment.

    Records erased since are left out.
    """
    born = [each for each in records if each.ordinal <= seq]
    histories = journal_reader.histories([each for each in born if each.revision > seq], seq)
    past = {history.current.ordinal: past_record(history) for history in histories}
    found = (each if each.revision <= seq else past[each.ordinal] for each in born)
    return [each for each in found if each is not None]


def changed_fields(before: MemoryRecord, after: MemoryRecord) -> tuple[str, ...]:
    """Return the names of the fields that differ, silent fields aside."""
    return tuple(name for name in different(before, after) if name not in SILENT_FIELDS)


def replayed(fields: Mapping[str, Any], changes: Mapping[str, Any], at: float) -> dict[str, Any]:
    """Return *fields* of a record after an entry with *changes*, made at the time *at*."""
    known = {name: value for name, value in changes.items() if name in _FIELDS}
    return {**fields, "updated_at": at, **known}


def record_of(fields: Mapping[str, Any]) -> MemoryRecord:
    """Return the record with *fields* from JSON; all required fields must be present."""
    try:
        return MemoryRecord(**{**fields, "tags": tuple(fields.get("tags", ()))})
    except TypeError as error:
        raise CorruptStoreError(None, "the journal does not tell all of a record") from error


def past_record(history: RecordHistory) -> PastRecord | None:
    """Return the past record of *history*, None if a part has been erased."""
    fields: dict[str, Any] = {}
    changed_by = dict.fromkeys(ACCESS_FIELDS, 0)  # the last entry that changed the field
    row = 0
    for entry in history.entries:
        changes = entry.changes if entry.full_record is None else entry.full_record
        if changes is None:
            return None
        fields = replayed(fields, changes, entry.at)
        row = entry.row or row
        changed_by |= dict.fromkeys(ACCESS_FIELDS & changes.keys(), entry.seq)
    if history.accessed is not None:
        # Accesses are noted beside the journal's changes: the later of both counts.
        seq, *accessed = history.accessed
        noted = zip(("access_count", "last_accessed_at"), accessed, strict=True)
        fields |= {name: value for name, value in noted if seq > changed_by[name]}
    return PastRecord(row, record_of(fields), history.current)
