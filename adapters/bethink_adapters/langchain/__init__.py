"""LangChain remembers in bethink: agents, chains, histories, documents, cached results.

``MemoryMiddleware`` needs langchain 1.0 or newer, all else langchain-core 0.2 or newer. The
import of the package loads no part of LangChain; each class is made at the first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.adapting import lazy_names

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

__getattr__ = lazy_names(
    __name__,
    {
        "cache": "BethinkCache",
        "chains": "chain_memory",
        "conversation": "ConversationMemory",
        "embeddings": "BethinkEmbeddings",
        "erasing": "erase_user",
        "history": "ChatMessageHistory message_history_factory",
        "keyvalue": "BethinkKeyValueStore",
        "middleware": "MemoryMiddleware",
        "retriever": "MemoryStoreRetriever",
        "tools": "memory_tools",
        "vectorstore": "BethinkVectorStore",
    },
)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
