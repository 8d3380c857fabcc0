"""The external memory of crewAI 1.9.3 and before: texts in, texts out."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

from bethink import MemoryStore, RecallResult, Subtree
from bethink.adapting import MAX_CONTENT, finish_in_thread

from ..shared.texts import askable, storable
from .opened import StoreHandle, crew_errors


class CrewExternalStorage:
    """Serve `ExternalMemory(storage=CrewExternalStorage(store))`.

    A text saved again is renewed, as the newest memory; saved twice in a row, the text stays as it
    is. Of the metadata everything but the transcript (``messages``) stays.
    """

    def __init__(
        self, store: MemoryStore | str | os.PathLike[str], *, namespace: str = "crew_external"
    ) -> None:
        self._store = StoreHandle(store)
        self._namespace = namespace

    def __deepcopy__(self, memo: dict[int, Any]) -> CrewExternalStorage:
        return self

    @property
    def place(self) -> tuple[MemoryStore, Subtree]:
        """The store, opened if it was not, and the part of it that this storage fills."""
        return self._store(), Subtree(self._namespace)

    @crew_errors()
    def save(self, value: Any, metadata: Mapping[str, Any] | None = None) -> None:
        """Remember *value*, the text of a task's result."""
        content = value if isinstance(value, str) else json.dumps(value, default=str)
        key = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
        store = self._store()
        newest = store.all(namespace=self._namespace, order="newest", limit=1)
        if content.strip() and not any(record.key == key for record in newest):
            kept = {name: item for name, item in (metadata or {}).items() if name != "messages"}
            plain = json.loads(json.dumps(kept, default=str), parse_constant=str)
            text = storable(content, MAX_CONTENT)
            store.store(text, namespace=self._namespace, key=key, metadata=plain)

    @crew_errors()
    def search(
        self, query: str, limit: int = 3, score_threshold: float = 0.35
    ) -> list[dict[str, Any]]:
        """Return the *limit* memories most relevant to *query*, best first.

        *score_threshold* is not applied: crewAI's numbers are cuts for another scale, and recall
        returns nothing irrelevant.
        """
        hits = self._store().recall(askable(query), k=limit, namespace=self._namespace)
        return [_as_dict(hit) for hit in hits]

    @crew_errors()
    def reset(self) -> None:
        """Forget everything in the namespace; ``erase_user`` erases."""
        self._store().forget(namespace=self._namespace)

    def close(self) -> None:
        """Close the store if it was opened here."""
        self._store.close()

    async def asave(self, value: Any, metadata: Mapping[str, Any] | None = None) -> None:
        """Remember *value* without blocking the event loop."""
        await finish_in_thread(self.save, value, metadata)

    async def asearch(
        self, query: str, limit: int = 3, score_threshold: float = 0.35
    ) -> list[dict[str, Any]]:
        """Search without blocking the event loop."""
        return await asyncio.to_thread(self.search, query, limit, score_threshold)


def _as_dict(hit: RecallResult) -> dict[str, Any]:
    """Return the text under each name that a release of crewAI reads it by."""
    text = hit.memory.content
    names = dict.fromkeys(("content", "context", "memory"), text)
    return {**names, "id": hit.memory.id, "metadata": hit.memory.metadata, "score": hit.score}
