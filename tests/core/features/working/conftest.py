"""What the tests of working memories share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bethink import KeyedMemory, MemoryStore


@pytest.fixture
def store(path: Path) -> Iterator[MemoryStore]:
    with MemoryStore(path, durability="normal", clock=lambda: 7.0) as store:
        yield store


@pytest.fixture
def keyed(store: MemoryStore) -> KeyedMemory:
    return KeyedMemory(store)
