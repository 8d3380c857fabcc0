"""The verbs on conflicts: find pairs of records that cannot both hold, and settle a pair."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np

from ...errors import ValidationError
from ...memory import reading
from ...memory.engine import Engine
from ...memory.memories import Memories
from ...memory.writing import find_live, supersede
from ...model import fields
from ...model.filters import Where, parse
from ...model.namespaces import Scope, check_scope
from ...model.records import MemoryRecord, When

if TYPE_CHECKING:
    from ...model.arrays import Positions
    from ..statements import Conflict, ParsedRecord, Tier

MIN_LOG: Final = 5
"""So many records of equal words, each in conflict with each, are a log of measures."""
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
        """Return the pairs of live memories that can hardly both hold, for you to judge.

        With a *query* the pairs are among the *k* most relevant memories, else in the whole scope.
        "likely" conflicts come before "possible" conflicts, then by falling similarity. Each memory
        is compared with the 32 memories of the namespace that share the rarest words. A *limit*
        ends the comparisons early. *as_of*, a moment as in ``as_of``, returns the conflicts of
        the moment.
        """
        tier, most = fields.one_of("min_tier", min_tier, TIERS), fields.limit("limit", limit)
        k, engine = fields.integer("k", k, 0), self._engine_at(as_of)
        if query is None:
            records = reading.listed(engine, check_scope(namespace), parse(where))
        else:
            found = self.recall(
                query, k=k, namespace=namespace, where=where, touch=False, as_of=as_of
            )
            records = [result.memory for result in found]
        return find_conflicts(engine, records, tier, most)

    def resolve(self, keep: str, drop: str | Iterable[str], reason: str | None = None) -> int:
        """Settle a conflict: the memory *keep* supersedes those to *drop*; return the number.

        The log shows the *reason*, and ``undo`` of the entry reverts the verb. An id without a live
        record raises ``NotFoundError``.
        """
        why = None if reason is None else fields.text("reason", reason, fields.MAX_CONTENT)
        kept, dropped = fields.identifier("id", keep), list(dict.fromkeys(fields.ids(drop)))
        if kept in dropped:
            raise ValidationError(f"record {kept!r} cannot be both kept and dropped")
        told = {} if why is None else {"reason": why}
        with self._engine.writing() as transaction:
            find_live(transaction, kept)
            for id in dropped:
                supersede(transaction, *find_live(transaction, id), kept, "resolve", told)
        return len(dropped)


def find_conflicts(
    engine: Engine, records: Sequence[MemoryRecord], min_tier: Tier, limit: int | None
) -> list[Conflict]:
    """Return the conflicts among *records*: likely conflicts first, then by similarity.

    Records of different namespaces never conflict. Pairs are judged by falling similarity, so that
    a *limit* ends the work as soon as so many conflicts are likely.
    """
    from ..duplicates import similarities
    from ..statements import find_conflict, parse_record
    from .candidates import candidate_pairs

    known = [parse_record(record) for record in records if record.content]
    spaces = defaultdict[str, list[int]](list)
    for place, parsed in enumerate(known):
        spaces[parsed.record.namespace].append(place)
    pairs = np.concatenate(
        [
            np.array(places, dtype=np.int64)[candidate_pairs([known[place] for place in places])]
            for places in spaces.values()
        ]
        or [np.empty((0, 2), dtype=np.int64)]
    )
    pairs = _without_logs(known, pairs)
    alike = similarities(engine, [parsed.record.id for parsed in known], pairs)
    order = np.argsort(-alike)
    found: list[Conflict] = []
    last, likely = 0.0, 0
    for (one, other), similarity in zip(pairs[order].tolist(), alike[order].tolist(), strict=True):
        if limit is not None and likely >= limit and similarity < last:
            break  # pairs of equal similarity are ordered by id
        conflict = find_conflict(known[one], known[other])
        if conflict is not None and (conflict.tier == "likely" or min_tier == "possible"):
            signals = {**conflict.signals, "similarity": similarity}
            found.append(replace(conflict, signals=signals))
            likely += conflict.tier == "likely"
            last = similarity
    return sorted(found, key=_order)[:limit]


def _without_logs(known: Sequence[ParsedRecord], pairs: Positions) -> Positions:
    """Return the *pairs* with a single pair for each log of measures: the two newest measures.

    A log of measures, such as weights, are records of equal words and different numbers, of which
    each of the ``MIN_LOG`` newest is in conflict with each. "Server 1 has" and "server 2 has" are
    no log.
    """
    from ..statements import find_conflict

    alike = defaultdict[tuple[object, ...], list[int]](list)
    for place in sorted(range(len(known)), key=lambda place: known[place].age, reverse=True):
        alike[known[place].record.namespace, known[place].features.main_words].append(place)
    log, newest = np.full(len(known), -1), []
    for number, places in enumerate(alike.values()):
        measures: dict[object, int] = {}
        for place in places:
            measures.setdefault(known[place].features.figures, place)
        last = list(measures.values())[:MIN_LOG]
        every = combinations([known[place] for place in last], 2)
        if len(last) == MIN_LOG and all(find_conflict(*pair) for pair in every):
            log[places] = number
            newest.append(last[:2])
    one, other = log[pairs].T
    return np.concatenate(
        (pairs[(one < 0) | (one != other)], np.array(newest, dtype=np.int64).reshape(-1, 2))
    )


def _order(conflict: Conflict) -> tuple[int, float, str, str]:
    return TIERS.index(conflict.tier), -conflict.similarity, conflict.older.id, conflict.newer.id
