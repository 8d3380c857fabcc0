"""No answer is larger than its budget, neither the text nor the data."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from bethink import MemoryStore
from bethink_adapters.mcp.answers import ANSWER_TOKENS, GET_TOKENS, Page

from .calling import Host

LONG = 'A "quoted" line of the ferry\\log\n' * 5_000
WIDE = "渡船" * 40_000
METADATA = {f"field {number}": "x" * 500 for number in range(200)}


@pytest.fixture
def large(host: Host, tmp_path: Path) -> list[str]:
    """The ids of memories with long texts, values, metadata, keys and tags."""
    with MemoryStore(tmp_path / "memory.db") as store:
        fields: list[dict[str, Any]] = [
            {"content": f"ferry {LONG}"},
            {"content": f"ferry {WIDE}"},
            {"content": "ferry of metadata", "metadata": METADATA},
            {"content": "", "key": "ferry value", "value": METADATA},
            {
                "content": "ferry of names",
                "key": "k" * 1_000,
                "tags": ["t" * 900 + str(n) for n in range(50)],
            },
            *({"content": f"ferry {number} {'and more ' * 60}"} for number in range(45)),
        ]
        ids = [store.store(**each).id for each in fields]
        for id in ids[-6:]:
            for number in range(10):
                store.update(id, metadata={"note": f"{number} {'y' * 900}"})
    return ids


@pytest.mark.parametrize("budget", [100, 500, 2_000, 8_000])
def test_a_search_keeps_to_its_budget(host: Host, large: list[str], budget: int) -> None:
    assert host.cost("recall", query="ferry", k=50, budget_tokens=budget) <= budget
    assert host.cost("context", query="ferry", budget_tokens=budget) <= budget
    assert host.cost("context", budget_tokens=budget) <= budget


def test_the_other_tools_keep_to_theirs(host: Host, large: list[str]) -> None:
    assert host.cost("get", ids=large[:20]) <= GET_TOKENS
    calls: dict[str, dict[str, Any]] = {
        "list": {"limit": 50},
        "history": {"limit": 100},
        "conflicts": {"limit": 10, "min_tier": "possible"},
        "outcome": {"ids": large, "outcome": "useful"},
        "update": {"id": large[0], "tags": ["long"]},
        "store": {"content": f"ferry {LONG}"[:90_000], "on_similar": "keep"},
        "forget": {"ids": large},
    }
    for tool, arguments in calls.items():
        assert host.cost(tool, **arguments) <= ANSWER_TOKENS, tool


@pytest.mark.parametrize(("line", "item"), [("x" * 400, {}), ("", {"x": "x" * 400})])
def test_neither_the_text_nor_the_data_exceeds_the_budget(line: str, item: dict[str, str]) -> None:
    page = Page(100)
    assert not page.add(line, item)
    assert page.full
    assert Page(200).add(line, item)


def test_a_long_text_is_cut_and_marked(host: Host, large: list[str]) -> None:
    answer = host.call("recall", query="渡船", budget_tokens=300)
    [hit] = [each for each in answer["memories"] if each.get("truncated")]
    assert answer["truncated"]
    assert hit["content"].endswith("…")
    assert f"ferry {WIDE}".startswith(hit["content"].removesuffix("…"))
    assert hit["id"] == large[1]


def test_a_short_answer_is_whole(host: Host) -> None:
    host.store("The ferry leaves at nine")
    answer = host.call("recall", query="ferry")
    assert not answer["truncated"]
    assert "truncated" not in answer["memories"][0]


def test_records_without_text_show_their_value(host: Host, tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "memory.db") as store:
        id = store.store("", key="theme", value={"dark": True}).id
    assert '{"dark": true}' in host.text("get", ids=[id])


def test_resources_keep_to_a_budget(host: Host, large: list[str]) -> None:
    for id in large[:5]:
        assert len(host.read(f"bethink://memory/{id}")) <= 4 * GET_TOKENS
    assert len(host.read("bethink://recent")) <= 4 * ANSWER_TOKENS * 3


def test_the_stats_count_the_largest_of_many_namespaces(host: Host, tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "memory.db") as store:
        store.store_many([{"content": str(n), "namespace": f"n{n}"} for n in range(60)])
        store.store("second", namespace="n59")
    stats = json.loads(host.read("bethink://stats"))
    assert next(iter(stats["namespaces"].items())) == ("n59", 2)
    assert (len(stats["namespaces"]), stats["more_namespaces"]) == (50, 10)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=some.lists(
        some.text(some.characters(exclude_categories=["Cs"]), min_size=1, max_size=400),
        min_size=1,
        max_size=8,
    ),
    budget=some.integers(100, 600),
)
def test_any_texts_keep_to_any_budget(host: Host, texts: list[str], budget: int) -> None:
    ids = [
        host.call("store", content=f"ferry {text}", on_similar="keep")["memory"]["id"]
        for text in texts
    ]
    assert host.cost("recall", query="ferry", k=8, budget_tokens=budget) <= budget
    assert host.cost("context", query="ferry", budget_tokens=budget) <= budget
    host.call("forget", ids=ids)
