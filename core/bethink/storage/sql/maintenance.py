"""Repairs, and the vectors of a new embedder: in the table of vectors, under minus the row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...model.arrays import Vector
from ...model.namespaces import from_pattern
from ...model.port import DIMENSION_SETTING, EMBEDDED, Stored
from .connection import Connection
from .erasing import ERASED
from .rows import LISTED, STAGED, Listed
from .writer import SQLWriter

_STAGED_ROWS: Final = "(SELECT row FROM vectors)"


class SQLRepairer:
    """The repairs of a write transaction; the methods are documented in ``Repairer``."""

    def __init__(self, writer: SQLWriter, connection: Connection) -> None:
        self._writer = writer
        self._connection = connection

    def repair_indexes(self) -> bool:
        return False

    def empty_lost_entries(self) -> dict[int, str | None]:
        return {}

    def embed(self, row: int, vector: Vector) -> None:
        self._connection.execute("DELETE FROM vectors WHERE row = ?", (row,))
        self._writer.attach(row, {EMBEDDED: vector})

    def discard(self) -> frozenset[str]:
        self._connection.execute("DELETE FROM vectors WHERE row NOT IN (SELECT row FROM records)")
        self._connection.execute(
            "DELETE FROM named_vectors "
            "WHERE row NOT IN (SELECT row FROM journal WHERE row IS NOT NULL) OR since > row"
        )
        found = self._connection.execute("DELETE FROM segments RETURNING namespace").fetchall()
        names = (name for (name,) in found if isinstance(name, str))
        return frozenset(name for name in names if from_pattern(name) == name)


class SQLStaging:
    """The staged vectors of a write transaction; the methods are documented in ``Staging``."""

    def __init__(self, writer: SQLWriter, connection: Connection) -> None:
        self._writer = writer
        self._connection = connection

    def add(self, embedder: str, dimension: int, vectors: Mapping[int, Vector]) -> None:
        target = f"{dimension} {embedder}"
        if self._writer.setting(STAGED) != target:
            self._connection.execute("DELETE FROM vectors WHERE row < 0")
            self._writer.set_setting(STAGED, target)
        rows = Listed(int(row) for row in vectors)
        present = f"SELECT row FROM vectors WHERE row IN {LISTED} AND -row NOT IN {_STAGED_ROWS}"
        for (row,) in self._connection.execute(present, (rows,)).fetchall():
            self._writer.attach(-row, {EMBEDDED: vectors[row]})

    def missing(self, after: int, limit: int) -> list[Stored]:
        waiting = f"row > ? AND row IN (SELECT row FROM vectors) AND -row NOT IN {_STAGED_ROWS}"
        return self._writer.stored(f"{waiting} ORDER BY row LIMIT ?", max(after, 0), limit)

    def count(self) -> tuple[int, int]:
        staged, present = self._connection.execute(
            "SELECT count(*) FILTER (WHERE row < 0 AND -row IN (SELECT row FROM records)), "
            "count(*) FILTER (WHERE row > 0) FROM vectors"
        ).fetchone()
        return staged, present

    def adopt(self) -> frozenset[str]:
        writer = self._writer
        dimension, _, embedder = (writer.setting(STAGED) or "").partition(" ")
        self._connection.execute("DELETE FROM vectors WHERE row > 0")
        self._connection.execute("UPDATE vectors SET row = -row WHERE row < 0")
        writer.set_setting("embedder", embedder)
        writer.set_setting(DIMENSION_SETTING, dimension)
        writer.set_setting(STAGED, "")
        writer.set_setting(ERASED, str(writer.head() + 1))  # late segments have the former vectors
        return SQLRepairer(writer, self._connection).discard()
