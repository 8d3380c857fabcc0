"""The values that `AgentMemory` keeps in metadata and dicts."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

pytest.importorskip("autogen_core")

from autogen_core.memory import MemoryContent, MemoryMimeType

from bethink import MemoryStore, ValidationError
from bethink_adapters.autogen import AgentMemory

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("kind", ["text", "dict"])
def test_times_and_uuids_are_kept_as_texts(store: MemoryStore, kind: str) -> None:
    memory = AgentMemory(store, namespace="default")
    odd = {"when": NOON, "uuid": UUID(int=7), "days": [NOON.date()]}
    kept = {"when": NOON.isoformat(), "uuid": str(UUID(int=7)), "days": ["2026-05-01"]}
    made = MemoryContent(
        content="a parrot" if kind == "text" else {"bird": "a parrot", **odd},
        mime_type=MemoryMimeType.TEXT if kind == "text" else MemoryMimeType.JSON,
        metadata={**odd, "occurred_at": NOON},
    )
    asyncio.run(memory.add(made))
    (found,) = asyncio.run(memory.query("parrot")).results
    assert found.metadata is not None
    assert {name: found.metadata[name] for name in kept} == kept
    assert found.metadata["occurred_at"] == NOON.timestamp()
    assert found.content == ("a parrot" if kind == "text" else {"bird": "a parrot", **kept})


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"when": float("nan")}, r"metadata\['when'\] holds nan"),
        ({"a": {"when": b"x"}}, r"metadata\['a'\]\['when'\] holds a value of type bytes"),
    ],
)
def test_metadata_beyond_json_are_refused_by_name(
    store: MemoryStore, metadata: dict[str, Any], message: str
) -> None:
    made = MemoryContent(content="x", mime_type=MemoryMimeType.TEXT, metadata=metadata)
    with pytest.raises(ValidationError, match=message):
        asyncio.run(AgentMemory(store, namespace="default").add(made))


def test_a_long_text_edited_in_the_store_comes_back_as_edited(store: MemoryStore) -> None:
    memory = AgentMemory(store, namespace="default")
    long = "a parrot " * 60_000
    asyncio.run(memory.add(MemoryContent(content=long, mime_type=MemoryMimeType.TEXT)))
    (record,) = store.all(namespace="default")
    assert asyncio.run(memory.query("parrot")).results[0].content == long
    store.update(record.id, content="a grey parrot")
    assert asyncio.run(memory.query("parrot")).results[0].content == "a grey parrot"
