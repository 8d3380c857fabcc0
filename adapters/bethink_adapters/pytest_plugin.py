"""Fixtures for pytest, found wherever bethink is installed (not with `-p no:bethink`).

``memory_store`` is a new, empty store in memory with ``frozen_clock`` and ``counting_ids``. A
fixture with an equal name in your conftest or test file takes the place of the plugin's fixture, in
``memory_store`` too. Every run of pytest imports the plugin, so only the first use of a fixture
imports bethink.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from bethink import MemoryStore
    from bethink.testing import CountingIds, FrozenClock

pytest.register_assert_rewrite(
    "bethink.testing.contracts",
    "bethink_adapters.langgraph.conformance",
)


@pytest.fixture
def frozen_clock() -> FrozenClock:
    """Return a clock that stands still; ``advance(seconds)`` and ``set(when)`` move the clock."""
    from bethink.testing import FrozenClock

    return FrozenClock()


@pytest.fixture
def counting_ids() -> CountingIds:
    """Return a source of the ids id-000001, id-000002 …."""
    from bethink.testing import CountingIds

    return CountingIds()


@pytest.fixture
def memory_store(frozen_clock: FrozenClock, counting_ids: CountingIds) -> Iterator[MemoryStore]:
    """Yield an empty store in memory with equal answers in every run; then close the store."""
    from bethink import MemoryStore

    with MemoryStore(clock=frozen_clock, new_id=counting_ids) as store:
        yield store
