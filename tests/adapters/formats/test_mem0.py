"""Rows of mem0, and the file of its past changes."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from bethink import EVERYWHERE, MemoryStore, StorageError
from bethink.model.fields import MAX_CONTENT
from bethink_adapters.formats import import_from, read_mem0, read_mem0_history

ROW: dict[str, Any] = {
    "id": "bf4d4092",
    "memory": "Ann is a vegetarian",
    "hash": "166e",
    "metadata": {"topic": "food"},
    "created_at": "2024-07-01T12:00:00-07:00",
    "updated_at": None,
    "user_id": "ann@example.com",
    "agent_id": "helper",
    "run_id": "run 1",
}
NOON, LATER = "2024-01-15T12:00:00+00:00", "2024-02-15T12:00:00+00:00"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memories.json"


def test_a_memory_keeps_its_fields(path: Path, store: MemoryStore) -> None:
    row = {**ROW, "actor_id": "Ann", "role": "user", "categories": ["food"]}
    path.write_text(json.dumps([row]))
    assert import_from(store, read_mem0(path)).imported == 1
    (record,) = store.all(namespace="users/ann@example.com")
    assert (record.content, record.source) == ("Ann is a vegetarian", "mem0:bf4d4092")
    assert (record.thread, record.author, record.tags) == ("run 1", "Ann", ("food",))
    assert record.occurred_at == 1719860400.0
    assert record.metadata["topic"] == "food"
    assert record.metadata["mem0"] == {
        "user_id": "ann@example.com",
        "agent_id": "helper",
        "hash": "166e",
        "role": "user",
    }


def test_a_memory_in_other_words_is_read_as_well(path: Path, store: MemoryStore) -> None:
    row = {**ROW, "data": "Ann eats cheese", "role": "user", "actor_id": ""}
    row |= {"attributed_to": "Bob", "updated_at": "2024-07-02"}
    del row["memory"]
    path.write_text(json.dumps(row))
    import_from(store, read_mem0(path))
    (record,) = store.all(namespace=EVERYWHERE)
    assert (record.content, record.author) == ("Ann eats cheese", "user")
    told = record.metadata["mem0"]
    assert (told["attributed_to"], told["updated_at"]) == ("Bob", "2024-07-02")


def test_another_text_that_is_not_later_is_listed(path: Path, store: MemoryStore) -> None:
    path.write_text(json.dumps([ROW]))
    import_from(store, read_mem0(path))
    path.write_text(json.dumps([{**ROW, "memory": "Ann eats fish"}]))
    report = import_from(store, read_mem0(path))
    assert (report.known, report.changed) == (1, 0)
    reason = "the memory with its id says something else here"
    assert [str(each) for each in report.skipped] == [f"item 1: {reason}"]
    store.erase(namespace=EVERYWHERE)
    assert import_from(store, read_mem0(path)).skipped == ()


def test_times_are_kept_and_what_changed_since_changes_here(path: Path, store: MemoryStore) -> None:
    path.write_text(json.dumps([ROW]))
    import_from(store, read_mem0(path))
    row = {**ROW, "memory": "Ann is a vegan", "updated_at": "2024-07-02T12:00:00Z"}
    path.write_text(json.dumps([row]))
    report = import_from(store, read_mem0(path))
    assert (report.imported, report.known, report.changed) == (0, 1, 1)
    (record,) = store.all(namespace=EVERYWHERE)
    assert (record.content, record.created_at) == ("Ann is a vegan", 1719860400.0)
    assert record.updated_at == 1719921600.0
    (before,) = store.as_of(1719860400.0).all(namespace=EVERYWHERE)
    assert before.content == "Ann is a vegetarian"


OPEN = {"id": "o1", "content": "likes tea", "created_at": 1719860400, "metadata_": {"a": 1},
        "app_name": "chat", "categories": ["food"]}  # fmt: skip


@pytest.mark.parametrize("name", ["items", "memories"])
def test_pages_and_backups_of_openmemory_are_read(
    tmp_path: Path, store: MemoryStore, name: str
) -> None:
    rows = [
        OPEN,
        {**OPEN, "id": "o2", "state": "archived"},
        {**OPEN, "id": "o3", "state": "deleted"},
    ]
    text, path = json.dumps({name: rows, "total": 3}), tmp_path / "file"
    if name == "items":
        path.write_text(text)
    else:
        with ZipFile(path, "w") as archive:
            archive.writestr("memories.json", text)
    report = import_from(store, read_mem0(path))
    assert (report.imported, [each.reason for each in report.skipped]) == (
        2,
        ["deleted by its user"],
    )
    (record,) = store.all()
    assert (record.content, record.tags, record.occurred_at) == (
        "likes tea",
        ("food",),
        1719860400.0,
    )
    assert record.metadata == {"mem0": {"app_name": "chat"}, "a": 1}
    assert len(store.all(state="archived")) == 1


@pytest.mark.parametrize("form", ["list", "answer", "answers", "lines"])
def test_every_form_of_the_export_is_read(path: Path, store: MemoryStore, form: str) -> None:
    rows = [{**ROW, "id": str(number), "memory": f"fact {number}"} for number in range(4)]
    halves = [{"results": rows[:2]}, {"results": rows[2:]}]
    path.write_text(
        {
            "list": json.dumps(rows, indent=2),
            "answer": json.dumps({"results": rows}, indent=2),
            "answers": "\n".join(map(json.dumps, halves)),
            "lines": "\n".join(map(json.dumps, rows)),
        }[form]
    )
    assert import_from(store, read_mem0(path)).imported == 4
    assert import_from(store, read_mem0(path)).known == 4


@pytest.mark.parametrize(
    ("owner", "namespace"),
    [
        ({"user_id": "a/b"}, "users/a%2Fb"),
        ({"user_id": None, "agent_id": "x"}, "agents/x"),
        ({"user_id": None, "agent_id": None}, "default"),
    ],
)
def test_owners_stay_apart(
    path: Path, store: MemoryStore, owner: dict[str, str], namespace: str
) -> None:
    path.write_text(json.dumps(ROW | owner))
    import_from(store, read_mem0(path))
    assert list(store.namespaces()) == [namespace]


def test_what_expires_there_expires_here_after_its_last_day(path: Path, store: MemoryStore) -> None:
    path.write_text(json.dumps(ROW | {"expiration_date": "2099-12-31"}))
    import_from(store, read_mem0(path))
    assert store.all(namespace=EVERYWHERE)[0].expires_at == 4102444800.0


def test_bad_rows_are_listed(path: Path, store: MemoryStore) -> None:
    bad = [
        5,
        {"memory": "no id"},
        ROW | {"id": "3", "metadata": [5]},
        ROW | {"id": "4", "created_at": "soon"},
        ROW | {"id": "5", "memory": ""},
        ROW | {"id": "6", "categories": [5]},
    ]
    path.write_text("\n".join([*map(json.dumps, bad), "{broken", json.dumps(ROW)]))
    report = import_from(store, read_mem0(path))
    assert report.imported == 2  # a memory without a time that can be read is kept
    reasons = {each.place: each.reason for each in report.skipped}
    assert sorted(reasons) == [f"line {n}" for n in (1, 2, 3, 5, 6, 7)]
    assert [each.place for each in report.incomplete] == ["line 4"]
    assert [reasons[f"line {n}"] for n in range(1, 4)] == [
        "not a memory of mem0: not an object",
        "not a memory of mem0: it has no id",
        "metadata is not an object",
    ]


def test_a_bad_result_of_an_answer_is_named(path: Path, store: MemoryStore) -> None:
    path.write_text(json.dumps({"results": [ROW, 5]}))
    report = import_from(store, read_mem0(path))
    assert [each.place for each in report.skipped] == ["line 1, result 2"]


def history(folder: Path, *rows: tuple[object, ...]) -> Path:
    path = folder / "history.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, "
            "new_memory TEXT, event TEXT, created_at DATETIME, updated_at DATETIME, "
            "is_deleted INTEGER, actor_id TEXT, role TEXT)"
        )
        connection.executemany("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    return path


def test_past_texts_are_superseded_and_deleted_ones_left_out(
    tmp_path: Path, store: MemoryStore
) -> None:
    path = history(
        tmp_path,
        ("1", "m", None, "likes tea", "ADD", NOON, None, 0, None, "user"),
        ("2", "n", None, "a secret", "ADD", NOON, None, 0, None, "user"),
        ("3", "m", "likes tea", "likes coffee", "UPDATE", NOON, LATER, 0, None, "user"),
        ("4", "n", "a secret", None, "DELETE", None, None, 1, None, None),
        ("5", "o", None, "likes cake", "ADD", NOON, LATER, 0, "Ann", "user"),
        ("6", None, None, None, "DELETE", None, None, 1, None, None),
    )
    report = import_from(store, read_mem0_history(path), namespace="users/ann")
    assert (report.imported, report.skipped) == (3, ())
    coffee, cake = store.all(namespace=EVERYWHERE)
    assert (coffee.content, coffee.occurred_at) == ("likes coffee", 1707998400.0)
    assert (coffee.author, coffee.source) == ("user", "mem0:m/3")
    assert coffee.metadata == {"mem0": {"memory_id": "m"}}
    assert (cake.occurred_at, cake.author) == (1705320000.0, "Ann")
    texts = {entry.changes.get("content") for entry in store.log()}
    assert "likes tea" in texts
    assert "a secret" not in texts
    assert import_from(store, read_mem0_history(path), namespace="users/ann").known == 3


def test_a_history_without_texts_is_an_error(tmp_path: Path) -> None:
    path = history(tmp_path, ("1", "m", None, "likes tea", "ADD", NOON, None, 0, None, "user"))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE history DROP COLUMN new_memory")
    with pytest.raises(StorageError, match="no such column"):
        list(read_mem0_history(path))


def test_a_past_text_that_is_too_long_leaves_no_older_one_live(
    tmp_path: Path, store: MemoryStore
) -> None:
    texts = ["likes tea", "x" * (MAX_CONTENT + 1), "likes coffee"]
    rows = [
        (str(number), "m", None, text, "UPDATE", NOON, LATER, 0, None, "user")
        for number, text in enumerate(texts)
    ]
    report = import_from(store, read_mem0_history(history(tmp_path, *rows)))
    assert (report.imported, len(report.skipped)) == (2, 1)
    assert [record.content for record in store.all()] == ["likes coffee"]
