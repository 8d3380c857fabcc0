"""LlamaIndex: a memory block that recalls, and chat stores that keep conversations.

    chats = BethinkDBChatStore(store=store, namespace="users/42/chats")
    block = RecallBlock(
        store=store, namespace="users/42", scope=Subtree("users/42"), accept_short_term_memory=False
    )
    memory = Memory.from_defaults(
        session_id="monday",
        chat_store=chats,
        memory_blocks=[block],
        insert_method=InsertMethod.USER,  # a ReActAgent drops system messages of a memory
    )
    answer = await agent.run("Which pizza do I like?", memory=memory)
    erase_user(store, namespace="users/42")    # conversations and memories; no byte stays

The block shows the model the memories that the last question recalls, here from all conversations
of a user; no history holds the memories. With a chat store of another package, let the block accept
messages that leave the conversation. Bethink's chat stores keep such messages anyway.
``BethinkChatStore`` is the chat store of the older ``ChatMemoryBuffer``.

A run that failed leaves the question in the chat store, because LlamaIndex adds the question before
the model answers.

The block and ``BethinkChatStore`` run on llama-index-core 0.12.37 to 0.14.25; ``Memory`` takes
``BethinkDBChatStore`` from 0.14.24 on. When a store fails, the synchronous methods of ``Memory``
tell of nested event loops instead of the failure; the asynchronous methods tell the failure.

Importing this package loads no part of LlamaIndex; the first use of a class makes the class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..shared.erasing import erase_user

if TYPE_CHECKING:
    from .block import RecallBlock
    from .chat_stores import BethinkChatStore, BethinkDBChatStore

__all__ = ["BethinkChatStore", "BethinkDBChatStore", "RecallBlock", "erase_user"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .models import model

    return model(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
