"""A fair queue for the write lock that many processes share.

SQLite lets whoever asks at the right moment have the lock, and the one who has just let go asks
first: under load some process waits for seconds. So as soon as two processes meet, all pass through
a turnstile, a file lock beside the database: only the one inside asks for the write lock, and it
gets it next. The file is made at the first encounter and removed when a store closes; without file
locks (Windows) chance decides.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

_PAUSE: Final = 0.0002


class Turnstile:
    """The queue for the database at *path*.

    A call waits at most *patience* seconds for the lock.
    """

    def __init__(self, path: str, patience: float) -> None:
        self._gate = f"{path}-gate"
        self._patience = patience

    def begin(self, connection: sqlite3.Connection, statement: str = "BEGIN IMMEDIATE") -> None:
        """Run *statement*, which takes the write lock, when it is this process's turn."""
        connection.execute("PRAGMA busy_timeout = 0")
        try:
            if os.path.exists(self._gate) or not _begun(connection, statement):
                with self._inside():
                    self._insist(partial(_begun, connection, statement))
        finally:
            connection.execute(f"PRAGMA busy_timeout = {int(1000 * self._patience)}")

    def remove(self) -> None:
        """Remove the file; a process that still waits at it only loses its place."""
        with suppress(OSError):
            os.unlink(self._gate)

    @contextmanager
    def _inside(self) -> Iterator[None]:
        if fcntl is None:  # pragma: no cover - Windows
            yield
            return
        gate = os.open(self._gate, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            self._insist(partial(_entered, gate))
            yield
        finally:
            os.close(gate)

    def _insist(self, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + self._patience
        while not done():
            if time.monotonic() > deadline:
                raise sqlite3.OperationalError("database is locked")
            time.sleep(_PAUSE)


def _entered(gate: int) -> bool:
    try:
        fcntl.flock(gate, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _begun(connection: sqlite3.Connection, statement: str) -> bool:
    try:
        connection.execute(statement)
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            return False
        raise
    return True
