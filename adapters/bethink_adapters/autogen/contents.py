"""Contents of AutoGen as records and back, and messages as turns."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from bethink import RecallResult, ValidationError
from bethink.adapting import Turn

from ..shared.texts import aware
from ..shared.turns import thread_name, turn
from .messages import texts

if TYPE_CHECKING:
    from autogen_core.memory import MemoryContent

_JSON = "application/json"
_TEXT = "text/plain"
# The notes that a CodeExecutorAgent writes by itself.
_CODE_NOTE: Final = re.compile(
    r"The script ran(?: but produced no output|, then exited with an error)|"
    r"No code blocks found in the thread\."
)
# The names in the metadata with a field in a record: the speaker, the conversation and the time.
_RECORD_FIELDS: dict[str, type | tuple[type, ...]] = {
    "author": str,
    "thread": str,
    "occurred_at": (int, float, datetime),
}


def to_item(content: MemoryContent) -> dict[str, Any]:
    """Return *content* as arguments of ``MemoryStore.store``.

    An image or bytes are stored as base64 text, with the metadata's "description" as content. Any
    other object raises ``TypeError``; JSON that is no dict, and an image without a description,
    raise ``ValidationError``.
    """
    if not hasattr(content, "mime_type"):
        raise TypeError(f"a MemoryContent is needed, not {type(content).__name__}")
    mime = content.mime_type if isinstance(content.mime_type, str) else content.mime_type.value
    data, metadata = content.content, dict(content.metadata or {})
    value: dict[str, Any] | str | None = None
    if isinstance(data, dict):
        mime, value = _JSON, data
        text = json.dumps(data, ensure_ascii=False)
    elif mime == _JSON:
        raise ValidationError("JSON content must be a dict")
    elif isinstance(data, str):
        text = data
    else:
        text = metadata.get("description", "")
        if not text:
            raise ValidationError(
                "Unsupported content type: an image or bytes need a metadata['description'] "
                "to be found by"
            )
        mime = mime if isinstance(data, bytes) else "image/png"
        value = base64.b64encode(data).decode() if isinstance(data, bytes) else data.to_base64()
    if mime != _TEXT or value is not None or "mime_type" in metadata:
        metadata["mime_type"] = mime
    fields = {
        name: metadata.pop(name)
        for name, kind in _RECORD_FIELDS.items()
        if _has(metadata, name, kind)
    }
    if isinstance(fields.get("occurred_at"), datetime):
        fields["occurred_at"] = aware(fields["occurred_at"])
    key = f"content:{_digest(mime, text, value, *fields.values())}"
    return {"content": text, "value": value, "metadata": metadata, "key": key, **fields}


def _has(metadata: dict[str, Any], name: str, kind: type | tuple[type, ...]) -> bool:
    return isinstance(metadata.get(name), kind) and bool(metadata[name])


def to_content(hit: RecallResult) -> MemoryContent:
    """Return a recalled memory as a ``MemoryContent`` of text, a dict, or base64 text."""
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
    content: str | dict[str, Any] = memory.content
    if mime == _JSON and isinstance(memory.value, dict):
        content = memory.value
    elif "mime_type" in memory.metadata and isinstance(memory.value, str):
        content = memory.value
        metadata["encoding"] = "base64"
    return MemoryContent(content=content, mime_type=mime, metadata=metadata)


def to_turns(
    messages: Iterable[Any], leave_out: Collection[str], thread: str | None, *, is_old: bool
) -> list[Turn]:
    """Return the turns among the *messages* of a run, without messages of the sources *leave_out*.

    Events, hand-offs, stops, summaries of tools' results and notes of a code executor are no turns.
    Without *thread*, the id of the first message names the conversation. *is_old* is True for a
    conversation that may be known, with no turns besides *messages*.
    """
    from autogen_agentchat.messages import BaseChatMessage, HandoffMessage, StopMessage

    unspoken: tuple[type[Any], ...] = (HandoffMessage, StopMessage, *_summaries())
    spoken = [
        (message, text)
        for message in messages
        if isinstance(message, BaseChatMessage)
        and not isinstance(message, unspoken)
        and message.source not in leave_out
        and not _CODE_NOTE.match(text := _speech(message).strip())
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


def _summaries() -> tuple[type[Any], ...]:
    """Return the types of the messages with summaries of tools' results."""
    from autogen_agentchat import messages

    found = getattr(messages, "ToolCallSummaryMessage", None)
    return () if found is None else (found,)


def _speech(message: Any) -> str:
    if isinstance(message.content, str | list):
        return next(texts(message.content))
    return str(message.to_model_text())


def _digest(*parts: object) -> str:
    written = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:32]
