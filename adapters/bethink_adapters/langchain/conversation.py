"""The older memory of chains, on the sessions of ``ChatMessageHistory``, without LangChain.

``ConversationMemory`` is for chains of your own; LangChain's chains take ``chain_memory``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from bethink import MemoryRecord, ValidationError
from bethink.adapting import finish_in_thread, integer, suggesting

from ..shared.opening import StoreOrPath
from ..shared.texts import askable
from .history import ChatMessageHistory
from .messages import role_of, text_item, text_of, to_message

_PREFIXES: Final = {
    "human": "Human",
    "ai": "AI",
    "system": "System",
    "tool": "Tool",
    "function": "Function",
}

_SAID: Final = {
    "$not": {"value.type": {"$in": ["system", "tool", "function"]}},
    "$or": [{"value.data.tool_calls": {"$exists": False}}, {"value.data.tool_calls": []}],
}
"""Words of a human or a model, without a call of a tool."""


class _Transcript(ChatMessageHistory):
    """The history of a memory that shows texts: no LangChain is needed."""

    def _require(self) -> None:
        """Require nothing."""


@suggesting
class ConversationMemory:
    """The memory of a chain, read before a call and written afterwards.

    The last *k* exchanges (None: all) are a text under *memory_key*, or with *return_messages*
    LangChain messages; only messages need LangChain. *input_key* and *output_key* name the values
    of a call to keep, and may be left out for a single value. With *erase* ``clear`` erases.

    The input of a call recalls up to *recalled* earlier messages by meaning, shown first, oldest
    first, together with what was saved at the same moment: the answer to a question, the question
    of an answer. *recalled* needs a *k*: without *k* the whole conversation is shown.
    """

    def __init__(
        self,
        store: StoreOrPath,
        session_id: str,
        *,
        k: int | None = None,
        recalled: int = 0,
        input_key: str | None = None,
        output_key: str | None = None,
        memory_key: str = "history",
        return_messages: bool = False,
        namespace: str = "messages",
        erase: bool = False,
    ) -> None:
        last = None if k is None else 2 * integer("k", k, 0)
        self.recalled = integer("recalled", recalled, 0)
        if recalled and k is None:
            raise ValidationError("recalled needs k: without k the whole conversation is shown")
        kind = ChatMessageHistory if return_messages else _Transcript
        self.chat_memory = kind(store, session_id, namespace=namespace, last=last, erase=erase)
        self.input_key = input_key
        self.output_key = output_key
        self.memory_key = memory_key
        self.return_messages = return_messages

    @property
    def memory_variables(self) -> list[str]:
        """The names returned by ``load_memory_variables``."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return what *inputs* recall, and the last exchanges, under ``memory_key``."""
        window = self.chat_memory.shown()
        shown = [*self._recalled(inputs, window), *window]
        told = list(map(to_message, shown)) if self.return_messages else _transcript(shown)
        return {self.memory_key: told}

    def save_context(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> None:
        """Add an exchange: input and output of a call."""
        said = self._question(inputs)
        answered = _pick(outputs, self.output_key, "output_key")
        self.chat_memory.log.append([text_item("human", said), text_item("ai", answered)])

    def clear(self) -> None:
        """Forget the conversation; erase the conversation if made with *erase*."""
        self.chat_memory.clear()

    async def aload_memory_variables(
        self, inputs: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return what *inputs* recall, and the last exchanges, under ``memory_key``."""
        return await asyncio.to_thread(self.load_memory_variables, inputs)

    async def asave_context(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> None:
        """Add an exchange: input and output of a call."""
        await finish_in_thread(self.save_context, inputs, outputs)

    async def aclear(self) -> None:
        """Forget the conversation; erase the conversation if made with *erase*."""
        await finish_in_thread(self.clear)

    def _question(self, inputs: Mapping[str, Any]) -> str:
        return _pick(inputs, self.input_key, "input_key", ignore=(self.memory_key, "stop"))

    def _recalled(
        self, inputs: Mapping[str, Any] | None, window: Sequence[MemoryRecord]
    ) -> list[MemoryRecord]:
        """Return what *inputs* recall outside of the *window*, oldest first."""
        if not self.recalled or not inputs:
            return []
        log, question = self.chat_memory.log, askable(self._question(inputs))
        outside = {**_SAID, "id": {"$nin": [record.id for record in window]}}
        hits = log.store.recall(question, k=self.recalled, namespace=log.namespace, where=outside)
        saved = sorted({hit.memory.created_at for hit in hits})
        together = {**outside, "created_at": {"$in": saved}}
        return log.store.all(namespace=log.namespace, where=together)


def _transcript(records: Iterable[MemoryRecord]) -> str:
    roles = ((role_of(record), text_of(record)) for record in records)
    return "\n".join(f"{_PREFIXES.get(role, role)}: {text}" for role, text in roles)


def _pick(
    values: Mapping[str, Any], key: str | None, argument: str, ignore: Sequence[str] = ()
) -> str:
    """Return the text under *key*, or the only text besides *ignore*."""
    names = [key] if key else [name for name in values if name not in ignore]
    if len(names) != 1:
        raise ValidationError(f"set {argument}: there is not one value but {names}")
    text = values.get(names[0])
    if not isinstance(text, str):
        raise ValidationError(f"{names[0]!r} must be a str, not {type(text).__name__}")
    return text
