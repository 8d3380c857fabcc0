"""The inspection of an SQLite file: pages, schema and anchor, beside everything else."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from ...model.progress import Tell
from ..abilities import Problem
from ..sql.inspection import SQLInspection
from . import schema
from .keyed_file import KeyedFile
from .opening import translate_errors

_MAX_PAGE_PROBLEMS: Final = 100


class SQLiteInspection(SQLInspection):
    """Check the file at *path* as seen by *connection*; *known* is the line of the anchor.

    The methods are documented in ``Inspection``.
    """

    _connection: sqlite3.Connection

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: str,
        keyed: KeyedFile | None,
        known: str | None,
        tell: Tell | None = None,
    ) -> None:
        super().__init__(connection, path, None if keyed is None else keyed.auth, tell)
        self._keyed = keyed
        self._known = known

    def damage(self, dimension: Callable[[], int | None] = lambda: None) -> Iterator[Problem]:
        yield from super().damage(dimension)
        if self._keyed is not None:
            yield from self._try(partial(self._keyed.problems, self._connection, self._known))

    def _translated(self) -> translate_errors:
        return translate_errors(self._path)

    def _file(self) -> Iterator[Problem]:
        checked = f"PRAGMA integrity_check({_MAX_PAGE_PROBLEMS})"
        for (found,) in self._connection.execute(checked):
            if found != "ok":
                yield Problem("file", self._path, found)
        for name, what in schema.schema_differences(self._connection):
            yield Problem("file", name, what)
