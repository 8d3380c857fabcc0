"""Haystack: hooks that give an agent a memory, a document store, and a retriever for both.

    agent = Agent(chat_generator=generator, hooks=memory_hooks(store, namespace="users/42"))
    agent.run(messages, hook_context={"memory_thread": "monday"})
    erase_user(store, namespace="users/42")    # no byte stays

    documents = BethinkDocumentStore(store)
    pipeline.add_component("retriever", BethinkRetriever(documents))

The model reads recalled memories; no result of the agent has recalled memories. A document store
may have the namespace of a user's memories: a retriever then finds the memories, too. Everywhere,
the path of a file may stand for the *store*.

Runs on haystack-ai 3.0 to 3.4. Importing this package loads no part of Haystack. Haystack loads
dumped hooks and stores only with permission: ``HAYSTACK_DESERIALIZATION_ALLOWLIST``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.adapting import lazy_names

from ..shared.erasing import erase_user
from .document_store import BethinkDocumentStore
from .hooks import RecallHook, RememberHook, memory_hooks

if TYPE_CHECKING:
    from .retriever import BethinkRetriever

__all__ = [
    "BethinkDocumentStore",
    "BethinkRetriever",
    "RecallHook",
    "RememberHook",
    "erase_user",
    "memory_hooks",
]


__getattr__ = lazy_names(__name__, {"retriever": "BethinkRetriever"})


def __dir__() -> list[str]:
    return [*globals(), *__all__]
