"""LangChain messages as records, without loss.

A record's ``value`` is the message as written by LangChain, ``{"type": …, "data": …}``. Values
beyond JSON stand inside as in ``encoding``. The record's ``content`` is the searchable text,
``author`` the speaker.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from bethink import MemoryRecord, ValidationError
from bethink.adapting import MAX_CONTENT, MAX_LABEL, plain

from ..shared.texts import plain_text, present, storable
from .documents import part
from .encoding import attributes, decode, encode, logger, replaced

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

_FREE: Final = ("additional_kwargs", "response_metadata", "artifact")
"""The fields of a message with any objects of a provider or a tool."""

_CLASSES: Final = {
    "human": "HumanMessage",
    "user": "HumanMessage",
    "ai": "AIMessage",
    "assistant": "AIMessage",
    "system": "SystemMessage",
}


def as_message(message: object) -> BaseMessage:
    """Return *message* as a whole message: chunks, texts and (role, text) pairs are converted.

    A text may carry the prefix "Human: " of some releases of LangChain.
    """
    core = part("messages")
    whole: BaseMessage
    if isinstance(message, str):
        whole = core.HumanMessage(content=message.removeprefix("Human: "))
    elif isinstance(message, core.BaseMessage):
        whole = core.message_chunk_to_message(message)
    else:
        (whole,) = core.convert_to_messages([message])
    return whole


def to_item(message: BaseMessage) -> dict[str, Any]:
    """Return *message* as arguments of ``MemoryStore.store``."""
    data = attributes(message)
    author = str(message.name or data.get("role", message.type))
    return {
        "content": storable(plain_text(message.content), MAX_CONTENT),
        "value": {"type": message.type, "data": _kept(data)},
        "author": storable(author, MAX_LABEL),
    }


def _kept(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the encoded fields of a message; odd objects never cost the message."""
    return {
        name: _free(name, value) if name in _FREE and value else encode(value, name)
        for name, value in attributes.items()
    }


def _free(name: str, value: Any) -> Any:
    try:
        return plain(name, [[encode(value, name)]])[0][0]  # as deep as in the record
    except (ValidationError, RecursionError):  # too deep, inside itself, or a huge number
        return replaced(value, name)


def text_item(kind: str, text: str) -> dict[str, Any]:
    """Return a message of type *kind* ("human", "ai") with only *text*, as ``to_item`` does."""
    return {
        "content": storable(text, MAX_CONTENT),
        "value": {"type": kind, "data": {"content": text}},
        "author": kind,
    }


def to_message(record: MemoryRecord) -> BaseMessage:
    """Return the message in *record*; an unreadable message is shown as the text."""
    core = part("messages")
    message: BaseMessage
    if record.value is not None:
        try:
            (message,) = core.messages_from_dict([decode(record.value)])
            _set_text(message, record)
        except Exception as error:
            logger.warning(
                "Record %s is shown as its text, it holds no message: %r", record.id, error
            )
            message = core.ChatMessage(role=role_of(record), content=text_of(record))
    elif name := _CLASSES.get(record.author or ""):
        message = getattr(core, name)(content=record.content)
    else:
        message = core.ChatMessage(role=role_of(record), content=record.content)
    return message


def _set_text(message: BaseMessage, record: MemoryRecord) -> None:
    """Give *message* the text of *record*, if an update or a screen changed the text."""
    told = plain_text(message.content)
    text = present(told, record.content)
    if text == told:
        return
    if isinstance(message.content, list):
        others = (each for each in message.content if not plain_text([each]))
        message.content = [*([{"type": "text", "text": text}] if text else []), *others]
    else:
        message.content = text


def role_of(record: MemoryRecord) -> str:
    """Return the type of *record*'s message, or the role of a chat message."""
    role = _inside(record, "data", "role") or _inside(record, "type") or record.author
    return str(role or "unknown")


def text_of(record: MemoryRecord) -> str:
    """Return the text of *record*'s message, uncut."""
    return present(plain_text(_inside(record, "data", "content")), record.content)


def _inside(record: MemoryRecord, *path: str) -> Any:
    found = record.value
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found
