"""The connections to a file: a writer and a reader, safe for threads and forks."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import partial
from typing import Any, Final, Literal

from ...errors import CorruptStoreError, StorageError, StoreBusyError, StoreClosedError
from ...model.forks import fork_lock
from ..sql.connection import SQLConnections
from ..sql.group_commit import Group, GroupCommit, acquire
from ..sql.rows import readable_or_bytes
from .opening import (
    MEMORY,
    READ_ONLY,
    Connection,
    connect,
    connect_to_read,
    is_writable,
    prepare,
    translate_errors,
)
from .schema import Renewal, migrate
from .unused_bytes import FileId, UnusedBytes
from .write_queue import WriteQueue, run_unlocked, wait_until

Durability = Literal["full", "normal"]

BUSY_SECONDS: Final = 30.0
SMALL_BYTES: Final = 1 << 25
"""A file of fewer bytes is written anew in memory, and in no time."""

_CHECKPOINT_SECONDS: Final = 0.05
_PAUSE_SECONDS: Final = 0.005
_FILE_BYTES: Final = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
_LOG_IN_USE: Final = (
    "what was erased is out of everyone's reach, but its bytes are still in the file's log, "
    "because another connection keeps reading an older state; once it has ended, erase again "
    "(even nothing) to remove them"
)
_NEW_STATE: Final = "INSERT INTO clock_steps VALUES (-1)", "DELETE FROM clock_steps WHERE seq = -1"


class _Transaction:
    """The open write transaction of *writer*, a connection to the file at *path*."""

    def __init__(self, path: str, writer: Connection) -> None:
        self.location = path
        self._writer = writer

    def begin_part(self) -> None:
        self._writer.execute("SAVEPOINT part")

    def end_part(self, *, first: bool) -> None:
        if not first:
            self._writer.execute("RELEASE part")

    def undo_part(self, *, first: bool) -> bool:
        if not self._writer.in_transaction:  # SQLite undid all: the disk is full
            return False
        if first:
            self._writer.execute("ROLLBACK")
        else:
            self._writer.execute("ROLLBACK TO part")
            self._writer.execute("RELEASE part")
        return not first

    def commit(self) -> None:
        try:
            # Without a write-ahead log, a reader may block the commit for a moment.
            run_unlocked(self._writer, "COMMIT", time.monotonic() + BUSY_SECONDS, _PAUSE_SECONDS)
        except BaseException:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            raise


class Connections(SQLConnections):
    """Open, lock and close the connections to the file at *path* (or ":memory:").

    After ``sleep`` the next use opens connections. Methods of every backend are documented in
    ``SQLConnections``.
    """

    def __init__(
        self, path: str, durability: Durability, renewal: Renewal = lambda *_: nullcontext()
    ) -> None:
        self._renewal = renewal
        self.path = path if path == ":memory:" else os.path.abspath(path)
        # Without a write-ahead log a commit removes a journal, and only EXTRA syncs the removal.
        self._synchronous = "EXTRA" if durability == "full" else "NORMAL"
        self._closed = False
        self._size = 0
        with fork_lock, translate_errors(path):
            # SQLite keeps the log beside the real file.
            self._real_path = os.path.realpath(self.path)
            if path != MEMORY:
                prepare(path)
            self._file_id = None if path == MEMORY else _identify(self.path)[0]
            self.read_only = path != MEMORY and not is_writable(path)
            self._create_locks()
            self._queue = WriteQueue(self.path, BUSY_SECONDS)
            self._open()
            self._unused = UnusedBytes(self._real_path, self._file_id) if self._file_id else None

    def _open(self) -> None:
        self._writer = self._connect()
        try:
            if not self.read_only:
                migrate(self._writer, self.path, self._renewal)
            self._reader = self._writer if self.path == MEMORY else self._connect()
        except BaseException:
            self._writer.close()
            raise
        self._aside: Connection | None = None
        self._asleep = False

    def _connect(self) -> Connection:
        self._check_file()  # or SQLite would create a file that everybody can read
        if self.read_only:
            return connect_to_read(self.path, BUSY_SECONDS)
        return connect(self.path, self._synchronous, BUSY_SECONDS)

    def _check_file(self) -> None:
        """Refuse to continue if the file was moved, replaced or cut short: writes would be lost."""
        if not self._file_id:
            return
        here, size = _identify(self._real_path, follow=False)
        is_link = self.path != self._real_path
        if here != self._file_id or (is_link and _identify(self.path)[0] != self._file_id):
            raise StorageError(self.path, "is gone, or another file is in its place")
        if size < self._size and not self._is_whole(size):
            raise CorruptStoreError(self.path, f"it was cut short, to {size} bytes")
        self._size = size

    def _is_whole(self, size: int) -> bool:
        """Return whether a smaller file has all pages: a second process may have erased records."""
        if not size:
            return False
        try:
            with closing(connect(self.path, self._synchronous, BUSY_SECONDS)) as fresh:
                checked = fresh.execute("PRAGMA quick_check(1)").fetchone()
        except (sqlite3.Error, StorageError):
            return False
        return bool(checked == ("ok",))

    def _create_locks(self) -> None:
        # Reentrant, so that a lock left by an interrupted call does not lock out the same thread.
        self._long_lock = threading.RLock()
        is_file = self.path != MEMORY  # readers in memory would see uncommitted rows
        self._group_commit = GroupCommit(self._begin, shares=is_file)
        self._write_lock = self._group_commit.lock
        self._read_lock = threading.RLock() if is_file else self._write_lock
        self._aside_lock = threading.RLock()
        self._wake_lock = threading.Lock()

    def writing(self) -> AbstractContextManager[sqlite3.Connection]:
        return _Use(self.path, self._enter_group, self._group_commit.leave)

    def _enter_group(self) -> tuple[Connection, Group[_Transaction]]:
        if self.read_only:
            raise StorageError(self.path, READ_ONLY)
        group = self._group_commit.enter()
        return self._writer, group

    def _begin(self, waited: float) -> _Transaction:
        """Begin a transaction for a thread that has *waited* so many seconds for other threads."""
        self._wake()
        try:
            self._writer.wait_for_locks(0)  # the queue is fairer than SQLite
            self._queue.begin(self._writer, waited=waited)
            self._check_file()
            return _Transaction(self.path, self._writer)
        except BaseException:
            if self._writer.in_transaction:  # interrupted right after BEGIN
                self._writer.execute("ROLLBACK")
            raise

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        # A free writer serves first: the page cache stays warm over the store's own writes.
        return _Use(self.path, self._acquire_reader, lambda lock, _: lock.release())

    def _acquire_reader(self) -> tuple[Connection, threading.RLock]:
        """Return a connection to read from, and the lock held for the connection."""
        lock = self._write_lock
        free = acquire(lock, blocking=self.path == MEMORY)
        if free and self._group_commit.is_open:
            lock.release()
            free = False
        if not free:
            lock = self._read_lock
            acquire(lock)
        try:
            self._wake()
            connection = self._writer if free else self._reader
            connection.wait_for_locks(BUSY_SECONDS)
        except BaseException:
            lock.release()
            raise
        return connection, lock

    def read_transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        return _at_one_state(self.reading())

    def aside(self) -> AbstractContextManager[sqlite3.Connection]:
        # A database in memory has one connection, so that everybody waits.
        held = self.reading() if self.path == MEMORY else self._reading_aside()
        return _at_one_state(held)

    @contextmanager
    def _reading_aside(self) -> Iterator[sqlite3.Connection]:
        with translate_errors(self.path), self._aside_lock:
            self._wake()
            self._aside = self._aside or self._connect()
            yield self._aside

    @contextmanager
    def long_read_transaction(self) -> Iterator[sqlite3.Connection]:
        if self.path == MEMORY:
            with closing(sqlite3.connect(MEMORY)) as copy:
                with self.reading() as connection:
                    connection.backup(copy)
                yield copy
            return
        with translate_errors(self.path), self._long_lock:
            if self._closed:
                raise StoreClosedError
            with closing(self._connect()) as connection:
                connection.execute("BEGIN")
                connection.text_factory = readable_or_bytes
                yield connection

    def rewrite(self, patience: float) -> None:
        """Write the file anew, without free space, and empty the log; readers continue.

        The log cannot be emptied while somebody reads an older state: wait *patience* seconds.
        """
        with translate_errors(self.path):
            with self._only_writer(), closing(self._connect()) as connection:
                self._vacuum(connection)
                self._size = 0  # unknown until the log is emptied
            deadline = time.monotonic() + patience
            if not wait_until(self._empty_log, deadline, _PAUSE_SECONDS):
                raise StoreBusyError(self.path, _LOG_IN_USE)

    def _vacuum(self, connection: Connection) -> None:
        connection.wait_for_locks(0)
        (size,) = connection.execute(_FILE_BYTES).fetchone()
        if size > SMALL_BYTES:  # the copy has nothing but what stays
            connection.execute("PRAGMA temp_store = FILE")
        self._queue.begin(connection, "VACUUM")
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")  # before readers have to wait

    def blank(self, patience: float) -> None:
        """Write zeros where copies of erased rows may be left, and empty the log.

        Wait *patience* seconds as ``rewrite`` does, and rewrite a file where zeros cannot be put.
        """
        deadline = time.monotonic() + patience
        # The aside lock comes before the write lock, or writers would wait for long reads; and a
        # connection that has pages in memory could bring former bytes back.
        with (
            translate_errors(self.path),
            self._long_lock,
            self._aside_lock,
            self._only_writer(),
            closing(self._connect()) as connection,
        ):
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            if (unused := self._unused) is None or not unused.can_blank(pages):
                self.rewrite(patience)
                return
            blanked = partial(self._try_to_blank, connection, unused)
            if not wait_until(blanked, deadline, _PAUSE_SECONDS):
                raise StoreBusyError(self.path, _LOG_IN_USE)

    def _try_to_blank(self, connection: Connection, unused: UnusedBytes) -> bool:
        """Blank the file unless the log is in use; return whether the file was blanked."""
        with self._queue.turn():
            if not self._empty_log():
                return False
            deadline = time.monotonic() + BUSY_SECONDS
            connection.wait_for_locks(0)
            run_unlocked(connection, "BEGIN IMMEDIATE", deadline, _PAUSE_SECONDS)
            try:
                if _identify(f"{self._real_path}-wal")[1]:
                    return False  # somebody wrote out of turn
                self._check_file()
                (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
                unused.blank(page_bytes)
                for statement in _NEW_STATE:  # so that others read the pages in memory again
                    connection.execute(statement)
                run_unlocked(connection, "COMMIT", deadline, _PAUSE_SECONDS)
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
        return True

    def _empty_log(self) -> bool:
        """Empty the log, with no transaction open on any connection; return whether empty."""
        with self._long_lock, self._aside_lock, self._only_writer(), self._read_lock:
            self._writer.wait_for_locks(_CHECKPOINT_SECONDS)  # short, since other writers wait
            blocked, *_ = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not blocked

    @contextmanager
    def _only_writer(self) -> Iterator[None]:
        """Let other threads read only, with no write transaction open."""
        with self._long_lock, self._write_lock:
            self._wake()
            self._group_commit.commit()
            yield

    def close(self) -> None:
        with self._long_lock, self._aside_lock, self._write_lock:
            if self._closed:
                return
            self._group_commit.commit()
            self._closed = True
            self._writer.close()
            if not self.read_only:
                self._queue.remove()
            with self._read_lock:
                self._reader.close()
            if self._aside is not None:
                self._aside.close()
            if self._unused is not None:
                self._unused.close()

    def sleep(self) -> None:
        self._long_lock.acquire()
        self._aside_lock.acquire()
        self._write_lock.acquire()
        self._group_commit.commit()
        self._read_lock.acquire()
        if not (self._closed or self._asleep or self.path == MEMORY):
            self._asleep = True
            self._writer.close()
            self._reader.close()
            if self._aside is not None:
                self._aside.close()

    def resume(self, *, in_child: bool) -> None:
        if in_child:
            self._create_locks()
            return
        self._read_lock.release()
        self._write_lock.release()
        self._aside_lock.release()
        self._long_lock.release()

    def _wake(self) -> None:
        """Open the connections after ``sleep``; called with a lock held."""
        if self._closed:
            raise StoreClosedError
        if self._asleep:
            with self._wake_lock:
                if self._asleep:
                    self._open()


class _Use(translate_errors):
    """A connection in use, from *enter* to *leave*; a plain class is faster than a generator."""

    def __init__(
        self,
        path: str,
        enter: Callable[[], tuple[Connection, Any]],
        leave: Callable[[Any, BaseException | None], None],
    ) -> None:
        super().__init__(path)
        self._enter = enter
        self._leave = leave

    def __enter__(self) -> sqlite3.Connection:  # type: ignore[override]
        try:
            connection, self._held = self._enter()
        except BaseException as error:
            super().__exit__(type(error), error, None)
            raise
        return connection  # nothing before this line, or an interrupt would leave the lock locked

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        try:
            self._leave(self._held, error)
        except BaseException as failed:
            super().__exit__(type(failed), failed, None)
            raise
        super().__exit__(kind, error, trace)


@contextmanager
def _at_one_state(
    held: AbstractContextManager[sqlite3.Connection],
) -> Iterator[sqlite3.Connection]:
    """Hold a connection whose statements see the same state of the file."""
    with held as connection:
        try:
            connection.execute("BEGIN")
            yield connection
        finally:
            if connection.in_transaction:
                connection.execute("COMMIT")


def _identify(path: str, *, follow: bool = True) -> tuple[FileId | None, int]:
    """Return the device and inode of the file, None for a missing file, and the size in bytes."""
    try:
        found = os.stat(path, follow_symlinks=follow)
    except OSError:
        return None, 0
    return (found.st_dev, found.st_ino), found.st_size
