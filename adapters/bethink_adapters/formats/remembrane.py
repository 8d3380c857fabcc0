"""Databases of remembrane (0.5 and before)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Final

from .base import Found, Item, name_of, noted, own_namespace, read_each
from .sqlite import from_json, opened, rows
from .times import moment

_NEEDED: Final = ("id", "namespace", "content", "importance", "created_at")
_MORE: Final = ("last_accessed_at", "access_count", "usefulness")
_COLUMNS: Final = ("metadata", *_MORE)


def read_remembrane(path: str | os.PathLike[str]) -> Iterator[Found]:
    """Yield the memories of a remembrane database, oldest first.

    Namespaces stay, times become ``occurred_at``, and the role of a chat message its author.
    Usefulness and accesses are kept in the metadata, under "remembrane".
    """
    with opened(path) as connection:
        found = rows(connection, "memories", _NEEDED, _COLUMNS, "ORDER BY created_at, rowid")
        yield from read_each(found, lambda place, row: [Item(place, _fields(row))])


def _fields(row: Mapping[str, Any]) -> dict[str, Any]:
    own = from_json("metadata", row.get("metadata"), dict)
    fields = {
        "content": row["content"],
        "namespace": own_namespace(str(row["namespace"])),
        "importance": row["importance"],
        "occurred_at": moment(row["created_at"]),
        "source": name_of("remembrane", str(row["id"])),
        "metadata": noted("remembrane", own, {name: row.get(name) for name in _MORE}),
    }
    if isinstance(own.get("role"), str):
        fields |= {"author": own["role"], "thread": str(row["namespace"])}
    return fields
