"""OpenAI Agents SDK: a session keeps a conversation, a filter recalls from other conversations.

    session = MemorySession(store, "conversation-7")
    config = RunConfig(call_model_input_filter=recall_filter(store, namespace="users/42"))
    result = await Runner.run(agent, "Which pizza do I like?", session=session, run_config=config)

Recalled memories stand in front of the last user message while the model answers; neither the
session nor the run's items hold the memories. The SDK saves a question before the model answers, so
a session keeps the question of a failed run; ``pop_item`` takes the question away.

Runs on openai-agents 0.22 to 0.24.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from bethink import ArgumentError, MessageLog, ValidationError
from bethink.adapting import (
    MAX_CONTENT,
    MAX_LABEL,
    Scope,
    check_scope,
    explaining,
    finish_in_thread,
    suggesting,
)

from .shared.defaults import DEFAULT_BUDGET_TOKENS, DEFAULT_K
from .shared.erasing import erase_user
from .shared.extras import needs, require
from .shared.opening import StoreOrPath, open_store
from .shared.recalling import Recalling
from .shared.texts import present_value, present_values, storable, with_content
from .shared.turns import id_text, listed

if TYPE_CHECKING:
    from agents import SessionSettings, TResponseInputItem
    from agents.run import CallModelData, ModelInputData

__all__ = ["MemorySession", "erase_user", "recall_filter"]

_SPEECH: Final = ("message", None)  # the types of items
_SPEAKERS: Final = ("user", "assistant")
_TEXTS: Final = ("output", "content", "text", "refusal")


@suggesting
class MemorySession:
    """The items of a conversation, kept in a store; a ``Session`` of the SDK.

    Any text or whole number names a session, and no session sees the items of a second session.
    *session_settings* is a ``SessionSettings`` or a mapping of the fields; a run is shown at most
    ``limit`` items. With *erase*, a cleared session leaves no byte of the items. The *store* stays
    open.

    The words of users and the model can be recalled from the store; reasoning, instructions, calls
    and results of tools are kept as items only.
    """

    def __init__(
        self,
        store: StoreOrPath,
        session_id: str | int,
        *,
        namespace: str = "messages",
        session_settings: SessionSettings | Mapping[str, Any] | None = None,
        erase: bool = False,
    ) -> None:
        self.session_id = id_text("session_id", session_id)
        self.log = MessageLog(open_store(store), self.session_id, namespace=namespace)
        self.erase = erase
        self.session_settings: SessionSettings | None = _settings(session_settings)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the newest *limit* items, oldest first; None: as many as the settings say."""
        last = self.session_settings.limit if limit is None and self.session_settings else limit
        most = None if last is None else max(last, 0)
        return await asyncio.to_thread(present_values, self.log, most, _edited)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add *items*, all or none."""
        records = [_record(item) for item in listed("items", items)]
        await finish_in_thread(self.log.append, records)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove and return the newest item; return None for an empty session."""
        record = await finish_in_thread(self.log.pop)
        if record is None:
            return None
        return cast("TResponseInputItem", present_value(record, _edited))

    async def clear_session(self) -> None:
        """Forget, or with ``erase`` erase, all items of the session."""
        delete = self.log.store.erase if self.erase else self.log.store.forget
        await finish_in_thread(delete, namespace=self.log.namespace)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(session_id={self.session_id!r})"


@explaining
def recall_filter(
    store: StoreOrPath,
    *,
    namespace: Scope | Callable[[CallModelData[Any]], Scope],
    k: int = DEFAULT_K,
    min_score: float = 0.0,
    min_share: float = 0.0,
    budget_tokens: int = DEFAULT_BUDGET_TOKENS,
    count_tokens: Callable[[str], float] | None = None,
) -> Callable[[CallModelData[Any]], Coroutine[Any, Any, ModelInputData]]:
    """Return a ``call_model_input_filter`` that shows the model memories for the last question.

    *namespace* may be a function of the call, for instance of the call's ``context``. The filter
    shows the best *k* memories with a score of at least *min_score*, as many as fit into
    *budget_tokens*, as *count_tokens* counts the tokens (default: an estimate). *min_share* is that
    of ``recall``. Texts in the conversation are not shown again. A failing store is logged and
    shows nothing; bad settings, and a function that returns no namespace, raise
    ``ValidationError``.
    """
    require("openai-agents", "agents.run")
    usual: Scope = "default" if callable(namespace) else namespace
    recalling = Recalling(
        open_store(store), usual, k, min_score, budget_tokens, count_tokens, min_share
    )

    async def filtered(data: CallModelData[Any]) -> ModelInputData:
        from agents.run import ModelInputData

        given = list(data.model_data.input)
        told = [_transcript(item) for item in given]
        place, query = _last_question(told)
        said = {"\n".join(_texts(item)).strip() for items in told for item in items}
        scope = check_scope(namespace(data)) if callable(namespace) else None
        packed = await recalling.asafely(query, said, namespace=scope)
        if packed.text:
            given.insert(place, {"role": "user", "content": packed.text})
        return ModelInputData(input=given, instructions=data.model_data.instructions)

    return filtered


def _settings(given: SessionSettings | Mapping[str, Any] | None) -> SessionSettings:
    with needs("openai-agents"):
        from agents.memory import SessionSettings

    if isinstance(given, SessionSettings):
        return given
    unknown = sorted(set(given or ()) - {"limit"})
    if unknown:
        raise ArgumentError(f"Unknown session settings: {', '.join(unknown)}")
    return SessionSettings(**(given or {}))


def _transcript(item: TResponseInputItem) -> list[TResponseInputItem]:
    """Return the items that a handoff folded into *item*; without a fold, *item* alone."""
    from agents.handoffs import HandoffInputData, nest_handoff_history

    if item.get("role") != "assistant":
        return [item]
    folded = HandoffInputData(input_history=(item,), pre_handoff_items=(), new_items=())
    unfolded = nest_handoff_history(folded, history_mapper=list)
    return cast("list[TResponseInputItem]", list(unfolded.input_history))


def _last_question(told: Sequence[Sequence[TResponseInputItem]]) -> tuple[int, str]:
    """Return the place and the text of the last user message; 0 and "" without a user message."""
    for place in reversed(range(len(told))):
        for item in reversed(told[place]):
            if item.get("role") == "user":
                return place, "\n".join(_texts(item))
    return 0, ""


def _record(item: object) -> dict[str, Any]:
    """Return *item* as arguments of ``MemoryStore.store``; the text of speech can be recalled."""
    if not isinstance(item, Mapping):
        raise ValidationError(f"an item must be a mapping, not {type(item).__name__}")
    text = "\n".join(_texts(item)) if _is_speech(item) else ""
    author = item.get("role") or ("tool" if "output" in item else "assistant")
    return {
        "content": storable(text, MAX_CONTENT),
        "value": dict(item),
        "author": storable(str(author), MAX_LABEL),
    }


def _edited(item: Any, content: str) -> TResponseInputItem:
    """Return *item* with *content* as the text, if an update or a screen changed the text."""
    if isinstance(item, Mapping) and _is_speech(item):
        item = with_content(item, content, name="content", told="\n".join(_texts(item)))
    return cast("TResponseInputItem", item)


def _is_speech(item: Mapping[str, Any]) -> bool:
    return item.get("type") in _SPEECH and item.get("role") in _SPEAKERS


def _texts(part: object) -> Iterator[str]:
    """Yield the texts in an item, wherever the SDK puts texts."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, Mapping):
        for name in _TEXTS:
            if name in part:
                yield from _texts(part[name])
    elif isinstance(part, Sequence):
        for each in part:
            yield from _texts(each)
