"""Records, vectors and settings to SQL values and back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain, compress
from json.encoder import encode_basestring
from operator import attrgetter, is_not
from types import SimpleNamespace
from typing import Any, Final, TypeVar

import numpy as np

from ...errors import CorruptStoreError
from ...model.arrays import Vector
from ...model.fields import to_json
from ...model.namespaces import Scope, Subtree, below
from ...model.records import RECORD_FIELDS, MemoryRecord, Snapshot, new_record
from ..abilities import Entry
from ..journal import FULL_RECORD, is_well_formed
from .connection import Connection, Cursor

FIELDS: Final = MemoryRecord.__slots__
COLUMNS: Final = ", ".join(FIELDS)
OUTLINE: Final = "id, namespace, created_at, key, source, expires_at, state"
"""The columns of ``to_outline``."""
ENTRY_COLUMNS: Final = "seq, at, action, id, namespace, was, row, changes"
_VALUE, _TAGS, _METADATA = (FIELDS.index(name) for name in ("value", "tags", "metadata"))
_values = attrgetter(*FIELDS)
_EMPTY: Final = [{"tags": "[]", "metadata": "{}"}.get(name) for name in FIELDS]
_HEADS: Final = [f',"{name}":' for name in FIELDS]
_SPELLINGS: Final[list[Callable[[Any], str]]] = [
    encode_basestring if RECORD_FIELDS[name].types in (str, str | None) else str for name in FIELDS
]
_decode: Final = json.JSONDecoder().raw_decode  # json.loads looks for blanks: twice the time
_MAX_SCOPES: Final = 50
_MAX_SPELLED: Final = 20  # planning a longer condition takes SQLite longer than a subquery
_SINGLE: Final = np.dtype("<f4")

LISTED: Final = "(SELECT value FROM json_each(?))"
"""The values of a ``Listed``, of any length."""


class Listed(str):
    """A list of texts or integers as a parameter: JSON for SQLite, an array for Postgres."""

    __slots__ = ("items",)
    items: list[Any]

    def __new__(cls, items: Iterable[Any]) -> Listed:
        """Spell *items* as JSON, and keep the list."""
        given = list(items)
        self = super().__new__(cls, json.dumps(given))
        self.items = given
        return self


_BELOW: Final = (
    "SELECT namespace FROM json_each(?) AS tops CROSS JOIN {table} "
    "WHERE namespace > tops.value || '/' AND namespace < tops.value || '0'"
)
_IN_MANY: Final = (
    "namespace IN (SELECT value FROM json_each(?) "
    f"UNION {_BELOW.format(table='records')} UNION {_BELOW.format(table='departures')})"
)
"""Whether a namespace is one of a list, or below one of a list: given as JSON, the second twice."""

HOLDS_KEY: Final = "namespace = ? AND key = ? AND state = 'live'"
"""Whether a record holds a key."""


class RowTypes:
    """The *kinds* of values in a row.

    SQLite accepts values of any kind in any column, and a damaged file has wrong kinds.
    """

    def __init__(self, *kinds: Any) -> None:
        self._kinds = kinds
        self._known = set[tuple[type, ...]]()
        self._last: tuple[type, ...] = ()

    def __call__(self, values: Sequence[Any]) -> Any:
        """Return *values*; raise ``CorruptStoreError`` for a value of a wrong kind."""
        types = tuple(map(type, values))
        if types != self._last:  # most rows have the types of the row before
            self._learn(types, values)
        return values

    def _learn(self, types: tuple[type, ...], values: Sequence[Any]) -> None:
        if types not in self._known and not all(map(isinstance, values, self._kinds)):
            raise CorruptStoreError(None, "damaged values in the store")
        self._known.add(types)
        self._last = types


Read = TypeVar("Read")

_REMEDY: Final = (
    "log(skip_damaged=True) passes over damaged entries, and repair() empties lost entries"
)
_JSON_TYPES: Final = {"value": str | None, "tags": str, "metadata": str}
_NEEDED: Final = {"snapshot": "name", "compact": "seq"}  # in entries of no record
_SETTING: Final = RowTypes(str)
_SNAPSHOT: Final = RowTypes(str, int, float)
_ENTRY: Final = RowTypes(int, float, str, str | None, str | None, int | None, int | None)
_RECORD: Final = RowTypes(
    *(_JSON_TYPES.get(name, each.types) for name, each in RECORD_FIELDS.items())
)
_OUTLINE: Final = RowTypes(*(RECORD_FIELDS[name].types for name in OUTLINE.split(", ")))


def to_values(record: MemoryRecord) -> list[Any]:
    """Return the record's columns in the order of ``FIELDS``."""
    values = list(_values(record))
    values[_VALUE] = None if record.value is None else to_json(record.value)
    values[_TAGS] = to_json(record.tags) if record.tags else "[]"
    values[_METADATA] = to_json(record.metadata) if record.metadata else "{}"
    return values


def entry_texts(columns: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield ``non_empty_fields`` of each new record as JSON, from the columns of ``to_values``.

    Most values are the same objects as in the record before: the text of those is kept. Equal
    objects will not do, since 0.0 and -0.0 differ in JSON.
    """
    last: Sequence[Any] = _EMPTY
    members = [""] * len(FIELDS)
    for values in columns:
        for place in compress(range(len(FIELDS)), map(is_not, values, last)):
            value = values[place]
            told = value != _EMPTY[place]
            members[place] = f"{_HEADS[place]}{_SPELLINGS[place](value)}" if told else ""
        last = values
        yield f"{{{''.join(members)[1:]}}}"


def to_record(values: Sequence[Any]) -> MemoryRecord:
    """Return the record of a row with columns in the order of ``FIELDS``."""
    columns = list(_RECORD(values))
    if columns[_VALUE] is not None:
        columns[_VALUE] = from_json(columns[_VALUE])
    columns[_TAGS] = () if columns[_TAGS] == "[]" else tuple(from_json(columns[_TAGS], list))
    columns[_METADATA] = {} if columns[_METADATA] == "{}" else from_json(columns[_METADATA], dict)
    return new_record(*columns)


def to_outline(values: Sequence[Any]) -> MemoryRecord:
    """Return a record with no more than the columns ``OUTLINE``."""
    id, namespace, at, key, source, expires_at, state = _OUTLINE(values)
    return new_record(
        *(id, namespace, "", at, at, at), key=key, source=source, expires_at=expires_at, state=state
    )


def to_part(names: Iterable[str], values: Sequence[Any]) -> Any:
    """Return an object with the fields *names* of a record, from these columns alone."""
    fields = {name: to_field(name, value) for name, value in zip(names, values, strict=True)}
    return SimpleNamespace(**fields)


def to_field(name: str, value: Any) -> Any:
    """Return the *value* of a column as the field *name* has it, with a list of tags."""
    return from_json(value) if name in _JSON_TYPES and value is not None else value


def from_json(text: str, kind: type = object) -> Any:
    """Return the value of *kind* in the JSON *text*; else raise ``CorruptStoreError``."""
    try:
        value, end = _decode(text)
        if end < len(text):
            raise ValueError("more than one value")
    except (TypeError, ValueError, RecursionError) as error:
        raise CorruptStoreError(None, f"damaged JSON in the store: {error}") from error
    if not isinstance(value, kind):
        raise CorruptStoreError(None, f"damaged JSON in the store: it is no {kind.__name__}")
    return value


def to_changes(text: str | None) -> tuple[dict[str, Any] | None, Any]:
    """Return the changes of an entry and the whole record, each None if absent."""
    changes = from_json(text) if text is not None else None
    if changes is not None and not is_well_formed(changes):
        raise CorruptStoreError(None, "damaged journal entry in the store")
    return changes, changes.pop(FULL_RECORD, None) if changes else None


def to_entry(values: Sequence[Any]) -> Entry:
    """Return the journal entry with the columns ``ENTRY_COLUMNS``."""
    try:
        entry = Entry._make((*_ENTRY(values[:-1]), *to_changes(values[-1])))
        needed = _NEEDED.get(entry.action, "accesses")
        if entry.id is None and entry.changes is not None and needed not in entry.changes:
            raise CorruptStoreError(None, f"{needed!r} is missing")
    except CorruptStoreError as error:
        reason = f"journal entry {values[0]} is damaged ({error.reason}); {_REMEDY}"
        raise CorruptStoreError(None, reason) from error
    return entry


def to_damaged_entry(seq: int, at: object, id: object, namespace: object) -> Entry:
    """Return what can be read of a damaged journal entry, as the action "damaged"."""
    of, inside = (each if isinstance(each, str) else None for each in (id, namespace))
    time = at if isinstance(at, float) else 0.0
    return Entry(seq, time, "damaged", of, inside, None, None, None, None)


def readable_or_bytes(text: bytes) -> str | bytes:
    """Return *text* decoded, or as bytes if *text* is no UTF-8: a ``text_factory``."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text


def read_lenient(connection: Connection, read: Callable[[], Read]) -> Read:
    """Return the result of *read*, with bytes in place of texts that are no UTF-8."""
    try:
        return read()
    except sqlite3.OperationalError as error:
        if "UTF-8" not in str(error):
            raise
        connection.text_factory = readable_or_bytes
        try:
            return read()
        finally:
            connection.text_factory = str


STAGED: Final = "reembedding"
"""The setting with the length and the embedder of staged vectors, in the table under minus the row.

Empty or absent without staged vectors.
"""


def to_blob(vector: Vector) -> bytearray:
    """Return the vector as little-endian float32 bytes.

    A ``bytearray``, since ``sqlite3`` looks for an adapter of ``bytes``: that takes longer than the
    copy.
    """
    return bytearray(vector.astype(_SINGLE, copy=False))


def to_vector(blob: bytes) -> Vector:
    """Return the vector written by ``to_blob``."""
    if not isinstance(blob, bytes) or len(blob) % 4:
        raise CorruptStoreError(None, "damaged vector in the store")
    return np.frombuffer(blob, dtype="<f4")


def scope_sql(scope: Scope) -> tuple[str, tuple[Any, ...]]:
    """Return the SQL condition and parameters that select the namespaces of *scope*."""
    if isinstance(scope, str):
        return "namespace = ?", (scope,)
    if isinstance(scope, Subtree):
        # A single range, since SQLite searches an index for a range, and not always for an OR.
        inside = "(namespace >= ? AND namespace < ? AND (namespace = ? OR namespace > ?))"
        start, end = below(scope.path)
        return inside, (scope.path, end, scope.path, start)
    if isinstance(scope, tuple) and len(scope) > _MAX_SPELLED:
        subtrees = [each.path for each in scope if isinstance(each, Subtree)]
        names = [each for each in scope if isinstance(each, str)]
        return _IN_MANY, (Listed(names + subtrees), *[Listed(subtrees)] * 2)
    if isinstance(scope, tuple):
        inside, parameters = zip(*map(scope_sql, scope), strict=True)
        return f"({' OR '.join(inside)})", tuple(chain.from_iterable(parameters))
    return "TRUE", ()


def scopes_sql(scopes: Sequence[Scope]) -> tuple[str, tuple[Any, ...]]:
    """Return the SQL condition and parameters for the union of *scopes*.

    Many scopes count as everywhere.
    """
    if len(scopes) > _MAX_SCOPES:
        return "TRUE", ()
    parts = [scope_sql(scope) for scope in scopes]
    return f"({' OR '.join(sql for sql, _ in parts) or 'FALSE'})", tuple(
        value for _, values in parts for value in values
    )


HEAD: Final = "SELECT coalesce(max(seq), 0) FROM journal"
"""The last journal position."""


def read_head(connection: Connection) -> int:
    """Return the last journal position."""
    return int(connection.execute(HEAD).fetchone()[0])


def read_setting(connection: Connection, name: str) -> str | None:
    """Return a setting, None if not stored."""
    with closing(ask_setting(connection, name)) as asked:
        return to_setting(asked)


def ask_setting(connection: Connection, name: str) -> Cursor:
    """Ask for a setting; the answer is read later, so that several answers travel together.

    The caller closes the cursor: a kept exception would keep the cursor open.
    """
    return connection.execute("SELECT value FROM facts WHERE name = ?", (name,))


def to_setting(asked: Cursor) -> str | None:
    """Return the setting of an answer, None if not stored."""
    found = asked.fetchone()
    (value,) = _SETTING(found) if found else (None,)
    return value


def read_number(connection: Connection, name: str) -> int | None:
    """Return a setting that is a number."""
    return to_number(name, read_setting(connection, name))


def to_number(name: str, noted: str | None) -> int | None:
    """Return the setting *name* as a number."""
    try:
        return None if noted is None else int(noted)
    except ValueError as error:
        raise CorruptStoreError(None, f"the fact {name!r} is damaged") from error


def read_snapshots(connection: Connection) -> list[Snapshot]:
    """Return all snapshots, oldest first."""
    ordered = "SELECT name, seq, at FROM snapshots ORDER BY seq, at, name"
    return [Snapshot(*_SNAPSHOT(columns)) for columns in connection.execute(ordered).fetchall()]
