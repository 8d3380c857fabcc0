"""Verbs that the command line, the MCP server and the REST server share, over the public API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, TypeAlias

from bethink import MemoryRecord, MemoryStore
from bethink.adapting import Verdict

Judgement: TypeAlias = Verdict | Literal["useful", "useless"]


def judge(
    store: MemoryStore, ids: Sequence[str], judgement: Judgement, session: str | None = None
) -> list[MemoryRecord]:
    """Record a verdict of *session*, or a mark, for each of *ids*; return the records."""
    if judgement == "useful":
        return store.mark_useful(ids)
    if judgement == "useless":
        return store.mark_useless(ids)
    return [store.record_outcome(each, judgement, session) for each in ids]


@contextmanager
def copied(store: MemoryStore) -> Iterator[MemoryStore]:
    """Give a copy of *store*, in a file of its own, to try on."""
    with TemporaryDirectory() as folder:
        target = Path(folder, "trial.db")
        store.backup(target)
        with MemoryStore(target, embedder=store.embedder) as copy:
            yield copy
