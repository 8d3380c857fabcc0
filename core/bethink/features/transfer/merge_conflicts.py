"""Key conflicts: of two facts with one key, or of two texts with one path, the later wins.

A chunked text wins or loses as a whole: chunks of two texts never mix.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from ...memory.engine import Transaction
from ...model.port import Backend
from ...model.records import MemoryRecord
from ..duplicates import say_the_same
from ..files import path_of, records_by_key, start_byte
from ..statements import read

_Found: TypeAlias = tuple[int, MemoryRecord]
_TEXT_FIELDS: Final = frozenset(("content", "value"))
_MAX_ENTRIES: Final = (
    64  # entries: who changed nothing but a mark for so long is told when it occurred
)


def last_changed_at(backend: Backend, record: MemoryRecord) -> float:
    """Return the time of the last change of *record*'s text or value, or of the occurrence."""
    for entry in backend.log(_MAX_ENTRIES, record.id, None, 0):
        if entry.action == "store":
            break
        if not _TEXT_FIELDS.isdisjoint(entry.changes):
            return max(record.occurred_at, entry.at)
    return record.occurred_at


class KeyConflict(NamedTuple):
    """The outcome of a key conflict for the records of both texts, and the ``head`` of the text.

    Incoming records may be ``outdated``; records here may be ``superseded`` or ``revived``.
    """

    head: MemoryRecord
    outdated: Sequence[MemoryRecord] = ()
    superseded: Sequence[_Found] = ()
    revived: Sequence[_Found] = ()


def key_conflicts(
    transaction: Transaction,
    backend: Backend,
    incoming: Iterable[MemoryRecord],
    told: Mapping[str, float],
) -> Iterator[KeyConflict]:
    """Yield the outcome for each text that *incoming* and this store have in different versions.

    *told* is the time of each incoming record's last change. A text that continues the second text
    is no conflict, nor is a fact that the fact here absorbed; a text forgotten here stays
    forgotten.
    """
    for theirs in _texts(incoming).values():
        parts = records_by_key(transaction, theirs[0].namespace, path_of(theirs[0]))
        known = transaction.writer.find([each.id for each in theirs])
        gone = [found for found in known.values() if found[1].state != "live"]
        here = [each for _, each in parts.values()]
        ids, own = {each.id for each in theirs}, {each.id for each in here}
        alone = len(theirs) == 1 and len(here) < 2
        if ids <= own or (not gone and (alone or own <= ids)):
            continue
        if alone and any(say_the_same(read(theirs[0]), read(each), 1.0) for each in here):
            continue  # the fact here has taken it in
        fresh = [each for each in theirs if each.id not in known]
        latest = max((last_changed_at(backend, each) for each in here), default=math.inf)
        whole = all(each.state != "erased" for _, each in gone)
        if whole and max(told[each.id] for each in theirs) > latest:
            ours = [(row, each) for row, each in parts.values() if each.id not in ids]
            yield KeyConflict(theirs[0], superseded=ours, revived=gone)
        else:
            yield KeyConflict(here[0] if here else theirs[0], outdated=fresh)


def _texts(records: Iterable[MemoryRecord]) -> dict[tuple[str, str], Sequence[MemoryRecord]]:
    """Return the live records with a key, by namespace and path, in order of the text."""
    texts: dict[tuple[str, str], list[MemoryRecord]] = {}
    for record in records:
        if record.state == "live" and record.key is not None:
            texts.setdefault((record.namespace, path_of(record)), []).append(record)
    return {place: sorted(parts, key=start_byte) for place, parts in texts.items()}
