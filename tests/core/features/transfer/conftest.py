"""Two stores, to be merged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bethink import HashEmbedder, MemoryStore

from ...clock import Clock

EMBEDDER = HashEmbedder(32)


@pytest.fixture
def ours(path: Path, clock: Clock) -> Iterator[MemoryStore]:
    with MemoryStore(path, clock=clock, embedder=EMBEDDER, durability="normal") as store:
        yield store


@pytest.fixture
def theirs(tmp_path: Path, clock: Clock) -> Iterator[MemoryStore]:
    with MemoryStore(tmp_path / "other.db", clock=clock, embedder=EMBEDDER) as store:
        yield store
