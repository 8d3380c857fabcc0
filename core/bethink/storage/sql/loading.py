"""Loading and saving of a scope's index: segments, and rows without a segment.

A large namespace has segments of its own. The rows of small namespaces are saved together, for
each subtree that is recalled as a whole: in segments named by a pattern, such as ``users/*``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from itertools import chain, pairwise
from mmap import mmap
from operator import attrgetter
from typing import Any, Final, NamedTuple

from ...model.namespaces import Everywhere, Scope, Subtree, from_pattern, to_pattern
from ...model.port import SEGMENT_FORMAT, IndexData, Row, Segment
from .authenticator import Authenticator
from .connection import Connection, Cursor
from .erasing import ERASED
from .rows import HEAD, LISTED, Listed, ask_setting, read_number, scope_sql, to_setting

_READ_BYTES: Final = 1 << 20
_columns_of = attrgetter("namespace", "first", "last", "count", "head")
_NEWEST: Final = "SELECT coalesce(max(row), 0) FROM records"
_LIVE: Final = "state = 'live'"
_SCAN_FACTOR: Final = 8  # a scan of so many times fewer rows is faster than the namespace index


class _Listed(NamedTuple):
    """A saved segment without the data."""

    checksum: int
    format: int
    size: int
    first: int
    last: int
    rows: int
    head: int
    number: int


class _Part(NamedTuple):
    """The data of a namespace or pattern: see ``IndexData``."""

    unindexed: Sequence[Row]
    segments: Sequence[Segment] = ()
    live: frozenset[int] | None = None
    changed: Sequence[Row] = ()


def load(
    connection: Connection,
    auth: Authenticator,
    names: Sequence[str],
    limit: int | None,
    recent: Mapping[int, Row],
    finish: Callable[[], None],
    *,
    skip_segments: bool = False,
) -> IndexData | None:
    """Read the data for an index of all *names* together; with a *limit* only the end of each.

    The names are namespaces and patterns. A pattern stands for the namespaces without segments.
    *finish* is called after the last statement, if known to be the last before the answer is read.
    Return None if the rows of damaged segments are to be read after that: with *skip_segments*,
    for the last name.
    """
    live_rows = dict[str, frozenset[int]]()
    segments, unindexed, changed = list[Segment](), list[Row](), list[Row]()
    # Questions come first, here and below: the answers may travel together.
    with (
        closing(connection.execute(HEAD)) as asked,
        closing(ask_setting(connection, "embedder")) as noted,
    ):
        for name in names:
            end = finish if name == names[-1] and limit is None else None
            part = _load_name(connection, auth, name, limit, recent, end, skip=skip_segments)
            if part is None:
                return None
            segments += part.segments
            unindexed += part.unindexed
            changed += part.changed
            if part.live is not None:
                live_rows[name] = part.live
        (head,) = asked.fetchone()
        embedder = to_setting(noted)
    return IndexData(head, tuple(segments), live_rows, tuple(unindexed), tuple(changed), embedder)


def _load_name(
    connection: Connection,
    auth: Authenticator,
    name: str,
    limit: int | None,
    recent: Mapping[int, Row],
    finish: Callable[[], None] | None,
    *,
    skip: bool,
) -> _Part | None:
    start, last = (0, 0) if limit is None else _find_tail(connection, name, limit)
    with closing(connection.execute(_NEWEST)) as asked:
        listed = [] if skip and finish else _list_segments(connection, name, start)
        (newest,) = asked.fetchone()
    rest = partial(_Unindexed, connection, auth, name, newest, limit, recent)
    if listed:
        with (
            closing(_Saved(connection, auth, name, start, listed)) as saved,
            closing(rest(listed[-1].last)) as end,
        ):
            if finish is not None:
                finish()
            if segments := saved.read():
                return _Part(end.read(), segments, saved.live_rows(), saved.changed())
            if finish is not None:
                return None
    with closing(rest(last)) as end:
        if finish is not None:
            finish()
        return _Part(end.read())


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


class _Unindexed:
    """The first *limit* rows of a namespace or pattern after *last*, up to the *newest* of all.

    Rows in *recent* are read only if patched, or if the row now holds a different record.
    """

    def __init__(
        self,
        connection: Connection,
        auth: Authenticator,
        name: str,
        newest: int,
        limit: int | None,
        recent: Mapping[int, Row],
        last: int,
    ) -> None:
        self._connection = connection
        self._auth = auth
        self._recent = recent
        self._asked: Cursor | None = None
        self._is_whole = limit is None
        if newest <= last:
            return
        after, given = _held_by(name, last + 1)
        if limit is None:
            using = _choose_index(connection, name, newest - last)
            self._asked = auth.ask_rows(connection, after, *given, using=using)
            return
        counts = "SELECT coalesce(sum(count), 0) FROM segments WHERE namespace = ?"
        (indexed,) = connection.execute(counts, (name,)).fetchone()
        using = "NOT INDEXED" if (newest - last) * _SCAN_FACTOR <= indexed else ""
        found = f"SELECT row, revision, id FROM records {using} WHERE {after} ORDER BY row LIMIT ?"
        self._asked = connection.execute(found, (*given, limit))

    def read(self) -> list[Row]:
        """Return the rows."""
        if self._asked is None:
            return []
        if self._is_whole:
            return self._auth.to_rows(self._connection, self._asked)
        found = self._asked.fetchall()
        kept = {
            row: known
            for row, revision, id in found
            if revision == row and (known := self._recent.get(row)) and known.record.id == id
        }
        if len(kept) == len(found):
            return list(kept.values())
        left = Listed(row for row, *_ in found if row not in kept)
        read = self._auth.read_rows(self._connection, f"row IN {LISTED}", left, using="NOT INDEXED")
        kept.update((each.row, each) for each in read)
        return [kept[row] for row, *_ in found]

    def close(self) -> None:
        """Leave rows unread."""
        if self._asked is not None:
            self._asked.close()


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


def _list_segments(connection: Connection, namespace: str, start: int = 0) -> list[_Listed]:
    """Return the namespace's segments from row *start* on.

    Return no segment if any segment overlaps, is of a different format, or is no number.
    """
    found = connection.execute(
        "SELECT checksum, format, length(data), first, last, count, head, number FROM segments "
        "WHERE namespace = ? AND first >= ? ORDER BY first",
        (namespace, start),
    ).fetchall()
    if any(kind != SEGMENT_FORMAT or set(map(type, rest)) != {int} for _, kind, *rest in found):
        return []
    listed = list(map(_Listed._make, found))
    overlaps = any(left.last >= right.first for left, right in pairwise(listed))
    return [] if overlaps else listed


class _Saved:
    """The *listed* segments of a namespace or pattern from row *start* on, and changes since."""

    def __init__(
        self,
        connection: Connection,
        auth: Authenticator,
        name: str,
        start: int,
        listed: Sequence[_Listed],
    ) -> None:
        self._connection = connection
        self._auth = auth
        self._name = name
        self._listed = listed
        inside, given = _held_by(name, start, listed[-1].last)
        since = min(each.head for each in listed)
        self._asked = ExitStack()
        self._data = [
            connection.blobopen("segments", "data", each.number, readonly=True) for each in listed
        ]
        for blob in self._data:
            self._asked.callback(blob.close)
        self._missed = self._ask_missed(start)
        self._live = self._ask_live(inside, given)
        patched = f"{inside} AND revision > ? AND revision <> row"
        by_patch = "INDEXED BY records_patched"
        self._changed = auth.ask_rows(connection, patched, *given, since, using=by_patch)
        self._asked.callback(self._changed.close)

    def _ask_live(self, inside: str, given: Sequence[object]) -> Cursor:
        """Ask for the live rows; for a NULL alone, if those are all rows of the segments."""
        rows = sum(each.rows for each in self._listed)
        return self._ask(
            f"WITH counted AS MATERIALIZED (SELECT count(*) AS n FROM records WHERE {inside}) "
            f"SELECT row FROM counted CROSS JOIN records WHERE n <> ? AND {inside} "
            "UNION ALL SELECT NULL FROM counted WHERE n = ?",
            (*given, rows, *given, rows),
        )

    def _ask(self, sql: str, given: Sequence[object]) -> Cursor:
        return self._asked.enter_context(closing(self._connection.execute(sql, given)))

    def _ask_missed(self, start: int) -> Cursor | None:
        """Ask for a live row from *start* on before or between the segments."""
        ends = [start - 1, *(each.last for each in self._listed)]
        gaps = [
            (end + 1, each.first - 1)
            for end, each in zip(ends, self._listed, strict=False)
            if end + 1 < each.first
        ]
        if not gaps:
            return None
        size = sum(to - since for since, to in gaps)
        narrow = size * _SCAN_FACTOR <= sum(each.rows for each in self._listed)
        using = "NOT INDEXED" if narrow else "INDEXED BY records_scope"
        inside, given = _held_by(self._name, start)
        return self._ask(
            f"SELECT 1 FROM records {using} WHERE {inside} "
            f"AND ({' OR '.join(['row BETWEEN ? AND ?'] * len(gaps))}) LIMIT 1",
            (*given, *chain.from_iterable(gaps)),
        )

    def read(self) -> tuple[Segment, ...]:
        """Return the segments; none if any is damaged or missing."""
        segments = []
        for each, blob in zip(self._listed, self._data, strict=True):
            data = _read_data(blob, each.size)
            blob.close()  # or the bytes of all segments would be in memory twice
            columns = each.format, self._name, each.first, each.last, each.rows, each.head
            if self._auth.checksum(columns, data) != each.checksum:
                return ()
            segments.append(Segment(*columns[1:], data, each.number))
        return () if self._missed and self._missed.fetchone() else tuple(segments)

    def live_rows(self) -> frozenset[int] | None:
        """Return the live rows, None if those are all rows of the segments."""
        found = self._live.fetchall()
        return None if found == [(None,)] else frozenset(row for (row,) in found)

    def changed(self) -> list[Row]:
        """Return the rows changed in place since the segments were made."""
        return self._auth.to_rows(self._connection, self._changed)

    def close(self) -> None:
        """Leave answers unread."""
        self._asked.close()


def _read_data(blob: Any, size: int) -> bytes | memoryview:
    """Return the bytes of a segment.

    Large segments go to mapped memory, so that the system gets the memory back: the heap does not
    shrink below later allocations.
    """
    if size < _READ_BYTES:
        return bytes(blob.read())
    room = mmap(-1, size)
    while piece := blob.read(_READ_BYTES):
        room.write(piece)
    return memoryview(room).toreadonly()


def _are_usable(connection: Connection, auth: Authenticator, namespace: str) -> bool:
    """Return whether all segments of the namespace can be read."""
    listed = _list_segments(connection, namespace)
    if not listed:
        return False
    with closing(_Saved(connection, auth, namespace, 0, listed)) as saved:
        return bool(saved.read())


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
    if overlapping and not _are_usable(connection, auth, segment.namespace):
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
