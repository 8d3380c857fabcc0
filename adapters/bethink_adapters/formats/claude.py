"""What Claude exports: conversations, projects and memories, as JSON or in the ZIP archive.

What user and assistant said to each other is kept: texts, pasted and attached texts, and artifacts.
Thoughts and all else of tools are left out. Of projects the description, the instructions and the
documents are kept, of memories every text: each under a key, so that a later text supersedes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from ..shared.texts import digest
from .base import Found, Item, name_of, read_each, read_times
from .conversations import Documents, branch, list_in, mapping_in, newest_leaf, time_of
from .jsons import values

_MEMBER: Final = (
    r"(?:conversations|projects|memories)(?:-\d+)?\.json|(?:projects|memories)/[^/]+\.json"
)
_SPOKEN: Final = ("text", "voice_note")
_ARTIFACT: Final = re.compile(r"</?antArtifact\b[^<>]*>")
_THOUGHT: Final = ("<antThinking>", "</antThinking>")


def read_claude(path: str | os.PathLike[str], *, user: str = "user") -> Iterator[Found]:
    """Yield the words of *user* and the assistant on the current branch of each conversation.

    The conversation is the thread, with the name as the title in the metadata. Thoughts and the use
    of tools are left out; a pasted or attached text is a separate memory, and so is an artifact,
    superseded by the later text. Projects and memories, in the archive, the folder or a file, are
    memories with keys.
    """
    return read_each(values(path, _MEMBER), partial(_value, user=user))


def _value(place: str, told: object, user: str) -> Iterator[Found]:
    if isinstance(told, dict) and "chat_messages" not in told:
        if told.keys() & {"conversations_memory", "project_memories", "memory_files"}:
            return _memories(place, told)
        if told.keys() & {"docs", "prompt_template"}:
            return _project(place, told, user)
    return _conversation(place, told, user)


def _memories(place: str, told: Mapping[str, Any]) -> Iterator[Found]:
    """Yield what Claude noted about the user, and in projects."""
    account = str(told.get("account_uuid") or "")
    notes: list[tuple[dict[str, Any], object]] = [({}, told.get("conversations_memory"))]
    for project, text in mapping_in(told, "project_memories").items():
        notes.append(({"project": project}, text))
    for each in list_in(told, "memory_files"):
        if isinstance(each, dict):
            notes.append(({"file": str(each.get("path"))}, each.get("content")))
    for about, text in notes:
        yield from _noted(place, ("memory", account, *about.values()), text, "assistant", about)


def _project(place: str, told: Mapping[str, Any], user: str) -> Iterator[Found]:
    """Yield the description, the instructions and the documents of a project."""
    if not isinstance(project := told.get("uuid"), str):
        raise ValueError("a project without a uuid")
    if told.get("is_starter_project"):
        return  # Claude's own example
    about = {"project": told["name"]} if told.get("name") else {}
    for part in ("description", "prompt_template"):
        yield from _noted(place, ("project", project, part), told.get(part), user, about, told)
    for number, each in enumerate(list_in(told, "docs"), 1):
        if isinstance(each, dict):
            name = ("project", project, "docs", str(each.get("uuid") or number))
            file = {"file": str(each["filename"])} if each.get("filename") else {}
            yield from _noted(place, name, each.get("content"), user, about | file, each)


def _noted(
    place: str,
    name: tuple[str, ...],
    text: object,
    author: str,
    about: Mapping[str, Any],
    dated: Mapping[str, Any] | None = None,
) -> Iterator[Found]:
    """Yield a *text* that changes from export to export, under the key *name*."""
    if not isinstance(text, str) or not text.strip():
        return
    times = yield from read_times(place, dated or {}, "created_at")
    yield Item(
        place,
        {
            "content": text,
            "author": author,
            "key": name_of("claude", *name),
            "source": name_of("claude", *name, digest(text)),
            "occurred_at": times["created_at"],
            "metadata": about,
        },
    )


def _conversation(place: str, told: object, user: str) -> Iterator[Found]:
    if not isinstance(told, dict) or not isinstance(told.get("chat_messages"), list):
        raise ValueError("not a conversation of Claude: it has no chat_messages")
    if not isinstance(thread := told.get("uuid"), str):
        raise ValueError("a conversation without a uuid")
    artifacts = Documents()
    for number, message in enumerate(_said(told), 1):
        name = str(message.get("uuid") or number)
        where = f"{place}, message {name}"
        sender = message.get("sender")
        dated = message if message.get("created_at") else told
        times = yield from read_times(where, dated, "created_at")
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
        for part, (title, text) in enumerate(_artifacts(message, artifacts), 1):
            source = name_of("claude", thread, name, f"artifact {part}")
            fields = {"content": text, "source": source, "metadata": about | title}
            yield Item(where, {**common, **fields}, artifacts.write(text, source))


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
        leaf = newest_leaf(parents, {id: time_of(each, "created_at") for id, each in known.items()})
    return [known[id] for id in branch(parents, leaf)] or messages


def _blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    blocks = list_in(message, "content") or [{**message, "type": "text"}]
    return [block for block in blocks if isinstance(block, dict)]


def _text(message: Mapping[str, Any]) -> str:
    texts = [each.get("text") for each in _blocks(message) if each.get("type") in _SPOKEN]
    return "\n\n".join(_shown(text) for text in texts if isinstance(text, str))


def _shown(text: str) -> str:
    """Return *text* without the tags of older artifacts, and without thoughts between tags."""
    opening, closing = _THOUGHT
    shown, *others = text.split(opening)
    for each in others:
        thought, closed, after = each.partition(closing)
        shown += after if closed else thought
    return _ARTIFACT.sub("", shown)


def _artifacts(
    message: Mapping[str, Any], artifacts: Documents
) -> Iterator[tuple[dict[str, str], str]]:
    """Yield title and text of each artifact that *message* writes or changes."""
    for block in _blocks(message):
        told = block.get("input")
        if block.get("name") != "artifacts" or not isinstance(told, dict):
            continue
        artifacts.open(str(told.get("id")))
        text, old, new = (told.get(name) for name in ("content", "old_str", "new_str"))
        if not isinstance(text, str) and isinstance(new, str):
            known = artifacts.text()
            text = known.replace(old, new, 1) if isinstance(old, str) and old in known else new
        if isinstance(text, str) and text.strip():
            yield ({"artifact": str(told["title"])} if told.get("title") else {}), text


def _attached(message: Mapping[str, Any]) -> Iterator[tuple[dict[str, str], str]]:
    for each in list_in(message, "attachments"):
        if isinstance(each, dict) and isinstance(each.get("extracted_content"), str):
            name = each.get("file_name")
            yield ({"file": str(name)} if name else {}), each["extracted_content"]
