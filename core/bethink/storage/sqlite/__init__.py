"""The default backend: one SQLite file in write-ahead-log mode."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final, Literal

from ...errors import StorageError
from ...model.port import Place
from ...model.progress import Tell
from ..anchors import Anchor
from ..sql.authenticator import NO_AUTH
from ..sql.backend import SQLBackend
from ..sql.connection import Connection
from ..sql.erasing import ERASED, SCRUBBED
from .connections import BUSY_SECONDS, SMALL_BYTES, Connections, Durability
from .inspection import SQLiteInspection
from .keyed_file import open_keyed_file, renew_codes
from .opening import MEMORY, copy_to
from .schema import remove_backups
from .writer import SQLiteWriter

__all__ = ["SQLiteBackend"]

_MIN_FREE_SHARE: Final = 1 / 16
_BYTES_LEFT: Final = (
    "what was erased is out of everyone's reach, but its bytes may still be in the file: they go "
    "at the next opening, or erase again (even nothing)"
)

_logger = logging.getLogger(__name__)


class SQLiteBackend(SQLBackend):
    """Keep records, vectors and journal in the file at *location* (or ":memory:").

    The methods are documented in ``FullBackend``.
    """

    _connections: Connections
    is_remote = False
    vector_indexes = None

    def __init__(
        self,
        location: str = ":memory:",
        *,
        durability: Durability = "full",
        integrity_key: bytes | None = None,
        anchor: Anchor | Literal[False] | None = None,
    ) -> None:
        renewal = partial(renew_codes, key=integrity_key)
        files = Connections(location, durability, renewal)
        self.location = files.path
        try:
            self._keyed_file = open_keyed_file(files, integrity_key, anchor)
        except BaseException:
            files.close()
            raise
        super().__init__(files, NO_AUTH if self._keyed_file is None else self._keyed_file.auth)
        try:
            self._scrub(patience=0)
        except StorageError as error:
            _logger.warning("what was erased from %s is not yet removed: %s", location, error)

    @property
    def read_only(self) -> bool:
        return self._connections.read_only

    @contextmanager
    def write(self, places: Collection[Place] = ()) -> Iterator[SQLiteWriter]:
        if self._keyed_file is not None:
            with self._keyed_file.write() as writer:
                yield writer
        else:
            with self._connections.writing() as connection:
                yield SQLiteWriter(connection)

    def _file_facts(self, connection: Connection) -> tuple[int, int, int]:
        size, free, version = connection.execute(
            "SELECT page_count * page_size, freelist_count * page_size, user_version FROM "
            "pragma_page_count, pragma_page_size, pragma_freelist_count, pragma_user_version"
        ).fetchone()
        return size, free, version

    @contextmanager
    def inspect(self, tell: Tell | None = None) -> Iterator[SQLiteInspection]:
        known = None if self._keyed_file is None else self._keyed_file.read_anchor()
        with self._connections.long_read_transaction() as connection:
            yield SQLiteInspection(connection, self.location, self._keyed_file, known, tell)

    def scrub(self, *, shrink: bool = False) -> None:
        try:
            self._scrub(BUSY_SECONDS, shrink)
        except StorageError as error:
            if type(error) is StorageError:  # such as a full disk; other errors tell enough
                error = StorageError(self.location, f"{error.reason}; {_BYTES_LEFT}")
            raise error from error.__cause__

    def _scrub(self, patience: float, shrink: bool = False) -> None:
        erased = self.setting(ERASED)
        if erased == self.setting(SCRUBBED):
            return
        if self.location != MEMORY:
            if shrink and self._can_shrink():
                self._connections.rewrite(patience)
            else:
                self._connections.blank(patience)
            remove_backups(self.location)
        with self.write() as writer:
            writer.set_setting(SCRUBBED, str(erased))

    def _can_shrink(self) -> bool:
        """Return whether writing the file anew would free much, or takes no time."""
        with self._connections.reading() as connection:
            size, free, _ = self._file_facts(connection)
        return size < SMALL_BYTES or free > size * _MIN_FREE_SHARE

    def backup(self, target: str) -> bool:
        with self._connections.long_read_transaction() as connection:
            copy_to(connection, self.location, target)
        return True
