"""A capability: show the model recalled memories, and remember the words of each run."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Self, TypeAlias, cast

from bethink.adapting import (
    Packed,
    Scope,
    Turn,
    check_namespace,
    check_scope,
)

from ..shared.defaults import DEFAULT_BUDGET_TOKENS, DEFAULT_K
from ..shared.opening import StoreOrPath, open_store
from ..shared.recalling import Recalling
from ..shared.subclassing import made_on
from ..shared.turns import aremember_turns, thread_name, turn
from .messages import drop_refused, drop_tool_prompts, is_prompt, prompt_text, spoken_texts

if TYPE_CHECKING:
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.capabilities.abstract import WrapModelRequestHandler, WrapRunHandler
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


@made_on("pydantic-ai", "pydantic_ai.capabilities", "AbstractCapability")
class MemoryRecall(_Base):
    """Show the model the memories that the question recalls, and remember the words of each run.

    The best *k* memories of *namespace* with a score of at least *min_score* stand in front of the
    question in each request of a run: as many as fit into *budget_tokens*, as *count_tokens* counts
    the tokens (default: an estimate). *min_share* is that of ``recall``. Texts in the conversation
    are not shown again, and no history holds the memories. *remember* is a namespace for the words
    of users and the model after each run; after a failed run, only the user's words are stored.
    A run without a prompt answers the end of its history: the user's words there are stored, once
    in a conversation, unless an earlier run has seen the words.
    Both namespaces may be functions of the ``RunContext``; a run without a namespace to recall from
    raises ``ValidationError``, and so do bad settings. A failing store is logged, and the run goes
    on.
    """

    def __init__(
        self,
        store: StoreOrPath,
        *,
        namespace: Scope | Callable[[RunContext[Any]], Scope],
        remember: str | Callable[[RunContext[Any]], str] | None = None,
        k: int = DEFAULT_K,
        min_score: float = 0.0,
        min_share: float = 0.0,
        budget_tokens: int = DEFAULT_BUDGET_TOKENS,
        count_tokens: Callable[[str], float] | None = None,
    ) -> None:
        self.store = open_store(store)
        self.namespace = namespace
        self.remember = remember
        if remember is not None and not callable(remember):
            check_namespace(remember)
        usual: Scope = "default" if callable(namespace) else namespace
        self._recalling = Recalling(
            self.store, usual, k, min_score, budget_tokens, count_tokens, min_share
        )
        self._known: dict[str, Packed] = {}
        self._asked: list[Turn] = []

    async def for_run(self, ctx: RunContext[Any]) -> Self:
        """Return a copy for a single run; the copy recalls once for each question."""
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
        """Do the work of ``prepare_model_request`` for releases without the hook."""
        if not hasattr(super(), "prepare_model_request"):
            await self.prepare_model_request(ctx, request_context)
        return await handler(request_context)

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Put the recalled memories in front of the last question, in the request only.

        The hook comes after every ``ProcessHistory``, so no history holds the memories.
        """
        messages = list(request_context.messages)
        place, query = _question([drop_tool_prompts(message, ctx.prompt) for message in messages])
        if query not in self._known:
            scope = check_scope(self.namespace(ctx)) if callable(self.namespace) else None
            said = {text.strip() for _, text in spoken_texts(messages)}
            self._known[query] = await self._recalling.asafely(query, said, namespace=scope)
        if block := self._known[query].text:
            messages[place] = _with_block(cast("ModelRequest", messages[place]), block)
            request_context.messages = messages
        return request_context

    async def after_run(
        self, ctx: RunContext[Any], *, result: AgentRunResult[Any]
    ) -> AgentRunResult[Any]:
        """Remember the words of the run in the namespace ``remember``."""
        await self._add(ctx, result.new_messages())
        return result

    async def wrap_run(
        self, ctx: RunContext[Any], *, handler: WrapRunHandler
    ) -> AgentRunResult[Any]:
        """Remember the user's words of a run that fails, is cancelled or is broken off."""
        from pydantic_ai.messages import ModelRequest, UserPromptPart

        self._asked = _unanswered(ctx.messages) if ctx.prompt is None else []
        try:
            return await handler()
        except BaseException:
            given = [] if ctx.prompt is None else [ModelRequest(parts=[UserPromptPart(ctx.prompt)])]
            await self._add(ctx, given)
            raise

    async def _add(self, ctx: RunContext[Any], messages: Sequence[ModelMessage]) -> None:
        """Remember the words asked, and those of *messages*; a failing store is logged."""
        if self.remember is None:
            return
        place = self.remember(ctx) if callable(self.remember) else self.remember
        new = [drop_tool_prompts(message, ctx.prompt) for message in drop_refused(messages)]
        turns = self._asked + [
            turn(text, author, f"{ctx.run_id} {number}")
            for number, (author, text) in enumerate(spoken_texts(new))
        ]
        thread = thread_name(ctx.conversation_id)
        await aremember_turns(self.store, turns, namespace=place, thread=thread)


def _unanswered(history: Sequence[ModelMessage]) -> list[Turn]:
    """Return the user's words at the end of *history*, if no run has seen the words.

    An id is a hash of all words up to there: the same history again has the same ids.
    """
    messages = [drop_tool_prompts(message, None) for message in history]
    new = takewhile(lambda each: each.kind == "request" and not each.run_id, reversed(messages))
    count = len(list(spoken_texts(new)))
    said = list(spoken_texts(messages))
    return [
        turn(text, author, sha256(json.dumps(said[: place + 1]).encode()).hexdigest())
        for place, (author, text) in list(enumerate(said))[len(said) - count :]
    ]


def _question(messages: list[ModelMessage]) -> tuple[int, str]:
    """Return the index of the message with a user's last prompt, and the text; 0 and "" without."""
    for place in reversed(range(len(messages))):
        asked = [part for part in messages[place].parts if is_prompt(part)]
        if asked:
            return place, prompt_text(asked[-1])
    return 0, ""


def _with_block(message: ModelRequest, block: str) -> ModelRequest:
    from pydantic_ai.messages import UserPromptPart

    parts: list[ModelRequestPart] = list(message.parts)
    prompts = [n for n, part in enumerate(parts) if is_prompt(part)]
    parts.insert(prompts[-1], UserPromptPart(content=block))
    return replace(message, parts=parts)
