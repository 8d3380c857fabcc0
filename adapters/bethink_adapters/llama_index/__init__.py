"""LlamaIndex: a memory block that recalls, and chat stores that keep conversations.

    chats = BethinkDBChatStore(store=store, namespace="users/42/chats")
    block = RecallBlock(store=store, scope=Subtree("users/42"), accept_short_term_memory=False)
    memory = Memory.from_defaults(
        session_id="monday",
        chat_store=chats,
        memory_blocks=[block],
        insert_method=InsertMethod.USER,  # a ReActAgent drops what a memory inserts as system
    )
    answer = await agent.run("Which pizza do I like?", memory=memory)

The block shows the model what its last question recalls, here from all conversations of a user; no
history holds that. With another chat store let it accept what conversations grew too long for: ours
keeps that anyway, and it would be recalled twice.
``BethinkChatStore`` is the chat store of the older ``ChatMemoryBuffer``.

The block and ``BethinkChatStore`` run on llama-index-core 0.12.37 to 0.14.25; ``Memory`` takes
``BethinkDBChatStore`` from 0.14.24 on. When a store fails, the synchronous methods of ``Memory``
tell of nested event loops instead of what failed; the others tell what.

Importing this package loads no part of LlamaIndex; what is named here is made when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .block import RecallBlock
    from .chat_stores import BethinkChatStore, BethinkDBChatStore

__all__ = ["BethinkChatStore", "BethinkDBChatStore", "RecallBlock"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .models import model

    return model(name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
