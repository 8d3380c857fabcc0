"""Deleting a user of LangChain and LangGraph: histories, checkpoints, items and memories alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from bethink import EVERYWHERE, MemoryStore, ValidationError, segment
from bethink.adapting import check_namespace, check_store

_AFTER_SLASH: Final = chr(ord("/") + 1)


def erase_user(
    store: MemoryStore,
    *,
    namespaces: Iterable[str] = (),
    sessions: Iterable[str] = (),
    threads: Iterable[object] = (),
    items: Iterable[Sequence[str]] = (),
    messages: str = "messages",
    checkpoints: str = "checkpoints",
    root: str = "langgraph",
) -> int:
    """Erase all that *store* keeps of a user, without a byte left; return the number of records.

    *namespaces* are namespaces of ``MemoryMiddleware`` and of histories with owners
    ("messages/ann"), all below included; *sessions* are sessions of ``ChatMessageHistory`` in the
    namespace *messages*, *threads* are threads of ``BethinkSaver`` below *checkpoints*, and *items*
    are namespaces of ``BethinkStore`` below *root*, such as ``("users", "ann")``. Late writes of a
    running graph to the threads are dropped. Raises ``ValidationError`` if nothing is named.
    """
    for name, given in (("namespaces", namespaces), ("sessions", sessions), ("threads", threads)):
        if isinstance(given, str):
            raise ValidationError(f"{name} must be a list of str, not a str")
    places = [
        *namespaces,
        *(f"{checkpoints}/{segment(str(thread))}" for thread in threads),
        *("/".join([root, *map(segment, _labels(path))]) for path in items),
    ]
    logs = [f"{messages}/{segment(str(session))}" for session in sessions]
    parts = [within(check_namespace(place)) for place in places]
    parts += [{"namespace": check_namespace(log)} for log in logs]
    if not parts:
        raise ValidationError("erase_user needs namespaces, sessions, threads or items")
    return check_store(store).erase(namespace=EVERYWHERE, where={"$or": parts})


def within(place: str) -> dict[str, Any]:
    """Return the filter for the records in the namespace *place* and below."""
    below = {"$gt": f"{place}/", "$lt": f"{place}{_AFTER_SLASH}"}
    return {"$or": [{"namespace": place}, {"namespace": below}]}


def _labels(path: Sequence[str]) -> Sequence[str]:
    if isinstance(path, str) or not path:
        raise ValidationError(f"items must be a list of tuples of labels, not of {path!r}")
    return path
