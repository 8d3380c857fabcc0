"""crewAI's memory with deep recalls of a scope and of the scopes below.

    crew = Crew(..., memory=crew_memory(CrewStorage("crew.db"), llm=offline_llm()))

crewAI's deep recall, the default, searches only the scopes below the given scope, as soon as any
scope lies below. Memories at the given scope stay hidden: a crew's facts, once an agent has facts.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Literal

from ..shared.extras import needs
from ..shared.opening import StoreOrPath
from ..shared.subclassing import refuse_unknown
from .storage import CrewStorage

if TYPE_CHECKING:
    from crewai.memory.types import MemoryMatch
    from crewai.memory.unified_memory import Memory


def crew_memory(storage: CrewStorage | StoreOrPath, **options: Any) -> Memory:
    """Return a ``Memory`` on *storage* with deep recalls of a scope and of the scopes below.

    A store or a path in place of *storage* becomes a ``CrewStorage``. *options* are arguments of
    crewAI's ``Memory``. The default of ``embedder`` is the storage's embedder, and the default of
    ``root_scope`` (crewAI 1.12 and newer) is the root of a bound storage. crewAI before 1.10 has no
    unified memory and raises ``MissingExtraError``.
    """
    kind: Any = _memory_class()
    refuse_unknown(options, list(kind.model_fields))
    storage = storage if isinstance(storage, CrewStorage) else CrewStorage(storage)
    options = {"embedder": storage.embedder, **options}
    if storage.root != "/":
        options = {"root_scope": storage.root, **options}
    made: Memory = kind(storage=storage, **options)
    return made


@functools.cache
def _memory_class() -> type[Any]:
    with needs("crewai", "crewai>=1.10"):
        from crewai.memory.unified_memory import Memory

    class CrewMemory(Memory):
        """A memory with deep recalls of the scope and of the scopes below."""

        def recall(
            self,
            query: str,
            scope: str | None = None,
            categories: list[str] | None = None,
            limit: int = 10,
            depth: Literal["shallow", "deep"] = "deep",
            source: str | None = None,
            include_private: bool = False,
        ) -> list[MemoryMatch]:
            recall = functools.partial(super().recall, query, scope, categories, limit)
            plain = recall("shallow", source, include_private)
            if depth == "shallow":
                return plain
            deep = recall(depth, source, include_private)
            found = {match.record.id: match for match in (*plain, *deep)}
            return sorted(found.values(), key=lambda match: match.score, reverse=True)[:limit]

    return CrewMemory
