"""Databases of Memory Layer (2.x) and of Runtime Memory (3.x, 4.x), as it is called since."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Set
from functools import partial
from typing import Any, Final, TypeAlias

from .base import Found, Item, Link, name_of, noted, own_namespace, read_each
from .sqlite import columns, from_json, opened, rows
from .times import moment

_MORE: Final = (
    "outcome_score",
    "worked",
    "failed",
    "evidence_at",
    "use_count",
    "scope",
    "source",
    "supersedes",
    "updated_at",
)
_NEEDED: Final = ("id", "content")
_COLUMNS: Final = (
    "category",
    "confidence",
    "importance",
    "project",
    "tags",
    "entities",
    "archived",
    "created_at",
    "metadata",
    *_MORE,
)

_Row: TypeAlias = tuple[str, Mapping[str, Any]]


def read_memory_layer(path: str | os.PathLike[str]) -> Iterator[Found]:
    """Yield the memories of a Memory Layer database, oldest first, and the relations of memories.

    A project becomes the namespace. Superseded memories stay superseded, and come first at any
    date; archived memories stay archived. Relations between live memories become links; the import
    lists all further relations. Scores and counts are kept in the metadata, under "memory-layer".
    """
    with opened(path) as connection:
        superseded = _superseded(connection)
        found = rows(connection, "memories", _NEEDED, _COLUMNS, "ORDER BY created_at, rowid")
        ordered = _in_turn(found, superseded)
        yield from read_each(ordered, partial(_item, superseded=superseded))
        yield from _links(connection)


def _in_turn(found: Iterable[_Row], superseded: Set[object]) -> Iterator[_Row]:
    """Yield the rows in order, but no row before the row that the row supersedes."""
    ahead = set(superseded)
    held: dict[object, list[_Row]] = {}
    for each in found:
        turn = [each]
        while turn:
            place, row = turn.pop()
            if row.get("supersedes") in ahead:
                held.setdefault(row["supersedes"], []).append((place, row))
                continue
            yield place, row
            ahead.discard(row["id"])
            turn += reversed(held.pop(row["id"], []))
    for rest in held.values():  # they supersede each other
        yield from rest


def _item(place: str, row: Mapping[str, Any], superseded: Set[object]) -> Iterator[Item]:
    old = row.get("supersedes")
    aside = bool(row.get("archived")) and row["id"] not in superseded
    yield Item(place, _fields(row), (_name(old),) if old else (), aside)


def _superseded(connection: sqlite3.Connection) -> set[object]:
    wanted = "SELECT id FROM memories WHERE id IN (SELECT supersedes FROM memories)"
    return {id for (id,) in connection.execute(wanted)}


def _links(connection: sqlite3.Connection) -> Iterator[Link]:
    if not columns(connection, "memory_relations"):
        return
    needed = ("source_id", "target_id", "relation_type")
    found = rows(connection, "memory_relations", needed, (), "ORDER BY created_at, rowid")
    for number, (_, row) in enumerate(found, 1):
        ends = _name(row["source_id"]), _name(row["target_id"])
        yield Link(f"relation {number}", *ends, str(row["relation_type"]))


def _fields(row: Mapping[str, Any]) -> dict[str, Any]:
    more = {name: row.get(name) for name in _MORE}
    more["entities"] = from_json("entities", row.get("entities"), list)
    project = row.get("project")
    fields = {
        "content": row["content"],
        "namespace": own_namespace(str(project)) if project else None,
        "category": row.get("category") or None,
        "tags": from_json("tags", row.get("tags"), list),
        "importance": row.get("importance"),
        "confidence": row.get("confidence"),
        "occurred_at": moment(row.get("created_at")),
        "source": _name(row["id"]),
        "metadata": noted("memory-layer", from_json("metadata", row.get("metadata"), dict), more),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _name(id: object) -> str:
    return name_of("memory-layer", str(id))
