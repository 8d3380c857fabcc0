"""Turns of a conversation: a policy that recalls before them, a middleware that remembers them."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from bethink import MemoryStore
from bethink.adapting import MAX_LABEL, Scope, check_namespace, check_store, finish_in_thread

from ..shared.recalling import DEFAULT_BUDGET_TOKENS, DEFAULT_K, Recalling
from ..shared.remembering import remember_new, turn
from ..shared.texts import storable

if TYPE_CHECKING:
    from ag2.events import BaseEvent, ModelResponse
    from ag2.middleware import BaseMiddleware
    from ag2.middleware.base import MiddlewareFactory

_logger: Final = logging.getLogger(__name__)


class RecallPolicy:
    """Show the model what its last request, and what tools returned since, recall.

    The best *k* memories of *namespace* that score at least *min_score*, and that the model does
    not read anyway, are shown: as many as fit into *budget_tokens*, as *count_tokens* counts them
    (default: an estimate). A store that fails is logged, and the run goes on.
    """

    def __init__(
        self,
        store: MemoryStore,
        *,
        namespace: Scope = "default",
        k: int = DEFAULT_K,
        min_score: float = 0.0,
        budget_tokens: int = DEFAULT_BUDGET_TOKENS,
        count_tokens: Callable[[str], float] | None = None,
        name: str = "bethink_recall",
    ) -> None:
        self.name = name
        self._recalling = Recalling(store, namespace, k, min_score, budget_tokens, count_tokens)

    async def apply(
        self, prompts: list[str], events: list[BaseEvent], context: Any
    ) -> tuple[list[str], list[BaseEvent]]:
        """Return *events* with what was recalled in front of the last request."""
        from ag2.events import ModelRequest

        requests = [at for at, event in enumerate(events) if isinstance(event, ModelRequest)]
        if not requests:
            return prompts, events
        place = requests[-1]
        asked = [events[place], *(event for event in events[place:] if hasattr(event, "results"))]
        query = "\n".join(text for event in asked for text in (*_said([event]), *_data(event)))
        packed = await self._recalling.asafely(query, {text.strip() for text in _said(events)})
        if packed.text:
            block = ModelRequest.ensure_request([packed.text])
            events = [*events[:place], block, *events[place:]]
        return prompts, events


def remembering(store: MemoryStore, *, namespace: str = "default") -> MiddlewareFactory:
    """Return a middleware that remembers, after each turn, what was asked and answered.

    The stream is the thread; each text of a thread is remembered once. A store that fails is
    logged, and the run goes on.
    """
    check_store(store)
    check_namespace(namespace)

    def remember(event: BaseEvent, response: ModelResponse, context: Any) -> None:
        thread = storable(str(context.stream.id), MAX_LABEL)
        told = (("user", [event]), ("assistant", [response]))
        turns = [
            turn(text, author, thread)
            for author, events in told
            for text in _said(events)
            if text.strip()
        ]
        try:
            remember_new(store, turns, namespace)
        except Exception:
            _logger.exception("what was said could not be remembered; the run goes on")

    def middleware(event: BaseEvent, context: Any) -> BaseMiddleware:
        from ag2.middleware import BaseMiddleware

        class Remembering(BaseMiddleware):
            async def on_turn(
                self,
                call_next: Callable[[BaseEvent, Any], Awaitable[ModelResponse]],
                event: BaseEvent,
                context: Any,
            ) -> ModelResponse:
                response = await call_next(event, context)
                await finish_in_thread(remember, event, response, context)
                return response

        return Remembering(event, context)

    return middleware


def _said(events: Sequence[Any]) -> Iterator[str]:
    """Yield the texts of *events*: of requests, of answers and of what tools returned."""
    for event in events:
        if isinstance(told := getattr(event, "content", None), str):
            yield told
        for part in (*getattr(event, "parts", ()), *_returned(event)):
            if isinstance(told := getattr(part, "content", None), str):
                yield told


def _data(event: Any) -> Iterator[str]:
    """Yield what *event* holds that is no text: a tool that returns a dict hands back data."""
    from ag2.events import DataInput

    for part in (*getattr(event, "parts", ()), *_returned(event)):
        if isinstance(part, DataInput):
            yield str(part.data)


def _returned(event: Any) -> Iterator[Any]:
    for each in getattr(event, "results", ()):
        yield from each.result.parts
