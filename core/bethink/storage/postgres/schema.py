"""The tables in a schema of a Postgres database: versions, and the migrations between versions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from psycopg import Connection
from psycopg.errors import InsufficientPrivilege
from psycopg.sql import SQL, Identifier

from ...errors import NotABethinkFileError, SchemaTooNewError, StorageError
from .tenants import bind, hide_rows

MIGRATIONS: Final = tuple(
    Path(__file__).with_name(f"version_{number}.sql").read_text(encoding="utf-8")
    for number in (1, 2)
)
"""The tables of each version; columns are explained in SQLite's files of the same names."""

LATEST: Final = len(MIGRATIONS)
TABLES: Final = tuple(re.findall(r"CREATE TABLE {schema}\.(?!bethink)(\w+)", "".join(MIGRATIONS)))
"""The tables of a store, beside the table ``bethink`` with the version."""

Rights: TypeAlias = Literal["read", "write", "tenant"]
VIEWS: Final = ("memories", "history")
ERASED_TABLE: Final = "erased"
"""The table of all tenants that only the whole store writes; it holds no text."""

_VECTOR_INDEXES: Final = (
    "SELECT tablename::text FROM pg_tables WHERE schemaname = %s "
    "AND tablename ~ '^near_[0-9a-f]{12}_'"
)
_MAINTAINED_SINCE: Final = 170_000
"""Since Postgres 17 a role may vacuum tables of a different owner."""

SHARD: Final = re.compile(r"(\w+)_(\d+)_of_(\d+)")
_NO_SHARD: Final = "the shard is not on this server; open shards with bethink.Shards"
_NO_READING: Final = (
    "the role {role} may not use its tables; run bethink migrate --writer {role} with a role that "
    "owns the tables"
)
_NO_MAKING: Final = (
    "its tables are missing or of an older version, and the role {role} may not make them; run "
    "bethink migrate with a role that may"
)


def version_of(connection: Connection[Any], schema: str, shown: str) -> int:
    """Return the version of the tables, 0 for none; refuse the tables of other programs."""
    with _telling_rights(connection, shown, _NO_READING):
        found = connection.execute(
            "SELECT to_regclass(%s), EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = %s)",
            (f'"{schema}".bethink', schema),
        ).fetchone()
        own, taken = found or (None, False)
        if own is None:
            if taken and schema != "public":
                reason = f"the schema {schema!r} has tables of another program; add ?schema=NAME"
                raise NotABethinkFileError(shown, reason)
            return 0
        row = connection.execute(f'SELECT version FROM "{schema}".bethink').fetchone()
    version = int(row[0]) if row else 0
    if version > LATEST:
        raise SchemaTooNewError(version, LATEST, shown)
    return version


def migrate(connection: Connection[Any], schema: str, shown: str) -> None:
    """Bring the tables to the latest version in one transaction.

    The tables of a shard are made by ``create_tables`` only: a shard that is missing here has
    moved, and a second one must not be made.
    """
    version = version_of(connection, schema, shown)
    if version == 0 and SHARD.fullmatch(schema):
        raise StorageError(shown, _NO_SHARD)
    if version < LATEST:
        create_tables(connection, schema, shown)


def create_tables(connection: Connection[Any], schema: str, shown: str) -> None:
    """Create the tables, or bring the tables to the latest version, in one transaction."""
    with _telling_rights(connection, shown, _NO_MAKING), connection.transaction():
        # Processes that open a new store at the same time wait here.
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (schema,))
        version = version_of(connection, schema, shown)
        connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        for step in MIGRATIONS[version:]:
            connection.execute(step.replace("{schema}", f'"{schema}"'))
        connection.execute(f'UPDATE "{schema}".bethink SET version = %s', (LATEST,))
        if version:
            copy_rights(connection, connection, schema)


@contextmanager
def _telling_rights(connection: Connection[Any], shown: str, advice: str) -> Iterator[None]:
    """Give *advice* where a right of the role is missing."""
    try:
        yield
    except InsufficientPrivilege as error:
        raise StorageError(shown, advice.format(role=connection.info.user)) from error


def grant(connection: Connection[Any], schema: str, role: str, rights: Rights) -> None:
    """Let *role* use the store, use the store for one tenant at a time, or only read the views.

    No role may change a table's form. A tenant's role reads no view, since views show all rows.
    """
    may_vacuum = connection.info.server_version >= _MAINTAINED_SINCE
    verbs = "SELECT, INSERT, UPDATE, DELETE" + (", MAINTAIN" if may_vacuum else "")
    granted = [("USAGE", "SCHEMA", "")]
    if rights != "tenant":
        granted += (("SELECT", "TABLE", view) for view in VIEWS)
    if rights != "read":
        granted += (("SELECT", "TABLE", name) for name in ("bethink", ERASED_TABLE))
        written = (name for name in TABLES if rights == "write" or name != ERASED_TABLE)
        granted += ((verbs, "TABLE", name) for name in written)
    with connection.transaction():
        for verbs, kind, name in granted:
            target = Identifier(schema, name) if name else Identifier(schema)
            statement = SQL(f"GRANT {verbs} ON {kind} {{}} TO {{}}")
            connection.execute(statement.format(target, Identifier(role)))
        if rights == "tenant":
            bind(connection, schema, role)
        for (table,) in connection.execute(_VECTOR_INDEXES, (schema,)).fetchall():
            grant_index(connection, schema, role, rights, table)


def grant_index(
    connection: Connection[Any], schema: str, role: str, rights: Rights, table: str
) -> None:
    """Let *role* use the *table* of a vector index, unless the role only reads the views."""
    if rights != "read":
        statement = SQL("GRANT SELECT, DELETE ON {} TO {}")
        connection.execute(statement.format(Identifier(schema, table), Identifier(role)))
    if rights == "tenant":
        hide_rows(connection, schema, role, table)


def copy_rights(old: Connection[Any], new: Connection[Any], schema: str) -> None:
    """Give the roles that may use the store of *old* the same rights to each table of *new*."""
    for role, rights in granted_rights(old, schema).items():
        if role != new.info.user:
            grant(new, schema, role, rights)


_GRANTED: Final = (
    "SELECT grantee::text, bool_or(table_name = 'records' AND privilege_type = 'INSERT'), "
    "bool_or(table_name = 'memories') FROM information_schema.role_table_grants "
    "WHERE table_schema = %s GROUP BY grantee"
)


def granted_rights(connection: Connection[Any], schema: str) -> dict[str, Rights]:
    """Return the rights of each role that may use the store."""
    return {
        role: "read" if not writes else "write" if reads_views else "tenant"
        for role, writes, reads_views in connection.execute(_GRANTED, (schema,)).fetchall()
    }
