"""Texts and values of a framework in a form for records and recalls."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from hashlib import sha256
from typing import Any, Final, TypeVar
from uuid import UUID

from bethink import MemoryRecord, MessageLog, ValidationError
from bethink.adapting import MAX_CONTENT, Page, is_changed, plain, values

Query = TypeVar("Query", str, str | None)

_decode: Final = json.JSONDecoder(parse_constant=str).decode
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_LEVELS: Final = 128  # as in the store
_TEXT_KINDS: Final = ("text", "input_text", "output_text", "refusal")
_NOTES: Final = ("annotations", "logprobs")


def askable(query: Query) -> Query:
    """Return a text *query* within the limits of ``recall``; any other value as given."""
    return storable(query, MAX_CONTENT) if isinstance(query, str) else query


def storable(text: str, limit: int) -> str:
    """Return the first *limit* characters of *text*, lone surrogates replaced."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text[:limit])


def plain_text(content: object) -> str:
    """Return the text of a message's *content*, a str or a list of parts; pictures have none."""
    parts = content if isinstance(content, list) else [content]
    texts = (part.get("text") if isinstance(part, Mapping) else part for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))


def present(told: object, content: str) -> str:
    """Return *told*, the text of a message; or *content* of an edited or screened record.

    Where *told* is no text, *content* is the text.
    """
    if not isinstance(told, str):
        return content
    if content == told or content == (kept := storable(told, MAX_CONTENT)):
        return told
    return content if (content or kept).strip() else told


def present_value(record: MemoryRecord, edit: Callable[[Any, str], Any]) -> Any:
    """Return the value of *record*; *edit* as in ``values``."""
    return edit(record.value, record.content) if is_changed(record) else record.value


def present_values(log: MessageLog, last: int | None, edit: Callable[[Any, str], Any]) -> list[Any]:
    """Return the values of the *last* messages, oldest first; *edit* as in ``values``."""
    page = Page(last, descending=True)
    return values(log.store, namespace=log.namespace, page=page, edit=edit)[::-1]


def with_content(
    message: Any, content: str, *, name: str, told: str | None = None, joint: str = "\n"
) -> Any:
    """Return *message*, a mapping with text or parts under *name*, with the present text.

    *told* is the text in the message (default: the texts of the parts, joined by *joint*). Notes on
    places in a former text are dropped; parts of other kinds stay.
    """
    parts = message.get(name) if isinstance(message, Mapping) else None
    if not isinstance(parts, str | list):
        return message
    given = [{"type": "text", "text": parts}] if isinstance(parts, str) else parts
    texts = [(part, field) for part in given if (field := _text_field(part))]
    former = joint.join(part[field] for part, field in texts) if told is None else told
    text = present(former, content)
    if not texts or text == former:
        return message
    shown, field = texts[0]
    first = {**shown, field: text, **{note: [] for note in _NOTES if note in shown}}
    kept = [
        first if part is shown else part for part in given if part is shown or not _text_field(part)
    ]
    return {**message, name: text if isinstance(parts, str) else kept}


def _text_field(part: Any) -> str | None:
    """Return the name of the field with the text in a *part*; None for parts of other kinds."""
    kind = part.get("type", part.get("block_type")) if isinstance(part, Mapping) else None
    field = "refusal" if kind == "refusal" else "text"
    return field if kind in _TEXT_KINDS and isinstance(part.get(field), str) else None


def digest(text: str) -> str:
    """Return a name of 32 characters for *text*: different texts have different names."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def jsonable(value: Any) -> Any:
    """Return *value* after a trip through JSON; a number that is not finite becomes a text."""
    return _decode(json.dumps(value))


def aware(when: datetime) -> datetime:
    """Return *when*; a time without a time zone is in UTC."""
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when


def written(name: str, value: object) -> Any:
    """Return a copy of *value* in JSON types: ISO 8601 for times, text for a UUID.

    Any other value beyond JSON raises ``ValidationError`` with *name* and the place within.
    """
    try:
        return plain(name, value)
    except ValidationError:
        return _written(name, value, _LEVELS)


def _written(name: str, value: Any, levels: int) -> Any:
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if not levels:
        return plain(name, value, 0)  # refused
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {
            str.__str__(key): _written(f"{name}[{key!r}]", item, levels - 1)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_written(f"{name}[{place}]", item, levels - 1) for place, item in enumerate(value)]
    return plain(name, value)
