"""Compacting: the journal up to a cut gives way to one entry for each remaining record.

A record that ended before the cut goes for good; of an erased record the digest of the id stays,
so that a merge brings no erased text back, or with a key the tombstone. Every other record keeps
row, ordinal and revision, so that moments after the cut are replayed as before. SQLite leaves
copies of cells in the file, so a rewriting must follow, as after an erasing.
"""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Final

from ...model.fields import to_json
from ...model.records import MemoryRecord, non_empty_fields
from ..abilities import Current
from ..journal import BASE, SALT_BYTES, START, chain_hash, digest
from ..replay import past_record, replayed
from .authenticator import ENTRY, NEW_ENTRY, Authenticator, parse_code
from .connection import Connection
from .cut import CutMark, changed_sum, read_cut
from .erasing import delete_segments
from .journal_reader import current_of, read_history
from .rows import LISTED, Listed
from .tombstones import fold

_ENDED: Final = ("superseded", "forgotten")
_CHANGED: Final = (
    "SELECT id FROM journal WHERE seq > :since AND seq <= :until AND id IS NOT NULL UNION "
    "SELECT id FROM records WHERE ordinal IN "
    "(SELECT ordinal FROM accesses WHERE seq > :since AND seq <= :until)"
)
_BASES: Final = f"id IN {LISTED} AND action <> 'store' AND action = '{BASE}'"
_PLACES: Final = "SELECT seq, at, id, namespace, was, row FROM journal WHERE"
_LINKED: Final = "SELECT source FROM links UNION SELECT target FROM links"
_RELATED: Final = (
    f"SELECT {ENTRY} FROM journal WHERE seq > :since AND seq <= :until AND action = 'relate' "
    "AND seq IN (SELECT since FROM links)"
)
_UNLINKED: Final = (  # emptied when an end of the link was erased
    f"id IN {LISTED} AND action <> 'store' AND action = 'relate' "
    "AND seq NOT IN (SELECT since FROM links)"
)
_CARRIED: Final = (
    "FROM named_vectors WHERE since < :row AND row IN (SELECT :row UNION SELECT row FROM journal "
    "WHERE id = :id AND action <> 'store' AND seq > :row AND row IS NOT NULL)"
)


@dataclass(slots=True)
class _Place:
    """The places of a record up to the cut: the last row with the time, all rows and namespaces."""

    row: int = 0
    at: float = 0.0
    namespace: str = ""
    rows: set[int] = field(default_factory=set)
    namespaces: set[str] = field(default_factory=set)


@dataclass(slots=True)
class CutJournal:
    """The result of one step: the new cut, and everything that a keyed file has to sign.

    ``bases`` are the numbers of new entries up to the cut, ``vectors`` the rows and names of named
    vectors. ``namespaces`` lost saved segments; ``entries`` and ``records`` count the removed ones.
    """

    cut: CutMark
    entries: int = 0
    records: int = 0
    bases: list[int] = field(default_factory=list)
    vectors: list[tuple[int, str]] = field(default_factory=list)
    namespaces: set[str] = field(default_factory=set)


class JournalCutter:
    """One step of compacting: the cut moves to journal position *until*, in one transaction."""

    def __init__(self, connection: Connection, auth: Authenticator, until: int) -> None:
        self._run = connection.execute
        self._connection = connection
        self._auth = auth
        self._until = until
        self._done = CutJournal(read_cut(connection))
        self._span = {"since": self._done.cut.seq, "until": until}
        self._gone: list[bytes] = []  # links of former bases
        self._new: list[bytes] = []

    def run(self) -> CutJournal:
        """Move the cut, and return the result."""
        before = self._done.cut
        at, link, code = self._run(
            "SELECT at, link, code FROM journal WHERE seq = ?", (self._until,)
        ).fetchone()
        self._end_moments()
        records = self._changed()
        places = self._places(list(records))
        told = {id: self._at_cut(current) for id, current in records.items()}
        over = {id: each.record for id, each in records.items() if each.revision <= self._until}
        tombstones = {id for id, record in over.items() if record.state == "erased"}
        folded = {id for id in tombstones if over[id].key is None}
        linked = {id for (id,) in self._run(_LINKED)}
        ended = {id for id, record in over.items() if record.state in _ENDED} - linked | folded
        self._drop_rows(records, places, ended)
        self._move_departures(told)
        self._drop_records(records, ended)
        left = told.keys() - ended - tombstones
        self._replace_entries(places, {id: told[id] for id in told if id in left})
        bases = changed_sum(before.bases, self._gone, self._new)
        erased = fold(self._connection, folded, before.erased)
        self._done.cut = CutMark(self._until, at, link.hex(), bases, parse_code(code)[1], erased)
        return self._done

    def _end_moments(self) -> None:
        """Remove steps of the clock and ended links from before the cut."""
        self._run("DELETE FROM clock_steps WHERE seq <= ?", (self._until,))
        ended = self._run("DELETE FROM links WHERE until <= ? RETURNING since", (self._until,))
        self._remove_bases(f"seq IN {LISTED}", [since for (since,) in ended.fetchall()])

    def _changed(self) -> dict[str, Current]:
        """Return the records that changed between the former cut and the new cut."""
        ids = Listed(id for (id,) in self._run(_CHANGED, self._span))
        selected = f"SELECT row, ordinal, revision, {self._auth.columns} FROM records"
        found = self._run(f"{selected} WHERE id IN {LISTED}", (ids,)).fetchall()
        return {each.record.id: each for each in (current_of(self._auth, one) for one in found)}

    def _places(self, ids: list[str]) -> dict[str, _Place]:
        places: dict[str, _Place] = defaultdict(_Place)
        within = f"{_PLACES} seq > :since AND seq <= :until AND row IS NOT NULL ORDER BY seq"
        for seq, at, id, namespace, was, row in (
            *self._run(f"{_PLACES} {_BASES}", (Listed(ids),)).fetchall(),
            *self._run(within, self._span).fetchall(),
        ):
            place = places[id]
            place.rows |= {row} if was is None else {was, row}
            place.namespaces.add(namespace)
            place.namespace = namespace
            if seq == row:
                place.row, place.at = row, at
        return places

    def _at_cut(self, current: Current) -> MemoryRecord | None:
        """Return the record as of the new cut, None if erased by now."""
        if current.record.state == "erased":
            return None
        if current.revision <= self._until:
            return current.record
        past = past_record(read_history(self._connection, self._auth, current, self._until))
        return None if past is None else past.record

    def _drop_rows(
        self, records: dict[str, Current], places: dict[str, _Place], ended: set[str]
    ) -> None:
        """Remove the vectors and saved segments of rows that no remaining moment knows."""
        named = self._run("SELECT 1 FROM named_vectors LIMIT 1").fetchone() is not None
        firsts: dict[str, int] = {}
        for id, place in places.items():
            gone = place.rows if id in ended else place.rows - {place.row, records[id].row}
            for namespace in place.namespaces if gone else ():
                firsts[namespace] = min(firsts.get(namespace, self._until), *gone)
            if named:
                for row in gone:
                    self._run("DELETE FROM named_vectors WHERE row = ?", (row,))
                self._date_vectors(id, place.row)
        for namespace, first in firsts.items():
            delete_segments(self._connection, namespace, first)
        self._done.namespaces |= firsts.keys()
        ordinals = Listed(current.ordinal for current in records.values())
        accesses = f"DELETE FROM accesses WHERE ordinal IN {LISTED} AND seq <= ?"
        self._run(accesses, (ordinals, self._until))

    def _date_vectors(self, id: str, row: int) -> None:
        """Let the base at *row* be the entry that gave the record's vectors of earlier entries."""
        given = {"id": id, "row": row}
        found = self._run(f"SELECT row, name {_CARRIED}", given).fetchall()
        self._auth.check_vectors(self._connection, [at for at, _ in found])
        for at, name in found:
            moved = "UPDATE named_vectors SET since = ? WHERE row = ? AND name = ?"
            self._run(moved, (row, at, name))
        self._done.vectors += found

    def _move_departures(self, told: dict[str, MemoryRecord | None]) -> None:
        """Keep the moves after the cut only."""
        left = {id for (id,) in self._run("SELECT DISTINCT id FROM departures")} & told.keys()
        self._run(f"DELETE FROM departures WHERE id IN {LISTED}", (Listed(left),))
        for id in left:
            record = told[id]
            if record is None:
                continue
            fields: dict[str, Any] = {"namespace": record.namespace, "key": record.key}
            for entry in self._auth.read_entries(
                self._connection, "WHERE id = ? AND seq > ? ORDER BY seq", id, self._until
            ):
                before = fields["namespace"], fields.get("key")
                fields = replayed(fields, entry.changes or {}, entry.at)
                if before != (fields["namespace"], fields.get("key")):
                    self._run("INSERT INTO departures VALUES (?, ?, ?)", (*before, id))

    def _drop_records(self, records: dict[str, Current], ended: set[str]) -> None:
        rows = Listed(records[id].row for id in ended)
        for table in ("vectors", "named_vectors", "records"):
            self._run(f"DELETE FROM {table} WHERE row IN {LISTED}", (rows,))
        ids = Listed(ended)
        self._run(f"DELETE FROM departures WHERE id IN {LISTED}", (ids,))
        self._done.records = len(ended)

    def _replace_entries(
        self, places: dict[str, _Place], told: dict[str, MemoryRecord | None]
    ) -> None:
        """Replace the entries up to the cut by links that hold, and one entry for each record."""
        related = self._run(_RELATED, self._span).fetchall()
        self._auth.read_entries(  # checks the codes
            self._connection, f"WHERE seq IN {LISTED}", Listed(seq for seq, *_ in related)
        )
        self._remove_bases(_BASES, list(places))
        self._remove_bases(_UNLINKED, list(places))
        gone = "DELETE FROM journal WHERE seq > :since AND seq <= :until"
        kept = f"{gone} AND NOT (action = 'relate' AND seq IN (SELECT since FROM links))"
        self._done.entries += self._run(kept, self._span).rowcount
        for *columns, digested, _ in related:
            link = self._note_base(tuple(columns), digested)
            self._run("UPDATE journal SET link = ? WHERE seq = ?", (link, columns[0]))
        for id, record in told.items():
            place = places[id]
            text = None if record is None else to_json(non_empty_fields(record))
            salt = os.urandom(SALT_BYTES)
            columns = (place.row, place.at, BASE, id, place.namespace, None, place.row)
            digested = digest(salt, text or "")
            link = self._note_base(columns, digested)
            kept_salt = None if text is None else salt
            self._run(NEW_ENTRY, (*columns, digested, link, kept_salt, text))
        self._done.entries -= len(told)

    def _note_base(self, columns: tuple[Any, ...], digested: bytes) -> bytes:
        """Return the link of a new entry up to the cut."""
        link = chain_hash(START, columns, digested)
        self._new.append(link)
        self._done.bases.append(columns[0])
        return link

    def _remove_bases(self, sql: str, parameter: list[Any]) -> None:
        """Remove the entries up to the former cut that satisfy *sql*."""
        gone = f"DELETE FROM journal WHERE {sql} AND seq <= ? RETURNING link"
        found = self._run(gone, (Listed(parameter), self._span["since"])).fetchall()
        self._gone += [link for (link,) in found]
        self._done.entries += len(found)
