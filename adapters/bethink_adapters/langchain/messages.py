"""LangChain messages as records, without loss.

A record's ``value`` is the message as written by LangChain, ``{"type": …, "data": …}``. Values
beyond JSON (bytes, dates, sets, model objects) stand inside as ``{"__bethink__": kind,
"value": …}``. The record's ``content`` is the searchable text, ``author`` the speaker.
"""

from __future__ import annotations

import base64
import json
import logging
import math
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import numpy as np

from bethink import MemoryRecord
from bethink.adapting import MAX_CONTENT, MAX_LABEL

from ..shared.extras import needs
from ..shared.texts import storable

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

logger = logging.getLogger("bethink_adapters.langchain")

_WRAP: Final = "__bethink__"
_CLASSES: Final = {
    "human": "HumanMessage",
    "user": "HumanMessage",
    "ai": "AIMessage",
    "assistant": "AIMessage",
    "system": "SystemMessage",
}


def langchain() -> ModuleType:
    """Return the module ``langchain_core.messages``; or raise ``MissingExtraError``."""
    with needs("langchain"):
        return import_module("langchain_core.messages")


def as_message(message: object) -> BaseMessage:
    """Return *message* as a whole message: chunks, texts and (role, text) pairs are converted.

    A text may carry the prefix "Human: " of some releases of LangChain.
    """
    core = langchain()
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
    author = str(message.name or getattr(message, "role", message.type))
    return {
        "content": storable(plain_text(message.content), MAX_CONTENT),
        "value": {"type": message.type, "data": encode(_attributes(message))},
        "author": storable(author, MAX_LABEL),
    }


def text_item(kind: str, text: str) -> dict[str, Any]:
    """Return a message of type *kind* ("human", "ai") with only *text*, as ``to_item`` does."""
    return {
        "content": storable(text, MAX_CONTENT),
        "value": {"type": kind, "data": {"content": text}},
        "author": kind,
    }


def to_message(record: MemoryRecord) -> BaseMessage:
    """Return the message in *record*; an unreadable message is shown as the text."""
    core = langchain()
    message: BaseMessage
    if record.value is not None:
        try:
            (message,) = core.messages_from_dict([decode(record.value)])
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


def role_of(record: MemoryRecord) -> str:
    """Return the type of *record*'s message, or the role of a chat message."""
    role = _inside(record, "data", "role") or _inside(record, "type") or record.author
    return str(role or "unknown")


def text_of(record: MemoryRecord) -> str:
    """Return the text of *record*'s message, uncut."""
    return plain_text(_inside(record, "data", "content")) or record.content


def _inside(record: MemoryRecord, *path: str) -> Any:
    found = record.value
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def plain_text(content: object) -> str:
    """Return the text of a message's *content*, a str or a list of blocks."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") if isinstance(block, Mapping) else block for block in blocks]
    return "\n".join(text for text in texts if isinstance(text, str))


# Types beyond JSON: kind -> (type, to JSON, back). The first matching type is taken.
_SCALARS: Final[Mapping[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]]] = {
    "float": (float, repr, float),
    "bytes": (bytes, lambda it: base64.b64encode(it).decode(), base64.b64decode),
    "bytearray": (bytearray, bytearray.hex, bytearray.fromhex),
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "date": (date, date.isoformat, date.fromisoformat),
    "time": (time, time.isoformat, time.fromisoformat),
    "timedelta": (timedelta, lambda it: it // timedelta.resolution, timedelta.resolution.__mul__),
    "decimal": (Decimal, str, Decimal),
    "uuid": (UUID, str, UUID),
}
_COLLECTIONS: Final[Mapping[str, Any]] = {"tuple": tuple, "set": set, "frozenset": frozenset}


def encode(value: Any) -> Any:
    """Return *value* in JSON types only; ``decode`` is the inverse."""
    if isinstance(value, Enum):
        return encode(value.value)
    if isinstance(value, np.integer | np.bool_):
        return value.item()
    if isinstance(value, np.floating):
        value = float(value)
    finite = isinstance(value, float) and math.isfinite(value)
    if value is None or isinstance(value, str | int) or finite:
        return value
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        if _WRAP not in value and all(isinstance(key, str) for key in value):
            return {key: encode(item) for key, item in value.items()}
        return _wrap("dict", [[encode(key), encode(item)] for key, item in value.items()])
    for kind, (scalar, to_json, _) in _SCALARS.items():
        if isinstance(value, scalar):
            return _wrap(kind, to_json(value))
    for kind, collection in _COLLECTIONS.items():
        if isinstance(value, collection):
            items = [encode(item) for item in value]
            return _wrap(kind, items if kind == "tuple" else sorted(items, key=json.dumps))
    return _encode_object(value)


def decode(value: Any) -> Any:
    """Return the argument of ``encode``; wrappings of an unknown kind stay."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    kind = value.get(_WRAP)
    if kind is None:
        return {key: decode(item) for key, item in value.items()}
    if kind in _SCALARS:
        return _SCALARS[kind][2](value["value"])
    if kind in _COLLECTIONS:
        return _COLLECTIONS[kind](decode(value["value"]))
    if kind == "dict":
        return {decode(key): decode(item) for key, item in value["value"]}
    return _decode_object(value) if kind == "object" else value


def _wrap(kind: str, value: object, **more: str) -> dict[str, Any]:
    return {_WRAP: kind, "value": value, **more}


def _encode_object(value: Any) -> dict[str, Any]:
    made = type(value)
    if is_dataclass(made):
        content = {field.name: getattr(value, field.name) for field in fields(made)}
    elif hasattr(made, "model_fields") or hasattr(made, "__fields__"):
        content = _attributes(value)
    else:
        logger.warning("A message holds a %s, of which only the repr is kept", made.__qualname__)
        return _wrap("repr", repr(value))
    return _wrap("object", encode(content), name=f"{made.__module__}:{made.__qualname__}")


def _decode_object(wrapped: Mapping[str, Any]) -> Any:
    """Rebuild a dataclass or pydantic object, or return the fields as a dict.

    Only loaded classes are found: reading a file never imports code.
    """
    content = decode(wrapped["value"])
    module, _, path = wrapped["name"].partition(":")
    made: Any = sys.modules.get(module)
    for name in path.split("."):
        made = getattr(made, name, None)
    is_plain = is_dataclass(made)
    with suppress(Exception):
        if hasattr(made, "model_construct"):
            return made.model_construct(**content)
        if is_plain:
            return made(**content)
        if hasattr(made, "__fields__"):
            return made.construct(**content)
    return content


def _attributes(model: Any) -> dict[str, Any]:
    """Return the fields of a pydantic object, of either major version, without conversion."""
    return {**vars(model), **(getattr(model, "__pydantic_extra__", None) or {})}
