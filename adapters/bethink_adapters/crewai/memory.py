"""crewAI's memory with recalls that miss nothing.

    crew = Crew(..., memory=crew_memory(CrewStorage("crew.db"), llm=offline_llm()))

crewAI's deep recall, its default, searches the scopes below the one asked for, so what lies at that
scope itself is hidden as soon as there is one below: a crew's own facts, once an agent has some.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Literal

from .storage import CrewStorage

if TYPE_CHECKING:
    from crewai.memory.types import MemoryMatch
    from crewai.memory.unified_memory import Memory


def crew_memory(storage: CrewStorage, **options: Any) -> Memory:
    """Return a ``Memory`` on *storage* whose deep recalls find what lies at the scope, too.

    *options* are crewAI's; without an embedder among them it is the storage's, and the memory of a
    bound view has its root (``root_scope``, of crewAI 1.12 and newer). crewAI before 1.10 has no
    such memory and raises ``ImportError``.
    """
    options = {"embedder": storage.embedder, **options}
    if storage.root != "/":
        options = {"root_scope": storage.root, **options}
    kind: Any = _kind()
    made: Memory = kind(storage=storage, **options)
    return made


@functools.cache
def _kind() -> type[Any]:
    from crewai.memory.unified_memory import Memory

    class CrewMemory(Memory):
        """Searches the scope asked for as well as those below."""

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
