"""A connection to a database, which takes statements in SQLite's dialect."""

from __future__ import annotations

import select
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import BytesIO
from typing import Any, Final

import psycopg
from psycopg import errors
from psycopg.pq import PipelineStatus, TransactionStatus

from ..sql.connection import Cursor
from ..urls import split, without_password
from .dialect import to_parameters, to_postgres
from .tenants import WHOLE_JOURNAL
from .translation import translate

ENCODING: Final = "UTF8"
"""Of texts on the way, whatever the database or PGCLIENTENCODING says."""

_MOST_HELD: Final = 1024  # rows
GONE: Final = (errors.UndefinedTable, errors.InvalidSchemaName)
"""What the server says of a schema that has moved."""


class PipelineCursor(psycopg.Cursor[Any]):
    """A cursor that also knows the number of changed rows inside a pipeline."""

    @property
    def rowcount(self) -> int:
        """The number of changed rows, once the server has answered."""
        if self.connection.info.pipeline_status:
            with self.connection.pipeline():
                pass  # the end of a pipeline inside waits for all answers
        return super().rowcount


class PostgresConnection:
    """A connection that takes statements in SQLite's dialect."""

    Error = psycopg.Error
    IntegrityError: tuple[()] = ()  # a refusal ends the transaction; no writer goes on
    text_factory: Any = str  # texts of Postgres are always well-formed

    def __init__(
        self,
        connect: Callable[[], psycopg.Connection[Any]],
        reconnect: Callable[[], psycopg.Connection[Any]],
        follow: Callable[[], psycopg.Connection[Any] | None],
        schema: str,
        *,
        sees_all: bool = True,
    ) -> None:
        self._reconnect = reconnect
        self._follow = follow
        self.schema = schema
        self._sees_all = sees_all
        self.raw = connect()
        self.in_transaction = False
        self.facts = dict[str, str]()
        """The settings, as the write transaction sees them."""
        self.last: Any = None
        """Position, link and time of the last journal entry; None for an empty journal."""
        self.has_waited = False
        """Whether another held the write lock, so that others may wait for the lock now."""
        self.held = dict[str, list[Any]]()
        """New rows by statement, to insert before the next statement that is no insert."""
        self._pipeline = ExitStack()
        self._before: tuple[Any, dict[str, str]] = None, {}
        self._commit: psycopg.Cursor[Any] | None = None

    @property
    def is_idle(self) -> bool:
        """Whether the server waits for a statement, outside of any transaction."""
        info = self.raw.info
        is_outside = info.transaction_status is TransactionStatus.IDLE
        return is_outside and info.pipeline_status is PipelineStatus.OFF

    def execute(self, sql: str, parameters: Any = (), /) -> Cursor:
        """Run a statement, over a new connection if the last broke while nobody used it.

        A store that has moved is followed to its new place.
        """
        if self.held:
            self.send()
        if not self._sees_all:
            sql = WHOLE_JOURNAL.get(sql, sql)
        statement, given = to_postgres(sql, self.schema), to_parameters(parameters)
        try:
            return self.raw.execute(statement, given, binary=True)
        except psycopg.OperationalError:
            if self.in_transaction or not self.raw.closed:
                raise
            self.raw = self._reconnect()
        except GONE:
            if self.in_transaction or not self.follow():
                raise
        return self.raw.execute(statement, given, binary=True)

    def follow(self) -> bool:
        """Connect to the place where the store has moved; return whether the store can move."""
        raw = self._follow()
        if raw is None:
            return False
        self.raw.close()
        self.raw = raw
        return True

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> None:
        """Run a statement once for each of *parameters*; new rows are held until ``send``."""
        is_insert = sql.startswith("INSERT")
        if self.held and not is_insert:
            self.send()
        if given := [to_parameters(each) for each in parameters]:
            self.held.setdefault(to_postgres(sql, self.schema), []).extend(given)
        # Row security may ask one table about the new rows of another.
        may_wait = is_insert and self._sees_all
        if not may_wait or sum(map(len, self.held.values())) > _MOST_HELD:
            self.send()

    def send(self) -> None:
        """Insert the held rows: one row of each of several tables with one statement."""
        held, self.held = self.held, {}
        if len(held) > 1 and all(len(rows) == 1 for rows in held.values()):
            *others, last = held
            together = ", ".join(f"w{number} AS ({each})" for number, each in enumerate(others))
            given = [value for (row,) in held.values() for value in row]
            self.raw.execute(f"WITH {together} {last}", given, binary=True)
            return
        for statement, rows in held.items():
            if len(rows) == 1:  # a single statement waits for no answer
                self.raw.execute(statement, rows[0], binary=True)
            else:
                with self.raw.cursor() as cursor:
                    cursor.executemany(statement, rows)

    def begin_part(self, *, first: bool) -> None:
        """Begin a part of the write transaction, of which statements travel together.

        A part that is not the *first* can be undone alone.
        """
        self.in_transaction = True
        self.held.clear()
        self._before = self.last, dict(self.facts)
        self._commit = None
        self._pipeline.enter_context(self.raw.pipeline())
        if not first:
            self.raw.execute("SAVEPOINT part")

    def end_part(self) -> None:
        """Wait until the server has taken all of a part; the commit ends the part's savepoint."""
        self.send()
        self._pipeline.close()

    def undo_part(self) -> bool:
        """Undo a part that is not the first; return whether the transaction goes on."""
        self.held.clear()
        self.last, self.facts = self._before
        try:
            with suppress(psycopg.Error):  # of the statement that the server refused
                self._pipeline.close()
            self.raw.execute("ROLLBACK TO part; RELEASE part", prepare=False)
        except psycopg.Error:
            return False
        return True

    def commit(self, flush: str) -> None:
        """Commit the write transaction, and run the statement *flush* if not empty."""
        if not self.raw.info.pipeline_status:
            self._pipeline.enter_context(self.raw.pipeline())
        self.send()
        self._commit = self.raw.execute("COMMIT")
        if flush:
            self.raw.execute(flush)
        self._pipeline.close()
        self.in_transaction = False

    @property
    def is_committed(self) -> bool:
        """Whether the server has said that the last write transaction is committed."""
        return self._commit is not None and self._commit.statusmessage == "COMMIT"

    def end_transaction(self) -> None:
        """Leave a write transaction that failed; the server may still hold the transaction open."""
        with suppress(psycopg.Error):
            self._pipeline.close()
        self.held.clear()
        self.in_transaction = False

    def blobopen(self, table: str, column: str, row: int, /, *, readonly: bool) -> BytesIO:
        """Return the bytes of a value."""
        found = self.execute(f"SELECT {column} FROM {table} WHERE number = ?", (row,)).fetchone()
        return BytesIO(found[0])


@contextmanager
def pipelined(raw: psycopg.Connection[Any]) -> Iterator[None]:
    """Send the statements of the body together; psycopg would log a second error as a warning."""
    pipeline = raw.pipeline()
    pipeline.__enter__()
    try:
        yield
    except BaseException:
        with suppress(psycopg.Error):
            pipeline.__exit__(None, None, None)
        raise
    pipeline.__exit__(None, None, None)


def has_ended(raw: psycopg.Connection[Any]) -> bool:
    """Tell whether the server may have ended an idle connection: it says nothing else unasked."""
    if not hasattr(select, "poll"):  # on Windows, where any socket may be selected
        return bool(select.select([raw], [], [], 0)[0])
    waiting = select.poll()
    waiting.register(raw, select.POLLIN)
    return bool(waiting.poll(0))


def has_broken(raw: psycopg.Connection[Any], error: BaseException) -> bool:
    """Return whether the connection ended without an answer, or ends with a shutdown."""
    if not isinstance(error, psycopg.OperationalError):
        return False
    return raw.closed or error.sqlstate is None or error.sqlstate.startswith("57P")


@contextmanager
def connected(url: str) -> Iterator[psycopg.Connection[Any]]:
    """Hold a connection of its own to the database at *url*."""
    try:
        with psycopg.connect(
            split(url)[0], autocommit=True, prepare_threshold=None, client_encoding=ENCODING
        ) as connection:
            yield connection
    except psycopg.Error as error:
        raise translate(without_password(url), error) from error
