"""The external memory of crewAI 1.9.3 and before: save and search texts."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from bethink import MemoryStore, RecallResult, Subtree
from bethink.adapting import MAX_CONTENT, check_namespace, finish_in_thread, suggesting

from ..shared.extras import require
from ..shared.opening import StoreOrPath
from ..shared.texts import askable, storable
from .errors import crew_verb
from .store_handle import StoreHandle
from .translate import text_of


@suggesting
class CrewExternalStorage:
    """The texts of an external memory: ``ExternalMemory(storage=CrewExternalStorage(store))``.

    *store* is a ``MemoryStore``, which stays open, or a path, opened at once. The texts
    lie in *namespace*. A text saved again becomes the newest memory; a text saved twice in a row
    stays unchanged. The metadata is kept without the transcript (``messages``).
    """

    def __init__(self, store: StoreOrPath, *, namespace: str = "crew_external") -> None:
        require("crewai", "crewai")
        self._store = StoreHandle(store)
        self._namespace = check_namespace(namespace)

    def __deepcopy__(self, memo: dict[int, Any]) -> CrewExternalStorage:
        return self

    @property
    def place(self) -> tuple[MemoryStore, Subtree]:
        """The store, opened if needed, and the part of the store that the storage fills."""
        return self._store(), Subtree(self._namespace)

    @crew_verb
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
            value = None
            if len(content) > MAX_CONTENT:
                value = {"content": storable(content, len(content))}
            store.store(
                text,
                value=value,
                namespace=self._namespace,
                key=key,
                metadata=plain,
            )

    @crew_verb
    def search(
        self, query: str, limit: int = 3, score_threshold: float = 0.35
    ) -> list[dict[str, Any]]:
        """Return the *limit* memories most relevant to *query*, best first.

        *score_threshold* has no effect: crewAI's thresholds are made for a different scale, and
        ``recall`` returns no irrelevant memory.
        """
        hits = self._store().recall(askable(query), k=limit, namespace=self._namespace)
        return [_as_dict(hit) for hit in hits]

    @crew_verb
    def reset(self) -> None:
        """Forget all memories in the namespace; ``erase_user`` erases the memories."""
        self._store().forget(namespace=self._namespace)

    def close(self) -> None:
        """Close the store if the storage was given a path; a caller's store stays open."""
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
    """Return a hit as a dict, with the text under each name in the releases of crewAI."""
    text = text_of(hit.memory)
    names = dict.fromkeys(("content", "context", "memory"), text)
    return {**names, "id": hit.memory.id, "metadata": hit.memory.metadata, "score": hit.score}
