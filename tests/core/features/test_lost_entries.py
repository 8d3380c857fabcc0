"""A damaged journal entry is named, passed over on request, and emptied by ``repair``."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from bethink import CorruptStoreError, HashEmbedder, MemoryStore, TamperedError

KEY = b"sixteen bytes or more"
DAMAGES = {
    "broken": "UPDATE journal SET changes = '{broken' WHERE seq = 2",
    "cut": "UPDATE journal SET salt = substr(salt, 1, 3), changes = substr(changes, 1, 9) "
    "WHERE seq = 2",
    "empty": "UPDATE journal SET changes = '' WHERE seq = 2",
    "shape": "UPDATE journal SET changes = '{\"tags\": 1}' WHERE seq = 2",
    "types": "UPDATE journal SET at = 'x', action = x'00', was = 'x', row = 'x' WHERE seq = 2",
    "no UTF-8": "UPDATE journal SET changes = CAST(x'7bff' AS TEXT) WHERE seq = 2",
    "no UTF-8 in the action": "UPDATE journal SET action = CAST(x'ff' AS TEXT) WHERE seq = 2",
}
MISSING = "DELETE FROM journal WHERE seq = 2"

READS: dict[str, Callable[[MemoryStore], object]] = {
    "log": lambda store: store.log(),
    "entry": lambda store: store.entry(2),
    "audit": lambda store: store.audit("editor"),
    "as_of": lambda store: store.as_of(3).all(),
    "diff": lambda store: store.diff(2, 3),
    "export": lambda store: store.export(Path(store.location).with_suffix(".jsonl")),
    "undo": lambda store: store.undo(2),
}


def damaged(path: Path, statement: str, key: bytes | None = None) -> MemoryStore:
    """Return a store with four entries, of which the second was damaged by *statement*."""
    with MemoryStore(path, embedder=HashEmbedder(16), integrity_key=key) as store:
        store.store("likes tea", id="tea")
        store.store("uses vim", id="editor", key="editor", tags=["tool"])
        store.update("tea", content="likes green tea")
        store.update("editor", content="uses emacs", tags=[])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
    return MemoryStore(path, embedder=HashEmbedder(16), integrity_key=key)


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("statement", DAMAGES.values(), ids=DAMAGES)
def test_every_read_of_a_damaged_entry_names_the_entry_and_the_remedy(
    path: Path, statement: str, read: Callable[[MemoryStore], object]
) -> None:
    with (
        damaged(path, statement) as store,
        pytest.raises(CorruptStoreError, match=r"journal entry 2 is damaged .*repair\(\)"),
    ):
        read(store)


def test_a_missing_entry_is_named(path: Path) -> None:
    with (
        damaged(path, MISSING) as store,
        pytest.raises(CorruptStoreError, match=r"journal entry 2 is missing; repair\(\)"),
    ):
        store.as_of(3).all()


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "keyed"])
@pytest.mark.parametrize("statement", DAMAGES.values(), ids=DAMAGES)
def test_the_log_passes_over_damaged_entries_on_request(
    path: Path, statement: str, key: bytes | None
) -> None:
    with damaged(path, statement, key) as store:
        found = store.log(skip_damaged=True)
        assert [entry.seq for entry in found] == [4, 3, 2, 1]
        assert [entry.seq for entry in found if entry.action == "damaged"] == [2]
        assert dict(found[2].changes) == {}


@pytest.mark.parametrize("statement", [*DAMAGES.values(), MISSING], ids=[*DAMAGES, "missing"])
def test_a_repaired_store_reads_everything_and_still_tells_the_loss(
    path: Path, statement: str
) -> None:
    with damaged(path, statement) as store:
        records = store.all()
        left = store.repair().left
        assert {"entry 2"} <= {problem.where for problem in left} <= {"entry 2", "entry 3"}
        assert store.repair().mended == ()  # nothing is lost twice
        assert store.verify().problems == left
        assert [(entry.seq, entry.action) for entry in store.log(limit=1)] == [(5, "repair")]
        assert [record.content for record in store.all()] == [record.content for record in records]
        assert [record.id for record in store.as_of(3).all()] == ["tea"]
        assert [version.content for version in store.audit("editor")][-1] == "uses emacs"
        READS["diff"](store)
        READS["export"](store)
        with MemoryStore(embedder=HashEmbedder(16)) as copy:
            copy.import_(path.with_suffix(".jsonl"))
            assert copy.all() == store.all()


@pytest.mark.parametrize("lost", ["= 1", "= 3", "= 4", "= 5", ">= 3", ">= 1"])
def test_a_file_with_missing_entries_can_be_exported_after_repair(path: Path, lost: str) -> None:
    with damaged(path, "SELECT 1") as store:
        store.update("tea", content="likes black tea")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"DELETE FROM journal WHERE seq {lost}")
    with MemoryStore(path, embedder=HashEmbedder(16)) as store:
        held = [record.content for record in store.all()]
        store.repair()
        READS["export"](store)
        store.store("a later fact")
        with MemoryStore(embedder=HashEmbedder(16)) as copy:
            copy.import_(path.with_suffix(".jsonl"))
            assert [record.content for record in copy.all()] == held


@pytest.mark.parametrize("statement", DAMAGES.values(), ids=DAMAGES)
def test_repair_leaves_a_changed_entry_of_a_keyed_file_as_proof(path: Path, statement: str) -> None:
    with damaged(path, statement, KEY) as store:
        before = store.verify().problems
        assert store.repair().left == before
        assert any(problem.where == "entry 2" for problem in before)
        with pytest.raises(TamperedError, match="journal entry 2 was changed"):
            store.log()
        with pytest.raises(TamperedError, match="journal entry 2 was changed"):
            READS["export"](store)
