"""A file with a key: the checks at opening, and the codes of each write.

Codes prove every row that is read, but not the absence of removed rows. So the last entry carries
the number of records, a setting covers the small tables, and an anchor outside of the file knows an
entry that must exist. The anchor is written after the commit and before the write returns: after a
crash the anchor may lag behind by the last write, and never leads.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Final, Literal

from ...errors import (
    CorruptStoreError,
    IntegrityKeyError,
    NotAnchoredError,
    StorageError,
    TamperedError,
    ValidationError,
)
from ...model.arrays import Vector
from ...model.port import EMBEDDED, Row
from ...model.records import MemoryRecord, State, non_empty_fields, with_fields
from ..abilities import Problem
from ..anchors import Anchor
from ..sql.authenticator import EMBEDDED_VECTOR, ENTRY, NAMED_VECTOR, KeyedAuthenticator, parse_code
from ..sql.compacting import CutJournal
from ..sql.cut import read_cut
from ..sql.daily_accesses import DailyMark
from ..sql.maintenance import SQLStaging
from ..sql.rows import read_number, read_setting
from .connections import Connections
from .schema import code_version, foreign_objects, schema_differences, version_of
from .writer import SQLiteRepairer, SQLiteWriter

# Settings: the store's id with a proof of the key; the code of all settings and snapshots; whether
# there is an anchor; the schema version that the codes of records cover, absent for version 1.
KEYED: Final = "keyed"
SETTINGS_MAC: Final = "seal"
ANCHORED: Final = "anchored"
CODED: Final = "coded"

_SIGN_RECORD: Final = "UPDATE records SET code = ? WHERE row = ?"
_NEEDS_KEY: Final = "its records are authenticated; open it with the integrity_key it was made with"
_NO_KEY: Final = "it was made without an integrity key, and a key is for new files"
_NEEDS_ANCHOR: Final = (
    "its last position is kept in an anchor; open it with the anchor, or with anchor=False to give "
    "the anchor up"
)
_OTHER_KEY: Final = "it was made with another integrity key"
_CHANGED_SETTINGS: Final = "facts or snapshots of the store were changed"


class KeyedFile:
    """The file behind *connections*, checked at opening, with the authenticator and the anchor."""

    def __init__(self, connections: Connections, key: bytes, anchor: Anchor | None) -> None:
        self._connections = connections
        self._path = connections.path
        self._anchor = anchor
        self._checked: tuple[sqlite3.Connection | None, int] = None, 0
        self.auth = _open_authenticator(connections, key)
        known = self.read_anchor()
        problems = self._check(known)
        # The anchor is read before the file, so the file may only be younger than the anchor.
        if problems and known is None and (known := self.read_anchor()) is not None:
            problems = self._check(known)  # a second process has just written the first line
        for problem in problems:
            raise TamperedError(self._path, f"{problem.kind}: {problem.what}")
        self._move_anchor(self._last_seen)

    def read_anchor(self) -> str | None:
        """Return the anchor's line, None without a line."""
        if self._anchor is None:
            return None
        try:
            line: object = self._anchor.read()
        except StorageError:
            raise
        except Exception as error:
            raise StorageError(self._path, f"its anchor cannot be read: {error}") from error
        if line is None or isinstance(line, str):
            return line
        raise ValidationError(
            f"what an anchor reads must be a str or None, not {type(line).__name__}"
        )

    def _check(self, known: str | None) -> list[Problem]:
        with self._connections.read_transaction() as connection:
            self._check_schema(connection)
            self._last_seen = _read_last(connection)[:2]
            self._is_anchored = bool(read_setting(connection, ANCHORED))
            return list(self.problems(connection, known))

    def _check_schema(self, connection: sqlite3.Connection) -> None:
        """Refuse a trigger that would change rows before the code is made."""
        (version,) = connection.execute("PRAGMA schema_version").fetchone()
        if self._checked[0] is not connection or self._checked[1] != version:
            for name, what in schema_differences(connection):
                raise TamperedError(self._path, f"{name}: {what}")
            self._checked = connection, version

    @contextmanager
    def write(self) -> Iterator[KeyedWriter]:
        """Open the write transaction; refuse to write to a file restored meanwhile.

        The anchor is moved before any thread of a shared commit continues.
        """
        with self._connections.writing() as connection:
            self._check_schema(connection)
            writer = KeyedWriter(connection, self.auth)
            seq, link = self._last_seen
            if writer.position != self._last_seen and seq and not _knows(connection, seq, link):
                raise TamperedError(self._path, f"journal entry {seq} was written, and is gone")
            yield writer
        self._last_seen = max(self._last_seen, writer.position)
        self._move_anchor(writer.position)

    def anchor_line(self, seq: int, link: bytes) -> str:
        """Return the line for the anchor; a later line is greater."""
        stated = f"bethink {self.auth.store} {seq:016d} {link.hex()}"
        return f"{stated} {self.auth.mac(b'store', (stated,)).hex()}"

    def _move_anchor(self, position: tuple[int, bytes]) -> None:
        """Move the anchor to *position* or beyond, and store whether there is an anchor."""
        anchored = self._anchor is not None and position[0] > 0
        if self._anchor is not None and anchored:
            try:
                self._anchor.write(self.anchor_line(*position))
            except Exception as error:
                reason = f"what was written is in the store, but not in its anchor: {error}"
                raise NotAnchoredError(self._path, reason) from error
        if self._is_anchored != anchored:
            with self._connections.writing() as connection:
                KeyedWriter(connection, self.auth).set_setting(ANCHORED, "1" if anchored else "")
            self._is_anchored = anchored

    def problems(self, connection: sqlite3.Connection, known: str | None) -> Iterator[Problem]:
        """Yield missing rows, and a state older than the line *known* of the anchor."""
        if read_setting(connection, SETTINGS_MAC) != settings_mac(connection, self.auth):
            yield Problem("fact", SETTINGS_MAC, "it does not fit the facts and snapshots")
        seq, _, code = _read_last(connection)
        try:
            self.auth.read_entries(connection, "WHERE seq = ?", seq)
        except TamperedError:
            yield Problem("journal", f"entry {seq}", "it was changed without the store's key")
        (count,) = connection.execute("SELECT count(*) FROM records").fetchone()
        if count != parse_code(code)[1]:
            yield Problem("file", self._path, f"it holds {count} records of {parse_code(code)[1]}")
        yield from self._anchor_problems(connection, known)

    def _anchor_problems(
        self, connection: sqlite3.Connection, known: str | None
    ) -> Iterator[Problem]:
        if known is None:
            if self._anchor is not None and read_setting(connection, ANCHORED):
                yield Problem("anchor", self._path, "it is empty, and once was not")
            return
        try:
            _, _, number, link, _ = known.split(" ")
            seq, genuine = int(number), known == self.anchor_line(int(number), bytes.fromhex(link))
        except ValueError:
            genuine = False
        if not genuine:
            yield Problem("anchor", self._path, "it is that of another store, or was changed")
        elif not _knows(connection, seq, bytes.fromhex(link)):
            gone = f"it knows a journal entry {seq} that the file has not: the file was put back "
            yield Problem("anchor", self._path, f"{gone}to an earlier state")


class KeyedWriter(SQLiteWriter):
    """A writer that checks the codes of old rows and signs new rows."""

    _auth: KeyedAuthenticator

    def __init__(self, connection: sqlite3.Connection, auth: KeyedAuthenticator) -> None:
        super().__init__(connection, auth)
        self._count = parse_code(_read_last(connection)[2])[1]

    @property
    def repairer(self) -> KeyedRepairer:
        return KeyedRepairer(self, self._connection)

    @property
    def staging(self) -> KeyedStaging:
        return KeyedStaging(self, self._connection, self._auth)

    @property
    def position(self) -> tuple[int, bytes]:
        """The last journal position with the link."""
        return self._head, self._link

    def insert_all(
        self, records: Sequence[MemoryRecord], vectors: Iterable[Mapping[str, Vector]], at: float
    ) -> list[Row]:
        rows = []
        for record, own in zip(records, vectors, strict=True):
            rows.append(self.insert(record, own))
            self.journal("store", at, record, None, rows[-1].row, non_empty_fields(record))
        return rows

    def retire_all(
        self, found: Sequence[tuple[int, MemoryRecord]], state: State, at: float, action: str
    ) -> None:
        for row, record in found:
            gone = with_fields(record, state=state, updated_at=at)
            self.patch(row, gone)
            self.journal(action, at, gone, row, row, {"state": state})

    def replace(self, row: int, record: MemoryRecord, vectors: Mapping[str, Vector]) -> Row:
        self._auth.check_vectors(self._connection, [row, self._head + 1], but=vectors)
        moved = super().replace(row, record, vectors)
        self.sign_vectors(moved.row, moved.vectors)
        return moved

    def _drop(self, name: str) -> None:
        having = "row IN (SELECT row FROM named_vectors WHERE name = ?)"
        rows = [row for row, _ in self.stored(having, name)]
        super()._drop(name)
        self._sign_records(rows)

    def attach(self, row: int, vectors: Mapping[str, Vector]) -> None:
        super().attach(row, vectors)
        self.sign_vectors(row, vectors)

    def erase(self, row: int, tombstone: MemoryRecord) -> frozenset[str]:
        with self._signing_emptied():
            return super().erase(row, tombstone)

    def _thin_accesses(self, before: DailyMark, until: int) -> None:
        with self._signing_emptied():
            super()._thin_accesses(before, until)

    @contextmanager
    def _signing_emptied(self) -> Iterator[None]:
        """Sign the entries that the body empties, and no entries that an attacker emptied."""
        if _read_blank(self._connection):
            raise TamperedError(None, "what journal entries told was taken out of them")
        yield
        for *columns, code in _read_blank(self._connection):
            count = parse_code(code)[1]
            if code != self._auth.entry(columns, count, erased=False):
                raise TamperedError(None, f"journal entry {columns[0]} was changed")
            self._sign_entry(columns, count, erased=True)

    def touch(self, accesses: Mapping[str, tuple[int, float]]) -> list[int]:
        self.find(list(accesses))
        rows = super().touch(accesses)
        self._sign_records(rows)
        return rows

    def _sign_compacted(self, done: CutJournal) -> int:
        for seq in done.bases:
            *columns, changes = self._connection.execute(
                f"SELECT {ENTRY}, changes FROM journal WHERE seq = ?", (seq,)
            ).fetchone()
            self._sign_entry(columns, 0, erased=changes is None)
        for row, name in done.vectors:
            self.sign_vectors(row, (name,))
        self._count -= done.records
        return self._count

    def journal(
        self,
        action: str,
        at: float,
        record: MemoryRecord | None,
        was: int | None,
        row: int | None,
        changes: Mapping[str, object] | None,
    ) -> None:
        super().journal(action, at, record, was, row, changes)
        if row is not None:
            self._count += was is None
            self._sign_records([row])
        columns = self._connection.execute(
            f"SELECT {ENTRY} FROM journal WHERE seq = ?", (self._head,)
        ).fetchone()
        self._sign_entry(columns, self._count, erased=changes is None)

    def snapshot(self, name: str, at: float) -> None:
        with self._renew_settings_mac():
            super().snapshot(name, at)

    def _drop_snapshots(self, before: int) -> None:
        with self._renew_settings_mac():
            super()._drop_snapshots(before)

    def set_setting(self, name: str, value: str) -> None:
        with self._renew_settings_mac():
            super().set_setting(name, value)

    @contextmanager
    def _renew_settings_mac(self) -> Iterator[None]:
        """Check the code of settings and snapshots before the body, and renew the code after."""
        if self.setting(SETTINGS_MAC) != settings_mac(self._connection, self._auth):
            raise TamperedError(None, _CHANGED_SETTINGS)
        yield
        super().set_setting(SETTINGS_MAC, settings_mac(self._connection, self._auth))

    def _sign_records(self, rows: Iterable[int]) -> None:
        selected = f"SELECT {self._auth.record_columns} FROM records WHERE row = ?"
        for row in rows:
            columns = self._connection.execute(selected, (row,)).fetchone()
            self._connection.execute(_SIGN_RECORD, (self._auth.record(columns), row))

    def sign_vectors(self, row: int, names: Collection[str]) -> None:
        """Sign the vectors of *row* called *names*, and no vectors that an attacker added."""
        for table, columns in (("vectors", EMBEDDED_VECTOR), ("named_vectors", NAMED_VECTOR)):
            selected = f"SELECT rowid, {columns} FROM {table} WHERE row = ?"
            found = self._connection.execute(selected, (row,)).fetchall()
            codes = [(self._auth.vector(each), rowid) for rowid, *each in found if each[1] in names]
            self._connection.executemany(f"UPDATE {table} SET code = ? WHERE rowid = ?", codes)

    def _sign_entry(self, columns: Sequence[object], count: int, *, erased: bool) -> None:
        code = self._auth.entry(columns, count, erased=erased)
        self._connection.execute("UPDATE journal SET code = ? WHERE seq = ?", (code, columns[0]))


class KeyedRepairer(SQLiteRepairer):
    """The repairs of a file with a key."""

    def empty_lost_entries(self) -> dict[int, str | None]:
        return {}  # an emptied entry would be no proof any more of what was changed


class KeyedStaging(SQLStaging):
    """The staged vectors of a file with a key: checked and signed again when adopted."""

    _writer: KeyedWriter

    def __init__(
        self, writer: KeyedWriter, connection: sqlite3.Connection, auth: KeyedAuthenticator
    ) -> None:
        super().__init__(writer, connection)
        self._auth = auth

    def adopt(self) -> frozenset[str]:
        found = self._connection.execute("SELECT row FROM vectors WHERE row < 0").fetchall()
        self._auth.check_vectors(self._connection, (row for (row,) in found))
        namespaces = super().adopt()
        for (row,) in found:
            self._writer.sign_vectors(-row, (EMBEDDED,))
        return namespaces


def open_keyed_file(
    connections: Connections, key: bytes | None, anchor: Anchor | Literal[False] | None
) -> KeyedFile | None:
    """Return the file with *key*, None without a key; refuse a wrong or missing key or anchor.

    *anchor* False gives up the file's anchor.
    """
    with connections.reading() as connection:
        _refuse_foreign_objects(connection, connections.path, key)
        if key is None and read_setting(connection, KEYED) is not None:
            raise IntegrityKeyError(connections.path, _NEEDS_KEY)
        if key is not None and anchor is None and read_setting(connection, ANCHORED):
            raise IntegrityKeyError(connections.path, _NEEDS_ANCHOR)
    return None if key is None else KeyedFile(connections, key, None if anchor is False else anchor)


def _refuse_foreign_objects(connection: sqlite3.Connection, path: str, key: bytes | None) -> None:
    """Refuse a file with foreign views or triggers, before any table is read."""
    for name in foreign_objects(connection):
        kind = CorruptStoreError if key is None else TamperedError
        raise kind(path, f"{name}: not of bethink's making")


def settings_mac(connection: sqlite3.Connection, auth: KeyedAuthenticator) -> str:
    """Return the expected value of the setting ``SETTINGS_MAC``."""
    facts = connection.execute(
        "SELECT name, value FROM facts WHERE name <> ? ORDER BY 1", (SETTINGS_MAC,)
    ).fetchall()
    named = connection.execute("SELECT name, seq, at FROM snapshots ORDER BY 1").fetchall()
    return auth.mac(b"store", (*facts, *named)).hex()


@contextmanager
def renew_codes(connection: sqlite3.Connection, path: str, key: bytes | None) -> Iterator[None]:
    """Give the records of a file with a key new codes after the migration in the body.

    A record that was changed without the key keeps the wrong code.
    """
    _refuse_foreign_objects(connection, path, key)
    keyed = read_setting(connection, KEYED)
    if keyed is None:
        yield
        return
    if key is None:
        raise IntegrityKeyError(path, _NEEDS_KEY)
    new = _authenticator(keyed, path, key)
    for name, what in schema_differences(connection, version_of(connection, path)):
        raise TamperedError(path, f"{name}: {what}")
    if read_setting(connection, SETTINGS_MAC) != settings_mac(connection, new):
        raise TamperedError(path, _CHANGED_SETTINGS)
    old = KeyedAuthenticator(key, new.store, read_number(connection, CODED) or 1)
    with closing(connection.execute(f"SELECT row, {old.columns} FROM records")) as found:
        forged = {row for row, *columns, code in found if code != old.record(columns)}
    yield
    with closing(connection.execute(f"SELECT row, {new.record_columns} FROM records")) as found:
        new_codes = [(new.record(columns), row) for row, *columns in found if row not in forged]
    connection.executemany(_SIGN_RECORD, new_codes)
    _note_version(connection, new)


def _note_version(connection: sqlite3.Connection, auth: KeyedAuthenticator) -> None:
    """Store the version of the codes, and the code of all settings."""
    writer = SQLiteWriter(connection)
    if code_version() > 1:
        writer.set_setting(CODED, str(code_version()))
    writer.set_setting(SETTINGS_MAC, settings_mac(connection, auth))


def _open_authenticator(connections: Connections, key: bytes) -> KeyedAuthenticator:
    """Return the store's authenticator, a new authenticator for an empty store."""
    with connections.reading() as connection:
        keyed = read_setting(connection, KEYED)
    if keyed is None:
        with connections.writing() as connection:
            keyed = read_setting(connection, KEYED) or _begin(connection, connections.path, key)
    return _authenticator(keyed, connections.path, key)


def _authenticator(keyed: str, path: str, key: bytes) -> KeyedAuthenticator:
    """Return the authenticator from the setting ``KEYED``; refuse a wrong *key*."""
    store, _, proof = keyed.partition(" ")
    try:
        auth = KeyedAuthenticator(key, store, code_version())
    except ValueError as error:
        raise TamperedError(path, "its id was changed") from error
    if proof != auth.proof():
        raise IntegrityKeyError(path, _OTHER_KEY)
    return auth


def _begin(connection: sqlite3.Connection, path: str, key: bytes) -> str:
    """Store and return the setting ``KEYED`` of a new store."""
    if connection.execute("SELECT 1 FROM facts UNION SELECT 1 FROM journal").fetchone():
        raise IntegrityKeyError(path, _NO_KEY)
    auth = KeyedAuthenticator(key, os.urandom(16).hex(), code_version())
    keyed = f"{auth.store} {auth.proof()}"
    SQLiteWriter(connection).set_setting(KEYED, keyed)
    _note_version(connection, auth)
    return keyed


def _read_last(connection: sqlite3.Connection) -> tuple[int, bytes, object]:
    """Return the last entry's sequence number, link and code."""
    found = connection.execute(
        "SELECT seq, link, code FROM journal ORDER BY seq DESC LIMIT 1"
    ).fetchone()
    return found or (0, b"", None)


def _knows(connection: sqlite3.Connection, seq: int, link: bytes) -> bool:
    """Tell whether the journal has, or had before the cut, entry *seq* with *link*."""
    cut = read_cut(connection)  # genuine, as all settings are
    if seq <= cut.seq:
        return seq < cut.seq or link.hex() == cut.link
    found = connection.execute("SELECT link FROM journal WHERE seq = ?", (seq,)).fetchone()
    return found is not None and found[0] == link


def _read_blank(connection: sqlite3.Connection) -> list[tuple[object, ...]]:
    """Return the entries without changes and without the mark of erasing in the code."""
    return connection.execute(
        f"SELECT {ENTRY}, code FROM journal "
        "WHERE changes IS NULL AND substr(code, 1, 1) IS NOT x'01'"
    ).fetchall()
