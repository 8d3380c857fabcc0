"""Rivals: of two facts with one key, or of two texts of one path, the one told last holds.

A text in pieces is told as a whole: its pieces never stand among those of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..backends import Backend
from ..engine import Transaction
from ..records import MemoryRecord
from . import runs

_SAID = frozenset(("content", "value"))
_LATEST = 64  # entries: who changed nothing but a mark for so long is told when it occurred


def told_at(backend: Backend, record: MemoryRecord) -> float:
    """Return when *record* last came to say something else, or else when it occurred."""
    for entry in backend.log(_LATEST, record.id, None, 0):
        if entry.action == "store":
            break
        if not _SAID.isdisjoint(entry.changes):
            return max(record.occurred_at, entry.at)
    return record.occurred_at


def outdated_texts(
    transaction: Transaction,
    backend: Backend,
    incoming: Iterable[MemoryRecord],
    told: Mapping[str, float],
) -> Iterator[tuple[list[MemoryRecord], list[tuple[int, MemoryRecord]], MemoryRecord]]:
    """Yield what gives way of each text that *incoming* and this store tell in two ways.

    That is incoming records, rows of this store's, and the head of the text that stays; *told* is
    when each incoming record was told. One text that goes on where the other ends is no rival.
    """
    for theirs in _texts(incoming).values():
        held = runs.held(transaction, theirs[0].namespace, runs.path_of(theirs[0]))
        if len(theirs) == 1 and len(held) < 2:
            continue
        ids, own = {each.id for each in theirs}, {each.id for _, each in held.values()}
        if ids <= own or own <= ids:
            continue
        ours = [(row, each) for row, each in held.values() if each.id not in ids]
        latest = max(told_at(backend, each) for _, each in held.values())
        if max(told[each.id] for each in theirs) > latest:
            yield [], ours, theirs[0]
        else:
            yield [each for each in theirs if each.id not in own], [], next(iter(held.values()))[1]


def _texts(records: Iterable[MemoryRecord]) -> dict[tuple[str, str], Sequence[MemoryRecord]]:
    """Return the live records that have a key, by namespace and path, in order of the text."""
    texts: dict[tuple[str, str], list[MemoryRecord]] = {}
    for record in records:
        if record.state == "live" and record.key is not None:
            texts.setdefault((record.namespace, runs.path_of(record)), []).append(record)
    return {place: sorted(parts, key=runs.place_of) for place, parts in texts.items()}
