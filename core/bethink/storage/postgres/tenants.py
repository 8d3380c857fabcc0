"""Row security: a role that sees the namespaces of one tenant at a time.

The server itself hides the rows of all other tenants, behind the conditions of our own statements.
A tenant is a namespace with everything below. A connection states its tenant as a setting, and sees
nothing without the setting. Entries of no record, such as touches, carry the tenant's namespace.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from psycopg import Connection
from psycopg.sql import SQL, Identifier

from ...errors import StorageError
from ..sql.rows import HEAD

SETTING: Final = "bethink.tenant"
FUNCTIONS: Final = Path(__file__).with_name("tenants.sql").read_text(encoding="utf-8")

OWN_RECORD: Final = "EXISTS (SELECT FROM {schema}.records WHERE records.ordinal = {table}.ordinal)"
_OWN_NAMESPACE: Final = "{schema}.tenant_sees(namespace)"
_OWN_ROW: Final = (  # while a record moves, the entry of the new row is still to come
    "EXISTS (SELECT FROM {schema}.records WHERE records.row = {table}.row) "
    "OR EXISTS (SELECT FROM {schema}.journal WHERE seq = {table}.row)"
)
_POLICIES: Final = {
    "records": _OWN_NAMESPACE,
    "journal": _OWN_NAMESPACE,
    "departures": _OWN_NAMESPACE,
    "segments": _OWN_NAMESPACE,
    "vectors": _OWN_ROW,
    "named_vectors": _OWN_ROW,
    "accesses": OWN_RECORD,
    "links": "EXISTS (SELECT FROM {schema}.records WHERE records.id = links.source)",
    "snapshots": "EXISTS (SELECT FROM {schema}.journal WHERE journal.seq = snapshots.seq + 1)",
}
"""The rows that a tenant sees, by table. The entry that tells of a snapshot is the next entry."""

_WRITABLE: Final = {"snapshots": "TRUE"}  # the entry is still to come
_EVERYONE: Final = "everyone"
_IS_BOUND: Final = (
    "SELECT EXISTS (SELECT FROM pg_policies WHERE schemaname = %s AND tablename = 'records' "
    "AND permissive = 'RESTRICTIVE' AND EXISTS "
    "(SELECT FROM unnest(roles) AS role WHERE pg_has_role(role, 'USAGE')) "
    "AND row_security_active(format('%%I.%%I', schemaname, tablename)))"
)
"""Owners of the tables and superusers pass by the policies."""
_PASSES_BY: Final = (
    "SELECT rolsuper OR rolbypassrls OR EXISTS (SELECT FROM pg_tables WHERE schemaname = %s "
    "AND tablename = 'records' AND pg_has_role(rolname, tableowner, 'USAGE')) "
    "FROM pg_roles WHERE rolname = %s"
)
_NOT_BOUND: Final = (
    "the role {role} sees every tenant; take a role that neither owns the tables nor is a "
    "superuser, for which the owner has run bethink migrate URL --tenant-writer ROLE"
)
_NO_TENANT: Final = "the role {role} sees one tenant only; add ?tenant=NAMESPACE to the URL"

WHOLE_JOURNAL: Final = {
    HEAD: f"{HEAD.removesuffix('journal')}last_entry() AS journal",
    "SELECT at FROM journal WHERE seq = ?": "SELECT at FROM time_of(?) AS at",
}
"""Statements about the journal of all tenants, by statements about the visible journal."""


def bind(connection: Connection[Any], schema: str, role: str) -> None:
    """Let *role* see one tenant only; other roles see as much as before."""
    named = {"schema": Identifier(schema), "role": Identifier(role)}
    connection.execute(FUNCTIONS.replace("{schema}", f'"{schema}"'))
    for function in ("last_entry()", "time_of(bigint)", "drop_wider_segments()"):
        for change in (
            "REVOKE ALL ON FUNCTION {} FROM PUBLIC",
            "GRANT EXECUTE ON FUNCTION {} TO {role}",
        ):
            target = SQL("{schema}." + function).format(**named)
            connection.execute(SQL(change).format(target, **named))
    for table, visible in _POLICIES.items():
        hide_rows(connection, schema, role, table, visible)


def hide_rows(
    connection: Connection[Any], schema: str, role: str, table: str, visible: str = OWN_RECORD
) -> None:
    """Let *role* see the *visible* rows of a *table* only."""
    place = Identifier(schema, table)
    connection.execute(SQL("ALTER TABLE {} ENABLE ROW LEVEL SECURITY").format(place))
    for policy, kind, roles, seen in (
        (_EVERYONE, "PERMISSIVE", SQL("PUBLIC"), "TRUE"),
        (f"tenant {role}", "RESTRICTIVE", Identifier(role), visible),
    ):
        condition, writable = (
            SQL(each.replace("{table}", table)).format(schema=Identifier(schema))
            for each in (seen, _WRITABLE.get(table, seen))
        )
        name = Identifier(policy)
        connection.execute(SQL("DROP POLICY IF EXISTS {} ON {}").format(name, place))
        connection.execute(
            SQL(
                f"CREATE POLICY {{}} ON {{}} AS {kind} TO {{}} USING ({{}}) WITH CHECK ({{}})"
            ).format(name, place, roles, condition, writable)
        )


def check_bindable(connection: Connection[Any], schema: str, role: str, shown: str) -> None:
    """Refuse a *role* that passes by every policy."""
    found = connection.execute(_PASSES_BY, (schema, role)).fetchone()
    if found and found[0]:
        raise StorageError(shown, _NOT_BOUND.format(role=role))


def check_bound(connection: Connection[Any], schema: str, tenant: str | None, shown: str) -> None:
    """Refuse a *tenant* for a role that sees every tenant, and a role that needs a tenant."""
    ((is_bound,),) = connection.execute(_IS_BOUND, (schema,)).fetchall()
    if is_bound != (tenant is not None):
        reason = _NO_TENANT if is_bound else _NOT_BOUND
        raise StorageError(shown, reason.format(role=connection.info.user))
