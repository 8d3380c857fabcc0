"""What the tests of the past share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bethink import HashEmbedder, MemoryRecord, MemoryStore

from ...clock import Clock


@pytest.fixture(autouse=True)
def _whole_records_are_told_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make short histories pass every way of reading the journal."""
    monkeypatch.setattr("bethink.storage.sql.writer.FULL_RECORDS_IN_256", 60)


@pytest.fixture
def store(path: Path, clock: Clock) -> Iterator[MemoryStore]:
    with MemoryStore(path, clock=clock, embedder=HashEmbedder(32), durability="normal") as store:
        yield store


def contents(records: list[MemoryRecord]) -> list[str]:
    return [record.content for record in records]
