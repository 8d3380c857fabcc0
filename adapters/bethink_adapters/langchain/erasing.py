"""Deleting a user of LangChain and LangGraph: histories, checkpoints, items and memories alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bethink import Subtree, ValidationError, segment
from bethink.adapting import explaining

from ..shared.opening import StoreOrPath, open_store


@explaining
def erase_user(
    store: StoreOrPath,
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
    if not places and not logs:
        raise ValidationError("erase_user needs namespaces, sessions, threads or items")
    return open_store(store).erase(namespace=[*map(Subtree, places), *logs])


def _labels(path: Sequence[str]) -> Sequence[str]:
    if isinstance(path, str) or not path:
        raise ValidationError(f"items must be a list of tuples of labels, not of {path!r}")
    return path
