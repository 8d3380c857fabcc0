"""The verbs on conflicts: find the records of a scope that cannot both hold, and settle it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ..conflicts import Conflict, Reading, Tier, find_conflict, read
from ..conflicts.chances import promising
from ..conflicts.pairs import sharing
from ..engine import Engine
from ..errors import ValidationError
from ..records import MemoryRecord
from .lifecycle import found_live, supersede
from .pieces import keeping_whole
from .similar import similarities

TIERS: Final[tuple[Tier, ...]] = ("likely", "possible")


def conflicts(
    engine: Engine, records: Sequence[MemoryRecord], min_tier: Tier, limit: int | None
) -> list[Conflict]:
    """Return the conflicts among *records*: likely ones first, then by similarity.

    Records of different namespaces never conflict.
    """
    spaces = defaultdict[str, list[Reading]](list)
    for record in records:
        if record.content:
            spaces[record.namespace].append(read(record))
    wanted = TIERS[: TIERS.index(min_tier) + 1]
    found = [each for space in spaces.values() for each in _within(space) if each.tier in wanted]
    return sorted(_with_similarity(engine, found), key=_order)[:limit]


def resolve(engine: Engine, keep: str, drop: Iterable[str], reason: str | None) -> int:
    """Have the record *keep* supersede those with the ids in *drop*; return how many they were."""
    dropped = list(dict.fromkeys(drop))
    if keep in dropped:
        raise ValidationError(f"record {keep!r} cannot be both kept and dropped")
    told = {} if reason is None else {"reason": reason}
    with keeping_whole(engine) as transaction:
        found_live(transaction, keep)
        for id in dropped:
            row, old = found_live(transaction, id)
            supersede(transaction, row, old, keep, "resolve", told)
    return len(dropped)


def _within(readings: Sequence[Reading]) -> Iterator[Conflict]:
    for one, other in promising(readings, sharing(readings)):
        if (found := find_conflict(readings[one], readings[other])) is not None:
            yield found


def _with_similarity(engine: Engine, found: Sequence[Conflict]) -> list[Conflict]:
    """Return the conflicts with the cosines of their vectors, 0 where there are none."""
    alike = similarities(engine, [(each.older.id, each.newer.id) for each in found])
    return [
        Conflict(each.older, each.newer, each.tier, {**each.signals, "similarity": similarity})
        for each, similarity in zip(found, alike, strict=True)
    ]


def _order(conflict: Conflict) -> tuple[int, float, str, str]:
    return TIERS.index(conflict.tier), -conflict.similarity, conflict.older.id, conflict.newer.id
