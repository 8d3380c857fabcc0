"""The memory block: recalls for the last user message, and remembers earlier messages."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from bethink.adapting import (
    Budget,
    Packed,
    Scope,
    add_turns,
    check_namespace,
    finish_in_thread,
    pack,
)

from ..shared.defaults import DEFAULT_BUDGET_TOKENS, DEFAULT_K
from ..shared.opening import open_store
from ..shared.recalling import Recalling
from ..shared.turns import thread_name, turn

if TYPE_CHECKING:
    from llama_index.core.llms import ChatMessage
    from llama_index.core.memory import BaseMemoryBlock

    _Block = BaseMemoryBlock[str]
else:
    _Block = object  # see `models`

_logger: Final = logging.getLogger(__name__)

_MODELS: Final = ("assistant", "chatbot", "model")
_SPEAKERS: Final = ("user", *_MODELS)


class _Shown(str):
    """The text of a block, with the memories in the text."""

    packed: Packed


class RecallBlock(_Block):
    """Show the model memories that the last user message recalls; remember earlier messages.

    The best *k* memories of *scope* (default: *namespace*) that score at least *min_score*, and
    that the conversation does not hold already, are shown: as many as fit into *budget_tokens*, as
    *tokenizer_fn* counts tokens. *min_share* is that of ``recall``. Give the tokenizer of the
    ``Memory`` (default: LlamaIndex's). When the ``Memory`` is short of room, the best memories that
    fit stay.

    The words of users and models that leave the conversation are remembered in *namespace*, once in
    a conversation: with the session as thread, and without a time, because LlamaIndex's messages
    have none. Instructions, calls and results of tools are not remembered. With
    *accept_short_term_memory* False nothing that leaves the conversation is remembered, for a
    *scope* with the conversations. A store that fails is logged, and the run goes on; a call of
    ``aput`` raises.
    """

    model_config: ClassVar[Any] = {"arbitrary_types_allowed": True}

    store: Any  # a ``MemoryStore``, or a path to open
    name: str = "recalled"
    priority: int = 1
    namespace: str
    scope: Scope | None = None
    k: int = DEFAULT_K
    min_score: float = 0.0
    min_share: float = 0.0
    budget_tokens: int = DEFAULT_BUDGET_TOKENS
    tokenizer_fn: Callable[[str], Sequence[Any]] | None = None

    def model_post_init(self, context: Any, /) -> None:
        """Open a path, and refuse wrong settings at once."""
        self.store = open_store(self.store)
        check_namespace(self.namespace)
        self._recalling()

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        given = messages or []
        asked = [message.content or "" for message in given if message.role == "user"]
        said = {(message.content or "").strip() for message in given}
        packed = await self._recalling().asafely(asked[-1] if asked else "", said)
        return _shown(packed)

    async def aput(
        self,
        messages: list[ChatMessage],
        from_short_term_memory: bool = False,
        session_id: str | None = None,
    ) -> None:
        """Remember the words of *messages* that are not known in the conversation *session_id*."""
        if from_short_term_memory and not self.accept_short_term_memory:
            return
        turns = [
            turn(
                message.content,
                role,
                is_answer=role in _MODELS,
                is_new=from_short_term_memory,  # a message leaves the conversation once
            )
            for message in messages
            for role in [message.role.value]
            if role in _SPEAKERS and message.content and message.content.strip()
        ]
        try:
            thread = thread_name(session_id, "session_id")
            await finish_in_thread(
                add_turns, self.store, turns, namespace=self.namespace, thread=thread
            )
        except Exception:
            if not from_short_term_memory:
                raise
            _logger.exception("the words could not be remembered; the run goes on")

    async def _aput(self, messages: list[ChatMessage]) -> None:
        await self.aput(messages)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Return the block of the best memories in so many tokens less; None when nothing fits."""
        if not isinstance(content, _Shown):
            return None
        room = content.packed.tokens - tokens_to_truncate
        if room <= 0:
            return None
        budget = Budget(room, self._count)
        return _shown(await asyncio.to_thread(pack, content.packed.results, budget)) or None

    def _recalling(self) -> Recalling:
        scope = self.namespace if self.scope is None else self.scope
        return Recalling(
            self.store,
            scope,
            self.k,
            self.min_score,
            self.budget_tokens,
            self._count,
            self.min_share,
        )

    def _count(self, text: str) -> int:
        if self.tokenizer_fn is not None:
            return len(self.tokenizer_fn(text))
        from llama_index.core.utils import get_tokenizer

        return len(get_tokenizer()(text))


def _shown(packed: Packed) -> str:
    shown = _Shown(packed.text)
    shown.packed = packed
    return shown
