"""Conversations exported from Claude: ``conversations.json``, or the ZIP archive of the export."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final, TypeGuard

from .base import Found, Item, name_of, read_each, read_times
from .conversations import branch, newest_leaf
from .jsons import values
from .times import moment

_MEMBER: Final = r"conversations(-\d+)?\.json"


def read_claude(path: str | os.PathLike[str], *, user: str = "user") -> Iterator[Found]:
    """Yield the words of *user* and the assistant on the current branch of each conversation.

    The conversation is the thread, with the name as the title in the metadata. Thoughts and the use
    of tools are left out; a pasted or attached text is a separate memory.
    """
    return read_each(values(path, _MEMBER), partial(_conversation, user=user))


def _conversation(place: str, told: object, user: str) -> Iterator[Found]:
    if not isinstance(told, dict) or not isinstance(told.get("chat_messages"), list):
        raise ValueError("not a conversation of Claude: it has no chat_messages")
    if not isinstance(thread := told.get("uuid"), str):
        raise ValueError("a conversation without a uuid")
    for number, message in enumerate(_said(told), 1):
        name = str(message.get("uuid") or number)
        where = f"{place}, message {name}"
        sender = message.get("sender")
        dated = message if message.get("created_at") else told
        times, unread = read_times(where, dated, "created_at")
        yield from unread
        common = {
            "thread": thread,
            "author": user if sender == "human" else sender,
            "occurred_at": times["created_at"],
        }
        about = {"title": told["name"]} if told.get("name") else {}
        texts = [({}, _text(message)), *_attached(message)]
        for part, (more, text) in enumerate(texts):
            if text.strip():
                source = name_of("claude", thread, name, *([str(part)] if part else []))
                fields = {"content": text, "source": source, "metadata": about | more}
                yield Item(where, {**common, **fields})


def _said(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the messages of the current branch, or all where no branch can be told.

    Older exports have no branches; a message without an id is on none.
    """
    messages = [each for each in told["chat_messages"] if isinstance(each, dict)]
    ids: list[Any] = [each.get("uuid") for each in messages]
    if not all(isinstance(id, str) and id for id in ids):
        return messages
    known = dict(zip(ids, messages, strict=True))
    parents = {id: each.get("parent_message_uuid") for id, each in known.items()}
    if known.keys().isdisjoint(map(str, parents.values())):
        return messages
    leaf = told.get("current_leaf_message_uuid")
    if not isinstance(leaf, str) or leaf not in known:
        leaf = newest_leaf(parents, {id: _time(each) for id, each in known.items()})
    return [known[id] for id in branch(parents, leaf)] or messages


def _time(message: Mapping[str, Any]) -> float | None:
    try:
        return moment(message.get("created_at"))
    except ValueError:
        return None


def _text(message: Mapping[str, Any]) -> str:
    blocks = message.get("content")
    if not isinstance(blocks, list) or not blocks:
        blocks = [{**message, "type": "text"}]
    texts = [block.get("text") for block in blocks if _is_text(block)]
    return "\n\n".join(text for text in texts if isinstance(text, str))


def _is_text(block: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(block, dict) and block.get("type") == "text"


def _attached(message: Mapping[str, Any]) -> Iterator[tuple[dict[str, str], str]]:
    attachments = message.get("attachments")
    for each in attachments if isinstance(attachments, list) else []:
        if isinstance(each, dict) and isinstance(each.get("extracted_content"), str):
            name = each.get("file_name")
            yield ({"file": str(name)} if name else {}), each["extracted_content"]
