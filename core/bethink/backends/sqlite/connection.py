"""Connections to one file: a writer, a reader beside it, safe for threads and forks."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, Literal

from ...errors import (
    CorruptStoreError,
    NotABethinkFileError,
    StorageError,
    StoreBusyError,
    StoreClosedError,
)
from .schema import APPLICATION_ID, migrate, version_of

Durability = Literal["full", "normal"]

BUSY_SECONDS: Final = 30.0
_PRAGMAS: Final = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA mmap_size = 1073741824",
    "PRAGMA cache_size = -16384",
)


class Connections:
    """Open, guard and close the connections to the file at *path* (or ":memory:").

    Each connection is used by one thread at a time. A forked child opens its own and never touches
    the ones it inherited.
    """

    def __init__(self, path: str, durability: Durability) -> None:
        self.path = path
        self._synchronous = durability.upper()
        self._closed = False
        self._open()

    def _open(self) -> None:
        self._pid = os.getpid()
        self._write_lock = threading.Lock()
        with explained(self.path):
            if self.path != ":memory:":
                _create_private(self.path)
                _refuse_foreign(self.path)
            self._writer = self._connect()
            migrate(self._writer, self.path)
            memory = self.path == ":memory:"
            self._reader = self._writer if memory else self._connect()
        self._read_lock = self._write_lock if memory else threading.Lock()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            version_of(
                connection, self.path
            )  # a foreign file is refused before anything touches it
            _enter_wal(connection)
            for pragma in (*_PRAGMAS, f"PRAGMA synchronous = {self._synchronous}"):
                connection.execute(pragma)
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Hold the write transaction; commit at the end, roll back on any exception."""
        self._after_fork()
        with self._write_lock, explained(self.path):
            connection = self._alive(self._writer)
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Hold a connection for single statements.

        The writer serves when it is free: its page cache stays warm over the store's own writes.
        """
        self._after_fork()
        free = self._write_lock.acquire(blocking=self._reader is self._writer)
        lock, connection = (
            (self._write_lock, self._writer) if free else (self._read_lock, self._reader)
        )
        if not free:
            lock.acquire()
        try:
            with explained(self.path):
                yield self._alive(connection)
        finally:
            lock.release()

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Hold the reader for several statements that see one state of the file."""
        with self.reading() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("COMMIT")

    def close(self) -> None:
        """Close both connections; closing twice is fine."""
        if self._closed:
            return
        self._after_fork()
        with self._write_lock:
            self._closed = True
            self._writer.close()
        if self._reader is not self._writer:
            with self._read_lock:
                self._reader.close()

    def _alive(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        if self._closed:
            raise StoreClosedError
        return connection

    def _after_fork(self) -> None:
        if self._pid == os.getpid() or self._closed:
            return
        if self.path == ":memory:":
            self._pid = os.getpid()
            self._write_lock = self._read_lock = threading.Lock()
            return
        self._inherited = (
            self._writer,
            self._reader,
        )  # closing them here would drop the parent's locks
        self._open()


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Turn sqlite3's errors into the store's own."""
    try:
        yield
    except sqlite3.OperationalError as error:
        reason = str(error)
        if "locked" in reason or "busy" in reason:
            raise StoreBusyError(path) from error
        raise StorageError(path, reason) from error
    except sqlite3.DatabaseError as error:
        if "not a database" in str(error):
            raise NotABethinkFileError(path) from error
        if "malformed" in str(error):
            raise CorruptStoreError(path, str(error)) from error
        raise
    except UnicodeDecodeError as error:  # sqlite3 cannot even read what SQLite says of the damage
        raise CorruptStoreError(path) from error


def _create_private(path: str) -> None:
    """Create the file readable by its owner only, before SQLite would create it for all.

    A file that exists is not even opened: closing it again would drop the locks that other
    connections of this process hold on it.
    """
    if os.path.isdir(path):
        raise StorageError(path, "is a directory, not a file")
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        if os.path.isfile(path) and os.path.getsize(path) == 1:  # which SQLite takes for empty
            raise NotABethinkFileError(path) from None
    except OSError as error:
        raise StorageError(path, error.strerror or str(error)) from error


def _refuse_foreign(path: str) -> None:
    """Refuse another program's file by its pages alone: opened as usual, its log is replayed."""
    pages = f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1"
    with closing(sqlite3.connect(pages, uri=True)) as connection:
        if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
            version_of(connection, path)


def _enter_wal(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging; SQLite's busy handler does not cover this step."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
