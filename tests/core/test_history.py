"""What was seen of a store is what its past shows."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from bethink import HashEmbedder, MemoryStore

from .histories import Life, Seen

STEPS = 60


@pytest.fixture(autouse=True)
def _whole_records_are_told_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make short histories pass every way of reading the journal."""
    monkeypatch.setattr("bethink.backends.sqlite.writer.WHOLE_IN_256", 60)


@pytest.mark.parametrize("seed", range(4))
def test_the_past_is_what_was_seen(tmp_path: Path, seed: int) -> None:
    life = Life(random.Random(seed))
    path, embedder = tmp_path / "memory.db", HashEmbedder(32)
    with MemoryStore(path, embedder=embedder, clock=life.tick, durability="normal") as store:
        life.live(store, STEPS)
        for seen in random.Random(seed).sample(life.seen, len(life.seen)):
            assert Seen.again(store, seen.seq, list(seen.known)) == seen
    with MemoryStore(path, embedder=embedder) as store:
        for seen in life.seen[::7]:
            assert Seen.again(store, seen.seq, list(seen.known)) == seen
