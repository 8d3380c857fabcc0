"""Pydantic AI remembers in bethink: a capability, tools, and a store of conversations.

    recall = MemoryRecall(store, namespace="users/ann", remember="users/ann")
    agent = Agent(model, capabilities=[recall], toolsets=[memory_tools(store)])
    conversations = MemoryConversations(store)

Importing this package loads no framework; using what is in it does.

Runs on pydantic-ai-slim 1.90 to 2.68, the conversations on 2.66 to 2.68.
"""

from .conversations import MemoryConversations
from .recall import MemoryRecall
from .tools import memory_tools

__all__ = ["MemoryConversations", "MemoryRecall", "memory_tools"]
