"""Opening a file: made private, refused if it is another program's, set up for durable writes."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Final

from ...errors import CorruptStoreError, NotABethinkFileError, StorageError, StoreBusyError
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
)


def prepare(path: str) -> None:
    """Create the file at *path* if there is none; refuse what is not a bethink file, untouched.

    The file may be open in this process: only SQLite looks into the file. A descriptor of our own
    would, when closed, drop the locks that the connections of this process hold.
    """
    _create_private(path)
    pages = f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1"  # or its log would be replayed
    with closing(sqlite3.connect(pages, uri=True)) as connection:
        try:
            if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
                version_of(connection, path)
        except sqlite3.DatabaseError as error:
            # If a crash cut a checkpoint short, the log mends the pages; if a crash tore the first
            # page, SQLite restores the page from the rollback journal on the first read.
            torn = os.path.exists(f"{os.path.realpath(path)}-journal")
            if "malformed" not in str(error) and not torn:
                raise


class Connection(sqlite3.Connection):
    """A connection in autocommit mode; ``wait_for_locks`` says how long."""

    _waits: float | None = None

    def wait_for_locks(self, seconds: float) -> None:
        """From now on, wait so long for locks of other connections."""
        if self._waits != seconds:
            self.execute(f"PRAGMA busy_timeout = {int(1000 * seconds)}")
            self._waits = seconds


def connect(path: str, synchronous: str, patience: float) -> Connection:
    """Return a connection that waits *patience* seconds for locks."""
    connection = sqlite3.connect(
        path,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
        factory=Connection,
    )
    try:
        connection.wait_for_locks(patience)
        version_of(connection, path)
        # SQLite's busy handler does not cover this step.
        run_unlocked(
            connection, "PRAGMA journal_mode = WAL", time.monotonic() + patience, _PAUSE_SECONDS
        )
        for pragma in (*_PRAGMAS, f"PRAGMA synchronous = {synchronous}"):
            connection.execute(pragma)
    except BaseException:
        connection.close()
        raise
    return connection


def is_writable(path: str) -> bool:
    """Return whether the file at *path* can be written, and files be made beside the file."""
    place = os.path.realpath(path)
    effective = os.access in os.supports_effective_ids
    return all(
        os.access(each, os.W_OK, effective_ids=effective)
        for each in (place, os.path.dirname(place))
    )


def connect_to_read(path: str, patience: float) -> Connection:
    """Return a connection to a file that cannot be written.

    SQLite reads a log beside the file if the log's index is there, too. Without a log, nobody
    else has the file open, and SQLite needs no index.
    """
    place = os.path.realpath(path)
    log = os.path.exists(f"{place}-wal") and os.path.getsize(f"{place}-wal")
    connection = sqlite3.connect(
        f"{Path(place).as_uri()}?mode=ro{'' if log else '&immutable=1'}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        factory=Connection,
    )
    try:
        connection.wait_for_locks(patience)
        if (version := version_of(connection, path)) != LATEST:
            raise StorageError(path, f"needs an upgrade from version {version}, but {READ_ONLY}")
        for pragma in _PRAGMAS:
            connection.execute(pragma)
    except BaseException:
        connection.close()
        raise
    return connection


def copy_to(connection: sqlite3.Connection, path: str, target: str) -> None:
    """Copy what *connection* sees of the file at *path* into the new file *target*.

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
    except OSError as error:
        raise StorageError(target, f"the copy cannot be written: {error}") from error
    finally:
        Path(part).unlink(missing_ok=True)


class translate_errors:  # lower case like contextlib.suppress, which it resembles
    """Turn sqlite3's errors into the store's own, and name the file that is damaged."""

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
        return CorruptStoreError(path, "damaged number in the store")
    if isinstance(error, sqlite3.OperationalError) and "decode to UTF-8" not in reason:
        busy = "locked" in reason or "busy" in reason
        return StoreBusyError(path) if busy else StorageError(path, reason)
    if isinstance(error, sqlite3.DatabaseError):
        if "not a database" in reason:
            return NotABethinkFileError(path)
        damaged = "malformed" in reason or "decode" in reason
        return CorruptStoreError(path, reason) if damaged else StorageError(path, reason)
    if isinstance(error, UnicodeDecodeError):
        return CorruptStoreError(path)  # sqlite3 cannot even read what SQLite says of the damage
    return None


def _create_private(path: str) -> None:
    """Create the file readable by its owner only, before SQLite would create it for all.

    Refuse what is no regular file: a pipe or a device might never end.
    """
    if os.path.isdir(path):
        raise StorageError(path, "is a directory, not a file")
    if os.path.exists(path) and not os.path.isfile(path):
        raise StorageError(path, "is a pipe or a device, not a file")
    try:
        make_folder(Path(path).parent)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        if os.path.isfile(path) and os.path.getsize(path) == 1:  # which SQLite takes for empty
            raise NotABethinkFileError(path) from None
    except OSError as error:
        raise StorageError(path, error.strerror or str(error)) from error
