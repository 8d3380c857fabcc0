"""Key conflicts: of two facts with one key, or of two texts with one path, the later wins.

A chunked text wins or loses as a whole: chunks of two texts never mix.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from ...memory.engine import Transaction
from ...model.port import LogQuery, Stored
from ...model.records import MemoryRecord
from ...storage import BASE, FullBackend
from ..duplicates import are_interchangeable
from ..files import path_of, records_by_key, start_byte
from ..statements import parse_record

_TEXT_FIELDS: Final = frozenset(("content", "value"))
_MAX_ENTRIES: Final = 64  # journal entries of a record; beyond, the occurrence counts


def last_changed_at(backend: FullBackend, record: MemoryRecord) -> float:
    """Return the time of the last change of *record*'s text or value, or of the occurrence."""
    if record.updated_at == record.created_at:
        return record.occurred_at
    for entry in backend.log(LogQuery(_MAX_ENTRIES, record.id)):  # newest first
        if entry.action == "store":
            break
        if entry.action == BASE:  # the time of a change before the cut is known no better
            changed = entry.changes["updated_at"] if entry.changes else record.occurred_at
            is_new = changed == record.created_at
            return record.occurred_at if is_new else max(record.occurred_at, changed)
        if not _TEXT_FIELDS.isdisjoint(entry.changes):
            return max(record.occurred_at, entry.at)
    return record.occurred_at


class KeyConflict(NamedTuple):
    """The outcome of a key conflict: ``winner`` is the first record of the text that stays.

    Foreign records may be ``outdated``; records here may be ``superseded`` or ``revived``.
    """

    winner: MemoryRecord
    outdated: Sequence[MemoryRecord] = ()
    superseded: Sequence[Stored] = ()
    revived: Sequence[Stored] = ()


def key_conflicts(
    transaction: Transaction,
    backend: FullBackend,
    foreign: Iterable[MemoryRecord],
    changed_at: Mapping[str, float],
) -> Iterator[KeyConflict]:
    """Yield the outcome for each text with different versions in *foreign* and in this store.

    *changed_at* is the time of each foreign record's last change. No conflicts are a text with an
    added end, and a foreign fact that this store's fact absorbed. A text that was
    taken away here stays away, unless changed over there afterwards.
    """
    for theirs in _texts(foreign).values():
        present = records_by_key(transaction, theirs[0].namespace, path_of(theirs[0]))
        known = transaction.writer.find_ever([each.id for each in theirs])
        gone = [found for found in known.values() if found[1].state != "live"]
        ours = [record for _, record in present.values()]
        their_ids, our_ids = {each.id for each in theirs}, {each.id for each in ours}
        unchunked = len(theirs) == 1 and len(ours) < 2
        # Equal chunks with equal ids are the common beginning. One text continues the second if
        # the ids of one are a part of the ids of the second.
        if their_ids <= our_ids or (not gone and (unchunked or our_ids <= their_ids)):
            continue
        if unchunked and any(
            are_interchangeable(parse_record(theirs[0]), parse_record(each)) for each in ours
        ):
            continue  # absorbed by an earlier merge
        latest = max((last_changed_at(backend, each) for each in ours), default=math.inf)
        # A text that was taken away here comes back only if changed over there after that.
        taken = (each.updated_at for _, each in gone if each.state != "superseded")
        latest = max((latest, *taken))
        # An erased chunk cannot come back, so their text could only come back with a gap.
        complete = all(record.state != "erased" for _, record in gone)
        if complete and max(changed_at[each.id] for each in theirs) > latest:
            losers = [pair for pair in present.values() if pair[1].id not in their_ids]
            yield KeyConflict(theirs[0], superseded=losers, revived=gone)
        else:
            new = [each for each in theirs if each.id not in known]
            yield KeyConflict(ours[0] if ours else theirs[0], outdated=new)


def _texts(records: Iterable[MemoryRecord]) -> dict[tuple[str, str], Sequence[MemoryRecord]]:
    """Return *records*, live and with a key, by namespace and path, in order of the text."""
    texts: dict[tuple[str, str], list[MemoryRecord]] = {}
    for record in records:
        texts.setdefault((record.namespace, path_of(record)), []).append(record)
    return {place: sorted(chunks, key=start_byte) for place, chunks in texts.items()}
