"""Haystack: hooks that give an agent a memory, a document store, and a retriever for both.

    agent = Agent(chat_generator=generator, hooks=memory_hooks("agent.db"))
    agent.run(messages, hook_context={"memory_namespace": "users/42", "memory_thread": "monday"})

    documents = BethinkDocumentStore("agent.db")
    pipeline.add_component("retriever", BethinkRetriever(documents))

What was recalled is shown to the model and is in no result of the agent. The namespace of a user's
memories may be that of a document store, so that a retriever finds them, too.

Runs on haystack-ai 3.0 to 3.4. Importing this package loads no part of Haystack. What was dumped is
loaded again by a Haystack that is allowed to: ``HAYSTACK_DESERIALIZATION_ALLOWLIST``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .document_store import BethinkDocumentStore
from .hooks import RecallHook, RememberHook, memory_hooks

if TYPE_CHECKING:
    from .retriever import BethinkRetriever

__all__ = [
    "BethinkDocumentStore",
    "BethinkRetriever",
    "RecallHook",
    "RememberHook",
    "memory_hooks",
]


def __getattr__(name: str) -> Any:
    if name != "BethinkRetriever":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .retriever import BethinkRetriever

    return BethinkRetriever


def __dir__() -> list[str]:
    return [*globals(), *__all__]
