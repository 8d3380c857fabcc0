"""Records and entries as the model has them, and what can be told of them alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bethink import EVERYWHERE, MemoryRecord
from bethink.features.links import Way
from bethink.model.namespaces import Scope, covers

SILENT = {"access_count", "last_accessed_at", "updated_at"}
Records = dict[str, MemoryRecord]
Named = dict[str, dict[str, Sequence[float]]]
Links = dict[tuple[str, str, str], int]
"""The entries that made links: source, kind and target."""
Undoing = tuple[int, MemoryRecord, dict[str, Any], Iterable[str]]
"""An entry, the record right after it, what to give back, and what must be unchanged."""


@dataclass(frozen=True)
class Entry:
    """One entry of the journal, and everything as it left it."""

    action: str
    id: str | None
    at: float
    records: Records = field(default_factory=dict)
    named: Named = field(default_factory=dict)
    links: Links = field(default_factory=dict)


def stored(record: MemoryRecord) -> MemoryRecord:
    """Return *record* with what is not given filled in."""
    occurred = record.created_at if record.occurred_at is None else record.occurred_at
    return replace(record, occurred_at=occurred, tags=tuple(record.tags))


def accessed(record: MemoryRecord, times: int, at: float) -> MemoryRecord:
    """Return *record* with so many more accesses, the last of them *at*."""
    last = max(at, record.last_accessed_at or at)
    return replace(record, access_count=record.access_count + times, last_accessed_at=last)


def hidden(record: MemoryRecord | None, now: float) -> bool:
    """Tell whether ``get`` returns None."""
    return record is None or record.state in ("forgotten", "erased") or record.expired(now)


def shown(
    records: Iterable[MemoryRecord], now: float, namespace: Scope = EVERYWHERE
) -> list[MemoryRecord]:
    """Return those of the live *records* in *namespace* that have not expired."""
    return [each for each in records if covers(namespace, each.namespace) and not each.expired(now)]


def counted(records: Iterable[MemoryRecord]) -> dict[str, int]:
    """Return how many records each namespace has."""
    return dict(sorted(Counter(record.namespace for record in records).items()))


def differing(before: MemoryRecord, after: MemoryRecord) -> list[str]:
    """Return the fields that differ, but for what changes without anybody's saying so."""
    names = [name for name in MemoryRecord.__slots__ if name not in SILENT]
    return [name for name in names if getattr(before, name) != getattr(after, name)]


def ends(source: str, target: str) -> tuple[tuple[str, str, Way], ...]:
    """Return each end of a link, with the other and which way that is."""
    return (source, target, "out"), (target, source, "in")


def combined(kept: MemoryRecord, other: MemoryRecord) -> MemoryRecord:
    """Return *kept* with what *other* has besides, but for the text."""
    earlier, later = sorted((kept, other), key=lambda each: (each.occurred_at, each.created_at))
    told = all(each.occurred_at != each.created_at for each in (kept, other))
    accesses = [at for at in (kept.last_accessed_at, other.last_accessed_at) if at is not None]
    expiries = [at for at in (kept.expires_at, other.expires_at) if at is not None]
    return replace(
        kept,
        category=kept.category or other.category,
        tags=tuple(dict.fromkeys((*kept.tags, *other.tags))),
        metadata={**earlier.metadata, **later.metadata},
        importance=max(kept.importance, other.importance),
        confidence=max(kept.confidence, other.confidence),
        occurred_at=later.occurred_at if told else kept.occurred_at,
        expires_at=max(expiries) if len(expiries) == 2 else None,
        access_count=kept.access_count + other.access_count,
        last_accessed_at=max(accesses, default=None),
        outcome=max(exact(kept.outcome + other.outcome), -0.5),
    )


def unlinked(links: Links, id: str) -> Links:
    """Return the links that do not lead to or from the record *id*."""
    return {link: seq for link, seq in links.items() if id not in link[::2]}


def exact(outcome: float) -> float:
    """Return *outcome* within its range, to nine digits."""
    return round(min(max(outcome, -1.0), 1.0), 9) + 0.0
