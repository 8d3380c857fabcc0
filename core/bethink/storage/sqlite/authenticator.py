"""Authentication codes: what of a file must be shown to be believed, when the store has a key.

Every record, journal entry and vector carries a keyed hash of its columns. Among them is its place,
so that nothing genuine is believed elsewhere or at another time. Without a key there are no codes,
and nothing is checked.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Collection, Iterable, Sequence
from hashlib import blake2b
from typing import Any, Final

from ...errors import TamperedError
from ...model.journal import digest
from ...model.port import Entry
from ...model.records import MemoryRecord
from .rows import COLUMNS, ENTRY_COLUMNS, JSON_LIST, to_entry, to_record
from .schema import CODED_COLUMNS

_NAMES: Final = (
    "(SELECT group_concat(name, char(10)) FROM (SELECT name FROM named_vectors AS own "
    "WHERE own.row = records.row ORDER BY name))"
)
_PLACE: Final = f"records.row, ordinal, revision, {_NAMES}"
_OF_CODES: Final = 5  # columns at the end that are there for the code, itself the last
ENTRY: Final = "seq, at, action, id, namespace, was, row, digest, link"
EMBEDDED_VECTOR: Final = "row, '', 0, vector"
NAMED_VECTOR: Final = "row, name, since, vector"
_PREFIX_BYTES: Final = 9
_CHANGED: Final = "was changed by somebody who does not have the store's key"


class Authenticator:
    """How a file without a key is read: everything is believed."""

    columns: str = COLUMNS
    """What to select of a record."""
    to_record: Callable[[Sequence[Any]], MemoryRecord] = staticmethod(to_record)
    """Make the record of what was selected."""
    entry_columns: str = ENTRY_COLUMNS
    """What to select of a journal entry."""
    to_entry: Callable[[Sequence[Any]], Entry] = staticmethod(to_entry)
    """Make the entry of what was selected."""

    def check_vectors(
        self, connection: sqlite3.Connection, rows: Iterable[int], but: Collection[str] = ()
    ) -> None:
        """Raise ``TamperedError`` if a vector of one of *rows* is not what was written.

        Those named in *but* are not looked at.
        """

    def checksum(self, columns: tuple[object, ...], data: bytes | memoryview) -> int:
        """Return what tells a segment with these *columns* and *data* from a damaged one."""
        return zlib.crc32(data, zlib.crc32(repr(columns).encode()))


NO_AUTH: Final = Authenticator()


class KeyedAuthenticator(Authenticator):
    """How a file with *key* is read; *store* is an id of its own, lest files be mixed.

    *version* is the schema version that the codes of records speak of. Codes of version 1 do not
    cover the number.
    """

    entry_columns = f"{ENTRY}, salt, changes, code"

    def __init__(self, key: bytes, store: str, version: int) -> None:
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
        """Return the code of *columns*, as SQLite returns them, and of *data*."""
        code = self._hashes[domain].copy()
        code.update(repr(columns).encode("utf-8", "surrogatepass"))
        code.update(data)
        return code.digest()

    def record(self, columns: Sequence[object]) -> bytes:
        """Return the code of a record, from ``record_columns``."""
        return self.mac(b"record", (*self._version, *columns))

    def entry(self, columns: Sequence[object], count: int, *, erased: bool) -> bytes:
        """Return the code of a journal entry, from the columns ``ENTRY``.

        *count* is the number of records after it; *erased* says that what it told is gone. Both are
        part of the code, to be read with ``parse_code``.
        """
        prefix = bytes([erased]) + count.to_bytes(_PREFIX_BYTES - 1, "big")
        return prefix + self.mac(b"entry", tuple(columns), prefix)

    def vector(self, columns: Sequence[object]) -> bytes:
        """Return the code of a vector, from the columns ``…_VECTOR``."""
        *place, blob = columns
        return self.mac(b"vector", tuple(place), blob if isinstance(blob, bytes) else b"")

    def to_record(self, values: Sequence[Any]) -> MemoryRecord:
        """Return the record of what was selected, if it is what was written."""
        if values[-1] != self.record(values[:-1]):
            raise TamperedError(None, f"record {values[0]!r} {_CHANGED}")
        return to_record(values[:-_OF_CODES])

    def to_entry(self, values: Sequence[Any]) -> Entry:
        """Return the entry of what was selected, if it is what was written."""
        *columns, salt, changes, code = values
        if not self.genuine(columns, salt, changes, code):
            raise TamperedError(None, f"journal entry {columns[0]} {_CHANGED}")
        return to_entry((*columns[:-2], changes))

    def genuine(self, columns: Sequence[Any], salt: Any, changes: Any, code: Any) -> bool:
        """Tell whether a journal entry is what was written."""
        erased, count = parse_code(code)
        if code != self.entry(columns, count, erased=erased):
            return False
        if erased:
            return salt is None and changes is None
        told = isinstance(salt, bytes) and isinstance(changes, str)
        return told and digest(salt, changes) == columns[-2]

    def check_vectors(
        self, connection: sqlite3.Connection, rows: Iterable[int], but: Collection[str] = ()
    ) -> None:
        """Raise ``TamperedError`` if a vector of one of *rows* is not what was written.

        Those named in *but* are not looked at.
        """
        given = json.dumps([int(row) for row in rows])
        for *columns, code in connection.execute(
            f"SELECT {EMBEDDED_VECTOR}, code FROM vectors WHERE row IN {JSON_LIST} UNION ALL "
            f"SELECT {NAMED_VECTOR}, code FROM named_vectors WHERE row IN {JSON_LIST}",
            (given, given),
        ):
            if columns[1] not in but and code != self.vector(columns):
                raise TamperedError(None, f"a vector of row {columns[0]} {_CHANGED}")

    def checksum(self, columns: tuple[object, ...], data: bytes | memoryview) -> int:
        """Return what tells a segment with these *columns* and *data* from a damaged one."""
        return int.from_bytes(self.mac(b"segment", columns, data)[:8], "big") >> 1


def parse_code(code: object) -> tuple[bool, int]:
    """Return whether the entry with this *code* was erased, and how many records there were."""
    if not isinstance(code, bytes) or len(code) < _PREFIX_BYTES:
        return False, 0
    return code[0] == 1, int.from_bytes(code[1:_PREFIX_BYTES], "big")
