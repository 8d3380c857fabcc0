"""A connection to a database, which takes statements in SQLite's dialect."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import BytesIO
from typing import Any, Final, TypeAlias

import psycopg
from psycopg import errors
from psycopg.pq import PipelineStatus, TransactionStatus

from ...model.port import Place
from ..sql.connection import Cursor
from ..sql.rows import COLUMNS
from ..urls import split, without_password
from .dialect import to_parameters, to_postgres
from .tenants import WHOLE_JOURNAL
from .translation import translate

ENCODING: Final = "UTF8"
"""Of texts on the way, whatever the database or PGCLIENTENCODING says."""

_MANY_ROWS: Final = 1024
_LONG_SECONDS: Final = 1
IDLE_LIMIT: Final = "idle_in_transaction_session_timeout"
_PATIENCE: Final = f"SET LOCAL {IDLE_LIMIT} = '300s'"
"""A verb over many rows may compute for long between two statements."""

_ENDS: Final = ("57P", "25P03")  # errors with which the server ends the connection
GONE: Final = (errors.UndefinedTable, errors.InvalidSchemaName)
"""What the server says of a schema that has moved."""


_HOLDERS: Final = (
    "SELECT namespace, key, row, {columns} FROM {schema}.records "
    "JOIN unnest(%s::text[], %s::text[]) AS wanted (place, word) "
    "ON namespace = place AND key = word WHERE state = 'live'"
)

Holders: TypeAlias = dict[Place, tuple[Any, ...] | None]
"""The row and the columns of the record at each place, None where there is none."""


def holders_sql(schema: str, places: Collection[Place]) -> tuple[str, list[list[str]]]:
    """Return the statement for the live records at *places*, and the parameters."""
    statement = _HOLDERS.replace("{schema}", schema).replace("{columns}", COLUMNS)
    return statement, [list(each) for each in zip(*places, strict=True)]


def to_holders(places: Collection[Place], found: Iterable[Any]) -> Holders:
    """Return the answer to ``holders_sql``; *places* without a record are named, too."""
    return dict.fromkeys(places) | {(name, key): tuple(rest) for name, key, *rest in found}


class Answer:
    """The answer to a *statement* that waits on *connection*, asked for on first use."""

    __slots__ = ("_connection", "_given", "_many", "_statement", "cursor")

    def __init__(
        self, connection: PostgresConnection, statement: str, given: Any, *, many: bool = False
    ) -> None:
        self._connection = connection
        self._statement = statement
        self._given = given
        self._many = many
        self.cursor: psycopg.Cursor[Any] | None = None
        """Holds the answer, once the statement was sent."""

    def send(self, raw: psycopg.Connection[Any]) -> None:
        """Send the statement."""
        if self._many:
            self.cursor = raw.cursor()
            self.cursor.executemany(self._statement, self._given)
        else:
            self.cursor = raw.execute(self._statement, self._given, binary=True)

    def _asked(self) -> psycopg.Cursor[Any]:
        if self.cursor is None:
            self._connection.send()
        assert self.cursor is not None
        return self.cursor

    @property
    def rowcount(self) -> int:
        """The number of changed rows."""
        return self._asked().rowcount

    def fetchone(self) -> Any:
        """Return the next row, None after the last."""
        return self._asked().fetchone()

    def fetchall(self) -> list[Any]:
        """Return all remaining rows."""
        return self._asked().fetchall()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._asked())

    def close(self) -> None:
        """Release the rows."""
        if self.cursor is not None:
            self.cursor.close()


class Blob:
    """The bytes of a value, asked for on first use."""

    def __init__(self, asked: Cursor) -> None:
        self._asked = asked
        self._bytes: BytesIO | None = None

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most *size* if not negative."""
        if self._bytes is None:
            self._bytes = BytesIO(self._asked.fetchone()[0])
        return self._bytes.read(size)

    def close(self) -> None:
        """Release the bytes."""
        self._asked.close()
        self._bytes = None


class PostgresConnection:
    """A connection that takes statements in SQLite's dialect.

    Inside a transaction statements wait, and travel together as soon as an answer is needed, in a
    pipeline from the first statement to the last. In between the server counts the idle time, so a
    frozen process loses the write lock.
    """

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
        self.has_finished = False
        """Whether the end of the transaction was asked for."""
        self.facts = dict[str, str]()
        """The settings, as the write transaction sees them."""
        self.last: Any = None
        """Position, link and time of the last journal entry; None for an empty journal."""
        self.has_waited = False
        """Whether another held the write lock, so that others may wait for the lock now."""
        self.known: Holders = {}
        """The holders of keys asked for with the lock, until the next statement."""
        self.held = dict[str, list[Any]]()
        """New rows by statement, to insert before the next statement that is no insert."""
        self._rows = 0
        self._waiting: list[Answer] = []
        self._pipeline: psycopg.Pipeline | None = None
        self._exit = ExitStack()
        self._long_from: float | None = None
        self._before: tuple[Any, dict[str, str]] = None, {}
        self._savepoint: Answer | None = None
        self._commit: Answer | None = None

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
        if not self._sees_all:
            sql = WHOLE_JOURNAL.get(sql, sql)
        statement, given = to_postgres(sql, self.schema), to_parameters(parameters)
        return self.ask(statement, given) if self.in_transaction else self._run(statement, given)

    def _run(self, statement: str, given: Any, tries: int = 2) -> Cursor:
        try:
            return self.raw.execute(statement, given, binary=True)
        except psycopg.OperationalError:
            if not (tries and self.raw.closed):
                raise
            self.raw = self._reconnect()
        except GONE:
            if not (tries and self.follow()):
                raise
        return self._run(statement, given, tries - 1)

    def ask(self, statement: str, given: Any = None) -> Answer:
        """Let a statement in the server's own dialect wait."""
        assert not self.has_finished, "a statement after the last of a transaction"
        self._release()
        self.known = {}
        answer = Answer(self, statement, given)
        self._waiting.append(answer)
        return answer

    def holders(self, places: Collection[Place]) -> Holders:
        """Return row and record of the live records at *places*, as columns."""
        if self.known.keys() >= set(places):
            return self.known
        return to_holders((), self.ask(*holders_sql(self.schema, places)))

    def finish_reading(self) -> None:
        """Let the end of the read transaction wait, to travel with the last statements."""
        if self.in_transaction and not self.has_finished:
            self.ask("COMMIT")  # after a ROLLBACK psycopg would forget all prepared statements
            self.has_finished = True

    def follow(self) -> bool:
        """Connect to the place where the store has moved; return whether the store can move."""
        self.leave_pipeline()
        raw = self._follow()
        if raw is None:
            return False
        self.raw.close()
        self.raw = raw
        return True

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> None:
        """Run a statement once for each of *parameters*; new rows are held."""
        given = [to_parameters(each) for each in parameters]
        if not given:
            return
        self.known = {}
        # Row security may ask one table about the new rows of another.
        if sql.startswith("INSERT") and self._sees_all:
            self.held.setdefault(to_postgres(sql, self.schema), []).extend(given)
        else:
            self._release()
            self._ask_each(to_postgres(sql, self.schema), given)
        self._rows += len(given)
        if self._rows > _MANY_ROWS:
            self.send()

    def _release(self) -> None:
        """Let statements wait that insert the held rows: all with one, if each table has one."""
        held, self.held = self.held, {}
        if len(held) > 1 and all(len(rows) == 1 for rows in held.values()):
            *others, last = held
            together = ", ".join(f"w{number} AS ({each})" for number, each in enumerate(others))
            held = {f"WITH {together} {last}": [[each for (row,) in held.values() for each in row]]}
        for statement, rows in held.items():
            self._ask_each(statement, rows)

    def _ask_each(self, statement: str, rows: list[Any]) -> None:
        """Let a statement wait, to be run once for each of *rows*."""
        is_many = len(rows) > 1
        given = rows if is_many else rows[0]
        self._waiting.append(Answer(self, statement, given, many=is_many))

    def send(self) -> None:
        """Send the waiting statements, and wait for all answers."""
        self._release()
        waiting, self._waiting, self._rows = self._waiting, [], 0
        if not waiting:
            return
        if self._pipeline is None:
            self._pipeline = self._exit.enter_context(self.raw.pipeline())
        try:
            for each in waiting:
                each.send(self.raw)
            if self.has_finished:
                self._pipeline = None
                self._exit.close()
                return
            self._pipeline.sync()  # after the end of a pipeline the server counts no idle time
        except BaseException:
            self.leave_pipeline()
            raise
        if self._long_from is not None and (
            time.monotonic() > self._long_from
            or max((each.rowcount for each in waiting), default=0) > _MANY_ROWS
        ):
            self._long_from = None
            self.raw.execute(_PATIENCE)
            self._pipeline.sync()

    def leave_pipeline(self) -> None:
        """End the pipeline of a transaction that failed, or goes on with ``raw``."""
        self._pipeline = None
        with suppress(psycopg.Error):
            self._exit.close()

    def forget(self) -> None:
        """Leave the waiting statements unsent."""
        self._long_from = None
        self.held.clear()
        self._waiting.clear()

    def begin(self) -> None:
        """Let statements wait from now on."""
        self.in_transaction = True
        self.forget()
        self._long_from = time.monotonic() + _LONG_SECONDS

    def pause(self) -> None:
        """Let the transaction pause between two statements for as long as the server allows."""
        self._long_from = None
        self.ask(f"SET LOCAL {IDLE_LIMIT} TO DEFAULT")

    def begin_part(self, *, first: bool) -> None:
        """Begin a part of the write transaction; a part that is not the *first* can be undone.

        Raise an error if the connection broke between two parts.
        """
        if not first and has_ended(self.raw):
            raise psycopg.OperationalError("the connection has ended")
        self.begin()
        self._before = self.last, dict(self.facts)
        self._savepoint = self._commit = None
        if not first:
            self._savepoint = self.ask("SAVEPOINT part")

    def undo_part(self) -> bool:
        """Undo a part that is not the first; return whether the transaction goes on."""
        self.forget()
        self.last, self.facts = self._before
        if self._savepoint is None or self._savepoint.cursor is None:
            return self._savepoint is not None
        self.leave_pipeline()
        try:
            self.raw.execute("ROLLBACK TO part; RELEASE part", prepare=False)
        except psycopg.Error:
            return False
        return True

    def commit(self, flush: str) -> None:
        """Commit the write transaction, and run the statement *flush* if not empty."""
        self._long_from = None
        self._commit = self.ask("COMMIT")
        if flush:
            self.ask(flush)
        self.has_finished = True
        self.send()
        self.in_transaction = self.has_finished = False

    @property
    def is_committed(self) -> bool:
        """Whether the server has said that the last write transaction is committed."""
        if self._commit is None or self._commit.cursor is None:
            return False
        return self._commit.cursor.statusmessage == "COMMIT"

    def end_transaction(self) -> None:
        """Leave a transaction that was read or failed; the server may still hold it open."""
        self.forget()
        self.leave_pipeline()
        self.in_transaction = self.has_finished = False

    def blobopen(self, table: str, column: str, row: int, /, *, readonly: bool) -> Blob:
        """Open the bytes of a value."""
        return Blob(self.execute(f"SELECT {column} FROM {table} WHERE number = ?", (row,)))


def has_ended(raw: psycopg.Connection[Any]) -> bool:
    """Tell whether the server may have ended an idle connection: it says nothing else unasked."""
    if not hasattr(select, "poll"):  # on Windows, where any socket may be selected
        return bool(select.select([raw], [], [], 0)[0])
    waiting = select.poll()
    waiting.register(raw, select.POLLIN)
    return bool(waiting.poll(0))


def has_broken(raw: psycopg.Connection[Any], error: BaseException) -> bool:
    """Return whether the connection ended without an answer, or ends at a shutdown or timeout."""
    if not isinstance(error, psycopg.OperationalError | errors.IdleInTransactionSessionTimeout):
        return False
    return raw.closed or error.sqlstate is None or error.sqlstate.startswith(_ENDS)


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
