"""What tests ask of a store, and of its file behind the store's back."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from bethink import MemoryStore
from bethink.adapting import Scope


def contents(store: MemoryStore, namespace: Scope = "default") -> list[str]:
    return [record.content for record in store.all(namespace=namespace)]


def said(store: MemoryStore, namespace: Scope = "default") -> list[tuple[str | None, str]]:
    """Return the author and the text of each memory."""
    return [(each.author, each.content) for each in store.all(namespace=namespace)]


def outcome(store: MemoryStore, id: str) -> float:
    record = store.get(id)
    assert record is not None
    return record.outcome


def alter(path: Path, *statements: str) -> None:
    """Change the file as another program would."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def assert_unlocked(path: Path) -> None:
    """Another program could write at once: no transaction is open."""
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
