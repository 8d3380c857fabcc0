"""Consolidating: one record of a group of near-duplicates stays, with the fields of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from ...memory.engine import Engine, Transaction
from ...memory.writing import supersede
from ...model.filters import Filter, unexpired
from ...model.namespaces import Scope
from ...model.progress import Tell, counted
from ...model.records import RECORD_FIELDS, MemoryRecord
from ...model.values import Value
from ..statements import ParsedRecord, parse_record
from .merging import absorb
from .similarity import DuplicateIndex, similarity_function

_identity_fields = attrgetter(*(name for name, each in RECORD_FIELDS.items() if each.identity))


@dataclass(frozen=True, slots=True)
class Consolidated(Value):
    """A record that superseded the near-duplicates ``others``; both in the state before."""

    record: MemoryRecord
    others: tuple[MemoryRecord, ...]


def consolidate(
    engine: Engine, scope: Scope, where: Filter | None, least: float, tell: Tell | None = None
) -> list[Consolidated]:
    """Merge near-duplicates, of a cosine of at least *least*; return the groups as inserted."""
    engine.flush_for(where)
    found = engine.backend.select(scope, unexpired(where, engine.clock()))
    lone = [record for record in found if record.thread is None and record.content]
    groups = _groups(engine, [parse_record(record) for record in lone], least, tell)
    if not groups:
        return []
    with engine.writing(closing=True) as transaction:
        merged = [_merge(transaction, group) for group in groups]
    return [each for each in merged if each.others]


def _groups(
    engine: Engine, parsed_records: Sequence[ParsedRecord], least: float, tell: Tell | None
) -> list[list[MemoryRecord]]:
    """Return the groups of near-duplicates, the fullest record of each group first."""
    similarity = similarity_function(engine, [parsed.record.id for parsed in parsed_records])
    index = DuplicateIndex(similarity, least)
    groups: dict[str, list[MemoryRecord]] = {}
    ordered = sorted(parsed_records, key=_most_words_first)
    for parsed in counted(ordered, tell, len(ordered)):
        found = index.find_nearest(parsed)
        if found is None:
            index.add(parsed)
        else:
            kept = found[0].record
            groups.setdefault(kept.id, [kept]).append(parsed.record)
    return sorted(groups.values(), key=lambda group: (group[0].created_at, group[0].id))


def _most_words_first(parsed: ParsedRecord) -> tuple[int, float, str]:
    record = parsed.record
    return -len(frozenset(parsed.features.words)), record.created_at, record.id


def _merge(transaction: Transaction, group: Sequence[MemoryRecord]) -> Consolidated:
    """Merge the unchanged records of *group* into the first."""
    found = transaction.writer.find([record.id for record in group])
    before = {record.id: _identity_fields(record) for record in group}
    unchanged = [pair for id, pair in found.items() if _identity_fields(pair[1]) == before[id]]
    if len(unchanged) < 2 or unchanged[0][1].id != group[0].id:
        return Consolidated(group[0], ())
    (row, kept), *others = unchanged
    for number, other in others:
        supersede(transaction, number, other, kept.id)
    taken = [other for _, other in others]
    return Consolidated(absorb(transaction, row, kept, taken), tuple(taken))
