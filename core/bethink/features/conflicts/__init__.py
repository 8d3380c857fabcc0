"""The verbs on conflicts: find the records of a scope that cannot both hold, and settle it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ...errors import ValidationError
from ...memory import reading
from ...memory.engine import Engine
from ...memory.history import When
from ...memory.memories import Memories, Where
from ...memory.writing import find_live, supersede
from ...model import fields
from ...model.filters import parse
from ...model.namespaces import Scope, check_scope
from ...model.records import MemoryRecord
from ..duplicates import similarities
from ..statements import Conflict, ParsedRecord, Tier, find_conflict, read
from .candidates import candidate_pairs

__all__ = ["Conflict", "ConflictVerbs", "Tier"]

TIERS: Final[tuple[Tier, ...]] = ("likely", "possible")


class ConflictVerbs(Memories):
    """The verbs ``conflicts`` and ``resolve``."""

    def conflicts(
        self,
        query: str | None = None,
        *,
        namespace: Scope = "default",
        where: Where = None,
        k: int = 50,
        min_tier: Tier = "possible",
        limit: int | None = None,
        as_of: When | None = None,
    ) -> list[Conflict]:
        """Return the pairs of live memories that hardly both hold, for you to judge.

        With a *query* they are sought among its *k* most relevant memories, else in the whole
        scope. "likely" ones come before "possible" ones, then the more similar first. Each memory
        is held against the 32 of its namespace that share the most telling words with it. With
        *as_of* they are those of that moment.
        """
        tier, most = fields.one_of("min_tier", min_tier, TIERS), fields.limit("limit", limit)
        k, engine = fields.integer("k", k, 0), self._engine_at(as_of)
        if query is None:
            records = reading.listed(
                engine, check_scope(namespace), parse(where), None, 0, newest_first=False
            )
        else:
            found = self.recall(
                query, k=k, namespace=namespace, where=where, touch=False, as_of=as_of
            )
            records = [result.memory for result in found]
        return find_conflicts(engine, records, tier, most)

    def resolve(self, keep: str, drop: str | Iterable[str], reason: str | None = None) -> int:
        """Settle a conflict: the memory *keep* supersedes those to *drop*; return how many.

        The log has the *reason*, and ``undo`` of its entry takes it back. An id that is unknown or
        no longer live raises ``NotFoundError``.
        """
        why = None if reason is None else fields.text("reason", reason, fields.MAX_CONTENT)
        return resolve_conflict(self._engine, fields.identifier("id", keep), fields.ids(drop), why)


def find_conflicts(
    engine: Engine, records: Sequence[MemoryRecord], min_tier: Tier, limit: int | None
) -> list[Conflict]:
    """Return the conflicts among *records*: likely ones first, then by similarity.

    Records of different namespaces never conflict.
    """
    spaces = defaultdict[str, list[ParsedRecord]](list)
    for record in records:
        if record.content:
            spaces[record.namespace].append(read(record))
    wanted = TIERS[: TIERS.index(min_tier) + 1]
    found = [each for space in spaces.values() for each in _within(space) if each.tier in wanted]
    return sorted(_with_similarity(engine, found), key=_order)[:limit]


def resolve_conflict(engine: Engine, keep: str, drop: Iterable[str], reason: str | None) -> int:
    """Have the record *keep* supersede those with the ids in *drop*; return how many they were."""
    dropped = list(dict.fromkeys(drop))
    if keep in dropped:
        raise ValidationError(f"record {keep!r} cannot be both kept and dropped")
    told = {} if reason is None else {"reason": reason}
    with engine.writing() as transaction:
        find_live(transaction, keep)
        for id in dropped:
            row, old = find_live(transaction, id)
            supersede(transaction, row, old, keep, "resolve", told)
    return len(dropped)


def _within(readings: Sequence[ParsedRecord]) -> Iterator[Conflict]:
    for one, other in candidate_pairs(readings):
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
