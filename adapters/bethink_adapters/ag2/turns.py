"""Turns of a conversation: a policy recalls before a turn, a middleware remembers the turn."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from bethink.adapting import (
    Scope,
    check_namespace,
    explaining,
    finish_in_thread,
    suggesting,
)

from ..shared.defaults import DEFAULT_BUDGET_TOKENS, DEFAULT_K
from ..shared.extras import require
from ..shared.opening import StoreOrPath, open_store
from ..shared.recalling import Recalling
from ..shared.turns import remember_turns, thread_name, turn

if TYPE_CHECKING:
    from ag2.events import BaseEvent, ModelResponse
    from ag2.middleware import BaseMiddleware
    from ag2.middleware.base import MiddlewareFactory

# The name before the text of a message, in a channel of three and more agents.
_NAMED: Final = re.compile(r"\[([^\]\n]+)\]: ")
# The answer that AG2 itself gives where an observer halts the run.
_HALTED: Final = "HALTED: "
# The request that AG2 itself makes where an answer fits no schema.
_REFUSED: Final = "Your previous response could not be validated by schema."


@suggesting
class RecallPolicy:
    """Show the model memories for the last request, the tools' results and the task.

    In a channel of several agents, the task is the last request of the agent that spoke first. The
    model sees the best *k* memories of *namespace* with a score of at least *min_score*, as many as
    fit into *budget_tokens*, as *count_tokens* counts the tokens (default: an estimate).
    *min_share* is that of ``recall``. Texts in the model's input are not shown again. A failing
    store is logged, and the run goes on. Bad settings raise ``ValidationError``.
    """

    def __init__(
        self,
        store: StoreOrPath,
        *,
        namespace: Scope,
        k: int = DEFAULT_K,
        min_score: float = 0.0,
        min_share: float = 0.0,
        budget_tokens: int = DEFAULT_BUDGET_TOKENS,
        count_tokens: Callable[[str], float] | None = None,
        name: str = "bethink_recall",
    ) -> None:
        self.name = name
        require("ag2", "ag2.events")
        self._recalling = Recalling(
            open_store(store), namespace, k, min_score, budget_tokens, count_tokens, min_share
        )

    async def apply(
        self, prompts: list[str], events: list[BaseEvent], context: Any
    ) -> tuple[list[str], list[BaseEvent]]:
        """Return *events* with a block of recalled memories in front of the last request."""
        from ag2.events import ModelRequest

        requests = [at for at, event in enumerate(events) if isinstance(event, ModelRequest)]
        if not requests:
            return prompts, events
        place = requests[-1]
        recent = [events[place], *(event for event in events[place:] if hasattr(event, "results"))]
        queries = [_query(recent), _query([_task([events[at] for at in requests])])]
        packed = await self._recalling.asafely(queries, {text.strip() for text in _texts(events)})
        if packed.text:
            block = ModelRequest.ensure_request([packed.text])
            events = [*events[:place], block, *events[place:]]
        return prompts, events


@explaining
def remembering(store: StoreOrPath, *, namespace: str) -> MiddlewareFactory:
    """Return a middleware that remembers the words of the user and the answer after each turn.

    The id of the stream names the thread. A turn handed over twice is kept once. After a failed
    turn, the memory has the user's words, without half an answer. A failing store is logged, and
    the run goes on. A wrong *store* and a bad *namespace* raise ``ValidationError``.
    """
    require("ag2", "ag2.middleware")
    opened = open_store(store)
    check_namespace(namespace)

    def remember(event: BaseEvent, response: ModelResponse | None, context: Any) -> None:
        event_time = str(event.created_at)
        texts = [part.content for part in getattr(event, "parts", ()) if _is_text(part)]
        texts = [text for text in texts if not text.startswith(_REFUSED)]
        turns = [turn(text, "user", f"{event_time}/{at}") for at, text in enumerate(texts)]
        answer = (response and response.content) or ""
        if not answer.startswith(_HALTED):
            turns.append(turn(answer, "assistant", f"{event_time}/answer"))
        thread = thread_name(str(context.stream.id))
        remember_turns(opened, turns, namespace=namespace, thread=thread)

    def middleware(event: BaseEvent, context: Any) -> BaseMiddleware:
        from ag2.middleware import BaseMiddleware

        class Remembering(BaseMiddleware):
            async def on_turn(
                self,
                call_next: Callable[[BaseEvent, Any], Awaitable[ModelResponse]],
                event: BaseEvent,
                context: Any,
            ) -> ModelResponse:
                try:
                    response = await call_next(event, context)
                except BaseException:  # also a cancelled turn
                    await finish_in_thread(remember, event, None, context)
                    raise
                await finish_in_thread(remember, event, response, context)
                return response

        return Remembering(event, context)

    return middleware


def _task(requests: Sequence[Any]) -> Any:
    """Return the last of *requests* from the speaker of the first request."""
    from ag2.events import DrainedModelRequest

    asked = [each for each in requests if not isinstance(each, DrainedModelRequest)] or requests
    return next(each for each in reversed(asked) if _speaker(each) == _speaker(asked[0]))


def _speaker(request: Any) -> str | None:
    """Return the name in front of the text, put by a channel of several agents, or None."""
    named = _NAMED.match(next(_texts([request]), ""))
    return named and named[1]


def _query(events: Sequence[Any]) -> str:
    """Return the texts and the data of *events*, without names before texts."""
    texts = [text for event in events for text in (*_texts([event]), *_data(event))]
    return "\n".join(_NAMED.sub("", text, count=1) for text in texts)


def _is_text(part: Any) -> bool:
    return isinstance(getattr(part, "content", None), str)


def _texts(events: Sequence[Any]) -> Iterator[str]:
    """Yield the texts of *events*: of requests, of answers and of tools' results."""
    for event in events:
        if _is_text(event):
            yield event.content
        for part in (*getattr(event, "parts", ()), *_returned(event)):
            if _is_text(part):
                yield part.content


def _data(event: Any) -> Iterator[str]:
    """Yield the data of *event* as text, for instance a dict that a tool returned."""
    from ag2.events import DataInput

    for part in (*getattr(event, "parts", ()), *_returned(event)):
        if isinstance(part, DataInput):
            yield str(part.data)


def _returned(event: Any) -> Iterator[Any]:
    for each in getattr(event, "results", ()):
        yield from each.result.parts
