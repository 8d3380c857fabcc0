"""crewAI's records as bethink's, and back.

A crew record keeps its id, content, importance and source; its categories are tags, its embedding
the vector named "crewai", its `created_at` is when the memory occurred. What bethink has no word
for stays in `value`, because crewAI prints every metadata key into the agent's prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bethink import MemoryRecord
from bethink.adapting import MAX_CONTENT, MAX_LABEL

from ..shared.texts import aware, jsonable, storable

if TYPE_CHECKING:
    from crewai.memory.types import MemoryRecord as CrewRecord

VECTOR = "crewai"
EPOCH = datetime(1970, 1, 1)
_FIRST: Final = -62_135_596_800.0  # the year 1
_LAST: Final = 253_402_300_799.0  # the year 9999


def seconds(when: datetime) -> float:
    """Return *when* as Unix seconds; a naive datetime, crewAI's habit, is UTC."""
    return aware(when).timestamp()


def naive(unix: float) -> datetime:
    """Return Unix seconds as crewAI compares them: a naive datetime in UTC, or the nearest one."""
    return EPOCH + timedelta(seconds=min(max(unix, _FIRST), _LAST))


def to_fields(record: CrewRecord, namespace: str) -> dict[str, Any]:
    """Return the arguments of ``MemoryStore.store`` for *record*, but for id and embedding.

    Who said it and in which conversation are taken from the metadata ("author", "thread"), which
    keeps them. A source too long for a label is whole in the value. A number of the metadata that
    is not finite becomes its text ("NaN", "Infinity"); what else JSON cannot hold raises
    ``TypeError``, as crewAI's own storage does.
    """
    author, thread = (record.metadata.get(name) for name in ("author", "thread"))
    source = record.source and storable(record.source, MAX_LABEL)
    whole = {} if source == record.source else {"source": record.source}
    value = {"private": record.private, "last_accessed": seconds(record.last_accessed)}
    return {
        "content": storable(record.content, MAX_CONTENT),
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


def _label(told: object) -> str | None:
    return storable(told, MAX_LABEL) if isinstance(told, str) and told else None


def is_private(record: MemoryRecord) -> bool:
    """Tell whether crewAI marked *record* as visible to its source only."""
    return isinstance(record.value, Mapping) and record.value.get("private") is True


def last_accessed(record: MemoryRecord) -> float:
    """Return when *record* was last used, by crewAI's clock or by the store's."""
    noted = record.value.get("last_accessed") if isinstance(record.value, Mapping) else None
    given = noted if isinstance(noted, int | float) else record.created_at
    return max(given, record.last_accessed_at or given)


def _source(record: MemoryRecord) -> str | None:
    whole = record.value.get("source") if isinstance(record.value, Mapping) else None
    return whole if isinstance(whole, str) else record.source


def to_crew(record: MemoryRecord, scope: str, embedding: np.ndarray | None) -> CrewRecord:
    """Return *record* as the type that crewAI insists on; the store has checked the fields."""
    from crewai.memory.types import MemoryRecord as CrewRecord

    return CrewRecord.model_construct(
        id=record.id,
        content=record.content,
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
