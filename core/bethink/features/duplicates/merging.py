"""Merging: one record takes in another that says nearly the same.

What either had is kept: the fuller text, the higher importance and confidence, all tags and
metadata, the sum of what they earned. The record stays itself, with its id and its history.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from ...memory.engine import Transaction
from ...model.port import EMBEDDED, Vector
from ...model.records import LOWEST_LIVE, RECORD_FIELDS, MemoryRecord, different
from ..statements import read

_DIGITS = 9
_FILLED: Final = tuple(name for name, each in RECORD_FIELDS.items() if each.merged == "filled")
_HIGHEST: Final = tuple(name for name, each in RECORD_FIELDS.items() if each.merged == "highest")


def is_fuller(one: MemoryRecord, other: MemoryRecord) -> bool:
    """Tell whether *one* has all the words of *other*, and more."""
    return frozenset(read(one).traits.words) > frozenset(read(other).traits.words)


def combined(kept: MemoryRecord, other: MemoryRecord, *, counted: bool = False) -> MemoryRecord:
    """Return *kept* with what *other*, which says nearly the same, has besides.

    Where both have metadata of one name, the later record's counts. Accesses and outcomes are
    summed, but together they never archive; if one has *counted* what the other had, the higher
    number of accesses counts, and the later outcome. It expires when the last of them would have.
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
        content=other.content if is_fuller(other, kept) else kept.content,
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
    """Have the live record *kept*, in *row*, take in *others*; return it as it is then.

    That is one entry "merge", under whose ``merged`` are the ids of *others*. What becomes of the
    records of these ids, if there are any, is the caller's to say. *vector* is that of the fullest
    of their texts, needed if that is not *kept*'s; *counted* is as for ``combined``.
    """
    after = kept
    for other in others:
        after = combined(after, other, counted=counted)
    names = sorted(different(kept, after))
    changes: dict[str, Any] = {name: getattr(after, name) for name in names}
    fresh = {} if vector is None or after.content == kept.content else {EMBEDDED: vector}
    after = replace(after, updated_at=transaction.now)
    told = {**changes, "merged": [other.id for other in others]}
    transaction.change(row, kept, after, fresh, "merge", told)
    return after
