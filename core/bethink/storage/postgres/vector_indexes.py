"""Approximate vector indexes of large namespaces, by the extension pgvector.

An index is a table of the vectors of a namespace as of one journal position, with an HNSW graph
(Malkov and Yashunin 2016). With a rate, each vector is folded: times importance · e^(-rate · age),
so that the inner product with a query orders by ``DecayProduct``. Newer rows are not in the table;
a search reads the newer rows beside. So writes cost nothing, and building anew takes newer rows in.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from secrets import token_hex
from struct import pack
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import psycopg

from ...errors import StorageError, ValidationError
from ...model.arrays import Floats
from ...model.port import DIMENSION_SETTING, IndexData, Row
from ...model.progress import Tell
from ..sql.authenticator import NO_AUTH
from ..sql.rows import HEAD, LISTED, Listed, ask_setting, read_head, read_setting, to_setting
from .connection import GONE, IDLE_LIMIT
from .connections import Connections
from .schema import grant_index, granted_rights

if TYPE_CHECKING:
    from . import PostgresBackend

SETTING: Final = "vector index:"
"""With the namespace, the name of the setting that tells of an index."""

MAX_DIMENSION: Final = 2_000  # of an HNSW graph
_MAX_EFFORT: Final = 1_000  # of pgvector's ``ef_search``, the size of the list of candidates
_GRAPH: Final = "WITH (m = 16, ef_construction = 128)"
_DAY: Final = 86_400.0
_BATCH_ROWS: Final = 4_096
_LIVE: Final = "namespace = ? AND state = 'live'"
_LATEST_USE: Final = "greatest(occurred_at, coalesce(last_accessed_at, occurred_at))"


@dataclass(frozen=True, slots=True)
class _Note:
    """What a setting tells of an index: rows up to ``seq``, with vectors of ``embedder``."""

    table: str
    seq: int
    embedder: str
    rate: float | None


def tables_of(settings: Iterable[str]) -> list[str]:
    """Return the tables of the indexes that the values of *settings* tell of."""
    return [note.table for each in settings if (note := _read_note(each)) is not None]


class PostgresVectorIndexes:
    """Build, search and drop the indexes of a store; see ``VectorIndexes``."""

    def __init__(self, backend: PostgresBackend, server: Connections, schema: str) -> None:
        self._backend = backend
        self._server = server
        self._schema = schema

    def nearest(self, namespace: str, query: Floats, most: int) -> IndexData | None:
        try:
            return self._nearest(namespace, query, most)
        except StorageError as error:
            if not isinstance(error.__cause__, GONE):
                raise
            return self._nearest(namespace, query, most)  # a new index took the place meanwhile

    def _nearest(self, namespace: str, query: Floats, most: int) -> IndexData | None:
        text = f"[{','.join(map(repr, query.tolist()))}]"
        with self._server.read_transaction() as connection:
            # Questions first: the answers travel together.
            head, embedder = connection.execute(HEAD), ask_setting(connection, "embedder")
            note = _read_note(read_setting(connection, SETTING + namespace))
            if note is None or note.embedder != to_setting(embedder):
                return None
            connection.ask(f"SET LOCAL hnsw.ef_search = {min(2 * most, _MAX_EFFORT)}")
            nearest = f"SELECT row FROM {self._place(note.table)} ORDER BY vector <#> %s::vector"
            found = connection.ask(f"{nearest} LIMIT {most}", (text,)).fetchall()
            chosen = Listed(row for (row,) in found)
            near = NO_AUTH.ask_rows(connection, f"row IN {LISTED}", chosen)
            newer = NO_AUTH.ask_rows(connection, f"{_LIVE} AND row > ?", namespace, note.seq)
            connection.finish_reading()
            rows = [row for asked in (near, newer) for row in NO_AUTH.to_rows(connection, asked)]
            live = [_without_text(row) for row in rows if row.record.state == "live"]
            return IndexData(head.fetchone()[0], (), {}, tuple(live), (), note.embedder)

    def build(self, namespace: str, rate: float | None, tell: Tell | None = None) -> int:
        with self._server.translated(), closing(self._server.connect().raw) as new:
            if not new.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone():
                reason = "the extension pgvector is missing; an owner runs CREATE EXTENSION vector"
                raise StorageError(self._server.shown, reason)
            table = f"near_{blake2b(namespace.encode(), digest_size=6).hexdigest()}_"
            noted = _read_note(self._backend.setting(SETTING + namespace))
            for (left,) in new.execute(_TABLES, (self._schema, f"{table}%")).fetchall():
                if noted is None or noted.table != left:  # of a call that was broken off
                    new.execute(f"DROP TABLE {self._place(left)}")
            with new.transaction():  # or the table of a broken-off call would keep erased vectors
                new.execute(f"SET LOCAL maintenance_work_mem = '256MB'; SET LOCAL {IDLE_LIMIT} = 0")
                # The former index may be of the same position, so the names are drawn.
                note, count = self._fill(new, namespace, f"{table}{token_hex(4)}", rate, tell)
                place = self._place(note.table)
                new.execute(f"CREATE INDEX ON {place} USING hnsw (vector vector_ip_ops) {_GRAPH}")
                new.execute(f"CREATE INDEX ON {place} (ordinal)")
                new.execute(f"ANALYZE {place}")
                for role, rights in granted_rights(new, self._schema).items():
                    grant_index(new, self._schema, role, rights, note.table)
            self._switch(namespace, note)
            return count

    def drop(self, namespace: str) -> bool:
        return self._switch(namespace, None)

    def _fill(
        self,
        new: psycopg.Connection[Any],
        namespace: str,
        table: str,
        rate: float | None,
        tell: Tell | None,
    ) -> tuple[_Note, int]:
        """Copy the vectors of *namespace* into the new *table*; return the note and the count."""
        with self._server.long_read_transaction() as connection:
            seq, embedder = read_head(connection), read_setting(connection, "embedder")
            dimension = int(read_setting(connection, DIMENSION_SETTING) or 0)
            if not 0 < dimension <= MAX_DIMENSION:
                reason = f"a vector index needs vectors of 1 to {MAX_DIMENSION:,} numbers"
                raise ValidationError(f"{reason}; {namespace!r} has {dimension:,}")
            connection.leave_pipeline()
            place = self._place(table)
            new.execute(
                f"CREATE TABLE {place} (row BIGINT PRIMARY KEY, ordinal BIGINT NOT NULL, "
                f"vector vector({dimension}) NOT NULL)"
            )
            count = 0
            with new.cursor() as cursor, cursor.copy(f"COPY {place} FROM STDIN BINARY") as copy:
                copy.set_types(("int8", "int8", "bytea"))
                for rows in self._folded(connection.raw, namespace, dimension, rate):
                    for each in rows:
                        copy.write_row(each)
                    count += len(rows)
                    if tell is not None:
                        tell(count, None)
            return _Note(table, seq, embedder or "", rate), count

    def _folded(
        self, old: psycopg.Connection[Any], namespace: str, dimension: int, rate: float | None
    ) -> Iterator[list[tuple[int, int, bytes]]]:
        """Yield rows, ordinals and folded unit vectors, in pgvector's form, some at a time."""
        head = pack(">hh", dimension, 0)
        schema, inside = f'"{self._schema}"', "namespace = %s AND state = 'live'"
        (newest,) = old.execute(
            f"SELECT max({_LATEST_USE}) FROM {schema}.records WHERE {inside}", (namespace,)
        ).fetchone() or (None,)
        with old.cursor(name="vectors") as cursor:
            cursor.execute(
                f"SELECT row, ordinal, vector, importance, {_LATEST_USE} FROM {schema}.records "
                f"JOIN {schema}.vectors USING (row) WHERE {inside}",
                (namespace,),
            )
            while found := cursor.fetchmany(_BATCH_ROWS):
                rows, ordinals, vectors, importance, used = zip(*found, strict=True)
                folded = np.frombuffer(b"".join(vectors), "<f4").reshape(-1, dimension)
                lengths = np.linalg.norm(folded, axis=1)
                factor = 1.0 / np.where(lengths > 0, lengths, 1.0)
                if rate is not None:
                    days = (newest - np.array(used)) / _DAY
                    factor *= np.array(importance) * np.exp(-rate * days)
                blobs = [head + each.tobytes() for each in (folded * factor[:, None]).astype(">f4")]
                yield list(zip(rows, ordinals, blobs, strict=True))

    def _switch(self, namespace: str, note: _Note | None) -> bool:
        """Put an index, or none, in the place of the index so far; return whether there was any.

        Rows that left since the reading leave the table, so that no erased vector stays.
        """
        with self._backend.write() as writer:
            former = _read_note(writer.setting(SETTING + namespace))
            if note is not None:
                writer.leave_live_vectors(note.table)
            told = "" if note is None else json.dumps(asdict(note))
            writer.set_setting(SETTING + namespace, told)
            if former is not None:
                writer.drop_vectors(former.table)
        return former is not None

    def _place(self, table: str) -> str:
        return f'"{self._schema}".{table}'


_TABLES: Final = "SELECT tablename::text FROM pg_tables WHERE schemaname = %s AND tablename LIKE %s"


def _read_note(told: str | None) -> _Note | None:
    return _Note(**json.loads(told)) if told else None


def _without_text(row: Row) -> Row:
    """Return *row* for an index that is asked for no words."""
    return replace(row, record=replace(row.record, content=""))
