"""A model context with memories recalled before every call of the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from bethink import ValidationError
from bethink.adapting import suggesting

from ..shared.defaults import DEFAULT_BUDGET_TOKENS, DEFAULT_K
from ..shared.opening import StoreOrPath
from .messages import all_texts, recall_queries, results_since, show
from .settings import Settings

if TYPE_CHECKING:
    from autogen_core import Component
    from autogen_core.model_context import ChatCompletionContext
    from autogen_core.models import LLMMessage
    from pydantic import BaseModel

    class _Context(ChatCompletionContext, Component[BaseModel]):
        """A model context of AutoGen's."""
else:
    _Context = object  # see `components`


@suggesting
class MemoryModelContext(Settings, _Context):
    """A conversation with a block of recalled memories in front of the last user message.

    The queries are the last user message with the results of tools since, and in a team the task.
    *context* keeps the messages (default: an ``UnboundedChatCompletionContext``); neither *context*
    nor a saved state has the block. The remaining arguments are as in ``AgentMemory``. An agent
    with the context needs an ``AgentMemory`` for writing only. A failing store is logged, and the
    messages are shown without memories.
    """

    def __init__(
        self,
        store: StoreOrPath,
        *,
        context: ChatCompletionContext | None = None,
        namespace: str,
        k: int = DEFAULT_K,
        min_score: float = 0.0,
        min_share: float = 0.0,
        budget_tokens: int = DEFAULT_BUDGET_TOKENS,
        count_tokens: Callable[[str], int] | None = None,
        inject_as: Literal["user", "system"] = "user",
    ) -> None:
        from autogen_core.model_context import UnboundedChatCompletionContext

        super().__init__(
            store,
            namespace=namespace,
            k=k,
            min_score=min_score,
            min_share=min_share,
            budget_tokens=budget_tokens,
            count_tokens=count_tokens,
            inject_as=inject_as,
        )
        if context is not None and not hasattr(context, "get_messages"):
            kind = type(context).__name__
            raise ValidationError(f"context must be a ChatCompletionContext, not {kind}")
        self.context = UnboundedChatCompletionContext() if context is None else context

    async def get_messages(self) -> list[LLMMessage]:
        """Return the messages of the context with a block of recalled memories."""
        messages = list(await self.context.get_messages())
        queries = recall_queries(messages, results_since(messages))
        packed = await self._recalling().asafely(queries, all_texts(messages))
        if packed.text:
            show(self._block_message(packed.text), messages)
        return messages

    async def add_message(self, message: LLMMessage) -> None:
        """Add a message to the conversation."""
        await self.context.add_message(message)

    async def clear(self) -> None:
        """Begin a new conversation; no memory is forgotten or erased."""
        await self.context.clear()

    async def save_state(self) -> Mapping[str, Any]:
        """Return the conversation, without recalled memories."""
        return await self.context.save_state()

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on with a saved conversation."""
        await self.context.load_state(state)

    def _configuration(self) -> dict[str, Any]:
        return super()._configuration() | {"context": self.context.dump_component()}

    @classmethod
    def _arguments(cls, config: dict[str, Any]) -> dict[str, Any]:
        from autogen_core.model_context import ChatCompletionContext

        context = ChatCompletionContext.load_component(config["context"])
        return super()._arguments(config) | {"context": context}
