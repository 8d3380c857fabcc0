"""Whatever a file holds, an import ends in a report."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink import EVERYWHERE, MemoryStore, StorageError
from bethink_adapters.formats import (
    Found,
    import_from,
    read_chatgpt,
    read_claude,
    read_markdown,
    read_mcp_memory,
    read_mem0,
    read_mem0_history,
    read_memory_layer,
    read_remembrane,
)

Reader = Callable[[Path], Iterator[Found]]

SAID = {"content_type": "multimodal_text", "parts": ["Hello", {"text": "there"}]}
CHATGPT = {
    "conversation_id": "c1",
    "title": "T",
    "create_time": 1.7e9,
    "current_node": "b",
    "mapping": {
        "a": {"message": None, "parent": None},
        "b": {
            "parent": "a",
            "message": {
                "id": "b",
                "author": {"role": "user"},
                "create_time": 1.7e9,
                "recipient": "all",
                "content": SAID,
                "metadata": {"model_slug": "m"},
            },
        },
    },
}
CLAUDE = {
    "uuid": "c1",
    "name": "T",
    "created_at": "2024-01-15T12:00:00Z",
    "current_leaf_message_uuid": "b",
    "chat_messages": [
        {"uuid": "a", "sender": "human", "text": "Hello", "parent_message_uuid": ""},
        {
            "uuid": "b",
            "sender": "assistant",
            "created_at": "2024-01-15T12:00:00Z",
            "parent_message_uuid": "a",
            "content": [{"type": "text", "text": "Hello"}],
            "attachments": [{"file_name": "f", "extracted_content": "More"}],
        },
    ],
}
MEM0 = {
    "id": "1",
    "memory": "Likes tea",
    "user_id": "ann",
    "agent_id": None,
    "run_id": "r",
    "actor_id": "a",
    "role": "user",
    "categories": ["food"],
    "metadata": {"a": 1},
    "created_at": "2024-01-15T12:00:00Z",
    "expiration_date": "2099-01-01",
}
ENTITY = {"type": "entity", "name": "Ann", "entityType": "person", "observations": ["Sings"]}
RELATION = {"type": "relation", "from": "Ann", "to": "Ann", "relationType": "is"}

GOOD: list[tuple[Reader, Any]] = [
    (read_chatgpt, CHATGPT),
    (read_claude, CLAUDE),
    (read_mem0, MEM0),
    (read_mem0, {"results": [MEM0]}),
    (read_mcp_memory, ENTITY),
    (read_mcp_memory, RELATION),
]
BAD = [
    *[None, True, 0, -1, 5, 10**400, float("nan"), float("inf"), 1e308, "", " ", "\ud800", "\x00"],
    *["a/b", "%", "x" * 2000, "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "b"],
    *[[], [None], ["x"], [[]], {}, {"": None}, {"a": {"a": {}}}, {"text": 5}],
]


def variants(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every part of *value*."""
    yield at
    inside = list(value.items()) if isinstance(value, dict) else []
    for key, part in inside or (enumerate(value) if isinstance(value, list) else ()):
        yield from variants(part, (*at, key))


def changed(value: Any, at: tuple[Any, ...], new: object) -> Any:
    if not at:
        return new
    copy = deepcopy(value)
    inner = copy
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = new
    return copy


@pytest.mark.parametrize("new", BAD, ids=lambda new: repr(new)[:20])
def test_no_part_of_a_json_file_breaks_an_import(tmp_path: Path, new: object) -> None:
    path = tmp_path / "file.json"
    with MemoryStore() as store:
        for reader, good in GOOD:
            found = [changed(good, at, new) for at in variants(good)]
            path.write_text(json.dumps([*found, good]))
            report = import_from(store, reader(path))
            assert report.imported + report.known + len(report.skipped) > 0
            assert import_from(store, reader(path)).imported == 0
        assert store.count(namespace=EVERYWHERE) > 0


DATABASES: list[tuple[Reader, dict[str, dict[str, object]]]] = [
    (
        read_remembrane,
        {
            "memories": {
                **{"id": "a", "namespace": "default", "content": "tea", "importance": 0.5},
                **{"metadata": "{}", "created_at": 1.0, "last_accessed_at": 2.0},
                **{"access_count": 1, "usefulness": 1.0},
            },
            "journal": {
                **{"seq": 1, "ts": 1.0, "op": "store", "memory_id": "a", "namespace": "default"},
                "payload": '{"content": "tea", "importance": 0.5, "metadata": {}}',
            },
            "snapshots": {"label": "then", "ts": 1.5},
        },
    ),
    (
        read_memory_layer,
        {
            "memories": {
                **{"id": "a", "content": "tea", "category": "general", "outcome_score": 0.5},
                **{"confidence": 1.0, "importance": 0.5, "use_count": 1, "project": "p"},
                **{"scope": "project", "source": "explicit", "tags": "[]", "entities": "[]"},
                **{"supersedes": "b", "archived": 0, "created_at": "2024-01-15T12:00:00"},
                **{"updated_at": "2024-01-16", "metadata": "{}", "worked": 1.0, "failed": 0.0},
                "evidence_at": "2024-01-15T13:00:00",
            },
            "memory_relations": {
                **{"source_id": "a", "target_id": "b", "relation_type": "updates"},
                **{"strength": 0.5, "created_at": "2024-01-15T12:00:00", "metadata": "{}"},
            },
            "task_memory_links": {
                **{"task_id": "t", "memory_id": "a", "used_at": "2024-01-15T12:00:00"},
                **{"outcome": "worked", "context": None},
            },
        },
    ),
]
CELLS: list[object] = [
    *[None, -1, 1e308, float("inf"), "", "x" * 2000, "a", "b", "\x00", b"\xff"],
    *["{}", "[1]", '{"content": 5, "importance": "x"}', "0001-01-01T00:00:00+23:59", "forget"],
]


@pytest.mark.slow
@pytest.mark.parametrize("new", CELLS, ids=lambda new: repr(new)[:20])
def test_no_cell_of_a_database_breaks_an_import(tmp_path: Path, new: object) -> None:
    path = tmp_path / "old.db"
    for reader, tables in DATABASES:
        for table, row in tables.items():
            for name in row:
                path.unlink(missing_ok=True)
                fill(path, {**tables, table: {**row, name: new}}, {**tables["memories"], "id": "b"})
                with MemoryStore() as store:
                    report = import_from(store, reader(path))
                    assert report.imported + len(report.skipped) >= 2
                    assert import_from(store, reader(path)).imported == 0
                    assert store.verify().ok


def fill(path: Path, tables: dict[str, dict[str, object]], other: dict[str, object]) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for table, row in tables.items():
            connection.execute(f"CREATE TABLE {table} ({', '.join(row)})")
            for each in [row, other] if table == "memories" else [row]:
                marks = ", ".join("?" * len(each))
                connection.execute(f"INSERT INTO {table} VALUES ({marks})", tuple(each.values()))


@pytest.mark.slow
@given(st.binary() | st.text().map(lambda text: f"---\n{text}\n---\n{text}".encode()))
@settings(max_examples=60)
def test_no_note_breaks_an_import(tmp_path_factory: pytest.TempPathFactory, written: bytes) -> None:
    folder = tmp_path_factory.getbasetemp() / "hostile"
    folder.mkdir(exist_ok=True)
    (folder / "note.md").write_bytes(written)
    with MemoryStore() as store:
        report = import_from(store, read_markdown(folder))
        assert report.imported + len(report.skipped) == 1


@pytest.mark.slow
@given(st.binary())
@settings(max_examples=60)
def test_no_bytes_break_an_import(tmp_path_factory: pytest.TempPathFactory, written: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "hostile.bin"
    path.write_bytes(written)
    with MemoryStore() as store:
        for reader in (read_chatgpt, read_claude, read_mem0, read_mcp_memory):
            assert import_from(store, reader(path)).imported == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize(
    "read",
    [
        *(read_chatgpt, read_claude, read_mcp_memory, read_mem0),
        *(read_mem0_history, read_memory_layer, read_remembrane),
    ],
)
@pytest.mark.parametrize("device", [False, True])
def test_what_is_no_regular_file_is_refused(tmp_path: Path, read: Reader, device: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(StorageError):
        list(read(Path("/dev/zero") if device else pipe))


def test_a_view_in_the_place_of_a_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE VIEW history AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 "
            "FROM n) SELECT id, id AS memory_id, 'x' AS new_memory, 'ADD' AS event FROM n"
        )
        connection.execute("CREATE VIEW memories AS SELECT id, id AS supersedes FROM history")
    for read in (read_mem0_history, read_memory_layer, read_remembrane):
        with pytest.raises(StorageError, match="no such table"):
            list(read(path))
