"""The older memory of chains, on the sessions of ``ChatMessageHistory``, without LangChain.

The memory is for chains of your own. LangChain's chains take only LangChain's memories, such as
``ConversationBufferMemory(chat_memory=ChatMessageHistory(store, "ann"))``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bethink import ValidationError
from bethink.adapting import finish_in_thread, integer

from ..shared.opening import StoreOrPath
from .history import ChatMessageHistory
from .messages import role_of, text_item, text_of

_PREFIXES: Final = {
    "human": "Human",
    "ai": "AI",
    "system": "System",
    "tool": "Tool",
    "function": "Function",
}


class _Transcript(ChatMessageHistory):
    """The history of a memory that shows texts: no LangChain is needed."""

    def _require(self) -> None:
        """Require nothing."""


class ConversationMemory:
    """The memory of a chain, read before a call and written afterwards.

    The last *k* exchanges (None: all) are a text under *memory_key*, or with *return_messages*
    LangChain messages; only messages need LangChain. *input_key* and *output_key* name the values
    of a call to keep, and may be left out for a single value. With *erase* ``clear`` erases.
    """

    def __init__(
        self,
        store: StoreOrPath,
        session_id: str,
        *,
        k: int | None = None,
        input_key: str | None = None,
        output_key: str | None = None,
        memory_key: str = "history",
        return_messages: bool = False,
        namespace: str = "messages",
        erase: bool = False,
    ) -> None:
        last = None if k is None else 2 * integer("k", k, 0)
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
        """Return the conversation so far under ``memory_key``; *inputs* do not matter."""
        shown = self.chat_memory.messages if self.return_messages else self._transcript()
        return {self.memory_key: shown}

    def save_context(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> None:
        """Add an exchange: input and output of a call."""
        said = _pick(inputs, self.input_key, "input_key", ignore=(self.memory_key, "stop"))
        answered = _pick(outputs, self.output_key, "output_key")
        self.chat_memory.log.append([text_item("human", said), text_item("ai", answered)])

    def clear(self) -> None:
        """Forget the conversation; erase the conversation if made with *erase*."""
        self.chat_memory.clear()

    async def aload_memory_variables(
        self, inputs: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the conversation so far under ``memory_key``; *inputs* do not matter."""
        return await asyncio.to_thread(self.load_memory_variables, inputs)

    async def asave_context(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> None:
        """Add an exchange: input and output of a call."""
        await finish_in_thread(self.save_context, inputs, outputs)

    async def aclear(self) -> None:
        """Forget the conversation; erase the conversation if made with *erase*."""
        await finish_in_thread(self.clear)

    def _transcript(self) -> str:
        roles = ((role_of(record), text_of(record)) for record in self.chat_memory.shown())
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
