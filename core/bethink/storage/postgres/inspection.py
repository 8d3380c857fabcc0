"""The inspection of a database: everything that statements can check."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..abilities import Problem
from ..sql.inspection import SQLInspection


class PostgresInspection(SQLInspection):
    """Check the tables as seen by a connection; the methods are documented in ``Inspection``."""

    _touches = (
        "SELECT records.row, seq, told.value::text FROM journal CROSS JOIN "
        "json_each(changes::json -> 'accesses') AS told "
        "JOIN records ON records.id = told.key WHERE action = 'touch' ORDER BY 1, 2"
    )

    def _try(self, check: Callable[[], Iterator[Problem]]) -> Iterator[Problem]:
        """Yield the problems of *check*; the next check still has a transaction after an error."""
        self._connection.execute("SAVEPOINT check_begins")
        yield from super()._try(check)
        self._connection.execute("ROLLBACK TO check_begins")
