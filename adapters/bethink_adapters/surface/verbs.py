"""Verbs that the command line, the MCP server and the REST server share, over the public API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, TypeAlias

from bethink import EVERYWHERE, MemoryRecord, MemoryStore
from bethink.adapting import Scope, Verdict

_NAMED: Final = 5
"""The most namespaces that ``elsewhere`` and ``with_key`` name."""
_COMPARED: Final = 5000
"""The most names of namespaces that are compared with a name, perhaps misspelt: some .1 s."""

Judgement: TypeAlias = Literal[Verdict, "useful", "useless"]
"""An outcome to record: a verdict, or a mark."""


def judge(
    store: MemoryStore, ids: Sequence[str], judgement: Judgement, session: str | None = None
) -> list[MemoryRecord]:
    """Record a verdict of *session*, or a mark, for each of *ids*; return the records."""
    if judgement == "useful":
        return store.mark_useful(ids)
    if judgement == "useless":
        return store.mark_useless(ids)
    return [store.record_outcome(each, judgement, session) for each in ids]


def elsewhere(store: MemoryStore, scope: Scope, seen: Scope = EVERYWHERE) -> str:
    """Return which namespaces of *seen* hold memories, some with counts, if *scope* holds none.

    Names like the name of *scope*, which is perhaps misspelt, come first.
    """
    if store.namespaces(scope):
        return ""
    others = store.namespaces(seen)
    some = list(islice(others, _COMPARED))
    near = get_close_matches(str(getattr(scope, "path", scope)), some, _NAMED, 0.75)
    names = list(dict.fromkeys((*near, *others)))[:_NAMED]
    return ", ".join(f"{name} ({others[name]})" for name in names)


def with_key(store: MemoryStore, key: str, place: str, seen: Scope = EVERYWHERE) -> str:
    """Return namespaces of *seen*, beside *place*, that hold a live memory with *key*."""
    where = {"key": key, "namespace": {"$ne": place}}
    found = store.all(namespace=seen, where=where, limit=_NAMED)
    return ", ".join(each.namespace for each in found)


@contextmanager
def copied(store: MemoryStore) -> Iterator[MemoryStore]:
    """Give a copy of *store*, in a file of its own, to try on."""
    with TemporaryDirectory() as folder:
        target = Path(folder, "trial.db")
        store.backup(target)
        with MemoryStore(target, embedder=store.embedder) as copy:
            yield copy
