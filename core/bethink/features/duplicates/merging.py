"""Merging: one record takes over the fields of a near-duplicate.

The result has the fuller text, the higher importance and confidence, all tags and metadata, and
the sum of outcomes and accesses. The record keeps id and history.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from ...memory.engine import Transaction
from ...model.arrays import Vector
from ...model.port import EMBEDDED
from ...model.records import LOWEST_LIVE, RECORD_FIELDS, MemoryRecord, different
from ..statements import parse_record

_DIGITS = 9
_FILLED: Final = tuple(name for name, each in RECORD_FIELDS.items() if each.merged == "filled")
_HIGHEST: Final = tuple(name for name, each in RECORD_FIELDS.items() if each.merged == "highest")


def has_more_words(one: MemoryRecord, other: MemoryRecord) -> bool:
    """Return whether *one* has all the words of *other*, and more."""
    words, fewer = (frozenset(parse_record(each).features.words) for each in (one, other))
    return words > fewer


def combine(kept: MemoryRecord, other: MemoryRecord, *, counted: bool = False) -> MemoryRecord:
    """Return *kept* with the additional fields of the near-duplicate *other*.

    Of metadata with equal names, the later record's value counts. Accesses and outcomes are summed,
    but a sum never archives. If one record has *counted* the other's accesses already, the higher
    number of accesses counts, and the later outcome. The later expiry counts.
    """
    earlier, later = sorted((kept, other), key=lambda each: (each.occurred_at, each.created_at))
    dated = kept.occurred_at != kept.created_at and other.occurred_at != other.created_at
    accessed = [at for at in (kept.last_accessed_at, other.last_accessed_at) if at is not None]
    mortal = kept.expires_at is not None and other.expires_at is not None
    accesses, earned = kept.access_count + other.access_count, kept.outcome + other.outcome
    if counted:
        accesses = max(kept.access_count, other.access_count)
        earned = max(kept, other, key=lambda each: each.updated_at).outcome
    return replace(
        kept,
        content=other.content if has_more_words(other, kept) else kept.content,
        **{name: getattr(other if getattr(kept, name) is None else kept, name) for name in _FILLED},
        **{name: max(getattr(kept, name), getattr(other, name)) for name in _HIGHEST},
        tags=tuple(dict.fromkeys((*kept.tags, *other.tags))),
        metadata={**earlier.metadata, **later.metadata},
        occurred_at=later.occurred_at if dated else kept.occurred_at,
        expires_at=max(kept.expires_at or 0, other.expires_at or 0) if mortal else None,
        access_count=accesses,
        last_accessed_at=max(accessed, default=None),
        outcome=min(max(round(earned, _DIGITS), LOWEST_LIVE), 1.0),
    )


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
    after = replace(after, updated_at=transaction.now)
    details = {**changes, "merged": [other.id for other in others]}
    transaction.change(row, kept, after, fresh, "merge", details)
    return after
