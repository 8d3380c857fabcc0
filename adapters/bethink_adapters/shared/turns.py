"""Turns and conversations of a framework, in a form that a store can hold."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final
from urllib.parse import quote

from bethink import MemoryStore, ValidationError
from bethink.adapting import MAX_CONTENT, MAX_LABEL, Turn, add_turns, make_async_write

from .texts import digest, storable

_logger: Final = logging.getLogger(__name__)

_locks: Final = [threading.RLock() for _ in range(1024)]  # two sessions hardly share a lock


def alone(namespace: str) -> AbstractContextManager[bool]:
    """Return the lock of a thread that reads records of *namespace* and then changes records.

    Without the lock, two calls at once would both act on what both have read.
    """
    return _locks[hash(namespace) % len(_locks)]


def _renew() -> None:
    """Make new locks in a child: no thread of the child lets go of a lock held at the fork."""
    _locks[:] = [threading.RLock() for _ in _locks]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def turn(
    text: str,
    author: str,
    id: str | None = None,
    *,
    is_answer: bool = False,
    is_old: bool = False,
    is_new: bool = False,
    **fields: Any,
) -> Turn:
    """Return a ``Turn`` with *text* and *author* cut to the limits, and *fields* of the record."""
    speaker = storable(author, MAX_LABEL)
    return Turn(storable(text, MAX_CONTENT), speaker, id, is_answer, is_old, fields, is_new)


def remember_turns(
    store: MemoryStore, turns: Iterable[Turn], *, namespace: str, thread: str | None
) -> None:
    """Remember the new turns of a run as ``add_turns`` does; a store that fails is logged."""
    try:
        add_turns(store, turns, namespace=namespace, thread=thread)
    except Exception:
        _logger.exception("the words of a run could not be remembered; the run goes on")


aremember_turns = make_async_write(remember_turns)


def listed(name: str, given: object) -> list[Any]:
    """Return *given*, a list of messages.

    A single message or text, or no list, raises ``ValidationError`` with the *name* of the
    parameter.
    """
    is_single = isinstance(given, str | bytes | Mapping) or hasattr(given, "content")
    if is_single or not isinstance(given, Iterable):
        raise ValidationError(f"{name} must be a list of messages, not {type(given).__name__}")
    return list(given)


def id_text(name: str, value: object) -> str:
    """Return the id *value* as text: a text, or a whole number.

    Anything else raises ``ValidationError`` with the *name* of the parameter.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise ValidationError(f"{name} must be a str or an int, not {type(value).__name__}")
    return value


def thread_name(conversation: object, name: str = "thread") -> str | None:
    """Return the thread of the *conversation*: any text has a name, no two texts have one name.

    Whole numbers are texts, as in ``id_text``; anything else raises ``ValidationError`` with the
    *name* of the parameter.
    """
    if conversation is None:
        return None
    conversation = id_text(name, conversation)
    is_plain = conversation.strip() and conversation.isprintable() and "%" not in conversation
    found = conversation if is_plain else quote(conversation, " ", errors="surrogatepass")
    if not found.strip():
        found = found.replace(" ", "%20") or "%"
    if len(found) <= MAX_LABEL:
        return found
    ending = f"%{digest(conversation)}"
    return found[: MAX_LABEL - len(ending)] + ending
