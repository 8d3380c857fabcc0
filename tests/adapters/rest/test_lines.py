"""Each list as lines of JSON, without pages."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bethink import MemoryStore
from bethink_adapters.rest.lines import _stream

from .serving import ANN, Client


def read(http: Any, address: str) -> list[dict[str, Any]]:
    """Return the lines at *address*."""
    reply = http.get(address)
    assert reply.headers["content-type"] == "application/jsonl"
    return [json.loads(line) for line in reply.text.splitlines()]


def test_all_memories_of_a_listing_come_as_lines(client: Client, store: MemoryStore) -> None:
    store.store_many([f"ticket {number}\u2028\n{number}" for number in range(250)])
    other = store.store("ferry", namespace="users/ann", category="travel")
    http = client()
    every = store.all(namespace=("default", "users/ann"), order="newest")
    assert read(http, "/v1/memories.jsonl") == [each.to_dict() for each in every]
    for query in ('where={"category":"travel"}', "namespace=users&subtree=true"):
        assert read(http, f"/v1/memories.jsonl?{query}") == [other.to_dict()]
    assert len(read(http, "/v1/memories.jsonl?as_of=%23250&order=oldest")) == 250
    assert read(client(ANN), "/v1/memories.jsonl") == [other.to_dict()]


def test_a_long_list_leaves_in_few_parts() -> None:
    async def parts() -> list[Any]:
        return [part async for part in _stream(range(1000)).body_iterator]

    found = asyncio.run(parts())
    assert "".join(found).splitlines() == [str(number) for number in range(1000)]
    assert len(found) < 20


@pytest.mark.parametrize("path", ["/v1/conflicts", "/v1/log", "/v1/tasks"])
def test_other_lists_come_as_lines_with_the_same_arguments(
    client: Client, store: MemoryStore, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # without tasks
    monkeypatch.chdir(tmp_path)
    for text in ("The port is 80", "The port is 90", "The port is 70"):
        store.store(text)
    http = client()
    for query in ("", "?namespace=none", *(["?limit=1"] if path != "/v1/tasks" else [])):
        assert read(http, f"{path}.jsonl{query}") == http.get(path + query).json()["items"]
    if path != "/v1/tasks":
        assert len(read(http, f"{path}.jsonl")) == 3
        assert http.get(f"{path}.jsonl?limit=x").status_code == 422
    assert client(None).get(f"{path}.jsonl").status_code == 401
