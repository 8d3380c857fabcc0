"""Turns as memories, each text of an author once in a conversation.

For frameworks that hand over a whole conversation, or the same turn, again and again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from bethink import MemoryRecord, MemoryStore, NotFoundError
from bethink.adapting import MAX_CONTENT, MAX_LABEL

from .texts import storable


def turn(text: str, author: str, thread: str | None, id: str | None = None) -> dict[str, Any]:
    """Return the *text* of *author* in the conversation *thread*, as arguments of ``store``.

    The same text with a different *id* of the framework is a new turn.
    """
    parts = (thread or "", author, text, *([id] if id else []))
    told = "\x1f".join(parts).encode("utf-8", "surrogatepass")
    item = {
        "content": storable(text, MAX_CONTENT),
        "author": storable(author, MAX_LABEL),
        "key": f"said:{sha256(told).hexdigest()[:32]}",
    }
    return item | ({"thread": storable(thread, MAX_LABEL)} if thread else {})


def remember_new(
    store: MemoryStore, turns: Iterable[Mapping[str, Any]], namespace: str
) -> list[MemoryRecord]:
    """Remember the *turns* that *namespace* does not hold, and never held.

    So a forgotten turn stays forgotten, though the conversation still has the turn.
    """
    items = {item["key"]: item for item in turns}
    live = store.all(namespace=namespace, where={"key": {"$in": list(items)}})
    known = {record.key for record in live}
    new = [key for key in items if key not in known and not _was_held(store, key, namespace)]
    return store.store_many([items[key] for key in new], namespace=namespace)


def _was_held(store: MemoryStore, key: str, namespace: str) -> bool:
    try:
        return bool(store.audit(key, namespace=namespace))
    except NotFoundError:
        return False
