"""A backend in a schema of a Postgres database, for stores that many machines share."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import ClassVar, Final, Literal

import psycopg

from ...errors import StorageError, ValidationError
from ...model.namespaces import check_namespace
from ...model.port import Place, Stored
from ...model.progress import Tell
from ...model.records import MemoryRecord
from ..abilities import Compacted
from ..sql.authenticator import NO_AUTH
from ..sql.backend import SQLBackend
from ..sql.connection import Connection
from ..sql.daily_accesses import DailyMark
from ..sql.erasing import ERASED, SCRUBBED
from ..sql.maintenance import SQLRepairer, SQLStaging
from ..sql.where import selection
from ..sql.writer import SQLWriter, known_id
from ..urls import check_schema, split, without_password
from .connection import PostgresConnection, connected
from .connections import Connections
from .inspection import PostgresInspection
from .schema import ERASED_TABLE, LATEST, TABLES, Rights, grant, migrate, version_of
from .shards import ShardServers
from .tenants import check_bindable, check_bound
from .vector_indexes import SETTING, PostgresVectorIndexes, tables_of

__all__ = ["PostgresBackend", "ShardServers", "has_tables"]

_logger = logging.getLogger(__name__)

_USE: Final = "outcomes:"
_WHOLE_STORE: Final = "a tenant sees a part of the store; only the role of the owner {} all"
_SELECTION: Final = partial(selection, inside_json=False)
_REFUSED: Final = (
    "SELECT current_setting('transaction_read_only') = 'on' OR NOT has_table_privilege(?, 'INSERT')"
)
_STILL_QUOTED: Final = (
    "%s: the statistics of the server may still quote what was erased, because this role may not "
    "vacuum the tables; erase again, even nothing, with the role of the owner"
)
_DETAIL: Final = re.compile(r"Key \((\w+)\)=\((.*)\) already exists")


def has_tables(url: str) -> bool:
    """Return whether the schema of *url* has the tables of a store."""
    schema = _schema_of(split(url)[1])
    with connected(url) as connection:
        return version_of(connection, schema, without_password(url)) > 0


def _schema_of(parameters: Mapping[str, str]) -> str:
    return check_schema(parameters.get("schema", "bethink"))


class PostgresBackend(SQLBackend):
    """Keep records, vectors and journal in the database at *url*.

    The query of the URL may name the ``schema``, "bethink" by default, ``pooler=transaction`` for a
    server behind a pooler of transactions, and a ``tenant``: the namespace that, with everything
    below, is all that the server shows. All else is for libpq. The methods are documented in
    ``FullBackend``.
    """

    is_remote = True

    _connections: Connections
    _selection = staticmethod(_SELECTION)
    _SPELLED_ROWS: ClassVar[int] = 0
    _OUTCOME: ClassVar[str] = "round(outcome::numeric, 1)::float8"
    _DAY: ClassVar[str] = "floor(created_at / 86400 + 719163)::bigint"

    def __init__(self, url: str, durability: Literal["full", "normal"] = "full") -> None:
        address, own = split(url)
        schema = _schema_of(own)
        pooler = own.get("pooler")
        if pooler not in (None, "transaction"):
            raise ValidationError(f"pooler must be 'transaction', not {pooler!r}")
        tenant = own.get("tenant")
        self._tenant = None if tenant is None else check_namespace(tenant)
        self._schema = schema
        connections = Connections(
            address,
            schema,
            without_password(url),
            durability,
            pooled=pooler is not None,
            tenant=self._tenant,
        )
        super().__init__(connections, NO_AUTH, hides=self._tenant is not None)
        try:
            with connections.reading() as connection:
                migrate(connection.raw, schema, self.location)
                check_bound(connection.raw, schema, self._tenant, self.location)
            connections.release_locks_early()
            self._read_only = self._cannot_write()
        except BaseException:
            self.close()
            raise

    @property
    def location(self) -> str:
        """The address without a password."""
        return self._connections.shown

    def follow(self, find: Callable[[], str]) -> None:
        """Let the store move between servers: *find* returns the URL where the store is now."""
        self._connections.follow(find)

    @property
    def vector_indexes(self) -> PostgresVectorIndexes:
        return PostgresVectorIndexes(self, self._connections, self._schema)

    @property
    def read_only(self) -> bool:
        """Whether the server is a replica, or the role may not write."""
        if self._read_only:  # a replica may be promoted
            self._read_only = self._cannot_write()
        return self._read_only

    @property
    def breaks(self) -> int:
        return self._connections.breaks

    def _cannot_write(self) -> bool:
        table = f"{self._connections.schema}.journal"
        with self._connections.outside() as connection:  # a transaction to read is read only
            ((refused,),) = connection.execute(_REFUSED, (table,)).fetchall()
        return bool(refused)

    @contextmanager
    def write(self, places: Collection[Place] = ()) -> Iterator[PostgresWriter]:
        try:
            with self._connections.writing(places) as connection:
                writer = PostgresWriter(connection, self._tenant)
                yield writer
                connection.last = writer.end()
        except StorageError as error:
            refused = error.__cause__
            if isinstance(refused, psycopg.errors.UniqueViolation):
                raise ValidationError(self._explain(refused)) from refused
            if self._tenant and isinstance(refused, psycopg.errors.InsufficientPrivilege):
                outside = "a namespace of the write lies outside of the tenant"
                reason = f"{outside} {self._tenant!r}; name the tenant, or a namespace below"
                raise ValidationError(reason) from refused
            raise

    def _explain(self, refused: psycopg.errors.UniqueViolation) -> str:
        """Return why a unique index refused a write."""
        table = refused.diag.table_name
        found = _DETAIL.search(refused.diag.message_detail or "")
        value = found[2] if found else ""
        if not value:  # where rows are hidden, the server quotes no value
            kind, name = ("snapshot", "name") if table == "snapshots" else ("record", "id")
            taken = f"a {kind} with the {name} exists already"
            return f"{taken}, perhaps of another tenant; use another {name}"
        if table == "snapshots":
            return f"a snapshot {value!r} exists already"
        held = self.find([value]).get(value)
        return known_id(value, "live" if held is None else held.record.state)

    def _file_facts(self, connection: Connection) -> tuple[int, int, int]:
        sizes = " + ".join(f"pg_total_relation_size('{{}}.{table}')" for table in TABLES)
        schema = self._connections.schema
        ((size,),) = connection.execute(f"SELECT {sizes.replace('{}', schema)}").fetchall()
        return size, 0, LATEST  # Postgres counts no unused bytes without an extension

    @contextmanager
    def inspect(self, tell: Tell | None = None) -> Iterator[PostgresInspection]:
        if self._tenant is not None:
            raise ValidationError(_WHOLE_STORE.format("checks"))
        with self._connections.long_read_transaction() as connection:
            yield PostgresInspection(connection, self.location, tell=tell)

    def scrub(self, *, shrink: bool = False) -> None:
        # The planner's statistics quote values of the tables, so they are made anew, too.
        erased = self.setting(ERASED)
        if erased == self.setting(SCRUBBED):
            return
        refused: list[object] = []  # the server only warns of a right that is missing
        with self._connections.outside() as connection:
            notes = connection.execute(f"SELECT value FROM facts WHERE name LIKE '{SETTING}%'")
            schema = self._connections.schema
            for table in tables_of(note for (note,) in notes.fetchall()):
                connection.execute(f"VACUUM (ANALYZE) {schema}.{table}")
            raw = connection.raw
            raw.add_notice_handler(refused.append)
            for table in (name for name in TABLES if name != ERASED_TABLE):
                connection.execute(f"VACUUM (ANALYZE) {schema}.{table}")
            raw.remove_notice_handler(refused.append)
        if refused:
            _logger.warning(_STILL_QUOTED, self.location)
            return
        with self.write() as writer:
            writer.set_setting(SCRUBBED, str(erased))

    def grant(self, role: str, rights: Rights) -> None:
        """Let the *role* use the store, or only read the views ``memories`` and ``history``.

        With the *rights* "tenant", the role uses the store for one tenant at a time.
        """
        with self._connections.reading() as connection:
            if rights == "tenant":
                check_bindable(connection.raw, self._schema, role, self.location)
            grant(connection.raw, self._schema, role, rights)

    def backup(self, target: str) -> bool:
        return False  # a database is no file


class PostgresWriter(SQLWriter):
    """Change records, vectors and journal inside one transaction of *connection*."""

    _connection: PostgresConnection
    _selection = staticmethod(_SELECTION)

    def __init__(self, connection: PostgresConnection, tenant: str | None) -> None:
        super().__init__(connection)
        self._place = tenant
        self._erases = False

    @property
    def repairer(self) -> SQLRepairer:
        return SQLRepairer(self, self._connection)

    @property
    def staging(self) -> SQLStaging:
        if self._place is not None:
            raise ValidationError(_WHOLE_STORE.format("changes the embedder of"))
        return SQLStaging(self, self._connection)

    def dimension(self, name: str, wanted: int) -> int:
        stored = self.setting(f"dimension:{name}")
        # A tenant does not see whether others have vectors of the stored dimension.
        if self._place is None or stored is None:
            return super().dimension(name, wanted)
        return int(stored)

    def erase(self, row: int, tombstone: MemoryRecord) -> frozenset[str]:
        self._erases = True
        for table in self._vector_tables():
            own = "(SELECT ordinal FROM records WHERE row = ?)"
            self._connection.execute(
                f"DELETE FROM {self._connection.schema}.{table} WHERE ordinal = {own}", (row,)
            )
        return super().erase(row, tombstone)

    def _vector_tables(self) -> list[str]:
        facts = self._connection.facts
        return tables_of(note for name, note in facts.items() if name.startswith(SETTING))

    def leave_live_vectors(self, table: str) -> None:
        """Delete the rows of the *table* of a vector index that are not live any more."""
        live = "SELECT FROM records WHERE records.row = near.row AND state = 'live'"
        self._connection.execute(
            f"DELETE FROM {self._connection.schema}.{table} AS near WHERE NOT EXISTS ({live})"
        )

    def drop_vectors(self, table: str) -> None:
        """Drop the *table* of a vector index."""
        self._connection.execute(f"DROP TABLE IF EXISTS {self._connection.schema}.{table}")

    def _thin_accesses(self, before: DailyMark, until: int) -> None:
        if self._place is None:  # else the accesses of others are hidden
            super()._thin_accesses(before, until)

    def compact(self, until: int, at: float) -> Compacted:
        if self._place is not None:
            raise ValidationError(_WHOLE_STORE.format("compacts"))
        for table in self._vector_tables():
            self.leave_live_vectors(table)
        return super().compact(until, at)

    def by_key(self, namespace: str, key: str) -> Stored | None:
        return self.by_keys([(namespace, key)]).get((namespace, key))

    def by_keys(self, places: Collection[Place]) -> dict[Place, Stored]:
        holders = self._connection.holders(places)
        to_record = self._auth.to_record
        return {
            place: Stored(found[0], to_record(found[1:]))
            for place in places
            if (found := holders.get(place))
        }

    def read_end(self) -> None:
        self._go_on_after(self._connection.last)

    def setting(self, name: str) -> str | None:
        return self._connection.facts.get(self._own(name))

    def set_setting(self, name: str, value: str) -> None:
        super().set_setting(self._own(name), value)
        self._connection.facts[self._own(name)] = value

    def _own(self, name: str) -> str:
        """Return the setting's name; a setting about the use of memories is the tenant's own."""
        of_use = self._place is not None and name.startswith(_USE)
        return f"{name}@{self._place}" if of_use else name

    def end(self) -> tuple[int, bytes, float]:
        """Finish the writes, and return position, link and time of the last entry."""
        if self._erases and self._place is not None:  # once for all erased records
            self._connection.execute("SELECT 1 FROM drop_wider_segments()")
        return self._head, self._link, self._at
