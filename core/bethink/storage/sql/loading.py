"""Loading and saving of a scope's index: segments, and rows without a segment.

A large namespace has segments of its own. The rows of small namespaces are saved together, for
each subtree that is recalled as a whole: in segments named by a pattern, such as ``users/*``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from itertools import chain, pairwise
from mmap import mmap
from operator import attrgetter
from typing import Final

from ...model.namespaces import Everywhere, Scope, Subtree, from_pattern, to_pattern
from ...model.port import SEGMENT_FORMAT, IndexData, Row, Segment
from .authenticator import Authenticator
from .connection import Connection
from .erasing import ERASED
from .rows import LISTED, Listed, read_head, read_number, scope_sql

_READ_BYTES: Final = 1 << 20
_columns_of = attrgetter("namespace", "first", "last", "count", "head")
_COUNT: Final = "SELECT count(*) FROM records"
_LIVE: Final = "state = 'live'"
_SCAN_FACTOR: Final = 8  # a scan of so many times fewer rows is faster than the namespace index


def load(
    connection: Connection,
    auth: Authenticator,
    names: Iterable[str],
    limit: int | None,
    recent: Mapping[int, Row],
) -> IndexData:
    """Read the data for an index of all *names* together; with a *limit* only the end of each.

    The names are namespaces and patterns. A pattern stands for the namespaces without segments.
    """
    live_rows = dict[str, frozenset[int]]()
    segments, unindexed, changed = list[Segment](), list[Row](), list[Row]()
    for name in names:
        start, last = (0, 0) if limit is None else _find_tail(connection, name, limit)
        saved = _read_segments(connection, auth, name, start)
        if saved:
            last, head = saved[-1].last, min(segment.head for segment in saved)
            inside, given = _held_by(name, start, last)
            (live,) = connection.execute(f"{_COUNT} WHERE {inside}", given).fetchone()
            if live != sum(segment.count for segment in saved):
                rows = connection.execute(f"SELECT row FROM records WHERE {inside}", given)
                live_rows[name] = frozenset(row for (row,) in rows.fetchall())
            patched = f"{inside} AND revision > ? AND revision <> row"
            by_patch = "INDEXED BY records_patched"
            changed += auth.read_rows(connection, patched, *given, head, using=by_patch)
        segments += saved
        unindexed += _read_unindexed(connection, auth, name, last, limit, recent)
    return IndexData(
        read_head(connection), tuple(segments), live_rows, tuple(unindexed), tuple(changed)
    )


def names_in(connection: Connection, scope: Scope) -> list[str]:
    """Return the names that give *scope* together: namespaces, and a pattern for all others."""
    if isinstance(scope, str):
        return [scope]
    inside, given = scope_sql(scope)
    if not isinstance(scope, Subtree | Everywhere):
        names = f"SELECT DISTINCT namespace FROM records WHERE {_LIVE} AND {inside} ORDER BY 1"
        return [name for (name,) in connection.execute(names, given).fetchall()]
    is_live = f"SELECT 1 FROM records WHERE namespace = segments.namespace AND {_LIVE}"
    found = connection.execute(
        f"SELECT DISTINCT namespace FROM segments WHERE {inside} AND EXISTS ({is_live}) ORDER BY 1",
        given,
    )
    return [*(name for (name,) in found.fetchall()), to_pattern(scope)]


def _held_by(name: str, first: int, last: int | None = None) -> tuple[str, tuple[object, ...]]:
    """Return the SQL condition of the live rows of a namespace or pattern, *first* to *last*."""
    scope = from_pattern(name)
    inside, given = scope_sql(scope)
    if scope != name:
        inside += " AND namespace NOT IN (SELECT namespace FROM segments)"
    span, ends = ("row >= ?", (first,)) if last is None else ("row BETWEEN ? AND ?", (first, last))
    return f"{inside} AND {_LIVE} AND {span}", (*given, *ends)


def _find_tail(connection: Connection, namespace: str, limit: int) -> tuple[int, int]:
    """Return the row where the small segments at the end begin, and the last row in a segment.

    Small segments with much less than *limit* rows together are left alone.
    """
    last = start = held = 0
    for first, end, count in connection.execute(
        "SELECT first, last, count FROM segments WHERE namespace = ? ORDER BY first DESC",
        (namespace,),
    ):
        last = last or end
        if count > limit // 2 or held > limit:
            break
        start, held = first, held + count
    return start if held > limit * 3 // 4 else last + 1, last


def _read_unindexed(
    connection: Connection,
    auth: Authenticator,
    namespace: str,
    last: int,
    limit: int | None,
    recent: Mapping[int, Row],
) -> list[Row]:
    """Return the first *limit* rows of *namespace* after *last*.

    Rows in *recent* are read only if patched, or if the row now holds a different record.
    """
    (newest,) = connection.execute("SELECT coalesce(max(row), 0) FROM records").fetchone()
    if newest <= last:
        return []
    after, given = _held_by(namespace, last + 1)
    if limit is None:
        using = _choose_index(connection, namespace, newest - last)
        return auth.read_rows(connection, after, *given, using=using)
    (indexed,) = connection.execute(
        "SELECT coalesce(sum(count), 0) FROM segments WHERE namespace = ?", (namespace,)
    ).fetchone()
    narrow = (newest - last) * _SCAN_FACTOR <= indexed
    found = connection.execute(
        f"SELECT row, revision, id FROM records {'NOT INDEXED' if narrow else ''} "
        f"WHERE {after} ORDER BY row LIMIT ?",
        (*given, limit),
    ).fetchall()
    kept = {
        row: known
        for row, revision, id in found
        if revision == row and (known := recent.get(row)) and known.record.id == id
    }
    if len(kept) == len(found):
        return list(kept.values())
    left = Listed(row for row, *_ in found if row not in kept)
    read = auth.read_rows(connection, f"row IN {LISTED}", left, using="NOT INDEXED")
    kept.update((each.row, each) for each in read)
    return [kept[row] for row, *_ in found]


def _choose_index(connection: Connection, name: str, rows: int) -> str:
    """Name the index of namespaces if a subtree has few of the last *rows* rows.

    SQLite would read all rows, in order.
    """
    scope = from_pattern(name)
    if not isinstance(scope, Subtree):
        return ""
    inside, given = scope_sql(scope)
    counted = f"SELECT count(*) FROM records WHERE {inside} AND {_LIVE}"
    (count,) = connection.execute(counted, given).fetchone()
    return "INDEXED BY records_scope" if count * _SCAN_FACTOR < rows else ""


def _read_segments(
    connection: Connection, auth: Authenticator, namespace: str, start: int = 0
) -> tuple[Segment, ...]:
    """Return the namespace's segments from row *start* on.

    Return no segment if any segment is damaged, missing, overlapping or of a different format.
    """
    found = connection.execute(
        "SELECT checksum, format, length(data), first, last, count, head, number FROM segments "
        "WHERE namespace = ? AND first >= ? ORDER BY first",
        (namespace, start),
    ).fetchall()
    if any(kind != SEGMENT_FORMAT for _, kind, *_ in found):
        return ()
    segments = []
    for checksum, kind, size, first, last, count, head, number in found:
        data = _read_data(connection, number, size)
        columns = (kind, namespace, first, last, count, head)
        if auth.checksum(columns, data) != checksum:
            return ()
        segments.append(Segment(namespace, first, last, count, head, data, number))
    if any(left.last >= right.first for left, right in pairwise(segments)):
        return ()
    return () if _misses_rows(connection, namespace, start, segments) else tuple(segments)


def _misses_rows(
    connection: Connection, namespace: str, start: int, segments: list[Segment]
) -> bool:
    """Return whether a live row from *start* on lies before or between *segments*."""
    ends = [start - 1, *(segment.last for segment in segments)]
    gaps = [
        (end + 1, segment.first - 1)
        for end, segment in zip(ends, segments, strict=False)
        if end + 1 < segment.first
    ]
    if not gaps:
        return False
    narrow = sum(to - since for since, to in gaps) * _SCAN_FACTOR <= sum(
        segment.count for segment in segments
    )
    using = "NOT INDEXED" if narrow else "INDEXED BY records_scope"
    inside, given = _held_by(namespace, start)
    (found,) = connection.execute(
        f"SELECT EXISTS (SELECT 1 FROM records {using} WHERE {inside} "
        f"AND ({' OR '.join(['row BETWEEN ? AND ?'] * len(gaps))}))",
        (*given, *chain.from_iterable(gaps)),
    ).fetchone()
    return bool(found)


def _read_data(connection: Connection, number: int, size: int) -> bytes | memoryview:
    """Return the bytes of a segment.

    Large segments go to mapped memory, so that the system gets the memory back: the heap does not
    shrink below later allocations.
    """
    with connection.blobopen("segments", "data", number, readonly=True) as blob:
        if size < _READ_BYTES:
            return bytes(blob.read())
        room = mmap(-1, size)
        while piece := blob.read(_READ_BYTES):
            room.write(piece)
    return memoryview(room).toreadonly()


def save(connection: Connection, auth: Authenticator, segment: Segment) -> int | None:
    """Insert *segment*, delete replaced and unusable segments, and return the number.

    Do nothing and return None if a second writer covered or erased rows of *segment* meanwhile.
    """
    erased = read_number(connection, ERASED)
    if erased is not None and segment.head < erased:
        return None
    replaced = Listed(segment.replaces)
    overlapping, present = connection.execute(
        f"SELECT count(*) FILTER (WHERE number NOT IN {LISTED} AND last >= ? AND first <= ?),"
        f" count(*) FILTER (WHERE number IN {LISTED}) FROM segments WHERE namespace = ?",
        (replaced, segment.first, segment.last, replaced, segment.namespace),
    ).fetchone()
    if overlapping and not _read_segments(connection, auth, segment.namespace):
        connection.execute("DELETE FROM segments WHERE namespace = ?", (segment.namespace,))
        overlapping = 0
    if overlapping or present != len(segment.replaces):
        return None
    connection.execute(f"DELETE FROM segments WHERE number IN {LISTED}", (replaced,))
    columns = (SEGMENT_FORMAT, *_columns_of(segment))
    number = _draw_number(connection)
    connection.execute(
        "INSERT INTO segments "
        "(number, format, namespace, first, last, count, head, checksum, data) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (number, *columns, auth.checksum(columns, segment.data), segment.data),
    )
    return number


def _draw_number(connection: Connection) -> int:
    """Draw a free number of 31 bits: Python 3.11.2 opens no blob with a larger number.

    Numbers are random, since readers would take a reused number for the earlier segment.
    """
    while True:
        number = int.from_bytes(os.urandom(4)) >> 1
        taken = connection.execute("SELECT 1 FROM segments WHERE number = ?", (number,)).fetchone()
        if taken is None:
            return number
