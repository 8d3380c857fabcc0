"""bethink's adapters, on the store behind remembrane's names."""

from __future__ import annotations

from typing import Any

from bethink_adapters.crewai import CrewExternalStorage
from bethink_adapters.langchain import ChatMessageHistory, ConversationMemory

from . import MemoryStore


class RemembraneChatMemory(ConversationMemory):
    """The memory of a chain; *k* is a number of exchanges."""

    def __init__(self, store: MemoryStore, session_id: str, **options: Any) -> None:
        super().__init__(store.inner, session_id, **options)


class RemembraneStorage(CrewExternalStorage):
    """The storage of texts."""

    def __init__(self, store: MemoryStore, namespace: str = "crew") -> None:
        super().__init__(store.inner, namespace=namespace)


def RemembraneChatMessageHistory(
    store: MemoryStore, session_id: str = "default"
) -> ChatMessageHistory:
    """Return the messages of a session."""
    return ChatMessageHistory(store.inner, session_id)
