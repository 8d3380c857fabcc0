"""The values and settings that the LangGraph store takes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

pytest.importorskip("langgraph.store.base")

from langgraph.store.memory import InMemoryStore

from bethink import ValidationError
from bethink_adapters.langgraph import BethinkStore

NS = ("users", "ann")


@pytest.fixture
def memory() -> Iterator[BethinkStore]:
    with BethinkStore() as memory:
        yield memory


def keys(found: Any) -> list[str]:
    return [item.key for item in found]


NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def test_times_and_uuids_are_kept_as_texts(memory: BethinkStore) -> None:
    value = {"when": NOON, "days": [NOON.date()], "at": {"of": NOON.time()}, "id": UUID(int=7)}
    memory.put(NS, "a", value)
    found = memory.get(NS, "a")
    assert found is not None
    assert found.value == {
        "when": "2026-05-01T12:00:00+00:00",
        "days": ["2026-05-01"],
        "at": {"of": "12:00:00"},
        "id": str(UUID(int=7)),
    }
    for filter in ({"when": NOON}, {"id": UUID(int=7)}, {"id": {"$in": [UUID(int=7)]}}):
        assert keys(memory.search(NS, filter=filter)) == ["a"]
    assert keys(memory.search(NS, filter={"when": {"$ne": NOON}})) == []
    assert keys(memory.search(NS, query="2026-05-01")) == ["a"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": 1, "when": math.nan}, r"value\['when'\] holds nan, which JSON cannot"),
        ({"when": [1, math.inf]}, r"value\['when'\]\[1\] holds inf, which JSON cannot"),
        ({"a": {"when": {1}}}, r"value\['a'\]\['when'\] holds a value of type set"),
        ({"when": NOON, "b": {2: 1}}, r"value\['b'\] has a key of type int"),
    ],
)
def test_a_value_beyond_json_is_refused_by_name(
    memory: BethinkStore, value: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        memory.put(NS, "a", value)
    assert memory.get(NS, "a") is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ttl": 5}, "ttl must be a mapping such as .* not int"),
        ({"ttl": "5"}, "ttl must be a mapping such as .* not str"),
        ({"index": "text"}, "index must be a mapping, not str"),
        ({"index": {"fields": "text", "embed": len}}, "a list of paths, not 'text'"),
        ({"index": {"fields": ["text", 5], "embed": len}}, "a list of paths, not .*5"),
    ],
)
def test_a_wrong_setting_is_refused_at_once(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        BethinkStore(**settings)


@pytest.mark.parametrize(
    "filter",
    [
        {"a": {"b": 6}},
        {"a": {"b": {"$eq": 6}}},
        {"a": {"b": {"c": 6}}},
        {"a": {"b": 6, "d": 1}},
    ],
    ids=repr,
)
def test_a_nested_filter_is_no_dotted_name(memory: BethinkStore, filter: dict[str, Any]) -> None:
    reference = InMemoryStore()
    values: list[dict[str, Any]] = [
        {"a.b": 6},
        {"a.b.c": 6},
        {"a.b": {"c": 6}},
        {"a": {"b": 6}},
        {"a": {"b": 6, "d": 1}},
        {"a": {"b": {"c": 6}}},
        {"a": {}},
        {"a.b": 6, "a.d": 1},
    ]
    for number, value in enumerate(values):
        for store in (memory, reference):
            store.put(NS, str(number), value, index=False)
    wanted = {item.key for item in reference.search(NS, filter=filter)}
    assert set(keys(memory.search(NS, filter=filter))) == wanted


@pytest.mark.parametrize("condition", [{"$gt": 5}, {"$ne": 5}, {"$in": [6]}, {"$exists": True}])
def test_a_nested_condition_is_on_no_dotted_name(
    memory: BethinkStore, condition: dict[str, Any]
) -> None:
    memory.put(NS, "dotted", {"a.b": 6})
    memory.put(NS, "nested", {"a": {"b": 6}})
    assert keys(memory.search(NS, filter={"a": {"b": condition}})) == ["nested"]
    assert sorted(keys(memory.search(NS, filter={"a.b": condition}))) == ["dotted", "nested"]
