"""Databases of Memory Layer and Runtime Memory."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bethink import EVERYWHERE, MemoryRecord, MemoryStore
from bethink_adapters.formats import import_from, read_memory_layer

# Version 2; 3 and 4 have more columns and a table of relations.
SCHEMA = """
    CREATE TABLE memories (
        id TEXT PRIMARY KEY, content TEXT NOT NULL, category TEXT NOT NULL,
        outcome_score REAL DEFAULT 0.0, confidence REAL DEFAULT 1.0, importance REAL DEFAULT 0.5,
        use_count INTEGER DEFAULT 0, project TEXT, scope TEXT DEFAULT 'project',
        source TEXT DEFAULT 'explicit', tags TEXT DEFAULT '[]', entities TEXT DEFAULT '[]',
        supersedes TEXT, archived INTEGER DEFAULT 0, created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL, embedding TEXT, metadata TEXT DEFAULT '{}');
"""
LATER = """
    ALTER TABLE memories ADD COLUMN worked REAL DEFAULT 0.0;
    ALTER TABLE memories ADD COLUMN failed REAL DEFAULT 0.0;
    ALTER TABLE memories ADD COLUMN evidence_at TEXT;
    CREATE TABLE memory_relations (
        source_id TEXT NOT NULL, target_id TEXT NOT NULL, relation_type TEXT NOT NULL,
        strength REAL DEFAULT 1.0, created_at TEXT NOT NULL, metadata TEXT DEFAULT '{}',
        PRIMARY KEY (source_id, target_id, relation_type));
"""
TASKS = """
    CREATE TABLE task_memory_links (
        id INTEGER PRIMARY KEY AUTOINCREMENT, task_id TEXT NOT NULL, memory_id TEXT NOT NULL,
        used_at TEXT NOT NULL, outcome TEXT, context TEXT, UNIQUE(task_id, memory_id));
"""
NOON = "2024-01-15T12:00:00"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "memories.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA)
    return path


@pytest.fixture
def path(old: Path) -> Path:
    with closing(sqlite3.connect(old)) as connection:
        connection.executescript(LATER)
    return old


def put(path: Path, table: str = "memories", **given: object) -> None:
    known = {"category": "general", "created_at": NOON, "updated_at": NOON}
    row = {**known, **given} if table == "memories" else given
    marks = ", ".join("?" * len(row))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values())
        )


def by_content(store: MemoryStore) -> dict[str, MemoryRecord]:
    ids = [entry.id for entry in store.log(limit=None) if entry.action == "store" and entry.id]
    return {record.content: record for id in ids if (record := store.get(id))}


def test_a_memory_keeps_its_fields(path: Path, store: MemoryStore) -> None:
    put(path, id="m1", content="Never deploy on Friday", category="gotcha", confidence=0.9,
        importance=0.7, project="billing", tags=json.dumps(["ops", "deploy"]), worked=2.0,
        entities=json.dumps(["deploy.py"]), metadata=json.dumps({"rationale": "outage"}),
        created_at="2024-01-15T12:00:00.250000+02:00", outcome_score=0.5,
        failed=1.0, evidence_at=NOON, use_count=3, scope="global", source="hook")  # fmt: skip
    assert import_from(store, read_memory_layer(path)).imported == 1
    (record,) = store.all(namespace="billing")
    assert (record.category, record.tags) == ("gotcha", ("ops", "deploy"))
    assert (record.importance, record.confidence) == (0.7, 0.9)
    assert (record.occurred_at, record.source) == (1705312800.25, "memory-layer:m1")
    assert record.metadata["rationale"] == "outage"
    assert (record.outcome, record.access_count) == (0.5, 3)
    assert (record.created_at, record.updated_at) == (1705312800.25, 1705320000.0)
    assert record.metadata["memory-layer"] == {
        **{"worked": 2.0, "failed": 1.0, "evidence_at": NOON, "entities": ["deploy.py"]},
        **{"scope": "global", "source": "hook"},
    }


def test_the_past_is_told_by_the_times(path: Path, store: MemoryStore) -> None:
    put(path, id="m1", content="14", archived=1, created_at="2024-01-01", updated_at="2024-01-04")
    put(path, id="m2", content="16", supersedes="m1", created_at="2024-01-03", use_count=2,
        updated_at="2024-01-09", evidence_at="2024-01-05", outcome_score=0.4)  # fmt: skip
    put(path, id="m3", content="no", archived=1, created_at="2024-01-01", updated_at="2024-01-06",
        outcome_score=-0.8)  # fmt: skip
    assert import_from(store, read_memory_layer(path)).imported == 3
    day = datetime(2024, 1, 1, 12, tzinfo=UTC)
    seen = [store.as_of(day + timedelta(days=n)).all() for n in (0, 2, 4, 5, 8)]
    assert [[each.content for each in moment] for moment in seen] == [
        *[["14", "no"], ["no", "16"], ["no", "16"], ["16"], ["16"]]
    ]
    assert [moment[-1].outcome for moment in seen[1:]] == [0.0, 0.4, 0.4, 0.4]
    (aside,) = store.all(state="archived")
    assert aside.outcome == -0.8
    assert seen[-1][0].access_count == 2
    assert store.verify().ok


def test_a_live_memory_keeps_a_low_score_in_the_metadata(path: Path, store: MemoryStore) -> None:
    put(path, id="m1", content="14", outcome_score=-0.8)
    import_from(store, read_memory_layer(path))
    (record,) = store.all()
    assert (record.outcome, record.metadata["memory-layer"]["outcome_score"]) == (-0.5, -0.8)


def test_tasks_and_what_a_link_cannot_tell_are_in_the_metadata(
    path: Path, store: MemoryStore
) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(TASKS)
    put(path, id="m1", content="tabs")
    put(path, id="m2", content="spaces")
    put(path, "task_memory_links", task_id="bd-1", memory_id="m2", used_at=NOON, outcome="worked")
    put(path, "memory_relations", source_id="m1", target_id="m2", relation_type="conflicts_with",
        strength=0.4, created_at=NOON)  # fmt: skip
    assert import_from(store, read_memory_layer(path)).skipped == ()
    first, second = (record.metadata["memory-layer"] for record in store.all())
    assert [relation["strength"] for relation in first["relations"]] == [0.4]
    assert [(task["task_id"], task["outcome"]) for task in second["tasks"]] == [("bd-1", "worked")]


def test_what_changed_since_changes_here(path: Path, store: MemoryStore) -> None:
    put(path, id="m1", content="Postgres 14", use_count=1)
    import_from(store, read_memory_layer(path))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "UPDATE memories SET content = 'Postgres 16', outcome_score = .2, "
            "updated_at = '2024-02-01', use_count = 4"
        )
    report = import_from(store, read_memory_layer(path))
    assert (report.imported, report.known, report.changed) == (0, 1, 1)
    (record,) = store.all()
    assert (record.content, record.outcome, record.access_count) == ("Postgres 16", 0.2, 4)
    assert import_from(store, read_memory_layer(path)).changed == 0


def test_a_time_without_a_zone_is_utc(path: Path, store: MemoryStore) -> None:
    put(path, id="m1", content="one")
    import_from(store, read_memory_layer(path))
    assert store.all()[0].occurred_at == 1705320000.0


@pytest.mark.parametrize("batch", [1, 100])
def test_superseded_and_archived_stay_so(path: Path, store: MemoryStore, batch: int) -> None:
    put(path, id="m1", content="Postgres 14", archived=1)
    put(path, id="m2", content="Postgres 16", supersedes="m1")
    put(path, id="m3", content="MySQL", archived=1)
    put(path, id="m4", content="SQLite", supersedes="gone")
    report = import_from(store, read_memory_layer(path), batch=batch)
    found = by_content(store)
    assert (report.imported, report.skipped) == (4, ())
    assert {name: record.state for name, record in found.items()} == {
        **{"Postgres 14": "superseded", "Postgres 16": "live"},
        **{"MySQL": "archived", "SQLite": "live"},
    }
    assert found["Postgres 14"].superseded_by == found["Postgres 16"].id


@pytest.mark.parametrize("batch", [1, 100])
def test_what_is_dated_before_what_it_supersedes_still_does(
    path: Path, store: MemoryStore, batch: int
) -> None:
    put(path, id="m3", content="17", supersedes="m2", created_at="2024-01-01")
    put(path, id="m2", content="16", supersedes="m1", created_at="2024-01-02")
    put(path, id="m4", content="15", supersedes="m1", created_at="2024-01-03")
    put(path, id="m1", content="14", created_at="2024-01-04")
    report = import_from(store, read_memory_layer(path), batch=batch)
    assert (report.imported, report.skipped) == (4, ())
    assert [record.content for record in store.all()] == ["17", "15"]
    found = by_content(store)
    assert found["14"].superseded_by == found["16"].id
    assert found["16"].superseded_by == found["17"].id


def test_memories_that_supersede_each_other_are_all_read(path: Path, store: MemoryStore) -> None:
    for id, old in [("m1", "m2"), ("m2", "m1"), ("m3", "m3")]:
        put(path, id=id, content=id, supersedes=old)
    assert import_from(store, read_memory_layer(path)).imported == 3


def test_relations_become_links(path: Path, store: MemoryStore) -> None:
    put(path, id="m1", content="tabs")
    put(path, id="m2", content="spaces")
    for target, kind in [("m2", "conflicts_with"), ("gone", "extends")]:
        put(path, "memory_relations", source_id="m1", target_id=target, relation_type=kind,
            created_at=NOON)  # fmt: skip
    report = import_from(store, read_memory_layer(path))
    (relation,) = store.related(by_content(store)["tabs"].id)
    assert (relation.kind, relation.memory.content) == ("conflicts_with", "spaces")
    assert [each.place for each in report.skipped] == ["relation 2"]


def test_a_database_of_version_2_is_read(old: Path, store: MemoryStore) -> None:
    put(old, id="m1", content="one", project="a//b")
    report = import_from(store, read_memory_layer(old), namespace="work")
    assert (report.imported, report.skipped) == (1, ())
    assert import_from(store, read_memory_layer(old), namespace="work").known == 1
    assert list(store.namespaces()) == ["work/a%2F%2Fb"]


def test_bad_rows_are_listed(path: Path, store: MemoryStore) -> None:
    put(path, id="m1", content="one", created_at="yesterday")
    put(path, id="m2", content="two", tags="oops")
    put(path, id="m3", content="three", tags='[""]')
    put(path, id="m4", content="")
    put(path, id="m5", content="five")
    for name in ("tags", "entities", "metadata"):
        put(path, id=name, content=name, **{name: "oops"})
    report = import_from(store, read_memory_layer(path))
    assert {record.content for record in store.all(namespace=EVERYWHERE)} == {"one", "five"}
    assert (len(report.skipped), len(report.incomplete)) == (6, 1)
    again = import_from(store, read_memory_layer(path))
    assert (again.imported, again.changed, len(again.skipped)) == (0, 0, 6)
    reasons = {each.reason for each in report.skipped}
    reasons |= {each.reason for each in report.incomplete}
    broken = {"tags is not a JSON list", "entities is not a JSON list"}
    broken.add("created_at: not a time: 'yesterday'")
    assert reasons > {*broken, "metadata is not a JSON object"}
