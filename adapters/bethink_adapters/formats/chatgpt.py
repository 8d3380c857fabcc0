"""Conversations exported from ChatGPT: ``conversations.json``, or the ZIP archive of the export.

What user and assistant said to each other is kept, whatever the type of the message: texts, code,
the words of voice and pictures, a report of deep research. Of the messages to and from tools only
what the assistant wrote for the user is kept: a canvas with changes and comments. Thoughts, hidden
messages and all else of tools are left out. Custom instructions, and what ChatGPT noted about the
user, stand in every conversation, and are a memory for each different text.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Generator, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from ..shared.texts import digest
from .base import Found, Incomplete, Item, Skipped, name_of, read_each
from .conversations import Documents, branch, list_in, mapping_in, newest_leaf, time_of
from .jsons import values
from .times import moment

_MEMBER: Final = r"conversations(-\d+)?\.json"
_UNSAID: Final = ("thoughts", "reasoning_recap", "execution_output")
_CANVAS: Final = "canmore."
_REPORT: Final = "is_async_task_result_message"
_WHOLE: Final = ".*"
"""The pattern of a change that replaces a whole canvas; other patterns are not run."""

_MARK: Final = re.compile("\ue200([^\ue200\ue201\ue202]*)((?:\ue202[^\ue200\ue201]*)?)\ue201")
"""What ChatGPT sets into a text: a kind, and then parts that programs read."""


def read_chatgpt(path: str | os.PathLike[str], *, user: str = "user") -> Iterator[Found]:
    """Yield the words of *user* and the assistant on the current branch of each conversation.

    The conversation is the thread, with the title in the metadata. A canvas is a memory of its own,
    with the name under "canvas" in the metadata, superseded by a later whole text. Hidden messages,
    thoughts and calls of tools are left out; a message of nothing but pictures or sound is skipped.
    """
    return read_each(values(path, _MEMBER), partial(_conversation, user=user))


def _conversation(place: str, told: object, user: str) -> Iterator[Found]:
    if not isinstance(told, dict) or not isinstance(told.get("mapping"), dict):
        raise ValueError("not a conversation of ChatGPT: it has no mapping")
    nodes = {id: node for id, node in told["mapping"].items() if isinstance(node, dict)}
    parents = {id: node.get("parent") for id, node in nodes.items()}
    way = branch(parents, told.get("current_node"))
    if not way:
        times = {
            id: time_of(mapping_in(node, "message"), "create_time") for id, node in nodes.items()
        }
        way = branch(parents, newest_leaf(parents, times))
    thread = str(told.get("conversation_id") or told.get("id") or "".join(way[-1:]))
    messages = {id: mapping_in(nodes[id], "message") for id in way}
    at = yield from _start(place, told, messages.values())
    canvases = Documents()
    for id, message in messages.items():
        where = f"{place}, message {message.get('id') or id}"
        own = time_of(message, "create_time")
        if context := _context(message, user):
            yield Item(where, {**context, "occurred_at": at if own is None else own})
        if not _is_said(message):
            continue
        at = at if own is None else own
        model = mapping_in(message, "metadata").get("model_slug")
        about = {"title": told.get("title"), "model": model}
        fields = {
            "thread": thread,
            "author": user if message["author"]["role"] == "user" else "assistant",
            "occurred_at": at,
            "source": name_of("chatgpt", thread, str(message.get("id") or id)),
            "metadata": {name: value for name, value in about.items() if value},
        }
        text = _text(message)
        if text is None:
            yield Skipped(where, "it holds no text")
        elif str(message.get("recipient")).startswith(_CANVAS):
            yield from _canvas(where, text, fields, canvases)
        elif text:
            yield Item(where, {"content": text, **fields})


def _canvas(
    place: str, call: str, fields: Mapping[str, Any], canvases: Documents
) -> Iterator[Found]:
    """Yield what a *call* writes into a canvas: a whole text, passages, or comments."""
    try:
        told = json.loads(call)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        yield Skipped(place, "its canvas cannot be read")
        return
    changes = [each for each in list_in(told, "updates") if isinstance(each, dict)]
    notes = [each for each in list_in(told, "comments") if isinstance(each, dict)]
    whole = told.get("content")
    if len(changes) == 1 and changes[0].get("pattern") == _WHOLE:
        whole, changes = changes[0].get("replacement"), []
    passages = [each.get("replacement") for each in changes] + [n.get("comment") for n in notes]
    texts = [each for each in (whole, *passages) if isinstance(each, str)]
    text, name = "\n\n".join(each for each in texts if each.strip()), told.get("name")
    if isinstance(name, str):
        canvases.open(name)
    if text:
        replaced = canvases.write(text, fields["source"]) if isinstance(whole, str) else ()
        metadata = {**fields["metadata"], **({"canvas": canvases.name} if canvases.name else {})}
        yield Item(place, {"content": text, **fields, "metadata": metadata}, replaced)


def _context(message: Mapping[str, Any], user: str) -> dict[str, Any] | None:
    """Return the fields of the custom instructions, or of ChatGPT's notes, in a *message*."""
    own = mapping_in(message, "content")
    given = mapping_in(message, "metadata").get("user_context_message_data")
    if not isinstance(given, dict):
        given = own if str(own.get("content_type")).endswith("_editable_context") else {}
    names = ("about_user_message", "about_model_message", "user_profile", "user_instructions")
    told = [given.get(name) for name in (*names, "model_set_context")]
    text = "\n\n".join(each for each in told if isinstance(each, str) and each.strip())
    if not text:
        return None
    author = "assistant" if given.get("model_set_context") else user
    return {"content": text, "author": author, "source": name_of("chatgpt", digest(text))}


def _start(
    place: str, told: Mapping[str, Any], messages: Iterable[Mapping[str, Any]]
) -> Generator[Incomplete, None, float | None]:
    """Return the begin of a conversation, or of the first message; yield a lack of both."""
    try:
        return moment(told.get("create_time"))
    except ValueError as error:
        known = (time_of(message, "create_time") for message in messages)
        first = next((at for at in known if at is not None), None)
        if first is None:
            yield Incomplete(place, f"create_time: {error}")
        return first


def _is_said(message: Mapping[str, Any]) -> bool:
    author, content = message.get("author"), message.get("content")
    about = mapping_in(message, "metadata")
    if not isinstance(author, dict) or not isinstance(content, dict):
        return False
    kind, recipient = str(content.get("content_type")), message.get("recipient")
    speakers = ("user", "assistant", *(["tool"] if about.get(_REPORT) else []))
    return (
        author.get("role") in speakers
        and kind not in _UNSAID
        and not kind.endswith("_editable_context")
        and (recipient in (None, "all") or str(recipient).startswith(_CANVAS))
        and message.get("channel") != "analysis"
        and not about.get("is_visually_hidden_from_conversation")
        and not about.get("user_context_message_data")
    )


def _text(message: Mapping[str, Any]) -> str | None:
    """Return the text of a message, "" for an empty message, None for only pictures or sound."""
    given = [part for part in list_in(message["content"], "parts") if part]
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
