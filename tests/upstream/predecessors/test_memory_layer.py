"""A database that Runtime Memory wrote arrives memory by memory, field by field."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bethink import EVERYWHERE, MemoryRecord, MemoryStore
from bethink_adapters.formats import import_from, read_memory_layer

pytest.importorskip("runtime_memory")
from runtime_memory.core.engine import EngineConfig, MemoryEngine
from runtime_memory.core.models import MemoryCategory, MemoryScope, Outcome
from runtime_memory.tasks.linking import TaskMemoryLinker

GOTCHA, DECISION = MemoryCategory.GOTCHA, MemoryCategory.DECISION
HAS_RELATIONS = hasattr(MemoryEngine, "link")  # since 4.0


async def fill(path: Path) -> list[Any]:
    """Use every verb that writes; return all memories."""
    async with MemoryEngine(EngineConfig(db_path=path, embedding_provider="mock")) as engine:
        told = {"tags": ["ops"], "entities": ["deploy.py"], "metadata": {"why": "outage"}}
        sure = {"confidence": 0.9, "importance": 0.7, "scope": MemoryScope.GLOBAL}
        friday = await engine.add(
            "Never deploy on Friday", GOTCHA, project="billing", **sure, **told
        )
        old = await engine.add("Postgres 14 is in use", DECISION, project="billing")
        new = await engine.add(
            "Postgres 16 is in use", DECISION, project="billing", supersedes=old.id
        )
        aside = await engine.add("A fax machine", MemoryCategory.GENERAL)
        bad = await engine.add(
            "Restart by hand", MemoryCategory.WORKAROUND, project="/home/ann/api"
        )
        await engine.add("日本語のメモ", MemoryCategory.CONTEXT, project="a b")
        await engine.search("deploy on Friday", project="billing")
        await engine.search("Postgres", project="billing")
        for outcome in (Outcome.WORKED, Outcome.WORKED, Outcome.PARTIAL, Outcome.FAILED):
            await engine.record_outcome([friday.id], outcome)
        for _ in range(5):
            await engine.record_outcome([bad.id], Outcome.FAILED)
        await engine.record_outcome([new.id], Outcome.WORKED)
        await engine.archive(aside.id)
        await engine.auto_archive()
        await engine.update(friday.id, content="Never deploy on a Friday")
        if HAS_RELATIONS:
            from runtime_memory.core.models import RelationType

            await engine.link(friday.id, new.id, RelationType.RELATES_TO)
            await engine.link(new.id, old.id, RelationType.UPDATES, 0.5, {"by": "Ann"})
        linker = TaskMemoryLinker(path)
        await linker.initialize()
        await linker.link("bd-1", friday.id, "the release")
        return list(await engine.list(include_archived=True, limit=1000))


async def change(path: Path) -> list[Any]:
    async with MemoryEngine(EngineConfig(db_path=path, embedding_provider="mock")) as engine:
        (new,) = [each for each in await engine.list() if each.content.startswith("Postgres 16")]
        await engine.update(new.id, content="Postgres 17 is in use", importance=0.9)
        await engine.record_outcome([new.id], Outcome.WORKED)
        await engine.search("Postgres", project="billing")
        await engine.add("One more", DECISION, project="billing")
        return list(await engine.list(include_archived=True, limit=1000))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memories.db"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with MemoryStore(tmp_path / "new.db") as store:
        yield store
        assert store.verify().ok


def arrived(store: MemoryStore) -> dict[str, MemoryRecord]:
    found = [
        record
        for state in ("live", "superseded", "archived")
        for record in store.all(namespace=EVERYWHERE, state=state)  # type: ignore[arg-type]
    ]
    return {str(record.source).removeprefix("memory-layer:"): record for record in found}


def assert_all_arrived(memories: list[Any], store: MemoryStore) -> None:
    records = arrived(store)
    assert records.keys() == {memory.id for memory in memories}
    successors = {each.supersedes: each.id for each in memories if each.supersedes}
    for memory in memories:
        record = records[memory.id]
        more = record.metadata.get("memory-layer", {})
        own = {name: value for name, value in record.metadata.items() if name != "memory-layer"}
        assert (record.content, record.category) == (memory.content, memory.category.value)
        assert (record.confidence, record.importance) == (memory.confidence, memory.importance)
        assert record.access_count == memory.use_count
        assert (list(record.tags), own) == (memory.tags, memory.metadata)
        assert (record.namespace == "default") == (memory.project is None)
        assert record.created_at == record.occurred_at == memory.created_at.timestamp()
        assert record.updated_at == memory.updated_at.timestamp()
        assert more["scope"], more["source"] == (memory.scope.value, memory.source.value)
        assert more.get("entities", []) == memory.entities
        assert more.get("outcome_score", record.outcome) == memory.outcome_score
        assert record.outcome == memory.outcome_score or record.state == "live"
        for name in ("worked", "failed"):
            assert more.get(name, 0.0) == getattr(memory, name, 0.0)
        if getattr(memory, "evidence_at", None):
            assert more["evidence_at"] == memory.evidence_at.isoformat()
        if memory.id in successors:
            successor = records[successors[memory.id]]
            assert (record.state, record.superseded_by) == ("superseded", successor.id)
        else:
            assert record.state == ("archived" if memory.archived else "live")


def test_every_memory_arrives_field_by_field(path: Path, store: MemoryStore) -> None:
    memories = asyncio.run(fill(path))
    report = import_from(store, read_memory_layer(path))
    assert (report.imported, report.known, report.skipped) == (len(memories), 0, ())
    assert_all_arrived(memories, store)
    (task,) = next(
        told["tasks"]
        for record in arrived(store).values()
        if "tasks" in (told := record.metadata["memory-layer"])
    )
    assert (task["task_id"], task["context"]) == ("bd-1", "the release")


def test_the_past_follows_from_the_times(path: Path, store: MemoryStore) -> None:
    memories = asyncio.run(fill(path))
    import_from(store, read_memory_layer(path))
    at = {memory.content: memory.created_at.timestamp() for memory in memories}
    before = store.as_of(at["A fax machine"]).all(namespace=EVERYWHERE)
    texts = ["Never deploy on a Friday", "Postgres 16 is in use", "A fax machine"]
    assert [record.content for record in before] == texts
    assert {record.outcome for record in before} == {0.0}
    before = store.as_of(at["Postgres 14 is in use"]).all(namespace="billing")
    assert [record.content for record in before] == [texts[0], "Postgres 14 is in use"]


@pytest.mark.skipif(not HAS_RELATIONS, reason="since 4.0")
def test_relations_become_links(path: Path, store: MemoryStore) -> None:
    asyncio.run(fill(path))
    import_from(store, read_memory_layer(path))
    records = {record.content: record for record in arrived(store).values()}
    friday, new = records["Never deploy on a Friday"], records["Postgres 16 is in use"]
    (relation,) = store.related(friday.id)
    assert (relation.kind, relation.memory.id) == ("relates_to", new.id)
    (told,) = new.metadata["memory-layer"]["relations"]
    assert (told["relation_type"], told["strength"]) == ("updates", 0.5)


def test_a_second_import_takes_what_changed(path: Path, store: MemoryStore) -> None:
    asyncio.run(fill(path))
    import_from(store, read_memory_layer(path))
    again = import_from(store, read_memory_layer(path))
    assert (again.imported, again.changed, again.skipped) == (0, 0, ())
    memories = asyncio.run(change(path))
    report = import_from(store, read_memory_layer(path))
    assert (report.imported, report.skipped) == (1, ())
    assert report.changed >= 1
    assert_all_arrived(memories, store)
