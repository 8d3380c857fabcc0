"""Messages of LlamaIndex as records and back.

A record's ``value`` is the message as written by LlamaIndex, ``content`` the words of a speaker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from bethink import MemoryRecord
from bethink.adapting import MAX_CONTENT, MAX_LABEL

from ..shared.texts import present_value, storable, with_content

if TYPE_CHECKING:
    from llama_index.core.llms import ChatMessage

_SPEAKERS: Final = ("user", "assistant", "chatbot", "model")


def to_item(message: ChatMessage, category: str) -> dict[str, Any]:
    """Return *message* as arguments of ``MemoryStore.store``; speech can be recalled."""
    text = (message.content or "") if message.role.value in _SPEAKERS else ""
    return {
        "content": storable(text, MAX_CONTENT),
        "value": message.model_dump(mode="json"),
        "author": storable(message.role.value, MAX_LABEL),
        "category": category,
    }


def to_messages(records: Sequence[MemoryRecord]) -> list[ChatMessage]:
    """Return the messages in *records*."""
    from llama_index.core.llms import ChatMessage

    return [ChatMessage.model_validate(present_value(each, edited)) for each in records]


def first_message(records: Sequence[MemoryRecord]) -> ChatMessage | None:
    """Return the message in the first of *records*; None without records."""
    return next(iter(to_messages(records[:1])), None)


def edited(value: Any, content: str) -> Any:
    """Return the message *value* with *content* as the words, if changed since."""
    return with_content(value, content, name="blocks") if value["role"] in _SPEAKERS else value
