"""Contents of AutoGen as records and back, and messages as turns."""

from __future__ import annotations

import base64
import functools
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from bethink import ArgumentError, MemoryRecord, RecallResult, ValidationError
from bethink.adapting import MAX_CONTENT, MAX_LABEL, Turn

from ..shared.texts import aware, digest, present, storable, written
from ..shared.turns import thread_name, turn
from .messages import HANDED_OFF, texts

if TYPE_CHECKING:
    from autogen_core import Image
    from autogen_core.memory import MemoryContent

    ContentType = str | bytes | dict[str, Any] | Image

_JSON = "application/json"
_TEXT = "text/plain"
# The notes that a CodeExecutorAgent writes by itself, and the word at the end of a task.
_NOTE: Final = re.compile(
    r"The script ran(?: but produced no output|, then exited with an error)|"
    r"No code blocks found in the thread\.|TERMINATE\Z"
)
# The names in the metadata with a field in a record: the speaker, the conversation and the time.
_RECORD_FIELDS: dict[str, type | tuple[type, ...]] = {
    "author": str,
    "thread": str,
    "occurred_at": (int, float, datetime),
}


def to_item(content: MemoryContent) -> dict[str, Any]:
    """Return *content* as arguments of ``MemoryStore.store``.

    Text is cut and freed of lone surrogates where a record asks for it; the value then holds the
    text unchanged. An image or bytes are a value in base64, with the metadata's "description" as
    text. Times become ISO texts, UUIDs texts. Any other object raises ``ArgumentError``; JSON that
    is no dict, and an image without a description, raise ``ValidationError``.
    """
    if not hasattr(content, "mime_type"):
        raise ArgumentError(f"a MemoryContent is needed, not {type(content).__name__}")
    mime = content.mime_type if isinstance(content.mime_type, str) else content.mime_type.value
    metadata = dict(content.metadata or {})
    if isinstance(content.content, dict):
        mime = _JSON
    elif mime == _JSON:
        raise ValidationError("JSON content must be a dict")
    fields = {
        name: metadata.pop(name)
        for name, kind in _RECORD_FIELDS.items()
        if isinstance(metadata.get(name), kind) and metadata[name]
    }
    metadata = written("metadata", metadata)
    text, value = _text_and_value(content.content, metadata)
    if mime != _TEXT or value is not None or "mime_type" in metadata:
        metadata["mime_type"] = mime
    for name, found in fields.items():
        if isinstance(found, str):
            fields[name] = storable(found, MAX_LABEL)
        elif isinstance(found, datetime):
            fields[name] = aware(found)
    told = json.dumps((mime, text, value, *fields.values()), sort_keys=True, default=str)
    key = f"content:{digest(told)}"
    return {"content": text, "value": value, "metadata": metadata, "key": key, **fields}


def _text_and_value(data: ContentType, metadata: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the text that recalls find, and what else gives back *data*; None for text alone."""
    if isinstance(data, str):
        text = storable(data, MAX_CONTENT)
        return text, None if text == data else {"text": data}
    if isinstance(data, dict):
        data = written("content", data)
        return storable(json.dumps(data, ensure_ascii=False), MAX_CONTENT), data
    about = metadata.get("description", "")
    if not isinstance(about, str) or not about.strip():
        raise ValidationError(
            "Unsupported content type: an image or bytes need a metadata['description'] "
            "to be found by"
        )
    if isinstance(data, bytes):
        return storable(about, MAX_CONTENT), base64.b64encode(data).decode()
    return storable(about, MAX_CONTENT), {"image": data.to_base64()}


def to_content(hit: RecallResult) -> MemoryContent:
    """Return a recalled memory as a ``MemoryContent`` with what was added."""
    from autogen_core.memory import MemoryContent

    memory, why = hit.memory, hit.explain()
    metadata = memory.metadata | {
        "id": memory.id,
        "score": hit.score,
        "created_at": memory.created_at,
        "explanation": {"signals": dict(why.signals), "contributions": dict(why.contributions)},
    }
    fields = {
        name: found for name in _RECORD_FIELDS if (found := getattr(memory, name)) is not None
    }
    metadata = fields | metadata
    mime = metadata.pop("mime_type", _TEXT)
    data = _data(memory) if "mime_type" in memory.metadata else memory.content
    return MemoryContent(content=data, mime_type=mime, metadata=metadata)


def to_event(hit: RecallResult) -> MemoryContent:
    """Return the same as ``to_content``, in a form that a team can write as JSON.

    Bytes are base64 text, as "encoding" in the metadata says; lone surrogates are replaced. The
    text of the event has the id alone.
    """
    content = to_content(hit)
    metadata = content.metadata or {}
    if isinstance(content.content, bytes):
        content.content = hit.memory.value
        metadata["encoding"] = "base64"
    elif isinstance(content.content, str):
        content.content = hit.memory.content
    elif isinstance(content.content, dict):
        content.content = _writable(content.content)
    content.metadata = _writable(metadata)
    return _reported_class().model_construct(**dict(content))


@functools.cache
def _reported_class() -> type[MemoryContent]:
    from autogen_core.memory import MemoryContent

    class Reported(MemoryContent):
        """A memory in an event.

        A team that ends on a word looks for the word in the text of each event, so a recalled
        "APPROVE" of an earlier run would end the new run. The text of the event is the ``repr``.
        """

        def __repr__(self) -> str:
            return f"MemoryContent(id={(self.metadata or {}).get('id')!r})"

        def __reduce__(self) -> tuple[Any, ...]:
            return MemoryContent.model_validate, (dict(self),)

    return Reported


def _data(memory: MemoryRecord) -> ContentType:
    from autogen_core import Image

    match memory.value:
        case dict() if memory.metadata["mime_type"] == _JSON:
            return memory.value
        case {"text": str(text)}:
            return present(text, memory.content)
        case {"image": str(written)}:
            return Image.from_base64(written)
        case str(written):
            with suppress(ValueError):
                return base64.b64decode(written, validate=True)
    return memory.content


def _writable(value: dict[str, Any]) -> dict[str, Any]:
    written = json.dumps(value, ensure_ascii=False)
    found: dict[str, Any] = json.loads(storable(written, len(written)))
    return found


def to_turns(
    messages: Iterable[Any], leave_out: Collection[str], thread: str | None, *, is_old: bool
) -> list[Turn]:
    """Return the turns among the *messages* of a run, without messages of the sources *leave_out*.

    Events, hand-offs of a model, stops, summaries of tools' results and notes of a code executor
    are no turns. A hand-off of a user, who answers an agent, is a turn. Without *thread*, the id of
    the first message names the conversation. *is_old* is True for a conversation that may be known,
    with no turns besides *messages*.
    """
    from autogen_agentchat import messages as kinds

    given = list(messages)
    hand_off = _hand_off_test(given)
    stop = kinds.StopMessage
    unspoken = stop, getattr(kinds, "ToolCallSummaryMessage", stop)  # of tools' results
    spoken = [
        (message, text)
        for message in given
        if isinstance(message, kinds.BaseChatMessage)
        and not isinstance(message, unspoken)
        and not hand_off(message)
        and message.source not in leave_out
        and not _NOTE.match(text := _speech(message).strip())
    ]
    ids = [getattr(message, "id", None) for message, _ in spoken]
    name = thread_name(thread or next(iter(ids), None))
    return [
        turn(
            text,
            message.source,
            id,
            is_old=is_old,
            thread=name,
            occurred_at=(at := getattr(message, "created_at", None)) and aware(at),
            metadata=dict(message.metadata),
        )
        for id, (message, text) in zip(ids, spoken, strict=True)
    ]


def _hand_off_test(messages: Iterable[Any]) -> Callable[[Any], bool]:
    """Return a test for hand-offs of a model: the text is the result of a tool in *messages*."""
    from autogen_agentchat.messages import HandoffMessage, ToolCallExecutionEvent

    ran = (event for event in messages if isinstance(event, ToolCallExecutionEvent))
    results = {result.content for event in ran for result in event.content}

    def is_hand_off(message: Any) -> bool:
        return isinstance(message, HandoffMessage) and (
            message.content in results or bool(HANDED_OFF.fullmatch(message.content))
        )

    return is_hand_off


def _speech(message: Any) -> str:
    if isinstance(message.content, str | list):
        return next(texts(message.content))
    return str(message.to_model_text())
