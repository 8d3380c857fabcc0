"""Erasing: only a tombstone is left, and no byte of the text in any table, page or copy.

The transaction blanks the record, the journal entries and the saved index. SQLite still leaves
copies of cells in unused parts of pages, and old pages in the log. So afterwards these parts are
overwritten and the log emptied. Two settings reveal an interrupted erasing: the journal positions
of the last erasing and of the last scrubbing.
"""

from __future__ import annotations

from typing import Final

from ...model.namespaces import Everywhere, Subtree, scopes_over, to_pattern
from .connection import Connection
from .rows import LISTED, Listed, RowTypes

ERASED: Final = "erased"
SCRUBBED: Final = "scrubbed"

ENTRIES_OF: Final = (  # the first entry is the ordinal, and is not in the index of the journal
    "SELECT ordinal FROM records WHERE id = ? "
    "UNION ALL SELECT seq FROM journal WHERE id = ? AND action <> 'store'"
)
_ENTRIES: Final = f"SELECT namespace, was, row FROM journal WHERE seq IN ({ENTRIES_OF})"
_ENTRY_TYPES: Final = RowTypes(str, int | None, int | None)


def blank_record(connection: Connection, id: str) -> frozenset[str]:
    """Remove all data of the record but the row; return all present and past namespaces."""
    entries = _read_rows(connection, id)
    rows = {row for _, *pair in entries for row in pair if row is not None}
    namespaces = frozenset(namespace for namespace, *_ in entries)
    connection.execute(
        f"UPDATE journal SET salt = NULL, changes = NULL WHERE seq IN ({ENTRIES_OF})", (id, id)
    )
    connection.execute(  # entries of other records that link to the record
        "UPDATE journal SET salt = NULL, changes = NULL WHERE seq IN "
        "(SELECT since FROM links WHERE target = ? UNION ALL "
        "SELECT until FROM links WHERE target = ?)",
        (id, id),
    )
    connection.execute("DELETE FROM links WHERE source = ? OR target = ?", (id, id))
    own = "(SELECT ordinal FROM records WHERE id = ?)"  # once compacted, maybe among no rows
    connection.execute(f"DELETE FROM accesses WHERE ordinal = {own}", (id,))
    for row in rows:  # past rows keep vectors, too
        connection.execute("DELETE FROM vectors WHERE row IN (?, ?)", (row, -row))  # or staged
        connection.execute("DELETE FROM named_vectors WHERE row = ?", (row,))
    for namespace in namespaces:
        moves = "DELETE FROM departures WHERE namespace = ? AND id = ?"
        connection.execute(moves, (namespace, id))
        delete_segments(connection, namespace, min(rows))
    return namespaces


def delete_segments(connection: Connection, namespace: str, first: int) -> None:
    """Delete the segments that hold or may miss a row of *namespace* from row *first* on.

    Later segments go too: a gap between segments would make all unusable.
    """
    scopes = scopes_over(namespace)
    patterns = [to_pattern(each) for each in scopes if isinstance(each, Subtree | Everywhere)]
    connection.execute(
        f"DELETE FROM segments WHERE namespace IN {LISTED} AND (last >= ? OR EXISTS "
        "(SELECT 1 FROM segments own WHERE own.namespace = ?))",
        (Listed(patterns), first, namespace),
    )
    connection.execute("DELETE FROM segments WHERE namespace = ? AND last >= ?", (namespace, first))


def former_namespaces(connection: Connection, ids: set[str]) -> frozenset[str]:
    """Return all present and past namespaces of the records."""
    return frozenset(namespace for id in ids for namespace, *_ in _read_rows(connection, id))


def _read_rows(connection: Connection, id: str) -> list[tuple[str, int | None, int | None]]:
    """Return namespace, row before and row after of each entry of the record."""
    return list(map(_ENTRY_TYPES, connection.execute(_ENTRIES, (id, id)).fetchall()))
