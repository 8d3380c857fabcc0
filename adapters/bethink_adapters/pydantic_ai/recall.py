"""A capability that shows the model what its question recalls, and remembers what was said."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias, cast

from bethink import MemoryStore
from bethink.adapting import (
    MAX_CONTENT,
    MAX_LABEL,
    Packed,
    Scope,
    check_namespace,
    check_scope,
    finish_in_thread,
)

from ..shared.extras import needs
from ..shared.recalling import DEFAULT_BUDGET_TOKENS, DEFAULT_K, Recalling
from ..shared.subclassing import on_base
from ..shared.texts import storable
from .spoken import is_prompt, prompt_text, spoken, without_tools

if TYPE_CHECKING:
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.capabilities.abstract import WrapModelRequestHandler
    from pydantic_ai.messages import (
        ModelMessage,
        ModelRequest,
        ModelRequestPart,
        ModelResponse,
    )
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.run import AgentRunResult

    _Base: TypeAlias = AbstractCapability[Any]
else:
    _Base = object  # see `subclassing`

_logger: Final = logging.getLogger(__name__)


class MemoryRecall(_Base):
    """Show the model what its question recalls, and remember what was said.

    The best *k* memories of *namespace* that score at least *min_score*, and that the conversation
    does not hold already, stand in front of the question in each request of a run, and in no
    history: as many as fit into *budget_tokens*, as *count_tokens* counts them (default: an
    estimate). With *remember*, a namespace, what is said is stored there after a run. Both
    namespaces may be functions of the ``RunContext``; a run that has none to recall from raises
    ``ValidationError``. A store that fails is logged, and the run goes on.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Make one that passes for the framework's own."""
        with needs("pydantic-ai-slim", "pydantic-ai"):
            from pydantic_ai.capabilities import AbstractCapability
        return object.__new__(on_base(cls, AbstractCapability))

    def __init__(
        self,
        store: MemoryStore,
        *,
        namespace: Scope | Callable[[RunContext[Any]], Scope] = "default",
        remember: str | Callable[[RunContext[Any]], str] | None = None,
        k: int = DEFAULT_K,
        min_score: float = 0.0,
        budget_tokens: int = DEFAULT_BUDGET_TOKENS,
        count_tokens: Callable[[str], float] | None = None,
    ) -> None:
        self.store = store
        self.namespace = namespace
        self.remember = remember
        if isinstance(remember, str):
            check_namespace(remember)
        usual: Scope = "default" if callable(namespace) else namespace
        self._recalling = Recalling(store, usual, k, min_score, budget_tokens, count_tokens)
        self._known: dict[str, Packed] = {}

    async def for_run(self, ctx: RunContext[Any]) -> Self:
        """Return a copy that recalls for one run, once for each question."""
        made = copy.copy(self)
        made._known = {}
        return made

    async def wrap_model_request(
        self,
        ctx: RunContext[Any],
        *,
        request_context: ModelRequestContext,
        handler: WrapModelRequestHandler,
    ) -> ModelResponse:
        """Put what the last question recalls in front of it, in this request only."""
        messages = list(request_context.messages)
        place, query = _question([without_tools(message, ctx.prompt) for message in messages])
        if query not in self._known:
            scope = check_scope(self.namespace(ctx)) if callable(self.namespace) else None
            said = {text.strip() for _, text in spoken(messages)}
            self._known[query] = await self._recalling.asafely(query, said, namespace=scope)
        if block := self._known[query].text:
            messages[place] = _with_block(cast("ModelRequest", messages[place]), block)
            request_context.messages = messages
        return await handler(request_context)

    async def after_run(
        self, ctx: RunContext[Any], *, result: AgentRunResult[Any]
    ) -> AgentRunResult[Any]:
        """Remember what was said and answered, where ``remember`` says."""
        if self.remember is None:
            return result
        place = self.remember(ctx) if callable(self.remember) else self.remember
        thread = storable(ctx.conversation_id or "", MAX_LABEL)
        new = [without_tools(message, ctx.prompt) for message in result.new_messages()]
        items = [
            {"content": storable(text, MAX_CONTENT), "author": author, "key": f"{ctx.run_id}:{n}"}
            for n, (author, text) in enumerate(spoken(new))
        ]
        try:
            await finish_in_thread(self.store.store_many, items, namespace=place, thread=thread)
        except Exception:
            _logger.exception("what was said could not be remembered; the run goes on")
        return result


def _question(messages: list[ModelMessage]) -> tuple[int, str]:
    """Return where the last prompt of a user stands, and its text."""
    for place in reversed(range(len(messages))):
        asked = [part for part in messages[place].parts if is_prompt(part)]
        if asked:
            return place, prompt_text(asked[-1])
    return 0, ""


def _with_block(message: ModelRequest, block: str) -> ModelRequest:
    """Return *message* with *block* in front of its last prompt."""
    from pydantic_ai.messages import UserPromptPart

    parts: list[ModelRequestPart] = list(message.parts)
    prompts = [n for n, part in enumerate(parts) if is_prompt(part)]
    parts.insert(prompts[-1], UserPromptPart(content=block))
    return replace(message, parts=parts)
