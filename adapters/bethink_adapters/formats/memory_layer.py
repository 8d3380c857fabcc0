"""Databases of Memory Layer (2.x) and of Runtime Memory (3.x, 4.x), as it is called since."""

from __future__ import annotations

import os
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final

from bethink.adapting import PastChange

from .base import DatedLink, Found, Memory, name_of, noted, own_namespace, read_each, read_times
from .conversations import time_of
from .sqlite import columns, from_json, opened, rows

_NEEDED: Final = ("id", "content")
_MORE: Final = ("worked", "failed", "evidence_at", "scope", "source")
_COLUMNS: Final = (
    *("category", "outcome_score", "confidence", "importance", "use_count", "project", "tags"),
    *("entities", "supersedes", "archived", "created_at", "updated_at", "metadata"),
    *_MORE,
)
_RELATION: Final = ("source_id", "target_id", "relation_type")
_STRENGTH: Final = ("strength", "created_at", "metadata")
_PLAIN: Final = (1.0, "{}")
"""The strength and the metadata of a relation that a link tells completely."""
_TASK: Final = ("task_id", "memory_id", "used_at", "outcome", "context")
_SUPERSEDING: Final = (
    "SELECT old.id, new.id, new.created_at FROM memories AS new JOIN memories AS old "
    "ON old.id = new.supersedes ORDER BY new.created_at, new.rowid"
)
_LOWEST_OUTCOME: Final = -0.5
"""The least outcome of a live memory in bethink."""


def read_memory_layer(path: str | os.PathLike[str]) -> Iterator[Found]:
    """Yield the memories of a Memory Layer database, oldest first, and the relations of memories.

    A project becomes the namespace, the outcome score the outcome, at least -0.5 for a live memory,
    and the use count the access count. Superseded memories were live until the successor came,
    archived memories until the last update. Relations become links. What no field holds is kept in
    the metadata, under "memory-layer": evidence, scope, source, entities, a relation's strength and
    metadata, tasks.
    """
    with opened(path) as connection:
        about = _About(connection)
        found = rows(connection, "memories", _NEEDED, _COLUMNS, "ORDER BY created_at, rowid")
        yield from read_each(found, about.memory)
        related = _rows_of(connection, "memory_relations", _RELATION, _STRENGTH)
        numbered = ((f"relation {number}", row) for number, (_, row) in enumerate(related, 1))
        yield from read_each(numbered, _link)


class _About:
    """What other rows of a database tell about each memory, by id."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._successors: dict[object, tuple[object, object]] = {}
        known = columns(connection, "memories")  # of no view
        for old, new, at in connection.execute(_SUPERSEDING) if known else ():
            if old not in self._successors and not self._leads_to(new, old):
                self._successors[old] = new, at
        self._more: dict[object, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
        for _, row in _rows_of(connection, "task_memory_links", _TASK, ()):
            self._more[row.pop("memory_id")]["tasks"].append(row)
        for _, row in _rows_of(connection, "memory_relations", _RELATION, _STRENGTH):
            if (row.get("strength"), row.get("metadata")) != _PLAIN:
                self._more[row.pop("source_id")]["relations"].append(row)

    def _leads_to(self, id: object, target: object) -> bool:
        """Return whether the successors of *id* lead to *target*: a circle would hide all."""
        while id != target and id in self._successors:
            id, _ = self._successors[id]
        return id == target

    def memory(self, place: str, row: Mapping[str, Any]) -> Iterator[Found]:
        """Yield the memory in a *row*."""
        id, old, project = row["id"], row.get("supersedes"), row.get("project")
        times = yield from read_times(place, row, "created_at", "updated_at", "evidence_at")
        created_at, updated_at = times["created_at"], times["updated_at"]
        score = row.get("outcome_score") or 0.0
        ended = self._ended(row, updated_at or created_at or 0.0)
        lowest = max(score, _LOWEST_OUTCOME) if isinstance(score, float) else score
        outcome = score if ended else lowest
        own = from_json("metadata", row.get("metadata"), dict)
        more = {name: row.get(name) for name in _MORE} | self._more.get(id, {})
        more["entities"] = from_json("entities", row.get("entities"), list)
        more["outcome_score"] = None if score == outcome else score
        more["supersedes"] = None if self._successors.get(old, ("",))[0] == id else old
        fields = {
            "content": row["content"],
            "namespace": own_namespace(str(project)) if project else None,
            "category": row.get("category") or None,
            "tags": from_json("tags", row.get("tags"), list),
            "importance": row.get("importance"),
            "confidence": row.get("confidence"),
            "created_at": created_at,
            "updated_at": updated_at,
            "outcome": outcome,
            "access_count": row.get("use_count") or 0,
            "source": _name(id),
            "metadata": noted("memory-layer", own, more),
            **(ended.fields if ended else {}),
        }
        changes = [ended] if ended else []
        if score:
            earned_at = times["evidence_at"] or updated_at or created_at or 0.0
            changes.append(PastChange(earned_at, "outcome", {"outcome": lowest}))
        changes.sort(key=attrgetter("at"))
        if created_at is not None:
            changes.insert(0, PastChange(created_at, "store", {}))
        yield Memory(place, fields, tuple(changes))

    def _ended(self, row: Mapping[str, Any], updated_at: float) -> PastChange | None:
        """Return the change by which a memory was superseded or archived, if any."""
        if row["id"] in self._successors:
            by, told = self._successors[row["id"]]
            at = time_of({"at": told}, "at")  # unreadable, listed with the successor
            gone = {"state": "superseded", "superseded_by": _name(by)}
            return PastChange(at or updated_at, "supersede", gone)
        if row.get("archived"):
            return PastChange(updated_at, "archive", {"state": "archived"})
        return None


def _rows_of(
    connection: sqlite3.Connection, table: str, needed: Sequence[str], more: Sequence[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the rows of a *table* that not every version has."""
    known = columns(connection, table)
    return rows(connection, table, needed, more, "ORDER BY rowid") if known else iter(())


def _link(place: str, row: Mapping[str, Any]) -> Iterator[Found]:
    ends = _name(row["source_id"]), _name(row["target_id"])
    times = yield from read_times(place, row, "created_at")
    yield DatedLink(place, *ends, str(row["relation_type"]), times["created_at"] or 0.0)


def _name(id: object) -> str:
    return name_of("memory-layer", str(id))
