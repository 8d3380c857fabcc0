"""Shards: schemas that share the namespaces of one memory, on one server or on many.

A shard is a store of its own, with a journal of its own, in the schema ``NAME_07_of_16``. No
catalogue says where a shard is: the shard is where the schema is. To move a shard, the rows are
copied to the other server while writers go on. Then the mover takes the write lock, copies the last
changes, and renames the old schema. From this moment on every statement of every process fails at
the old place. Each process then looks for the schema on all servers, and goes on at the new place
with the same journal.

The renaming is the one moment of decision. Until then the copy carries a mark, and a marked schema
counts only once the old schema says that the shard has moved there. So after a crash at any step
the shard is in one place, and a second call of ``move`` cleans up.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from ...errors import NotFoundError, StorageError, StoreBusyError, ValidationError
from ...model.progress import Tell
from ..urls import add_schema, check_schema, split
from .connection import GONE, connected
from .connections import LOCK_SECONDS, MOMENT, lock_key
from .copying import Copy
from .schema import SHARD, copy_rights, create_tables, migrate
from .vector_indexes import SETTING

_MOST_LETTERS: Final = 40
_DEFAULT_STEPS: Final = 2
_LEFT: Final = "_left"
_MOVING: Final = "moving_from"
_MOVED: Final = "moved_to"
_STEPS: Final = "namespace_steps"
_COMPLETE: Final = "all_shards_were_made"
_FIND_SECONDS: Final = 3
_PAUSE_SECONDS: Final = 0.1
_FEW_ROWS: Final = 1_000  # are copied while writers wait
_MOST_ROUNDS: Final = 5
_READERS_SECONDS: Final = 5
"""How long the last step waits for running reads, and keeps new reads waiting."""

_FROZEN_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class _Found:
    """A schema of a shard on a server."""

    server: str
    schema: str
    facts: Mapping[str, str]

    @property
    def number(self) -> int:
        return int(_parts(self.schema)[0])

    @property
    def count(self) -> int:
        return int(_parts(self.schema)[1])

    @property
    def has_left(self) -> bool:
        return self.schema.endswith(_LEFT)

    @property
    def counts(self) -> bool:
        """Whether the shard is here for sure: no copy on the way, and not left."""
        return not self.has_left and _MOVING not in self.facts


def _parts(schema: str) -> tuple[str, str]:
    found = SHARD.fullmatch(schema.removesuffix(_LEFT))
    assert found is not None
    return found[2], found[3]


def _note(connection: psycopg.Connection[Any], schema: str, name: str, value: str) -> None:
    """Note a fact of a shard, unless noted."""
    insert = f'INSERT INTO "{schema}".facts VALUES (%s, %s) ON CONFLICT DO NOTHING'
    connection.execute(insert, (name, value))


class ShardServers:
    """Find, create and move the shards named *schema* on *servers*, URLs by name."""

    def __init__(self, servers: Mapping[str, str], schema: str) -> None:
        self._servers = dict(servers)
        self._schema = check_schema(schema)
        if len(schema) > _MOST_LETTERS:
            raise ValidationError(f"the schema of shards has at most {_MOST_LETTERS} letters")
        for name, url in servers.items():
            if not {"schema", "tenant"}.isdisjoint(split(url)[1]):
                raise ValidationError(f"the URL of {name!r} must name neither schema nor tenant")

    def find(self, schema: str) -> str:
        """Return the URL where a shard is now."""
        return add_schema(self._servers[self.places([schema])[0]], schema)

    def start(self, count: int | None, steps: int | None) -> tuple[int, int]:
        """Return the count of the shards, and the steps of a namespace that name the shard.

        Create missing shards. Both numbers are noted then, and checked later.
        """
        found, silent = self._survey()
        counts = sorted({each.count for each in found})
        noted = sorted({int(each.facts[_STEPS]) for each in found if _STEPS in each.facts})
        if len(counts) > 1 or len(noted) > 1:
            raise StorageError(None, f"there are several kinds of shards named {self._schema!r}")
        if not counts and silent:
            reason = f"no shard was found; no answer came from {_names(silent)}"
            raise StorageError(None, reason, is_unreachable=True)
        if not counts and count is None:
            raise ValidationError(
                f"there are no shards named {self._schema!r} yet; give their count to create them"
            )
        for name, given, known in (("count", count, counts), ("steps", steps, noted)):
            if given is not None and known not in ([], [given]):
                raise ValidationError(f"{self._schema!r} has {name}={known[0]}, not {given}")
        known_count = counts[0] if counts else count or 1
        known_steps = noted[0] if noted else steps or _DEFAULT_STEPS
        missing = set(range(known_count)) - {each.number for each in found}
        if missing and not silent:  # a server without an answer may have them
            self._create(sorted(missing), known_count, known_steps, found)
        return known_count, known_steps

    def _create(self, missing: list[int], count: int, steps: int, found: list[_Found]) -> None:
        """Create the *missing* shards, unless all were there at an earlier time."""
        if any(_COMPLETE in each.facts for each in found):
            shards = f"the shards {', '.join(map(str, missing))} of {self._schema!r}"
            raise StorageError(None, f"{shards} are on none of the servers")
        names = sorted(self._servers)
        places = {each.schema: each.server for each in found if each.counts}
        for number in missing:
            schema, server = self.schema_of(number, count), names[number % len(names)]
            places[schema] = server
            with self._connected(server) as connection, connection.transaction():
                create_tables(connection, schema, schema)
                _note(connection, schema, _STEPS, str(steps))
        for schema, server in places.items():
            with self._connected(server) as connection:
                _note(connection, schema, _COMPLETE, "1")

    def schema_of(self, number: int, count: int) -> str:
        """Return the schema of a shard."""
        width = max(2, len(str(count - 1)))
        return f"{self._schema}_{number:0{width}}_of_{count}"

    def places(self, schemas: Sequence[str]) -> list[str]:
        """Return the server of each shard.

        A shard in no place, or in several, raises ``StorageError``.
        """
        places, silent = self.known_places(schemas)
        lost = [name for name, server in zip(schemas, places, strict=True) if server is None]
        if lost:
            reason = f"is on no server that answers; no answer came from {_names(silent)}"
            raise StorageError(None, f"the shard {lost[0]} {reason}", is_unreachable=True)
        return [server for server in places if server is not None]

    def known_places(self, schemas: Sequence[str]) -> tuple[list[str | None], dict[str, str]]:
        """Return ``places``, None where a server that gives no answer may have the shard.

        Beside are the reasons why servers gave no answer.
        """
        deadline = time.monotonic() + _FIND_SECONDS
        while True:
            found, silent = self._survey(schemas[0] if len(schemas) == 1 else None)
            places = [_places(schema, found) for schema in schemas]
            if all(len(servers) == 1 for servers in places) or time.monotonic() > deadline:
                break
            time.sleep(_PAUSE_SECONDS)  # servers are asked in turn: a shard may move in between
        for name, servers in zip(schemas, places, strict=True):
            if len(servers) > 1:
                where = ", ".join(servers)
                reason = f"is on the servers {where}; drop the schema that is out of date"
                raise StorageError(None, f"the shard {name} {reason}")
            if not servers and not silent:
                raise StorageError(None, f"the shard {name} is on none of the servers")
        return [next(iter(servers), None) for servers in places], silent

    def _survey(self, schema: str | None = None) -> tuple[list[_Found], dict[str, str]]:
        """Return all schemas of one or all shards, and why servers gave no answer."""
        found, silent = list[_Found](), dict[str, str]()
        for server in self._servers:
            try:
                found += self._ask(server, schema)
            except StorageError as error:
                if not isinstance(error.__cause__, psycopg.OperationalError):
                    raise
                silent[server] = error.reason.splitlines()[0]
        return found, silent

    def _ask(self, server: str, schema: str | None) -> list[_Found]:
        names = rf"{self._schema}_\d+_of_\d+" if schema is None else schema
        with self._connected(server) as connection:
            while True:
                listed = connection.execute(
                    "SELECT nspname::text FROM pg_namespace WHERE nspname ~ %s "
                    "AND to_regclass(format('%%I.facts', nspname)) IS NOT NULL ORDER BY nspname",
                    (f"^{names}({_LEFT})?$",),
                ).fetchall()
                try:
                    return [_Found(server, name, _facts(connection, name)) for (name,) in listed]
                except GONE:  # moved in between
                    continue

    def _connected(self, server: str) -> AbstractContextManager[psycopg.Connection[Any]]:
        return connected(self._servers[server])

    def move(self, schema: str, target: str, tell: Tell | None) -> bool:
        """Move a shard to the server *target* while it is in use; return False if it was there.

        Clean up after moves that were broken off, too.
        """
        if target not in self._servers:
            raise NotFoundError("server", target)
        (source,) = self.places([schema])
        if source != target:
            self._copy(schema, source, target, tell)
        self._clean(schema, target)
        return source != target

    def _copy(self, schema: str, source: str, target: str, tell: Tell | None) -> None:
        with self._connected(source) as old, self._connected(target) as new:
            migrate(old, schema, source)
            _settle(old, schema)
            _drop(old, schema + _LEFT)  # of an earlier move
            _drop(new, schema)  # a copy that was broken off
            with new.transaction():
                new.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
                create_tables(new, schema, target)
                copy_rights(old, new, schema)
                copy = Copy(old, new, schema, tell)
                for _ in range(_MOST_ROUNDS):
                    with _at_moment(old):
                        rows = copy.bring()
                    if rows < _FEW_ROWS:
                        break
                new.execute(f'ANALYZE "{schema}".records, "{schema}".journal')
                # The transaction of the old server ends after that of the new server.
                old.execute(f"BEGIN; SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
                old.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{_FROZEN_SECONDS}s'")
                old.execute("SELECT pg_advisory_xact_lock" + lock_key(f'"{schema}"'))
                copy.bring()
                copy.check()
                new.execute(f"DELETE FROM \"{schema}\".facts WHERE name LIKE '{SETTING}%'")
                _wait_for_readers(old, schema)
                new.execute(f'INSERT INTO "{schema}".facts VALUES (%s, %s)', (_MOVING, source))
            _leave(old, schema, target)

    def _clean(self, schema: str, target: str) -> None:
        """Drop what moves have left, once the shard is on *target* for sure."""
        with self._connected(target) as connection:
            _settle(connection, schema)
        for each in self._survey(schema)[0]:
            if each.has_left and each.facts.get(_MOVED) == target:
                with self._connected(each.server) as connection:
                    _drop(connection, each.schema)


def _places(name: str, found: list[_Found]) -> list[str]:
    """Return the servers where the shard is: there for sure, or else where it has moved."""
    mine = [each for each in found if each.schema.removesuffix(_LEFT) == name]
    sure = [each.server for each in mine if each.counts]
    moved = {each.facts.get(_MOVED) for each in mine if each.has_left}
    return sure or [each.server for each in mine if not each.has_left and each.server in moved]


def _names(silent: Mapping[str, str]) -> str:
    return ", ".join(f"{server} ({reason})" for server, reason in silent.items())


def _facts(connection: psycopg.Connection[Any], schema: str) -> dict[str, str]:
    query = f'SELECT name, value FROM "{schema}".facts WHERE name = ANY(%s)'
    return dict(connection.execute(query, ([_MOVING, _MOVED, _STEPS, _COMPLETE],)).fetchall())


def _leave(connection: psycopg.Connection[Any], schema: str, target: str) -> None:
    """Commit that the shard is not here any more; until now the copy counts for nothing."""
    connection.execute(f'INSERT INTO "{schema}".facts VALUES (%s, %s)', (_MOVED, target))
    connection.execute(f'ALTER SCHEMA "{schema}" RENAME TO "{schema}{_LEFT}"')
    connection.execute("COMMIT")


def _settle(connection: psycopg.Connection[Any], schema: str) -> None:
    """Note that a shard is here, whatever becomes of the place before."""
    connection.execute(f'DELETE FROM "{schema}".facts WHERE name = %s', (_MOVING,))


def _drop(connection: psycopg.Connection[Any], schema: str) -> None:
    connection.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')


@contextmanager
def _at_moment(connection: psycopg.Connection[Any]) -> Iterator[None]:
    connection.execute(MOMENT)
    try:
        yield
    finally:
        if not connection.closed:
            connection.execute("ROLLBACK")


def _wait_for_readers(connection: psycopg.Connection[Any], schema: str) -> None:
    """Wait until no read transaction is running; reads that begin now wait for the commit."""
    connection.execute(f"SET LOCAL lock_timeout = '{_READERS_SECONDS}s'")
    try:
        connection.execute(f'LOCK TABLE "{schema}".bethink IN ACCESS EXCLUSIVE MODE')
    except psycopg.errors.LockNotAvailable as error:
        reason = "a read takes too long for the shard to move; call again"
        raise StoreBusyError(schema, reason) from error
