"""Conversations exported from ChatGPT: ``conversations.json``, or the ZIP archive of the export."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from .base import Found, Item, Skipped, name_of, read_each, read_times
from .conversations import branch, newest_leaf
from .jsons import values
from .times import moment

_MEMBER: Final = r"conversations(-\d+)?\.json"
_SAID: Final = ("text", "multimodal_text")
_MARK: Final = re.compile("\ue200([^\ue200\ue201\ue202]*)((?:\ue202[^\ue200\ue201]*)?)\ue201")
"""What ChatGPT sets into a text: a kind, and then parts that programs read."""


def read_chatgpt(path: str | os.PathLike[str], *, user: str = "user") -> Iterator[Found]:
    """Yield the words of *user* and the assistant on the current branch of each conversation.

    The conversation is the thread, with the title in the metadata. Hidden messages, thoughts and
    calls of tools are left out; a message of nothing but pictures or sound is skipped.
    """
    return read_each(values(path, _MEMBER), partial(_conversation, user=user))


def _conversation(place: str, told: object, user: str) -> Iterator[Found]:
    if not isinstance(told, dict) or not isinstance(told.get("mapping"), dict):
        raise ValueError("not a conversation of ChatGPT: it has no mapping")
    nodes = {id: node for id, node in told["mapping"].items() if isinstance(node, dict)}
    parents = {id: node.get("parent") for id, node in nodes.items()}
    way = branch(parents, told.get("current_node"))
    if not way:
        times = {id: _time(_message(node), None) for id, node in nodes.items()}
        way = branch(parents, newest_leaf(parents, times))
    thread = str(told.get("conversation_id") or told.get("id") or "".join(way[-1:]))
    messages = {id: _message(nodes[id]) for id in way}
    at, unread = _start(place, told, messages.values())
    yield from unread
    for id, message in messages.items():
        if not _is_said(message):
            continue
        at = _time(message, at)
        text = _text(message)
        where = f"{place}, message {message.get('id') or id}"
        if text is None:
            yield Skipped(where, "it holds no text")
        elif text:
            role = message["author"]["role"]
            about = {"title": told.get("title"), "model": _about(message).get("model_slug")}
            yield Item(
                where,
                {
                    "content": text,
                    "thread": thread,
                    "author": user if role == "user" else role,
                    "occurred_at": at,
                    "source": name_of("chatgpt", thread, str(message.get("id") or id)),
                    "metadata": {name: value for name, value in about.items() if value},
                },
            )


def _start(
    place: str, told: Mapping[str, Any], messages: Iterable[Mapping[str, Any]]
) -> tuple[float | None, list[Skipped]]:
    """Return the begin of a conversation, or the time of the first message, and what is unread."""
    times, unread = read_times(place, told, "create_time")
    if not unread:
        return times["create_time"], []
    known = (_time(message, None) for message in messages)
    first = next((at for at in known if at is not None), None)
    return first, unread if first is None else []


def _message(node: Mapping[str, Any]) -> dict[str, Any]:
    message = node.get("message")
    return message if isinstance(message, dict) else {}


def _about(message: Mapping[str, Any]) -> dict[str, Any]:
    about = message.get("metadata")
    return about if isinstance(about, dict) else {}


def _is_said(message: Mapping[str, Any]) -> bool:
    author, content = message.get("author"), message.get("content")
    return (
        isinstance(author, dict)
        and author.get("role") in ("user", "assistant")
        and isinstance(content, dict)
        and content.get("content_type") in _SAID
        and message.get("recipient") in (None, "all")
        and message.get("channel") in (None, "final")
        and not _about(message).get("is_visually_hidden_from_conversation")
    )


def _time(message: Mapping[str, Any], otherwise: float | None) -> float | None:
    try:
        at = moment(message.get("create_time"))
    except ValueError:
        at = None
    return otherwise if at is None else at


def _text(message: Mapping[str, Any]) -> str | None:
    """Return the text of a message, "" for an empty message, None for only pictures or sound."""
    parts = message["content"].get("parts")
    given = [part for part in (parts if isinstance(parts, list) else []) if part]
    spoken = [part.get("text") if isinstance(part, dict) else part for part in given]
    whole = message["content"].get("text")
    texts = [text for text in (*spoken, whole) if isinstance(text, str)]
    if given and not texts:
        return None
    return "\n\n".join(read for text in texts if (read := _MARK.sub(_shown, text)).strip())


def _shown(mark: re.Match[str]) -> str:
    """Return what a reader sees of a mark: the name of an entity, nothing of a citation."""
    if mark[1] != "entity":
        return ""
    try:
        kind_and_name = json.loads(mark[2][1:])
    except (ValueError, RecursionError):
        return ""
    names = kind_and_name[1:2] if isinstance(kind_and_name, list) else []
    return names[0] if names and isinstance(names[0], str) else ""
