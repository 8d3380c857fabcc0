"""Databases of remembrane."""

from __future__ import annotations

import json
import math
import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from bethink import EVERYWHERE, MemoryStore, StorageError
from bethink_adapters.formats import import_from, read_remembrane

SCHEMA = """
    CREATE TABLE memories (
        id TEXT PRIMARY KEY, namespace TEXT NOT NULL, content TEXT NOT NULL,
        importance REAL NOT NULL, metadata TEXT, created_at REAL NOT NULL, last_accessed_at REAL,
        access_count INTEGER NOT NULL DEFAULT 0, usefulness REAL NOT NULL DEFAULT 0,
        embedding BLOB NOT NULL);
    CREATE INDEX idx_memories_created ON memories(created_at);
    CREATE TABLE journal (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, ts REAL NOT NULL, op TEXT NOT NULL,
        memory_id TEXT NOT NULL, namespace TEXT NOT NULL, payload TEXT);
    CREATE TABLE snapshots (label TEXT PRIMARY KEY, ts REAL NOT NULL);
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "100% #1?.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA)
    return path


def put(path: Path, **given: object) -> None:
    row = {
        **{"id": "a1", "namespace": "default", "content": "Ann likes tea", "importance": 0.5},
        **{"metadata": "{}", "created_at": 1.7e9, "last_accessed_at": None, "access_count": 0},
        **{"usefulness": 0.0, "embedding": b"\0" * 2048},
        **given,
    }
    marks = ", ".join("?" * len(row))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            f"INSERT INTO memories ({', '.join(row)}) VALUES ({marks})", tuple(row.values())
        )


def test_a_memory_keeps_its_fields(path: Path, store: MemoryStore) -> None:
    about = {"topic": "drinks", "nested": {"deep": [1, None]}}
    put(path, importance=0.8, metadata=json.dumps(about), namespace="users/ann", usefulness=2.5,
        created_at=1700000000.1234567, access_count=3, last_accessed_at=1.75e9)  # fmt: skip
    report = import_from(store, read_remembrane(path))
    (record,) = store.all(namespace="users/ann")
    assert (report.imported, report.skipped) == (1, ())
    assert (record.content, record.importance) == ("Ann likes tea", 0.8)
    assert (record.occurred_at, record.source) == (1700000000.1234567, "remembrane:a1")
    assert (record.created_at, record.last_accessed_at) == (1700000000.1234567, 1.75e9)
    assert record.access_count == 3
    assert record.outcome == pytest.approx(math.tanh(1.25))
    assert record.metadata == {**about, "remembrane": {"usefulness": 2.5}}


def log(path: Path, *entries: tuple[float, str, str, dict[str, object] | str]) -> None:
    """Write journal entries: time, operation, memory and payload."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(
            "INSERT INTO journal (ts, op, memory_id, namespace, payload) "
            "VALUES (?, ?, ?, 'default', ?)",
            [
                (*entry, payload if isinstance(payload, str) else json.dumps(payload))
                for *entry, payload in entries
            ],
        )


@pytest.mark.parametrize(
    ("usefulness", "outcome"), [(0, 0.0), (2, 0.7616), (1e9, 1.0), (-1, -0.4621), (-9, -0.5)]
)
def test_usefulness_becomes_the_outcome_that_ranks_alike(
    path: Path, store: MemoryStore, usefulness: float, outcome: float
) -> None:
    put(path, usefulness=usefulness)
    import_from(store, read_remembrane(path))
    (record,) = store.all()
    assert record.outcome == pytest.approx(outcome, abs=1e-4)
    assert record.state == "live"


def test_the_journal_and_the_snapshots_become_the_past(path: Path, store: MemoryStore) -> None:
    put(path, id="a", content="tea", importance=0.6, usefulness=1.0, created_at=1.0)
    put(path, id="c", content="Rome", created_at=4.0)
    log(
        path,
        (1.0, "store", "a", {"content": "tea", "importance": 0.5, "metadata": {}}),
        (2.0, "store", "b", {"content": "Oslo", "importance": 0.5, "metadata": {}}),
        (3.0, "reinforce", "a", {"importance": 0.6}),
        (3.5, "feedback", "a", {"useful": True, "weight": 1.0, "usefulness": 1.0}),
        (4.0, "store", "c", {"content": "Rome", "importance": 0.5, "metadata": {}}),
        (5.0, "resolve", "c", {"dropped": "b", "dropped_content": "Oslo", "reason": "moved"}),
        (5.0, "forget", "b", {"reason": "resolved: moved"}),
    )
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany("INSERT INTO snapshots VALUES (?, ?)", [("one", 2.0), ("two", 4.5)])
    report = import_from(store, read_remembrane(path))
    assert (report.imported, report.skipped) == (2, ())
    one = store.as_of("one").all()
    assert [(each.content, each.importance) for each in one] == [("tea", 0.5), ("Oslo", 0.5)]
    two = store.as_of("two").all()
    assert [(each.content, each.importance) for each in two] == [
        *[("tea", 0.6), ("Oslo", 0.5), ("Rome", 0.5)]
    ]
    assert store.as_of(3.2).all()[0].outcome == 0.0
    assert two[0].outcome == pytest.approx(math.tanh(0.5))
    assert [snapshot.at for snapshot in store.snapshots()] == [2.0, 4.5]
    (oslo,) = store.all(state="forgotten")
    assert oslo.superseded_by == store.all()[1].id
    assert oslo.metadata == {"remembrane": {"reason": "resolved: moved"}}
    assert store.verify().ok


def test_a_store_with_memories_lists_the_snapshots(path: Path, store: MemoryStore) -> None:
    store.store("own")
    put(path)
    log(path, (1.0, "store", "a1", {"content": "tea"}))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO snapshots VALUES ('one', 2.0)")
    report = import_from(store, read_remembrane(path))
    assert (report.imported, report.without_past) == (1, 1)
    assert [each.place for each in report.skipped] == ["snapshot 'one'"]
    assert str(report).endswith("1 without a past: the store was not empty")


def test_broken_entries_cost_no_memory(path: Path, store: MemoryStore) -> None:
    put(path)
    log(
        path,
        (1.0, "store", "a1", {"content": "Ann likes tea", "importance": 7}),
        (2.0, "reinforce", "a1", "{broken"),
        (3.0, "dream", "a1", {}),
        (4.0, "forget", "unknown", {}),
    )
    report = import_from(store, read_remembrane(path))
    assert report.imported == 1
    assert [each.place for each in report.skipped] == [
        *["journal row 2", "journal row 3", "row 1, its past"]
    ]


def test_what_changed_since_changes_here(path: Path, store: MemoryStore) -> None:
    put(path)
    log(path, (1.7e9, "store", "a1", {"content": "Ann likes tea"}))
    import_from(store, read_remembrane(path))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE memories SET usefulness = 1, importance = .9, access_count = 2")
    log(path, (1.8e9, "feedback", "a1", {"useful": True, "usefulness": 1.0}))
    report = import_from(store, read_remembrane(path))
    assert (report.imported, report.known, report.changed) == (0, 1, 1)
    (record,) = store.all()
    assert (record.importance, record.access_count, record.updated_at) == (0.9, 2, 1.8e9)
    assert import_from(store, read_remembrane(path)).changed == 0


def test_the_oldest_comes_first(path: Path, store: MemoryStore) -> None:
    put(path, id="b", content="second", created_at=2.0)
    put(path, id="a", content="first", created_at=1.0)
    import_from(store, read_remembrane(path))
    assert [record.content for record in store.all()] == ["first", "second"]


def test_a_second_import_adds_only_what_is_new(path: Path, store: MemoryStore) -> None:
    put(path)
    import_from(store, read_remembrane(path))
    put(path, id="a2", content="Ann likes coffee")
    report = import_from(store, read_remembrane(path))
    assert (report.imported, report.known, store.count()) == (1, 1, 2)


def test_any_namespace_becomes_one_of_its_own(path: Path, store: MemoryStore) -> None:
    names = ["user:1", "a//b", "a/b", "100%", " ", "日本", "tab\t"]
    for name in names:
        put(path, id=name, namespace=name)
    assert import_from(store, read_remembrane(path)).imported == len(names)
    assert len(store.namespaces()) == len(names)


def test_a_chat_message_has_its_author_and_thread(path: Path, store: MemoryStore) -> None:
    put(path, namespace="session 1", metadata='{"role": "human"}')
    import_from(store, read_remembrane(path))
    (record,) = store.all(namespace=EVERYWHERE)
    assert (record.author, record.thread) == ("human", "session 1")


def test_bad_rows_are_listed_and_the_others_imported(path: Path, store: MemoryStore) -> None:
    put(path, id="1", created_at=1.0, metadata="{not json")
    put(path, id="2", created_at=2.0, metadata="[]")
    put(path, id="3", created_at=3.0, importance=7)
    put(path, id="4", created_at=4.0, content=b"\xff\x00 bytes")
    put(path, id="5", created_at=5.0, metadata='{"a": NaN}')
    put(path, id="6", created_at=6.0, content="x" * 600_000)
    put(path, id="7", created_at="when?")
    put(path, id="8", created_at=8.0)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE memories SET content = CAST(x'ff' AS TEXT) WHERE id = '2'")
    report = import_from(store, read_remembrane(path))
    assert {record.source for record in store.all()} == {"remembrane:7", "remembrane:8"}
    assert sorted(each.place for each in report.skipped) == [f"row {n}" for n in range(1, 7)]
    assert [each.place for each in report.incomplete] == ["row 8"]


def test_a_database_from_before_usefulness_is_read(path: Path, store: MemoryStore) -> None:
    put(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("ALTER TABLE memories DROP COLUMN usefulness")
    assert import_from(store, read_remembrane(path)).imported == 1


def test_the_database_is_only_read_even_while_it_is_written(path: Path, store: MemoryStore) -> None:
    put(path)
    before = path.read_bytes()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        assert import_from(store, read_remembrane(path)).imported == 1
    assert path.read_bytes() == before


def test_what_is_no_such_database_is_an_error_and_is_not_made(tmp_path: Path) -> None:
    missing, text = tmp_path / "missing.db", tmp_path / "text.db"
    text.write_text("no database" * 200)
    with pytest.raises(StorageError, match="no such file"):
        list(read_remembrane(missing))
    assert not missing.exists()
    with pytest.raises(StorageError, match="not a database"):
        list(read_remembrane(text))
    with closing(sqlite3.connect(missing)) as connection:
        connection.execute("CREATE TABLE other (x)")
    with pytest.raises(StorageError, match="no such table"):
        list(read_remembrane(missing))
    with closing(sqlite3.connect(missing)) as connection:
        connection.execute("CREATE TABLE memories (id, created_at)")
        connection.execute("INSERT INTO memories VALUES ('a1', 0)")
        connection.commit()
    with pytest.raises(StorageError, match="no such column"):
        list(read_remembrane(missing))


def test_a_folder_without_write_permission_is_read(path: Path, store: MemoryStore) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")  # as remembrane does since 0.5
    put(path)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place = Path(shutil.copy(path, folder / "old.db"))
        place.chmod(0o444)
        folder.chmod(0o555)
        root = os.geteuid() == 0
        if root:
            os.seteuid(65_534)  # nobody
        try:
            report = import_from(store, read_remembrane(place))
        finally:
            if root:
                os.seteuid(0)
            folder.chmod(0o755)
    assert (report.imported, report.skipped) == (1, ())
