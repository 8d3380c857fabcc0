"""What erasing leaves in the file: a tombstone, and no byte of the text in any table, page or copy.

The transaction that erases blanks the record, its journal entries and the saved index. That alone
is not enough: when SQLite splits and joins pages it leaves copies of cells behind in the unused
parts, and the log keeps old pages. So afterwards the file is written anew and its log emptied. Two
facts tell an erasing that was cut short: the journal positions of the last erasing and of the last
one that was cleaned up after.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from .rows import RowTypes

ERASED: Final = "erased"
SCRUBBED: Final = "scrubbed"

ENTRIES_OF: Final = (  # a record's first entry is its ordinal, so that the index can do without
    "SELECT ordinal FROM records WHERE id = ? "
    "UNION ALL SELECT seq FROM journal WHERE id = ? AND action <> 'store'"
)
_PLACES: Final = f"SELECT namespace, was, row FROM journal WHERE seq IN ({ENTRIES_OF})"
_PLACE: Final = RowTypes(str, int | None, int | None)


def blank_record(connection: sqlite3.Connection, id: str) -> frozenset[str]:
    """Take all but the record's row out of the file; return the namespaces it was ever in."""
    places = _places(connection, id)
    rows = {row for _, *pair in places for row in pair if row is not None}
    namespaces = frozenset(namespace for namespace, *_ in places)
    connection.execute(
        f"UPDATE journal SET salt = NULL, changes = NULL WHERE seq IN ({ENTRIES_OF})", (id, id)
    )
    connection.execute(  # a link tells of both its ends
        "UPDATE journal SET salt = NULL, changes = NULL WHERE seq IN "
        "(SELECT since FROM links WHERE target = ? UNION ALL "
        "SELECT until FROM links WHERE target = ?)",
        (id, id),
    )
    connection.execute("DELETE FROM links WHERE source = ? OR target = ?", (id, id))
    for row in rows:  # some vectors stay with rows of the past
        connection.execute("DELETE FROM vectors WHERE row = ?", (row,))
        connection.execute("DELETE FROM named_vectors WHERE row = ?", (row,))
        connection.execute("DELETE FROM accesses WHERE ordinal = ?", (row,))
    for namespace in namespaces:
        place = (namespace, id)
        connection.execute("DELETE FROM departures WHERE namespace = ? AND id = ?", place)
        # From the first segment that may hold a word of it: no gap may stay.
        connection.execute(
            "DELETE FROM segments WHERE namespace = ? AND last >= ?", (namespace, min(rows))
        )
    return namespaces


def former_namespaces(connection: sqlite3.Connection, ids: set[str]) -> frozenset[str]:
    """Return the namespaces that the records were ever in."""
    return frozenset(namespace for id in ids for namespace, *_ in _places(connection, id))


def _places(connection: sqlite3.Connection, id: str) -> list[tuple[str, int | None, int | None]]:
    """Return where the record ever was: namespace, row before and row after of each entry."""
    return list(map(_PLACE, connection.execute(_PLACES, (id, id)).fetchall()))
