"""Old accesses are kept by the day, so that recalls leave no more behind than memories and days.

Each touch leaves a row of ``accesses`` for every record, and a journal entry with all counts. Once
old, the rows of a record are thinned to the last of each day and the last before each snapshot, and
the entries are emptied: digest and link stay, so the chain holds. A moment within an old day has
the accesses of the day before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, Final, NamedTuple

from ..abilities import Entry
from .authenticator import ENTRY, Authenticator
from .connection import Connection, Cursor
from .rows import LISTED, Listed, read_setting, to_number

EXACT_ENTRIES: Final = 128
"""The touches among so many last entries stay as written."""

_SETTING: Final = "daily"
_DAY_SECONDS: Final = 86_400
_TOUCHES: Final = "WHERE seq > ? AND seq <= ? AND action = 'touch' ORDER BY seq"
_SNAPSHOTS: Final = "SELECT seq FROM snapshots WHERE seq > ? AND seq < ?"
_THIN: Final = (
    "DELETE FROM accesses WHERE ordinal IN "
    f"(SELECT ordinal FROM records WHERE id IN {LISTED}) AND seq > ? AND seq < ? AND EXISTS "
    "(SELECT 1 FROM accesses AS later WHERE later.ordinal = accesses.ordinal "
    "AND later.seq > accesses.seq AND later.seq <= ?)"
)
_DAILY: Final = (
    "SELECT seq, id, count, last FROM accesses JOIN records USING (ordinal) WHERE seq <= ? "
    "ORDER BY seq, id"
)
_COLUMNS: Final = f"{ENTRY}, code"
_TAKE: Final = (
    f"DELETE FROM journal WHERE seq > ? AND seq <= ? AND action = 'touch' RETURNING {_COLUMNS}"
)
_EMPTY: Final = f"INSERT INTO journal ({_COLUMNS}) VALUES ({', '.join('?' * 10)})"


class DailyMark(NamedTuple):
    """Accesses up to entry ``until`` are kept by the day.

    The last *day*, counted from 1970, began after entry ``since``.
    """

    until: int = 0
    since: int = 0
    day: int = -1

    def to_setting(self) -> tuple[str, str]:
        """Return name and value of the setting that stores the mark."""
        return _SETTING, " ".join(map(str, self))


def read_daily_mark(connection: Connection) -> DailyMark:
    """Return the stored mark."""
    noted = read_setting(connection, _SETTING)
    numbers = [to_number(_SETTING, each) or 0 for each in noted.split(" ")] if noted else []
    return DailyMark(*numbers[:3])


def thin_accesses(
    connection: Connection, auth: Authenticator, before: DailyMark, until: int
) -> DailyMark:
    """Thin the accesses after *before* up to entry *until*, and return the mark to store."""
    touches = auth.read_entries(connection, _TOUCHES, before.until, until)
    told = {id for each in touches for id in (each.changes or {}).get("accesses", ())}
    days = list(_days(touches, before))
    snapshots = connection.execute(_SNAPSHOTS, (days[0][0], until)).fetchall()
    ends = {start for start, _ in days} | {seq for (seq,) in snapshots} | {until}
    for start, end in pairwise(sorted(ends)):
        connection.execute(_THIN, (Listed(told), start, end, end))
    # Inserted again, since SQLite never joins pages whose rows only shrink.
    taken = connection.execute(_TAKE, (before.until, until)).fetchall()
    connection.executemany(_EMPTY, sorted(taken))
    return DailyMark(until, *days[-1])


def _days(touches: list[Entry], before: DailyMark) -> Iterator[tuple[int, int]]:
    """Yield the entry before each day's first touch, and the day; first the day of *before*."""
    day, last = before.day, before.until
    yield before.since, day
    for touch in touches:
        if (here := int(touch.at // _DAY_SECONDS)) != day:
            day = here
            yield last, day
        last = touch.seq


class DailyAccesses:
    """The accesses that empty touches told, as far as kept, for a scan of the whole journal.

    *open_cursor* runs a statement and leaves the cursor open.
    """

    def __init__(self, open_cursor: Callable[..., Cursor], connection: Connection) -> None:
        self._until = read_daily_mark(connection).until
        self._kept = groupby(open_cursor(_DAILY, self._until), key=itemgetter(0))
        self._counts: dict[str, int] = {}
        self._next = self._following()

    def _following(self) -> tuple[int, Iterator[Any]]:
        return next(self._kept, (self._until + 1, iter(())))

    def told(self, entry: Entry) -> Entry:
        """Return *entry*, the accesses filled in; the entries must come in order."""
        if entry.seq > self._until:
            return entry
        changes = entry.changes or {}
        if entry.id is not None and (entry.action == "store" or "access_count" in changes):
            self._counts[entry.id] = changes.get("access_count", 0)
        while self._next[0] < entry.seq:
            self._next = self._following()
        if changes or entry.seq != self._next[0]:
            return entry
        accesses = {}
        for _, id, count, last in self._next[1]:
            accesses[id] = [count - self._counts.get(id, 0), last]
            self._counts[id] = count
        return entry._replace(changes={"accesses": accesses})
