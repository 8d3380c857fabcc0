"""Threads that share a commit."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from bethink.storage.sql.group_commit import GroupCommit


def wait_until_left_open(shared: GroupCommit[Any], told: Future[Any]) -> None:
    """Wait until the thread of *told* has ended a part and left the transaction open."""
    while not (shared.is_open and shared.lock.acquire(blocking=False)):
        assert not told.done()
    shared.lock.release()
