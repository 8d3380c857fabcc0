"""AutoGen: a memory and a model context for its agents, and a capability for agents of AutoGen 0.2.

    memory = AgentMemory("agent.db", namespace="users/42")
    agent = AssistantAgent("helper", model_client=client, memory=[memory])
    result = await agent.run(task="Which pizza do I like?")
    await memory.record(result)          # AutoGen never writes to a memory by itself

What was recalled stands in front of the last user message while the model answers, and is in no
context: it neither piles up nor ends in an agent's saved state. ``AgentMemory`` recalls once a turn
and says what, by an event that the saved state of a team keeps; ``MemoryModelContext`` recalls
before every call of the model, in whatever takes a context, and says nothing.

Runs on autogen-agentchat 0.4.9 to 0.7.5, which is also what pyautogen 0.10 installs. An AutoGen
newer than that loads dumped components only from packages it trusts: there, set
AUTOGEN_ALLOWED_PROVIDER_NAMESPACES=bethink_adapters. AutoGen 0.2, and AG2 before 1.0, which goes on
from there, are another framework of that name: for them there is ``autogen.classic``.

Importing this package loads no part of AutoGen; what is named here is made when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .context import MemoryModelContext
    from .memory import AgentMemory

__all__ = ["AgentMemory", "MemoryModelContext"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .components import component

    return component(name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
