"""The connections to a database: a writer and some readers, safe for threads and forks."""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from itertools import count
from typing import Any, Final, Literal

import psycopg
from psycopg import errors, sql
from psycopg.pq import TransactionStatus

from ...errors import CorruptStoreError, StorageError, StoreBusyError, StoreClosedError
from ..sql.connection import Cursor
from ..urls import split, without_password
from .dialect import register_texts, to_parameters, to_postgres
from .tenants import SETTING, WHOLE_JOURNAL
from .translation import translate

_MAX_READERS: Final = 4
_MAX_WRITERS: Final = 4  # threads that write at the same time; others wait
_MOST_HELD: Final = 1024  # rows
_PREPARED_AFTER: Final = 5  # runs of a statement
LOCK_SECONDS: Final = 30
IDLE_SECONDS: Final = 10
"""A process frozen inside a transaction loses the write lock after so long."""

_APPLICATION_ID: Final = 0x62746E6B  # "btnk"
_FACTS: Final = "SELECT name, value FROM {schema}.facts"
_LAST: Final = "SELECT seq, link, at FROM {schema}.journal ORDER BY seq DESC LIMIT 1"
_LAST_OF_ALL: Final = "SELECT seq, link, at FROM {schema}.last_entry()"
MOMENT: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_MAY_EMIT: Final = (
    "SELECT bool_and(has_function_privilege(oid, 'EXECUTE')) FROM pg_proc "
    "WHERE proname = 'pg_logical_emit_message'"
)
_FLUSH: Final = "SELECT pg_logical_emit_message(true, 'bethink', '')"
"""A commit that is acknowledged like any other, and with the commit all commits before."""

_DOUBT_SECONDS: Final = 30
_PAUSE_SECONDS: Final = 0.2
GONE: Final = (errors.UndefinedTable, errors.InvalidSchemaName)
"""What the server says of a schema that has moved."""

_HERE: Final = "SELECT 1 FROM {schema}.bethink"
_MOST_MOVES: Final = 3  # in one call
_NOT_WRITTEN: Final = "the connection broke during the commit; nothing was written"
_IN_DOUBT: Final = (
    "the connection broke during the commit, and the server does not come back; whether the "
    "write arrived, only the journal will tell"
)


def lock_key(schema: str) -> str:
    """Return the key of the write lock of the quoted *schema*, in SQL."""
    return f"({_APPLICATION_ID}, '{schema}.journal'::regclass::oid::int)"


class _Cursor(psycopg.Cursor[Any]):
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
        """The settings as the write transaction begins."""
        self.last: Any = None
        """Position, link and time of the last journal entry, as the write transaction begins."""
        self.end: tuple[int, bytes] | None = None
        """Position and link of the last journal entry, as the write transaction ends."""
        self.has_waited = False
        """Whether another held the write lock, so that others may wait for the lock now."""
        self.held = dict[str, list[Any]]()
        """New rows by statement, to insert before the next statement that is no insert."""

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

    def blobopen(self, table: str, column: str, row: int, /, *, readonly: bool) -> BytesIO:
        """Return the bytes of a value."""
        found = self.execute(f"SELECT {column} FROM {table} WHERE number = ?", (row,)).fetchone()
        return BytesIO(found[0])


class Connections:
    """Open, lock and close the connections to the database at *url*.

    *shown* is the address without a password.

    A durable commit takes milliseconds, and writers wait for each other. So a writer that had to
    wait for the lock commits first without waiting for the disk, which ends the lock. Then a
    second, empty commit waits for the disk or the replicas, as the server is set up, and so for all
    commits before. The server lets many such commits wait together. The write is acknowledged after
    the second commit.
    """

    def __init__(
        self,
        url: str,
        schema: str,
        shown: str,
        durability: Literal["full", "normal"],
        *,
        pooled: bool = False,
        tenant: str | None = None,
    ) -> None:
        self._url = url
        self._tenant = tenant
        self.schema = f'"{schema}"'
        self.shown = shown
        self._pooled = pooled
        settings = {
            "lock_timeout": f"{int(1000 * LOCK_SECONDS)}ms",
            "idle_in_transaction_session_timeout": f"{int(1000 * IDLE_SECONDS)}ms",
        }
        self._flush = ""
        if durability == "normal":
            settings["synchronous_commit"] = "off"
        if tenant is not None:
            settings[SETTING] = tenant
        # A pooler gives the connection to others after the transaction.
        word = "SET LOCAL" if pooled else "SET"
        set_all = [
            f"{word} {name} = {sql.Literal(value).as_string()}" for name, value in settings.items()
        ]
        self._prelude = "" if pooled else "; ".join(set_all)
        self._durable = durability == "full"
        last = _LAST_OF_ALL if tenant else _LAST
        key = lock_key(self.schema)
        self._begin = "".join(f"{each}; " for each in ("BEGIN", *(set_all if pooled else ())))
        self._try, self._wait = (
            f"SELECT {function}{key} AS held; {_FACTS}; {last}".replace("{schema}", self.schema)
            for function in ("pg_try_advisory_xact_lock", "pg_advisory_xact_lock")
        )
        self._at_start = (MOMENT, *(set_all if pooled and tenant is not None else ()))
        self._closed = False
        self._create_locks()
        self._idle: list[PostgresConnection] = []
        self._idle_writers: list[PostgresConnection] = []
        self.breaks = 0
        """How many connections broke, or led to a place that the store has left."""
        self._find: Callable[[], str] | None = None

    def _create_locks(self) -> None:
        self._writers = threading.BoundedSemaphore(_MAX_WRITERS)
        self._readers = threading.BoundedSemaphore(_MAX_READERS)

    def connect(self) -> PostgresConnection:
        """Open a connection."""
        sees_all = self._tenant is None
        return PostgresConnection(
            self._connect, self._reconnect, self._move, self.schema, sees_all=sees_all
        )

    def follow(self, find: Callable[[], str]) -> None:
        """Let the store move: *find* returns the URL where the store is now."""
        self._find = find

    def release_locks_early(self) -> None:
        """End the lock of a write before the commit is on the disk, where writers wait.

        Behind a pooler a break may go unnoticed: readers must see durable commits only.
        """
        if self._durable and not self._pooled and self.rows(_MAY_EMIT)[0][0]:
            self._flush = _FLUSH

    def _connect(self) -> psycopg.Connection[Any]:
        raw = psycopg.connect(
            self._url,
            autocommit=True,
            cursor_factory=_Cursor,
            prepare_threshold=None if self._pooled else _PREPARED_AFTER,
        )
        register_texts(raw.adapters)
        if self._prelude:
            try:
                raw.execute(self._prelude)
            except BaseException:  # such as a server that begins to shut down
                raw.close()
                raise
        return raw

    def _reconnect(self) -> psycopg.Connection[Any]:
        self.breaks += 1
        return self._connect()

    def _move(self) -> psycopg.Connection[Any] | None:
        """Connect to the place where the store is now; return None for a store that stays."""
        if self._find is None:
            return None
        self._find_place()
        return self._reconnect()

    def _find_place(self) -> None:
        """Look for the store, and leave the connections to a place that the store has left."""
        if self._find is None:
            return
        url = self._find()
        address, self.shown = split(url)[0], without_password(url)
        if address != self._url:
            self._url = address
            self._close_idle()

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Raise the store's errors in place of psycopg's."""
        try:
            yield
        except psycopg.Error as error:
            raise translate(self.shown, error) from error
        except CorruptStoreError as error:
            if error.path is not None:
                raise
            raise type(error)(self.shown, error.reason) from error

    @contextmanager
    def writing(self) -> Iterator[PostgresConnection]:
        """Hold the write transaction: committed at the end of the body, or undone on an exception.

        Statements without a result travel together with the next statement that has a result.
        """
        with self.translated(), self._writers:
            connection, commit = self._begin_writing(), None
            raw = connection.raw
            connection.in_transaction = True
            try:
                with _pipelined(raw):
                    yield connection
                    connection.send()
                    commit = raw.execute("COMMIT")
                    if connection.has_waited:
                        raw.execute(self._flush)
            except BaseException as error:
                is_done = commit is not None and commit.statusmessage == "COMMIT"
                unknown = is_done and isinstance(error, psycopg.Error)
                if connection.end and (unknown or _has_broken(raw, error)):
                    self._drop(connection)
                    if self._is_committed(*connection.end):
                        return
                    raise StorageError(self.shown, _NOT_WRITTEN, is_unreachable=True) from error
                self._undo(connection)
                raise
            finally:
                connection.in_transaction = False
                if not raw.closed:
                    self._idle_writers.append(connection)

    def _is_committed(self, seq: int, link: bytes) -> bool:
        """Return whether the last commit arrived, asked over a new connection.

        The commit may still be on the way: whoever has the write lock knows. The link covers the
        entry's random salt, so no other entry has the same link.
        """
        deadline = time.monotonic() + _DOUBT_SECONDS
        while True:
            try:
                with self._connect() as fresh:
                    fresh.execute(self._begin + self._wait, prepare=False)
                    told = f"SELECT 1 FROM {self.schema}.journal WHERE seq = %s AND link = %s"
                    is_there = fresh.execute(told, (seq, link)).fetchone() is not None
                    fresh.execute("ROLLBACK")
                    if is_there and self._flush:
                        fresh.execute(self._flush)
                    return is_there
            except (psycopg.OperationalError, *GONE) as error:
                if time.monotonic() > deadline:
                    raise StorageError(self.shown, _IN_DOUBT, is_unreachable=True) from error
                time.sleep(_PAUSE_SECONDS)
                if isinstance(error, GONE):
                    with suppress(StorageError):
                        self._find_place()

    def _begin_writing(self) -> PostgresConnection:
        """Take the write lock, over a new connection if the last broke meanwhile."""
        if self._closed:
            raise StoreClosedError
        moves = 0
        while True:
            try:
                connection, is_new = self._idle_writers.pop(), False
            except IndexError:
                connection, is_new = self.connect(), True
            try:
                self._take_lock(connection)
            except GONE:
                moves += 1
                if moves > _MOST_MOVES or not connection.follow():
                    self._drop(connection)
                    raise
                self._idle_writers.append(connection)
            except psycopg.OperationalError as error:
                has_broken = connection.raw.closed
                self._drop(connection)
                if isinstance(error, errors.QueryCanceled):  # by the server's statement_timeout
                    raise StoreBusyError(self.shown) from error
                if is_new or not has_broken:  # such as a lock that another process keeps
                    raise
            except BaseException:
                self._drop(connection)
                raise
            else:
                return connection

    def _take_lock(self, connection: PostgresConnection) -> None:
        cursor = self._ask(connection, self._begin, self._try if self._flush else self._wait)
        connection.has_waited = bool(self._flush) and cursor.fetchone() == (False,)
        if connection.has_waited:
            cursor = self._ask(connection, "SET LOCAL synchronous_commit = off; ", self._wait)
        cursor.nextset()
        connection.facts = dict(cursor.fetchall())
        cursor.nextset()
        connection.last, connection.end = cursor.fetchone(), None
        connection.held.clear()  # by a write that was undone

    def _ask(self, connection: PostgresConnection, before: str, lock: str) -> psycopg.Cursor[Any]:
        """Run *before* and *lock* in one round trip; return the results from the lock on."""
        cursor = connection.raw.execute(before + lock, prepare=False)
        while not cursor.description or cursor.description[0].name != "held":
            cursor.nextset()
        return cursor

    def _undo(self, connection: PostgresConnection) -> None:
        # After a refusal psycopg takes statements for prepared that the server has skipped.
        if connection.raw.info.transaction_status is TransactionStatus.INTRANS:
            with suppress(psycopg.Error):
                connection.raw.execute("ROLLBACK")
                return
        self._drop(connection)

    def _drop(self, connection: PostgresConnection) -> None:
        self.breaks += connection.raw.closed
        with suppress(psycopg.Error):
            connection.raw.close()

    @contextmanager
    def reading(self) -> Iterator[PostgresConnection]:
        """Hold a connection for single statements."""
        with self.translated(), self._reader() as connection:
            if len(self._at_start) > 1:  # the tenant's setting lasts for a transaction
                with self._at_moment(connection):
                    yield connection
            else:
                yield connection

    @contextmanager
    def _reader(self) -> Iterator[PostgresConnection]:
        with self._readers:
            if self._closed:
                raise StoreClosedError
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self.connect()
            try:
                yield connection
            finally:
                if connection.raw.closed:
                    self.breaks += 1
                else:
                    self._idle.append(connection)

    def rows(self, sql: str, *parameters: object) -> list[Any]:
        """Return all rows of a single statement."""
        with self.reading() as connection:
            return connection.execute(sql, parameters).fetchall()

    @contextmanager
    def read_transaction(self) -> Iterator[PostgresConnection]:
        """Hold a connection for several statements that see the same state.

        Statements travel together until a result is read.
        """
        with self.translated(), self._reader() as connection:
            if _has_ended(connection.raw):
                connection.execute("SELECT 1")  # over a new connection
            connection.in_transaction = True
            try:
                if self._find is not None:
                    self._hold_place(connection)
                with _pipelined(connection.raw):
                    for statement in self._at_start[self._find is not None :]:
                        connection.raw.execute(statement)
                    yield connection
                    connection.raw.execute("ROLLBACK")
            except BaseException:
                self._undo(connection)
                raise
            finally:
                connection.in_transaction = False

    def _hold_place(self, connection: PostgresConnection) -> None:
        """Begin a read transaction; the store does not move before the end."""
        statement = f"{MOMENT}; {_HERE.replace('{schema}', self.schema)}"
        for moves in count():
            try:
                connection.raw.execute(statement, prepare=False)
                return
            except GONE:
                if moves == _MOST_MOVES or not connection.follow():
                    raise

    aside = read_transaction

    @contextmanager
    def long_read_transaction(self) -> Iterator[PostgresConnection]:
        """Hold a state for long, through a new connection."""
        with self.translated():
            if self._closed:
                raise StoreClosedError
            connection = self.connect()
            try:
                with self._at_moment(connection):
                    yield connection
            finally:
                connection.raw.close()

    @contextmanager
    def _at_moment(self, connection: PostgresConnection) -> Iterator[None]:
        """Let the statements of the body see one state."""
        if self._find is None:
            connection.execute(MOMENT)
        else:
            self._hold_place(connection)
        connection.in_transaction = True
        try:
            for statement in self._at_start[1:]:
                connection.raw.execute(statement)
            yield
        finally:
            connection.in_transaction = False
            if not connection.raw.closed:
                connection.raw.execute("ROLLBACK")

    def sleep(self) -> None:
        """Finish current work, close the connections and hold still until ``resume``."""
        _acquire_all(self._writers, _MAX_WRITERS)
        _acquire_all(self._readers, _MAX_READERS)
        self._close_idle()

    def resume(self, *, in_child: bool) -> None:
        """Continue after ``sleep``; a child creates new locks."""
        if in_child:
            self._create_locks()
            return
        self._readers.release(_MAX_READERS)
        self._writers.release(_MAX_WRITERS)

    def close(self) -> None:
        """Close all connections; a second call does nothing."""
        self._closed = True
        _acquire_all(self._writers, _MAX_WRITERS)
        self._close_idle()
        self._writers.release(_MAX_WRITERS)

    def _close_idle(self) -> None:
        for idle in (self._idle_writers, self._idle):
            while idle:
                idle.pop().raw.close()


def _acquire_all(slots: threading.Semaphore, count: int) -> None:
    for _ in range(count):
        slots.acquire()


@contextmanager
def _pipelined(raw: psycopg.Connection[Any]) -> Iterator[None]:
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


def _has_ended(raw: psycopg.Connection[Any]) -> bool:
    """Tell whether the server may have ended an idle connection: it says nothing else unasked."""
    if not hasattr(select, "poll"):  # on Windows, where any socket may be selected
        return bool(select.select([raw], [], [], 0)[0])
    waiting = select.poll()
    waiting.register(raw, select.POLLIN)
    return bool(waiting.poll(0))


def _has_broken(raw: psycopg.Connection[Any], error: BaseException) -> bool:
    """Return whether the connection ended without an answer, or ends with a shutdown."""
    if not isinstance(error, psycopg.OperationalError):
        return False
    return raw.closed or error.sqlstate is None or error.sqlstate.startswith("57P")


@contextmanager
def connected(url: str) -> Iterator[psycopg.Connection[Any]]:
    """Hold a connection of its own to the database at *url*."""
    try:
        with psycopg.connect(split(url)[0], autocommit=True, prepare_threshold=None) as connection:
            yield connection
    except psycopg.Error as error:
        raise translate(without_password(url), error) from error
