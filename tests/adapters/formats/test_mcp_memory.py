"""Knowledge graphs of the MCP reference server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bethink import MemoryStore
from bethink_adapters.formats import import_from, read_mcp_memory

ANN = {
    "type": "entity",
    "name": "Ann_Lee",
    "entityType": "person",
    "observations": ["Speaks Spanish", "Works on billing"],
}
ACME = {"type": "entity", "name": "Acme", "entityType": "company", "observations": []}
WORKS = {"type": "relation", "from": "Ann_Lee", "to": "Acme", "relationType": "works_at"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.jsonl"


def test_entities_and_observations_become_memories(path: Path, store: MemoryStore) -> None:
    path.write_text("\n".join(map(json.dumps, [ANN, ACME])))
    assert import_from(store, read_mcp_memory(path)).imported == 4
    found = {record.content: record for record in store.all()}
    assert list(found) == [
        *["Ann_Lee (person)", "Ann_Lee: Speaks Spanish", "Ann_Lee: Works on billing"],
        "Acme (company)",
    ]
    assert found["Ann_Lee: Speaks Spanish"].metadata == {
        "mcp-memory": {
            **{"entity": "Ann_Lee", "entity_type": "person"},
            "observation": "Speaks Spanish",
        }
    }
    assert store.recall("Who speaks Spanish?")[0].memory.content == "Ann_Lee: Speaks Spanish"


def test_an_entity_without_a_type_is_its_name(path: Path, store: MemoryStore) -> None:
    path.write_text(json.dumps({"type": "entity", "name": "Ann", "observations": []}))
    import_from(store, read_mcp_memory(path))
    assert [record.content for record in store.all()] == ["Ann"]


def test_a_relation_links_entities_wherever_it_stands(path: Path, store: MemoryStore) -> None:
    path.write_text(json.dumps(WORKS) + json.dumps(ANN) + "\n" + json.dumps(ACME))
    import_from(store, read_mcp_memory(path))
    ann = store.all(where={"source": "mcp-memory:Ann_Lee"})[0]
    (relation,) = store.related(ann.id, direction="out")
    assert (relation.kind, relation.memory.content) == ("works_at", "Acme (company)")


def test_a_second_import_adds_only_new_observations(path: Path, store: MemoryStore) -> None:
    path.write_text(json.dumps(ANN))
    import_from(store, read_mcp_memory(path))
    path.write_text(json.dumps(ANN | {"observations": [*ANN["observations"], "Has a dog"]}))
    report = import_from(store, read_mcp_memory(path))
    assert (report.imported, report.known) == (1, 3)


def test_bad_lines_are_listed(path: Path, store: MemoryStore) -> None:
    bad = [
        {"type": "entity", "name": 5, "observations": []},
        {"type": "entity", "name": "x", "observations": None},
        *({**WORKS, part: 5} for part in ("from", "to", "relationType")),
        {"type": "vector"},
        [],
        ANN | {"observations": [{}, "good"]},
        {**WORKS, "to": "Nobody"},
    ]
    path.write_text("\n".join([*map(json.dumps, bad), '{"type": "entity", "na']))
    report = import_from(store, read_mcp_memory(path))
    assert [record.content for record in store.all()] == ["Ann_Lee (person)", "Ann_Lee: good"]
    told = {each.place: each.reason for each in report.skipped}
    incomplete = "an entity needs a name and a list of observations"
    assert [told.pop(f"line {number}") for number in (1, 2)] == [incomplete] * 2
    ends = "a relation needs from, to and relationType"
    assert [told.pop(f"line {number}") for number in (3, 4, 5)] == [ends] * 3
    unknown = "neither an entity nor a relation"
    assert [told.pop(f"line {number}") for number in (6, 7)] == [unknown] * 2
    assert told.pop("line 8, observation 1") == "not a text"
    assert told.keys() == {"line 9", "line 10"}
