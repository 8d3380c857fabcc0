"""Merging: of near-duplicates one record stays, and takes over the fields of the others.

The result has the fuller text, the higher importance and confidence, all tags and metadata, and
the sum of outcomes and accesses. The record keeps id and history.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from ...memory.engine import Engine, Transaction
from ...memory.writing import supersede
from ...model import progress
from ...model.arrays import Vector
from ...model.filters import Filter, unexpired
from ...model.namespaces import Scope
from ...model.port import EMBEDDED
from ...model.progress import Tell
from ...model.records import LOWEST_LIVE, RECORD_FIELDS, MemoryRecord, different, with_fields
from ...model.values import Value
from ..statements import ParsedRecord, parse_record
from .similarity import DuplicateIndex, is_imported, similarity_function

_DIGITS = 9
_FILLED: Final = tuple(name for name, each in RECORD_FIELDS.items() if each.merged == "filled")
_identity_fields = attrgetter(*(name for name, each in RECORD_FIELDS.items() if each.identity))
_HIGHEST: Final = tuple(name for name, each in RECORD_FIELDS.items() if each.merged == "highest")


def has_more_words(one: MemoryRecord, other: MemoryRecord) -> bool:
    """Return whether *one* has all the words of *other*, and more."""
    words, fewer = (frozenset(parse_record(each).features.words) for each in (one, other))
    return words > fewer


def combine(kept: MemoryRecord, other: MemoryRecord, *, counted: bool = False) -> MemoryRecord:
    """Return *kept* with the additional fields of the near-duplicate *other*.

    Of metadata with equal names, the later record's value counts. Accesses and outcomes are summed,
    but a sum never archives. If one record has *counted* the other's accesses already, the higher
    number of accesses counts, and the later outcome. The later expiry counts. The name of an import
    gives way to the source of a record of this store.
    """
    earlier, later = sorted((kept, other), key=lambda each: (each.occurred_at, each.created_at))
    dated = kept.occurred_at != kept.created_at and other.occurred_at != other.created_at
    mortal = kept.expires_at is not None and other.expires_at is not None
    accesses, earned = kept.access_count + other.access_count, kept.outcome + other.outcome
    if counted:
        accesses = max(kept.access_count, other.access_count)
        earned = max(kept, other, key=lambda each: each.updated_at).outcome
    return with_fields(
        kept,
        content=other.content if has_more_words(other, kept) else kept.content,
        **{name: getattr(other if getattr(kept, name) is None else kept, name) for name in _FILLED},
        **{name: max(getattr(kept, name), getattr(other, name)) for name in _HIGHEST},
        source=(other if is_imported(kept) and not is_imported(other) else kept).source,
        tags=tuple(dict.fromkeys((*kept.tags, *other.tags))),
        metadata={**earlier.metadata, **later.metadata},
        occurred_at=later.occurred_at if dated else kept.occurred_at,
        expires_at=max(kept.expires_at or 0, other.expires_at or 0) if mortal else None,
        access_count=accesses,
        last_accessed_at=last_access(kept, other),
        outcome=min(max(round(earned, _DIGITS), LOWEST_LIVE), 1.0),
    )


def last_access(one: MemoryRecord, other: MemoryRecord) -> float | None:
    """Return the time of the later access of two records, None without an access."""
    accessed = [at for at in (one.last_accessed_at, other.last_accessed_at) if at is not None]
    return max(accessed, default=None)


def absorb(
    transaction: Transaction,
    row: int,
    kept: MemoryRecord,
    others: Sequence[MemoryRecord],
    vector: Vector | None = None,
    *,
    counted: bool = False,
) -> MemoryRecord:
    """Merge *others* into the live record *kept* in *row*; return the merged record.

    The journal gets one entry "merge", with the ids of *others* under ``merged``. The caller
    decides about the records of the ids. *vector* belongs to the fullest text, and is needed if the
    text is not *kept*'s; *counted* is as for ``combine``.
    """
    after = kept
    for other in others:
        after = combine(after, other, counted=counted)
    names = sorted(different(kept, after))
    changes: dict[str, Any] = {name: getattr(after, name) for name in names}
    fresh = {} if vector is None or after.content == kept.content else {EMBEDDED: vector}
    after = with_fields(after, updated_at=transaction.now)
    details = {**changes, "merged": [other.id for other in others]}
    transaction.change(row, kept, after, fresh, "merge", details)
    return after


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
    lone = [record for _, record in found if record.thread is None and record.content]
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
    for parsed in progress.counted(ordered, tell, len(ordered)):
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
