"""The adapter's classes on AutoGen's base classes: components to dump and load."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal

from ..shared.defaults import DEFAULT_BUDGET_TOKENS, DEFAULT_K
from ..shared.extras import needs
from .context import MemoryModelContext
from .memory import AgentMemory

if TYPE_CHECKING:
    from pydantic import BaseModel

_HOME: Final = "bethink_adapters.autogen"


@cache
def component(name: str) -> type[Any]:
    """Return the class *name*, "AgentMemory" or "MemoryModelContext", on AutoGen's base class."""
    with needs("autogen"):
        from autogen_core import ComponentModel
        from autogen_core.memory import Memory
        from autogen_core.model_context import ChatCompletionContext
    from pydantic import BaseModel

    class Shared(BaseModel):
        location: str
        namespace: str
        k: int = DEFAULT_K
        min_score: float = 0.0
        min_share: float = 0.0
        budget_tokens: int = DEFAULT_BUDGET_TOKENS
        inject_as: Literal["user", "system"] = "user"

    class AgentMemoryConfig(Shared):
        name: str = "memory"

    class MemoryModelContextConfig(Shared):
        context: ComponentModel

    parts: dict[str, tuple[type[Any], type[Any], type[BaseModel]]] = {
        "AgentMemory": (AgentMemory, Memory, AgentMemoryConfig),
        "MemoryModelContext": (MemoryModelContext, ChatCompletionContext, MemoryModelContextConfig),
    }
    return _joined(*parts[name])


def _joined(cls: type[Any], base: type[Any], config: type[BaseModel]) -> type[Any]:
    from autogen_core import Component

    class Joined(cls, base, Component[config]):  # type: ignore[misc, valid-type]
        __doc__ = cls.__doc__
        __module__ = _HOME
        __qualname__ = cls.__name__
        component_provider_override = f"{_HOME}.{cls.__name__}"
        component_description = "Recalls from one namespace of a bethink store."
        component_config_schema = config

        def _to_config(self) -> BaseModel:
            return config(**self._configuration())

        @classmethod
        def _from_config(cls, config: BaseModel) -> Any:
            return cls(**cls._arguments(config.model_dump()))

    Joined.__name__ = cls.__name__
    return Joined
