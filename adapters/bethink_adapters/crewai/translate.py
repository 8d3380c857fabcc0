"""crewAI's records as bethink's records, and back.

Id, content, importance and source keep the names. The categories become tags, the embedding becomes
the vector named "crewai", and ``created_at`` becomes ``occurred_at``. Fields that bethink lacks go
into ``value`` and not into ``metadata``: crewAI prints every key of the metadata into the prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bethink import MemoryRecord, ValidationError
from bethink.adapting import MAX_CONTENT, MAX_LABEL

from ..shared.texts import aware, jsonable, present, storable

if TYPE_CHECKING:
    from crewai.memory.types import MemoryRecord as CrewRecord

VECTOR = "crewai"
EPOCH = datetime(1970, 1, 1)
_FIRST: Final = -62_135_596_800.0  # the year 1
_LAST: Final = 253_402_300_799.0  # the year 9999


def by_id(records: Iterable[CrewRecord]) -> dict[str, CrewRecord]:
    """Return the *records* of crewAI by id; raise ``ValidationError`` for anything else."""
    given = list(records) if isinstance(records, Iterable) else [None]
    if not all(hasattr(each, "scope") for each in given):
        kind = type(records).__name__
        raise ValidationError(f"records must be a list of crewAI's MemoryRecord, not {kind}")
    return {record.id: record for record in given}


def seconds(when: datetime) -> float:
    """Return *when* as Unix seconds; a naive datetime, as crewAI makes, is in UTC."""
    if not isinstance(when, datetime):
        raise ValidationError(f"a time must be a datetime, not {type(when).__name__}")
    return aware(when).timestamp()


def naive(unix: float) -> datetime:
    """Return Unix seconds as a naive datetime in UTC, cut to the years 1 to 9999."""
    return EPOCH + timedelta(seconds=min(max(unix, _FIRST), _LAST))


def to_fields(record: CrewRecord, namespace: str) -> dict[str, Any]:
    """Return the arguments of ``MemoryStore.store`` for *record*, without id and embedding.

    Author and thread are copied from the metadata ("author", "thread"). A source too long for a
    label, and a text too long for the content, are kept whole in the value. An infinite number in
    the metadata, or a NaN, becomes a text ("Infinity", "NaN"); any other value outside JSON raises
    ``TypeError``, as in crewAI's storage.
    """
    author, thread = (record.metadata.get(name) for name in ("author", "thread"))
    source = record.source and storable(record.source, MAX_LABEL)
    whole = {} if source == record.source else {"source": record.source}
    content = storable(record.content, MAX_CONTENT)
    if len(record.content) > MAX_CONTENT:
        whole["content"] = storable(record.content, len(record.content))
    value = {"private": record.private, "last_accessed": seconds(record.last_accessed)}
    return {
        "content": content,
        "namespace": namespace,
        "tags": [storable(each, MAX_LABEL) for each in record.categories if each.strip()],
        "author": _label(author),
        "thread": _label(thread),
        "importance": record.importance,
        "source": source,
        "metadata": jsonable(record.metadata),
        "occurred_at": seconds(record.created_at),
        "value": {**value, **whole},
    }


def _label(value: object) -> str | None:
    return storable(value, MAX_LABEL) if isinstance(value, str) and value else None


def is_private(record: MemoryRecord) -> bool:
    """Return whether crewAI marked *record* as visible to the source only."""
    return isinstance(record.value, Mapping) and record.value.get("private") is True


def last_accessed(record: MemoryRecord) -> float:
    """Return the later of the last uses by crewAI's clock and by the store's, in Unix seconds."""
    noted = record.value.get("last_accessed") if isinstance(record.value, Mapping) else None
    given = noted if isinstance(noted, int | float) else record.created_at
    return max(given, record.last_accessed_at or given)


def text_of(record: MemoryRecord) -> str:
    """Return the whole text of *record*."""
    whole = record.value.get("content") if isinstance(record.value, Mapping) else None
    return present(whole, record.content)


def _source(record: MemoryRecord) -> str | None:
    whole = record.value.get("source") if isinstance(record.value, Mapping) else None
    return whole if isinstance(whole, str) else record.source


def to_crew(record: MemoryRecord, scope: str, embedding: np.ndarray | None) -> CrewRecord:
    """Return *record* as a crew record, without a check: the store has checked the fields."""
    from crewai.memory.types import MemoryRecord as CrewRecord

    return CrewRecord.model_construct(
        id=record.id,
        content=text_of(record),
        scope=scope,
        categories=list(record.tags),
        metadata=record.metadata,
        importance=record.importance,
        created_at=naive(record.occurred_at),
        last_accessed=naive(last_accessed(record)),
        embedding=None if embedding is None else embedding.tolist(),
        source=_source(record),
        private=is_private(record),
    )
