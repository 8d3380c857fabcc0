"""LangChain remembers in bethink: agents, chains, histories, documents, cached results.

``MemoryMiddleware`` needs langchain 1.0 or newer, all else langchain-core 0.2 or newer. The
import of the package loads no part of LangChain; each class is made at the first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .cache import BethinkCache
    from .chains import chain_memory
    from .conversation import ConversationMemory
    from .embeddings import BethinkEmbeddings
    from .erasing import erase_user
    from .history import ChatMessageHistory, message_history_factory
    from .keyvalue import BethinkKeyValueStore
    from .middleware import MemoryMiddleware
    from .retriever import MemoryStoreRetriever
    from .tools import memory_tools
    from .vectorstore import BethinkVectorStore

__all__ = [
    "BethinkCache",
    "BethinkEmbeddings",
    "BethinkKeyValueStore",
    "BethinkVectorStore",
    "ChatMessageHistory",
    "ConversationMemory",
    "MemoryMiddleware",
    "MemoryStoreRetriever",
    "chain_memory",
    "erase_user",
    "memory_tools",
    "message_history_factory",
]

_HOMES: Final = {
    "BethinkCache": "cache",
    "BethinkEmbeddings": "embeddings",
    "BethinkKeyValueStore": "keyvalue",
    "BethinkVectorStore": "vectorstore",
    "ChatMessageHistory": "history",
    "ConversationMemory": "conversation",
    "MemoryMiddleware": "middleware",
    "MemoryStoreRetriever": "retriever",
    "chain_memory": "chains",
    "erase_user": "erasing",
    "memory_tools": "tools",
    "message_history_factory": "history",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    return found


def __dir__() -> list[str]:
    return [*globals(), *__all__]
