from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bethink.backends import Backend, open_backend

from .contract import BackendContract, DurableContract


class TestFile(DurableContract):
    @pytest.fixture
    def location(self, tmp_path: Path) -> str:
        return str(tmp_path / "memory.db")


class TestMemory(BackendContract):
    @pytest.fixture
    def backend(self) -> Iterator[Backend]:
        backend = open_backend(":memory:")
        yield backend
        backend.close()
