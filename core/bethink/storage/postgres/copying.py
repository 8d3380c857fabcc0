"""A store's tables, copied from one server to another while writers go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from psycopg import Connection

from ...errors import StorageError
from ...model.progress import Tell
from .schema import TABLES

_KEY: Final = (
    "SELECT attname::text FROM pg_index JOIN pg_attribute ON attrelid = indrelid "
    "AND attnum = ANY(indkey) WHERE indrelid = %s::regclass AND indisprimary"
)
_HORIZON: Final = "SELECT pg_snapshot_xmin(pg_current_snapshot())::xid::text"
_LAST: Final = "SELECT seq, link FROM {schema}.journal ORDER BY seq DESC LIMIT 1"


class Copy:
    """Copy the tables of *schema* from a transaction of *old* into empty tables of *new*.

    The first call of ``bring`` copies every row. A later call copies the rows written since the
    transaction of the call before, whose number each row of Postgres carries.
    """

    def __init__(
        self, old: Connection[Any], new: Connection[Any], schema: str, tell: Tell | None
    ) -> None:
        self._old, self._new, self._schema, self._tell = old, new, f'"{schema}"', tell
        self._horizon: str | None = None
        self._done = 0

    def bring(self) -> int:
        """Bring the copy to the state that *old* sees; return the number of rows that moved."""
        horizon, before = _value(self._old, _HORIZON), self._done
        for table in TABLES:
            place = f"{self._schema}.{table}"
            columns = ", ".join(self._columns(place))
            if self._horizon is None:
                self._pipe(f"SELECT {columns} FROM {place}", f"{place} ({columns})")
            elif key := [name for (name,) in self._new.execute(_KEY, (place,)).fetchall()]:
                self._bring_changed(place, columns, key)
            else:  # a table without a primary key is small, and copied whole each time
                self._new.execute(f"DELETE FROM {place}")
                self._pipe(f"SELECT {columns} FROM {place}", f"{place} ({columns})", told=False)
        self._horizon = horizon
        return self._done - before

    def check(self) -> None:
        """Raise ``StorageError`` unless *new* has as many rows as *old*, and the same history."""
        for table in TABLES:
            counts = f"SELECT count(*) FROM {self._schema}.{table}"
            if _value(self._old, counts) != _value(self._new, counts):
                raise StorageError(None, f"the copy of the table {table} is not complete")
        last = _LAST.replace("{schema}", self._schema)
        if self._old.execute(last).fetchone() != self._new.execute(last).fetchone():
            raise StorageError(None, "the copy has another history")

    def _bring_changed(self, place: str, columns: str, key: Sequence[str]) -> None:
        self._new.execute(f"CREATE TEMP TABLE changed (LIKE {place})")
        changed = f"SELECT {columns} FROM {place} WHERE age(xmin) <= age('{self._horizon}'::xid)"
        self._pipe(changed, f"changed ({columns})")
        match = " AND ".join(f"own.{column} = changed.{column}" for column in key)
        if self._counts(place, match) != _value(self._old, f"SELECT count(*) FROM {place}"):
            self._delete_missing(place, key)
        self._new.execute(f"DELETE FROM {place} AS own USING changed WHERE {match}")
        self._new.execute(f"INSERT INTO {place} ({columns}) SELECT {columns} FROM changed")
        self._new.execute("DROP TABLE changed")

    def _counts(self, place: str, match: str) -> int:
        """Return how many rows the copy would have if no row was deleted."""
        return int(
            _value(
                self._new,
                f"SELECT (SELECT count(*) FROM {place}) + (SELECT count(*) FROM changed "
                f"WHERE NOT EXISTS (SELECT FROM {place} AS own WHERE {match}))",
            )
        )

    def _delete_missing(self, place: str, key: Sequence[str]) -> None:
        names = ", ".join(key)
        match = " AND ".join(f"kept.{column} = own.{column}" for column in key)
        self._new.execute(f"CREATE TEMP TABLE kept AS SELECT {names} FROM {place} LIMIT 0")
        self._pipe(f"SELECT {names} FROM {place}", "kept", told=False)
        self._new.execute(
            f"DELETE FROM {place} AS own WHERE NOT EXISTS (SELECT FROM kept WHERE {match})"
        )
        self._new.execute("DROP TABLE kept")

    def _columns(self, place: str) -> list[str]:
        described = self._new.execute(f"SELECT * FROM {place} LIMIT 0").description
        return [f'"{column.name}"' for column in described or ()]

    def _pipe(self, query: str, target: str, *, told: bool = True) -> None:
        with self._old.cursor() as source, self._new.cursor() as sink:
            with (
                source.copy(f"COPY ({query}) TO STDOUT (FORMAT binary)") as blocks,
                sink.copy(f"COPY {target} FROM STDIN (FORMAT binary)") as into,
            ):
                for block in blocks:
                    into.write(block)
            if told:
                self._done += sink.rowcount
        if told and self._tell is not None:
            self._tell(self._done, None)


def _value(connection: Connection[Any], query: str) -> Any:
    found = connection.execute(query).fetchone()
    return None if found is None else found[0]
