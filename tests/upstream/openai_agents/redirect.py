"""Point the SDK's own session tests at ``MemorySession``: a pytest plugin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import agents
import pytest

from bethink import MemoryStore
from bethink_adapters.openai_agents import MemorySession

INSIDE = "looks inside SQLiteSession: at its connections, locks, tables or damaged rows"
DELIBERATE = {
    f"test_sqlite_session_{name}": INSIDE
    for name in (
        "close_closes_worker_thread_connections",
        "close_retries_quarantined_connection",
        "closes_retired_connections_before_the_next_allocation",
        "failed_add_items_releases_write_lock",
        "failed_clear_session_rolls_back",
        "failed_pop_item_releases_write_lock",
        "file_lock_is_shared_across_instances",
        "get_items_limit_skips_corrupt_newest_rows",
        "get_items_session_settings_limit_skips_corrupt_rows",
        "keeps_connections_of_live_worker_threads",
        "pop_item_returns_none_after_dropping_only_corrupt_rows",
        "pop_item_skips_corrupt_most_recent",
        "post_commit_cancellation_propagates_after_known_outcome",
        "reaps_connections_from_exited_worker_threads",
        "rollback_failure_evicts_connection",
    )
} | {
    "test_sqlite_session_closed_rejects_empty_add_items": "expects SQLiteSession's own message",
}


class Redirected(MemorySession):
    """A session made as ``SQLiteSession`` is, in a store of its own on the same file."""

    def __init__(
        self, session_id: str, db_path: str | Path = ":memory:", *, session_settings: Any = None
    ) -> None:
        super().__init__(MemoryStore(db_path), session_id, session_settings=session_settings)

    def close(self) -> None:
        """Close the store that this session opened."""
        self.log.store.close()


agents.SQLiteSession = Redirected  # type: ignore[misc, assignment]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Expect the deliberate failures, each with its reason, and no other."""
    for item in items:
        if reason := DELIBERATE.get(item.name.partition("[")[0]):
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
