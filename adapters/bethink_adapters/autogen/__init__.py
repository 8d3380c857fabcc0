"""AutoGen: a memory and a model context for its agents, and a capability for agents of AutoGen 0.2.

    memory = AgentMemory("agent.db", namespace="users/42")
    agent = AssistantAgent("helper", model_client=client, memory=[memory])
    result = await agent.run(task="Which pizza do I like?")
    await memory.record(result)          # AutoGen never writes to a memory by itself
    erase_user(memory.store, namespace="users/42")    # no byte stays

The recalled block stands in front of the last user message while the model answers, and is in no
context: blocks neither pile up nor end in an agent's saved state. ``AgentMemory`` recalls once a
turn and tells of the memories by an event, which the saved state of a team keeps;
``MemoryModelContext`` recalls before every call of the model, and gives no event.

Runs on autogen-agentchat 0.4.9 to 0.7.5, which is also what pyautogen 0.10 installs. An AutoGen
newer than that loads dumped components only from packages it trusts: there, set
AUTOGEN_ALLOWED_PROVIDER_NAMESPACES=bethink_adapters. AutoGen 0.2, and the AG2 before 1.0 that grew
from there, are another framework with the same name and take ``autogen.classic``.

Importing this package loads no part of AutoGen; the classes are made when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..shared.erasing import erase_user

if TYPE_CHECKING:
    from .context import MemoryModelContext
    from .memory import AgentMemory

__all__ = ["AgentMemory", "MemoryModelContext", "erase_user"]


def __getattr__(name: str) -> Any:
    if name not in ("AgentMemory", "MemoryModelContext"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .components import component

    return component(name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
