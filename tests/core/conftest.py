"""What the tests of the core share."""

from __future__ import annotations

import os
import tempfile
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
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """Yield a folder in memory, where a sync takes no time, if the system has such a place."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tmp_path
    with tempfile.TemporaryDirectory(dir=place) as folder:
        yield Path(folder)


@pytest.fixture
def files(path: Path) -> Iterator[Files]:
    with MemoryStore(path, durability="normal", embedder=HashEmbedder(16)) as store:
        yield Files(store)
