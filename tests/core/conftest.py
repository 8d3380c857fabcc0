"""What the tests of the core share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bethink import Files, HashEmbedder, MemoryStore

from .clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def files(path: Path) -> Iterator[Files]:
    with MemoryStore(path, durability="normal", embedder=HashEmbedder(16)) as store:
        yield Files(store)
