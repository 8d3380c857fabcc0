"""The older memory of LangChain's own chains: a ``ConversationMemory`` behind their base class."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..shared.extras import needs
from ..shared.opening import StoreOrPath
from .conversation import ConversationMemory

if TYPE_CHECKING:
    from langchain_classic.base_memory import BaseMemory


def chain_memory(store: StoreOrPath, session_id: str, **options: Any) -> BaseMemory:
    """Return a memory for the ``memory=`` of LangChain's chains, such as ``ConversationChain``.

    *options* are those of ``ConversationMemory``, the ``memory`` of the returned object. Needs
    langchain before 1.0, or langchain-classic.
    """
    adapted: BaseMemory = _adapter()(memory=ConversationMemory(store, session_id, **options))
    return adapted


@cache
def _adapter() -> Any:
    """Return the subclass of LangChain's ``BaseMemory``, made at the first use."""
    base: Any = _base_memory()

    class ChainMemory(base):  # type: ignore[misc]
        """A ``ConversationMemory`` for LangChain's chains."""

        memory: ConversationMemory

        @property
        def memory_variables(self) -> list[str]:
            return self.memory.memory_variables

        def load_memory_variables(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
            return self.memory.load_memory_variables(inputs)

        async def aload_memory_variables(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
            return await self.memory.aload_memory_variables(inputs)

        def save_context(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> None:
            self.memory.save_context(inputs, outputs)

        async def asave_context(
            self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]
        ) -> None:
            await self.memory.asave_context(inputs, outputs)

        def clear(self) -> None:
            self.memory.clear()

        async def aclear(self) -> None:
            await self.memory.aclear()

    return ChainMemory


def _base_memory() -> Any:
    try:
        return import_module("langchain_core.memory").BaseMemory  # before langchain-core 1.0
    except ImportError:
        with needs("langchain-classic"):
            return import_module("langchain_classic.base_memory").BaseMemory
