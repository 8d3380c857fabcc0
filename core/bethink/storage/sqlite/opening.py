"""Files and connections of SQLite: files are private, foreign files refused, writes durable."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from ...errors import (
    DAMAGE_REMEDY,
    CorruptStoreError,
    NotABethinkFileError,
    StorageError,
    StoreBusyError,
)
from ..folders import make_folder, replace_file, sync
from .schema import APPLICATION_ID, LATEST, version_of
from .write_queue import run_unlocked

MEMORY: Final = ":memory:"
READ_ONLY: Final = "cannot be written: there is no permission for the file or its folder"
_PAUSE_SECONDS: Final = 0.01
_PRAGMAS: Final = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -16384",
    "PRAGMA journal_size_limit = 16777216",  # bytes left of a larger log, once the file has all
)


def prepare(path: str) -> None:
    """Create a missing file at *path*; refuse a foreign file without a change.

    Only SQLite looks into the file: closing a descriptor of our own would drop the locks of all
    connections of this process.
    """
    _create_private(path)
    pages = f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1"  # the log is not replayed
    with closing(sqlite3.connect(pages, uri=True)) as connection:
        try:
            if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
                version_of(connection, path)
        except sqlite3.DatabaseError as error:
            # After a crash, SQLite repairs pages from the log, and the first page from the
            # rollback journal.
            torn = os.path.exists(f"{os.path.realpath(path)}-journal")
            if "malformed" not in str(error) and not torn:
                raise


class Connection(sqlite3.Connection):
    """A connection in autocommit mode."""

    _waits: float | None = None

    def wait_for_locks(self, seconds: float) -> None:
        """Set the busy timeout."""
        if self._waits != seconds:
            self.execute(f"PRAGMA busy_timeout = {int(1000 * seconds)}")
            self._waits = seconds


@contextmanager
def _connecting(database: str, patience: float, *, uri: bool = False) -> Iterator[Connection]:
    """Open and set up a connection, closed again if the body fails."""
    connection = sqlite3.connect(
        database,
        isolation_level=None,
        check_same_thread=False,
        factory=Connection,
        cached_statements=256,
        uri=uri,
    )
    try:
        connection.wait_for_locks(patience)
        yield connection
        for pragma in _PRAGMAS:
            connection.execute(pragma)
    except BaseException:
        connection.close()
        raise


def connect(path: str, synchronous: str, patience: float) -> Connection:
    """Return a connection that waits *patience* seconds for locks."""
    with _connecting(path, patience) as connection:
        version_of(connection, path)
        # SQLite's busy timeout does not cover the change to a write-ahead log.
        deadline = time.monotonic() + patience
        run_unlocked(connection, "PRAGMA journal_mode = WAL", deadline, _PAUSE_SECONDS)
        connection.execute(f"PRAGMA synchronous = {synchronous}")
    return connection


def is_writable(path: str) -> bool:
    """Return whether the file at *path* and the folder can be written."""
    real_path = os.path.realpath(path)
    return _may(os.W_OK, real_path) and _may(os.W_OK, os.path.dirname(real_path))


def _may(way: int, path: str) -> bool:
    return os.access(path, way, effective_ids=os.access in os.supports_effective_ids)


def connect_to_read(path: str, patience: float) -> Connection:
    """Return a connection to a read-only file.

    SQLite reads a log beside the file only with the log's index. Without a log, nobody else has the
    file open, and SQLite needs no index.
    """
    real_path = os.path.realpath(path)
    log = os.path.exists(f"{real_path}-wal") and os.path.getsize(f"{real_path}-wal")
    address = f"{Path(real_path).as_uri()}?mode=ro{'' if log else '&immutable=1'}"
    with _connecting(address, patience, uri=True) as connection:
        if (version := version_of(connection, path)) != LATEST:
            raise StorageError(path, f"needs an upgrade from version {version}, but {READ_ONLY}")
    return connection


def copy_to(connection: sqlite3.Connection, path: str, target: str) -> None:
    """Copy the file at *path*, as seen by *connection*, into the new file *target*.

    *target* appears complete, checked and private, or not at all.
    """
    part = f"{target}.part"
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError as error:
        raise StorageError(part, error.strerror or str(error)) from error
    try:
        with closing(sqlite3.connect(part)) as copy:
            connection.backup(copy)
            (found,) = copy.execute("PRAGMA integrity_check(1)").fetchone()
        if found != "ok":
            raise CorruptStoreError(path, f"its copy is damaged: {found}")
        sync(part)
        replace_file(part, target)
    except StorageError:
        raise
    except (OSError, sqlite3.Error) as error:
        if getattr(error, "sqlite_errorname", "SQLITE_FULL") != "SQLITE_FULL":
            raise
        raise StorageError(target, f"the copy cannot be written: {error}") from error
    finally:
        for left in (part, f"{part}-journal"):
            Path(left).unlink(missing_ok=True)


class translate_errors:  # lower case like contextlib.suppress
    """Raise the store's errors in place of sqlite3's, with the path of the file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        if error is not None and (own := _translate(self.path, error)) is not None:
            raise own from error


def _translate(path: str, error: BaseException) -> StorageError | None:
    reason = str(error)
    if isinstance(error, CorruptStoreError) and error.path is None:
        return type(error)(path, error.reason)
    if isinstance(error, OverflowError) and "SQLite" in reason:
        return CorruptStoreError(path, f"damaged number in the store; {DAMAGE_REMEDY}")
    if isinstance(error, sqlite3.OperationalError) and "decode to UTF-8" not in reason:
        if "locked" in reason or "busy" in reason:
            return StoreBusyError(path)
        if "unable to open" in reason and not _may(os.R_OK, path):
            reason = "cannot be read: there is no permission for the file or its folder"
        elif getattr(error, "sqlite_errorname", "") == "SQLITE_IOERR_SHMSIZE":
            reason = "cannot be opened: the disk is full"
        return StorageError(path, reason)
    if isinstance(error, sqlite3.DatabaseError):
        if "not a database" in reason:
            return NotABethinkFileError(path)
        damaged = "malformed" in reason or "decode" in reason
        if damaged:
            return CorruptStoreError(path, f"{reason}; {DAMAGE_REMEDY}")
        return StorageError(path, reason)
    if isinstance(error, UnicodeDecodeError):
        return CorruptStoreError(path)  # sqlite3 cannot decode SQLite's message of the damage
    return None


def _create_private(path: str) -> None:
    """Create a missing file, readable by the owner only; SQLite would create a file for all.

    A link to a missing file stays a link. Refuse pipes and devices, since reads might never end.
    """
    if os.path.isdir(path):
        raise StorageError(path, "is a directory, not a file")
    if os.path.exists(path) and not os.path.isfile(path):
        raise StorageError(path, "is a pipe or a device, not a file")
    try:
        make_folder(Path(path).parent)
        os.close(os.open(os.path.realpath(path), os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        if os.path.isfile(path) and os.path.getsize(path) == 1:  # SQLite takes the file for empty
            raise NotABethinkFileError(path) from None
    except OSError as error:
        raise StorageError(path, error.strerror or str(error)) from error
