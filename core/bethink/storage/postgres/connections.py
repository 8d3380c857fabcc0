"""The connections to a database: a writer and some readers, safe for threads and forks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any, Final, Literal

import psycopg
from psycopg import errors, sql
from psycopg.pq import TransactionStatus

from ...errors import CorruptStoreError, StorageError, StoreBusyError, StoreClosedError
from ...model.port import Place
from ..sql.connection import Connection, SQLConnections
from ..sql.group_commit import GroupCommit
from ..urls import split, without_password
from .connection import (
    ENCODING,
    GONE,
    IDLE_LIMIT,
    PostgresConnection,
    has_broken,
    has_ended,
    holders_sql,
    to_holders,
)
from .dialect import register_texts
from .tenants import SETTING
from .translation import translate

_MAX_READERS: Final = 4
_PREPARED_AFTER: Final = 5  # runs of a statement
LOCK_SECONDS: Final = 30
IDLE_SECONDS: Final = 10
"""A process frozen inside a transaction loses the write lock after so long."""

_APPLICATION_ID: Final = 0x62746E6B  # "btnk"
_LAST: Final = "SELECT seq, link, at FROM {schema}.journal ORDER BY seq DESC LIMIT 1"
_LAST_OF_ALL: Final = "SELECT seq, link, at FROM {schema}.last_entry()"
_STATE: Final = (
    "SELECT name, value, NULL::bigint, NULL::bytea, NULL::float8 FROM {schema}.facts "
    "UNION ALL (SELECT NULL, NULL, seq, link, at FROM ({last}) AS last)"
)
MOMENT: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_MAY_EMIT: Final = (
    "SELECT bool_and(has_function_privilege(oid, 'EXECUTE')) FROM pg_proc "
    "WHERE proname = 'pg_logical_emit_message'"
)
_FLUSH: Final = "SELECT pg_logical_emit_message(true, 'bethink', '')"
"""A commit that is acknowledged like any other, and with the commit all commits before."""

_LOCK: Final = "SELECT pg_advisory_xact_lock{key}"
_LOCK_EARLY: Final = (
    "SELECT pg_advisory_xact_lock{key}, set_config('synchronous_commit', 'off', true) "
    "WHERE NOT pg_try_advisory_xact_lock{key}"
)
"""Where another holds the lock, the commit is not to wait for the disk."""

_SHORT_SECONDS: Final = 1
_DOUBT_SECONDS: Final = 30
_PAUSE_SECONDS: Final = 0.2
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


class _Transaction:
    """The open write transaction of *connection*."""

    def __init__(self, connections: Connections, connection: PostgresConnection) -> None:
        self._connections = connections
        self.connection = connection
        self.location = connections.shown

    def begin_part(self) -> None:
        self.connection.begin_part(first=False)

    def end_part(self, *, first: bool) -> None:
        self.connection.send()  # the commit ends the savepoint

    def undo_part(self, *, first: bool) -> bool:
        if not first and self.connection.undo_part():
            return True
        self._connections.undo(self.connection)
        return False

    def commit(self) -> None:
        self._connections.commit(self.connection)


class Connections(SQLConnections):
    """Open, lock and close the connections to the database at *url*.

    *shown* is the address without a password.

    The threads of a process share the write transaction, and so the commit. Methods of every
    backend are documented in ``SQLConnections``.

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
            IDLE_LIMIT: f"{int(1000 * IDLE_SECONDS)}ms",
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
        self._begin = ("BEGIN", *(set_all if pooled else ()))
        self._lock = _LOCK.format(key=lock_key(self.schema))
        self._state = _STATE.replace("{last}", last).replace("{schema}", self.schema)
        self._at_start = (MOMENT, *(set_all if pooled and tenant is not None else ()))
        self._closed = False
        self._create_locks()
        self._idle: list[PostgresConnection] = []
        self._idle_writer: PostgresConnection | None = None
        self.breaks = 0
        """How many connections broke, or led to a place that the store has left."""
        self._find: Callable[[], str] | None = None

    def _create_locks(self) -> None:
        self._group_commit = GroupCommit(self._begin_writing)
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
            self._lock = _LOCK_EARLY.format(key=lock_key(self.schema))

    def _connect(self) -> psycopg.Connection[Any]:
        raw = psycopg.connect(
            self._url,
            autocommit=True,
            prepare_threshold=None if self._pooled else _PREPARED_AFTER,
            client_encoding=ENCODING,
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
    def writing(self, places: Collection[Place] = ()) -> Iterator[PostgresConnection]:
        """Hold the write transaction; the holders of the keys at *places* are read with the lock.

        Statements without a result travel together with the next statement that has a result.
        """
        with self.translated():
            group = self._group_commit.enter(places)
            try:
                yield group.transaction.connection
            except BaseException as error:
                self._group_commit.leave(group, error)
                raise
            self._group_commit.leave(group, None)

    def _is_committed(self, seq: int, link: bytes) -> bool:
        """Return whether the last commit arrived, asked over a new connection.

        The commit may still be on the way: whoever has the write lock knows. The link covers the
        entry's random salt, so no other entry has the same link.
        """
        deadline = time.monotonic() + _DOUBT_SECONDS
        while True:
            try:
                with self._connect() as fresh:
                    fresh.execute("; ".join((*self._begin, self._lock)))
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

    def _begin_writing(self, waited: float, places: Collection[Place] = ()) -> _Transaction:
        """Take the write lock, over a new connection if the last broke meanwhile.

        The thread has *waited* so many seconds for other threads.
        """
        if self._closed:
            raise StoreClosedError
        moves = 0
        while True:
            idle, self._idle_writer = self._idle_writer, None
            connection = idle or self.connect()
            try:
                self._take_lock(connection, waited, places)
                connection.begin_part(first=True)
            except GONE:
                moves += 1
                if moves > _MOST_MOVES or not connection.follow():
                    self._drop(connection)
                    raise
                self._idle_writer = connection
            except psycopg.OperationalError as error:
                has_broken = connection.raw.closed
                self._drop(connection)
                if isinstance(error, errors.QueryCanceled):  # by the server's statement_timeout
                    raise StoreBusyError(self.shown) from error
                if idle is None or not has_broken:  # such as a lock that another process keeps
                    raise
            except BaseException:
                self._drop(connection)
                raise
            else:
                return _Transaction(self, connection)

    def _take_lock(
        self, connection: PostgresConnection, waited: float, places: Collection[Place]
    ) -> None:
        """Begin, take the lock and read the state, all in one round trip."""
        for statement in self._begin:
            connection.ask(statement)
        if waited > _SHORT_SECONDS:
            left = max(1, int(1000 * (LOCK_SECONDS - waited)))
            connection.ask(f"SET LOCAL lock_timeout = '{left}ms'")
        lock, asked = connection.ask(self._lock), connection.ask(self._state)
        sought = connection.ask(*holders_sql(self.schema, places)) if places else ()
        connection.has_waited = lock.fetchone() is not None
        state = asked.fetchall()
        connection.known = to_holders(places, sought)
        connection.facts = {name: value for name, value, *_ in state if name is not None}
        connection.last = next((last for name, _, *last in state if name is None), None)

    def commit(self, connection: PostgresConnection) -> None:
        """Commit the write transaction, or undo all and raise."""
        try:
            connection.commit(self._flush if connection.has_waited else "")
        except BaseException as error:
            connection.end_transaction()
            unknown = connection.is_committed and isinstance(error, psycopg.Error)
            if unknown or has_broken(connection.raw, error):
                self._drop(connection)
                if self._is_committed(*connection.last[:2]):
                    return
                raise StorageError(self.shown, _NOT_WRITTEN, is_unreachable=True) from error
            self.undo(connection)
            raise
        self._idle_writer = connection

    def undo(self, connection: PostgresConnection) -> None:
        """Undo the write transaction, if need be by the end of the connection."""
        connection.end_transaction()
        if self._roll_back(connection):
            self._idle_writer = connection

    def _roll_back(self, connection: PostgresConnection) -> bool:
        """Return whether the connection is in use after the end of the transaction."""
        connection.leave_pipeline()
        # After a refusal psycopg takes statements for prepared that the server has skipped.
        if connection.raw.info.transaction_status is TransactionStatus.INTRANS:
            with suppress(psycopg.Error):
                connection.raw.execute("ROLLBACK")
                return True
        self._drop(connection)
        return False

    def _drop(self, connection: PostgresConnection) -> None:
        """End a connection that may be broken."""
        self.breaks += connection.raw.closed
        connection.leave_pipeline()
        with suppress(psycopg.Error):
            connection.raw.close()

    @contextmanager
    def outside(self) -> Iterator[PostgresConnection]:
        """Hold a connection outside of any transaction, where a tenant may see no row."""
        with self.translated(), self._reader() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[PostgresConnection]:
        with self.outside() as connection:
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
                if connection.is_idle and not self._closed:
                    self._idle.append(connection)
                else:
                    self._drop(connection)

    @contextmanager
    def read_transaction(self) -> Iterator[PostgresConnection]:
        """Hold a connection for several statements that see the same state.

        Statements travel together until a result is read.
        """
        with self.translated(), self._reader() as connection, self._at_moment(connection):
            yield connection

    def finish_reading(self, connection: Connection) -> None:
        assert isinstance(connection, PostgresConnection)
        connection.finish_reading()

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
        """Hold a state for long, through a new connection.

        The caller may pause, since no lock is held: only the server's own limit applies.
        """
        with self.translated():
            if self._closed:
                raise StoreClosedError
            connection = self.connect()
            try:
                with self._at_moment(connection):
                    connection.pause()
                    yield connection
            finally:
                connection.raw.close()

    @contextmanager
    def _at_moment(self, connection: PostgresConnection) -> Iterator[None]:
        """Let the statements of the body see one state."""
        if has_ended(connection.raw):
            connection.execute("SELECT 1")  # over a new connection
        connection.begin()
        try:
            if self._find is not None:
                self._hold_place(connection)
            for statement in self._at_start[self._find is not None :]:
                connection.ask(statement)
            yield
            connection.finish_reading()
            connection.send()
        except BaseException:
            self._roll_back(connection)
            raise
        finally:
            connection.end_transaction()

    def sleep(self) -> None:
        self._group_commit.lock.acquire()
        self._group_commit.commit()
        for _ in range(_MAX_READERS):
            self._readers.acquire()
        self._close_idle()

    def resume(self, *, in_child: bool) -> None:
        if in_child:
            self._create_locks()
            return
        self._readers.release(_MAX_READERS)
        self._group_commit.lock.release()

    def close(self) -> None:
        self._closed = True
        with self._group_commit.lock:
            self._group_commit.commit()
            self._close_idle()

    def _close_idle(self) -> None:
        writer, self._idle_writer = self._idle_writer, None
        if writer is not None:
            writer.raw.close()
        while self._idle:
            self._idle.pop().raw.close()
