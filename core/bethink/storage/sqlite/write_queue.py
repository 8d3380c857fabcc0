"""A fair queue for the write lock that many processes share.

SQLite gives the lock to the process that asks at the right moment, and the last holder asks first:
under load some process waits for seconds. So as soon as two processes meet, all stand in line. Each
process locks the next byte of a file beside the database, and asks for the write lock when the byte
before is unlocked. The system unlocks the byte of a process that ends. The file is created when
processes first meet, and removed when a store closes. Without byte locks (Windows) chance decides.
"""

from __future__ import annotations

import errno
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

_PAUSE_SECONDS: Final = 0.0002
_MAX_PLACES: Final = 1 << 20  # bytes; then the file starts again


class WriteQueue:
    """The queue for the database at *path*.

    A call waits at most *patience* seconds for the lock.
    """

    def __init__(self, path: str, patience: float) -> None:
        self._line = f"{path}-gate"
        self._patience = patience

    def begin(
        self,
        connection: sqlite3.Connection,
        statement: str = "BEGIN IMMEDIATE",
        *,
        waited: float = 0.0,
    ) -> None:
        """Run *statement*, a taker of the write lock, at this process's turn.

        *connection* must have no busy timeout. The seconds *waited* before count as patience.
        """
        if os.path.exists(self._line) or not _try_to_run(connection, statement):
            patience = max(self._patience - waited, 0.0)
            deadline = time.monotonic() + patience
            with self._wait_for_turn(patience):
                run_unlocked(connection, statement, deadline, _PAUSE_SECONDS)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for this process's turn, and let the other processes wait during the body."""
        have_met = os.path.exists(self._line)
        with self._wait_for_turn(self._patience):
            yield
        if not have_met:
            self.remove()

    def remove(self) -> None:
        """Remove the file; waiting processes only lose the place in line."""
        with suppress(OSError):
            os.unlink(self._line)

    @contextmanager
    def _wait_for_turn(self, patience: float) -> Iterator[None]:
        """Stand in line for half of the *patience*: a stopped process must not block the line."""
        if fcntl is None:  # pragma: no cover - Windows
            yield
            return
        deadline = time.monotonic() + patience / 2
        line = os.open(self._line, os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o600)
        try:
            place = _take_place(line)
            wait_until(partial(_try_to_lock, line, place - 1), deadline, _PAUSE_SECONDS)
            yield
        finally:
            os.close(line)
        if place > _MAX_PLACES:
            self.remove()


def wait_until(done: Callable[[], bool], deadline: float, pause: float) -> bool:
    """Call *done* until true or past the *deadline*; return the result."""
    while not done():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True


def run_unlocked(
    connection: sqlite3.Connection, statement: str, deadline: float, pause: float
) -> None:
    """Run *statement* once no lock is in the way; raise after the *deadline*."""
    if not wait_until(partial(_try_to_run, connection, statement), deadline, pause):
        raise sqlite3.OperationalError("database is locked")


def _take_place(line: int) -> int:
    """Lock and return the last place in line, the first place if the disk is full."""
    with suppress(OSError):
        os.write(line, b".")
    place = max(os.lseek(line, 0, os.SEEK_CUR), 1)
    _try_to_lock(line, place)
    return place


def _try_to_lock(line: int, place: int) -> bool:
    try:
        fcntl.lockf(line, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EAGAIN)  # else the system has no locks
    return True


def _try_to_run(connection: sqlite3.Connection, statement: str) -> bool:
    """Run *statement* unless a lock is in the way; return whether *statement* ran."""
    try:
        connection.execute(statement)
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            return False
        raise
    return True
