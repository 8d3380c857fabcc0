"""bethink's adapters, on the store behind remembrane's names."""

from __future__ import annotations

from typing import Any

from bethink_adapters.langchain import ChatMessageHistory, ConversationMemory

from . import MemoryStore


class RemembraneChatMemory(ConversationMemory):
    """The memory of a chain, in the session's namespace; *k* is a number of exchanges."""

    def __init__(self, store: MemoryStore, session_id: str, **options: Any) -> None:
        super().__init__(store.inner, session_id, namespace=session_id, **options)


class RemembraneStorage:
    """A storage of texts; crewAI itself would take ``CrewStorage``."""

    def __init__(self, store: MemoryStore, namespace: str = "crew") -> None:
        self.inner, self.namespace = store.inner, namespace

    def save(self, value: str, metadata: dict[str, Any] | None = None, **more: str) -> str:
        about = {**more, **(metadata or {})}
        return self.inner.store(value, namespace=self.namespace, metadata=about).id

    def search(self, query: str, **_: object) -> list[dict[str, Any]]:
        hits = self.inner.recall(query, namespace=self.namespace)
        return [
            {**hit.memory.to_dict(), "context": hit.content, "score": hit.score} for hit in hits
        ]

    def update(self, record_id: str, value: str) -> bool:
        return self.inner.update(record_id, content=value).content == value

    def list_records(self) -> list[dict[str, Any]]:
        return [record.to_dict() for record in self.inner.all(namespace=self.namespace)]

    def delete(self, record_id: str) -> bool:
        return self.inner.forget(record_id) > 0

    def reset(self) -> None:
        self.inner.forget(namespace=self.namespace)


def RemembraneChatMessageHistory(
    store: MemoryStore, session_id: str = "default"
) -> ChatMessageHistory:
    """Return the messages of a session."""
    return ChatMessageHistory(store.inner, session_id)
