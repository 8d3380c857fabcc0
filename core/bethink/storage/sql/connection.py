"""The connections that shared statements run on: a subset of ``sqlite3``'s interface."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, closing
from typing import Any, Protocol


class Cursor(Protocol):
    """The result of a statement, as ``sqlite3.Cursor`` is."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...
    def close(self) -> None: ...


class Connection(Protocol):
    """A connection that runs statements in SQLite's dialect, as ``sqlite3.Connection`` does."""

    text_factory: Any

    @property
    def IntegrityError(self) -> type[Exception] | tuple[()]:
        """The error of a statement that a unique index refuses, if a transaction goes on after."""

    @property
    def Error(self) -> type[Exception]: ...
    def execute(self, sql: str, parameters: Any = ..., /) -> Cursor: ...
    def executemany(self, sql: str, parameters: Iterable[Any], /) -> Any: ...
    def blobopen(self, table: str, column: str, row: int, /, *, readonly: bool) -> Any: ...


class SQLConnections(Protocol):
    """The connections to one store, each for a single thread at a time."""

    def writing(self) -> AbstractContextManager[Connection]:
        """Hold the write transaction: committed at the end of the body, or undone on an exception.

        Waiting threads enter the same transaction, and all return after the shared commit. A body
        that fails undoes only the body's own work.
        """

    def reading(self) -> AbstractContextManager[Connection]:
        """Hold a connection for single statements."""

    def rows(self, sql: str, *parameters: object) -> list[Any]:
        """Return all rows of a single statement."""
        with self.reading() as connection, closing(connection.execute(sql, parameters)) as asked:
            self.finish_reading(connection)
            return asked.fetchall()

    def read_transaction(self) -> AbstractContextManager[Connection]:
        """Hold a connection for several statements that see the same state."""

    def finish_reading(self, connection: Connection) -> None:
        """Note that no statement follows in a read transaction, though answers are to be read."""
        return

    def aside(self) -> AbstractContextManager[Connection]:
        """Hold a state for a long read, while readers and writers continue."""

    def sleep(self) -> None:
        """Finish current work, close the connections and hold still until ``resume``."""

    def resume(self, *, in_child: bool) -> None:
        """Continue after ``sleep``; a child creates new locks."""

    def close(self) -> None:
        """Close all connections; a second call does nothing."""

    def long_read_transaction(self) -> AbstractContextManager[Connection]:
        """Hold a state for long, through a connection apart."""
