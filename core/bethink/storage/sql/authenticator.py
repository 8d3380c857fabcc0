"""Reading of rows, and authentication codes: the proof of each row, for a store with a key.

Every record, journal entry and vector carries a keyed hash of the columns and of the place, so
that a genuine row is not accepted at a different place or time. Without a key there are no codes,
and nothing is checked.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from hashlib import blake2b
from typing import Any, Final

from ...errors import CorruptStoreError, TamperedError
from ...model.arrays import Vector
from ...model.port import EMBEDDED, Row
from ...model.records import MemoryRecord
from ..abilities import Entry
from ..journal import digest
from .connection import Connection, Cursor
from .rows import (
    COLUMNS,
    ENTRY_COLUMNS,
    LISTED,
    Listed,
    RowTypes,
    read_lenient,
    to_damaged_entry,
    to_entry,
    to_record,
    to_vector,
)

CODED_COLUMNS: Final[Mapping[int, str]] = {
    1: "id, namespace, content, created_at, occurred_at, updated_at, key, value, thread, author, "
    "category, tags, importance, confidence, source, metadata, expires_at, superseded_by, "
    "last_accessed_at, access_count, outcome, state",
}
"""The columns of a record that the authentication code covers, by the first schema version.

A migration that changes ``records`` adds an entry: files with a key then get new codes.
"""

_NAMES: Final = (
    "(SELECT group_concat(name, char(10)) FROM (SELECT name FROM named_vectors AS own "
    "WHERE own.row = records.row ORDER BY name))"
)
_PLACE: Final = f"records.row, ordinal, revision, {_NAMES}"
_CODE_COLUMNS: Final = 5  # the last columns: the four of ``_PLACE``, and the code
ENTRY: Final = "seq, at, action, id, namespace, was, row, digest, link"
NEW_ENTRY: Final = f"INSERT INTO journal ({ENTRY}, salt, changes) VALUES ({', '.join('?' * 11)})"
EMBEDDED_VECTOR: Final = "row, '', 0, vector"
NAMED_VECTOR: Final = "row, name, since, vector"
_PREFIX_BYTES: Final = 9
_ROW_TYPES: Final = RowTypes(int, int, str | None)
_CHANGED: Final = "was changed by somebody who does not have the store's key"


class Authenticator:
    """The reader of a file without a key: everything is believed.

    ``columns`` and ``entry_columns`` are to be selected for ``to_record`` and ``to_entry``, or
    ``outline_columns`` without the texts of new records, unless a code covers the texts.
    """

    columns: str = COLUMNS
    entry_columns: str = ENTRY_COLUMNS
    outline_columns: str = ENTRY_COLUMNS.replace(
        "changes", "CASE WHEN action <> 'store' THEN changes END"
    )
    keyed = False
    to_record: Callable[[Sequence[Any]], MemoryRecord] = staticmethod(to_record)
    to_entry: Callable[[Sequence[Any]], Entry] = staticmethod(to_entry)

    def check_vectors(
        self, connection: Connection, rows: Iterable[int], but: Collection[str] = ()
    ) -> None:
        """Raise ``TamperedError`` if a vector of any of *rows* was changed without the key.

        The vectors named in *but* are skipped.
        """

    def checksum(self, columns: tuple[object, ...], data: bytes | memoryview) -> int:
        """Return the checksum of a segment."""
        return zlib.crc32(data, zlib.crc32(repr(columns).encode()))

    def read_entries(
        self,
        connection: Connection,
        sql: str,
        *parameters: object,
        skip_damaged: bool = False,
        new_records: bool = True,
    ) -> list[Entry]:
        """Return the journal entries that *sql* selects and orders.

        With *skip_damaged*, a damaged entry comes with the action "damaged" instead of an error.
        Without *new_records*, entries of the action "store" may come without changes.
        """
        columns = self.entry_columns if new_records else self.outline_columns
        selected = f"SELECT {columns} FROM journal {sql}"
        found = read_lenient(
            connection, lambda: connection.execute(selected, parameters).fetchall()
        )
        entries = []
        for values in found:
            try:
                entries.append(self.to_entry(values))
            except CorruptStoreError:
                if not skip_damaged:
                    raise
                seq, at, _, id, namespace, *_ = values
                entries.append(to_damaged_entry(seq, at, id, namespace))
        return entries

    def read_rows(
        self, connection: Connection, sql: str, *parameters: object, using: str = ""
    ) -> list[Row]:
        """Return the rows that satisfy *sql*, ascending, with all vectors.

        *using* names an index where SQLite would read a whole namespace.
        """
        asked = self.ask_rows(connection, sql, *parameters, using=using)
        return self.to_rows(connection, asked)

    def ask_rows(
        self, connection: Connection, sql: str, *parameters: object, using: str = ""
    ) -> Cursor:
        """Ask for the rows of ``read_rows``, to be read by ``to_rows``."""
        return connection.execute(
            "SELECT row, ordinal, vectors.vector, named_vectors.name, named_vectors.vector, "
            f"{self.columns} FROM records {using} "
            "LEFT JOIN vectors USING (row) LEFT JOIN named_vectors USING (row) "
            f"WHERE {sql} ORDER BY row",
            parameters,
        )

    def to_rows(self, connection: Connection, asked: Cursor) -> list[Row]:
        """Return the rows of an answer to ``ask_rows``."""
        rows: list[Row] = []
        vectors: dict[str, Vector] = {}
        with closing(asked) as found:  # or a kept exception would keep the cursor open
            for row, ordinal, embedded, name, named, *values in found:
                if not rows or rows[-1].row != row:
                    _ROW_TYPES((row, ordinal, name))
                    vectors = {} if embedded is None else {EMBEDDED: to_vector(embedded)}
                    rows.append(Row(row, ordinal, self.to_record(values), vectors))
                if named is not None:
                    if name == EMBEDDED:
                        raise CorruptStoreError(None, "damaged vector in the store")
                    vectors[name] = to_vector(named)
        self.check_vectors(connection, (each.row for each in rows))
        return rows


NO_AUTH: Final = Authenticator()


class KeyedAuthenticator(Authenticator):
    """Codes for a file with *key*; *store* is a unique id, so that files cannot be mixed.

    *version* is the schema version that the codes of records cover. Codes of version 1 do not
    cover the number.
    """

    entry_columns = outline_columns = f"{ENTRY}, salt, changes, code"
    keyed = True

    def __init__(self, key: bytes, store: str, version: int) -> None:
        self.store = store
        self._version = () if version == 1 else (version,)
        self.record_columns = f"{CODED_COLUMNS[version]}, {_PLACE}"
        self.columns = f"{self.record_columns}, records.code"
        secret = blake2b(blake2b(key).digest(), salt=bytes.fromhex(store)).digest()
        self._hashes = {
            domain: blake2b(key=secret, digest_size=32, person=b"bethink " + domain)
            for domain in (b"record", b"entry", b"vector", b"segment", b"store")
        }

    def mac(
        self, domain: bytes, columns: tuple[object, ...], data: bytes | memoryview = b""
    ) -> bytes:
        """Return the code of *columns*, in SQLite's types, and of *data*."""
        code = self._hashes[domain].copy()
        code.update(repr(columns).encode("utf-8", "surrogatepass"))
        code.update(data)
        return code.digest()

    def proof(self) -> str:
        """Return the proof of the key, as text."""
        return self.mac(b"store", (self.store,)).hex()

    def record(self, columns: Sequence[object]) -> bytes:
        """Return the code of a record, from ``record_columns``."""
        return self.mac(b"record", (*self._version, *columns))

    def entry(self, columns: Sequence[object], count: int, *, erased: bool) -> bytes:
        """Return the code of a journal entry, from the columns ``ENTRY``.

        *count* is the number of records after the entry; *erased* marks an entry without changes.
        Both are part of the code, to be read with ``parse_code``.
        """
        prefix = bytes([erased]) + count.to_bytes(_PREFIX_BYTES - 1, "big")
        return prefix + self.mac(b"entry", tuple(columns), prefix)

    def vector(self, columns: Sequence[object]) -> bytes:
        """Return the code of a vector, from the columns ``…_VECTOR``."""
        *rest, blob = columns
        return self.mac(b"vector", tuple(rest), blob if isinstance(blob, bytes) else b"")

    def to_record(self, values: Sequence[Any]) -> MemoryRecord:
        if values[-1] != self.record(values[:-1]):
            raise TamperedError(None, f"record {values[0]!r} {_CHANGED}")
        return to_record(values[:-_CODE_COLUMNS])

    def to_entry(self, values: Sequence[Any]) -> Entry:
        *columns, salt, changes, code = values
        if not self.is_genuine(columns, salt, changes, code):
            remedy = "log(skip_damaged=True) passes over changed entries"
            raise TamperedError(None, f"journal entry {columns[0]} {_CHANGED}; {remedy}")
        return to_entry((*columns[:-2], changes))

    def is_genuine(self, columns: Sequence[Any], salt: Any, changes: Any, code: Any) -> bool:
        """Return whether a journal entry is genuine."""
        erased, count = parse_code(code)
        if code != self.entry(columns, count, erased=erased):
            return False
        if erased:
            return salt is None and changes is None
        has_text = isinstance(salt, bytes) and isinstance(changes, str)
        return has_text and digest(salt, changes) == columns[-2]

    def check_vectors(
        self, connection: Connection, rows: Iterable[int], but: Collection[str] = ()
    ) -> None:
        given = Listed(int(row) for row in rows)
        for *columns, code in connection.execute(
            f"SELECT {EMBEDDED_VECTOR}, code FROM vectors WHERE row IN {LISTED} UNION ALL "
            f"SELECT {NAMED_VECTOR}, code FROM named_vectors WHERE row IN {LISTED}",
            (given, given),
        ):
            if columns[1] not in but and code != self.vector(columns):
                raise TamperedError(None, f"a vector of row {columns[0]} {_CHANGED}")

    def checksum(self, columns: tuple[object, ...], data: bytes | memoryview) -> int:
        return int.from_bytes(self.mac(b"segment", columns, data)[:8], "big") >> 1


def parse_code(code: object) -> tuple[bool, int]:
    """Return whether the entry with *code* was erased, and the number of records."""
    if not isinstance(code, bytes) or len(code) < _PREFIX_BYTES:
        return False, 0
    return code[0] == 1, int.from_bytes(code[1:_PREFIX_BYTES], "big")
