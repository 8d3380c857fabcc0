"""Pydantic AI on a store: a capability, tools, and a store of conversations.

    recall = MemoryRecall(store, namespace="users/ann", remember="users/ann")
    tools = memory_tools(store, namespace="users/ann")
    agent = Agent(model, capabilities=[recall], toolsets=[tools])
    conversations = MemoryConversations(store)
    erase_user(store, "ann", namespace="users/ann")    # no byte stays

The import of the package does not load the framework.

Runs on pydantic-ai-slim 1.90 to 2.68, the conversations on 2.66 to 2.68.
"""

from .conversations import MemoryConversations, erase_user
from .recall import MemoryRecall
from .tools import memory_tools

__all__ = ["MemoryConversations", "MemoryRecall", "erase_user", "memory_tools"]
