"""AutoGen: a memory and a model context for agents, and a capability for agents of AutoGen 0.2.

    memory = AgentMemory("agent.db", namespace="users/42")
    agent = AssistantAgent("helper", model_client=client, memory=[memory])
    result = await agent.run(task="Which pizza do I like?")
    await memory.record(result)          # AutoGen itself never writes to a memory
    erase_user(memory.store, namespace="users/42")    # no byte stays

The recalled block stands in front of the last user message while the model answers. No context
stores the block: blocks neither pile up nor end in an agent's saved state. ``AgentMemory`` recalls
once a turn, and AutoGen reports the memories in an event that the saved state of a team keeps.
``MemoryModelContext`` recalls before every call of the model, without an event.

Runs on autogen-agentchat 0.4.9 to 0.7.5; pyautogen 0.10 installs autogen-agentchat too. A newer
AutoGen loads dumped components only from trusted packages: set
AUTOGEN_ALLOWED_PROVIDER_NAMESPACES=bethink_adapters. AutoGen 0.2, and AG2 before 1.0, are a
different framework with an equal name: use ``autogen.classic``.

Importing the package loads no part of AutoGen; the first use of a class makes the class.
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
