"""The contract that the package `crewai-memory-core` writes for any storage backend."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from crewai_memory_core.contract import *  # noqa: F403

from bethink import MemoryStore
from bethink_adapters.crewai import CrewStorage


@pytest.fixture
def backend() -> Iterator[CrewStorage]:
    with MemoryStore() as store:
        yield CrewStorage(store)
