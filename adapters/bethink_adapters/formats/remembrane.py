"""Databases of remembrane (0.1 to 0.5): memories, journal and snapshots."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from functools import partial
from operator import attrgetter
from typing import Any, Final

from bethink.adapting import PastChange

from .base import (
    Found,
    Memory,
    Moment,
    Skipped,
    name_of,
    noted,
    own_namespace,
    read_each,
    read_times,
)
from .sqlite import columns, from_json, opened, rows
from .times import moment

_NEEDED: Final = ("id", "namespace", "content", "importance", "created_at")
_COLUMNS: Final = ("metadata", "last_accessed_at", "access_count", "usefulness")
_ENTRY: Final = ("ts", "op", "memory_id", "namespace", "payload")
_TOLD: Final = ("content", "importance", "metadata")
_LOWEST_OUTCOME: Final = -0.5
"""The least outcome of a live memory in bethink."""
_NEW: Final[Mapping[str, Any]] = {
    **{"state": "live", "superseded_by": None, "outcome": 0.0},
    **{"access_count": 0, "last_accessed_at": None},
}
"""What remembrane begins anew when a memory is stored again."""


def read_remembrane(path: str | os.PathLike[str]) -> Iterator[Found]:
    """Yield the memories of a remembrane database, oldest first, with the past and the snapshots.

    Namespaces and times stay, and the role of a chat message becomes the author. Usefulness u
    becomes the outcome tanh(u / 2), at least -0.5: (outcome + 1) / 2 is the sigmoid of u, by which
    remembrane ranks. The metadata keep u under "remembrane". The journal becomes the past.
    Forgotten memories come along forgotten, into an empty store only.
    """
    with opened(path) as connection:
        journal = _Journal()
        if columns(connection, "journal"):
            entries = rows(connection, "journal", _ENTRY, (), "ORDER BY seq")
            yield from read_each(
                ((f"journal {place}", row) for place, row in entries), journal.read
            )
        found = rows(connection, "memories", _NEEDED, _COLUMNS, "ORDER BY created_at, rowid")
        yield from read_each(found, partial(_memory, journal=journal))
        yield from journal.forgotten()
        if columns(connection, "snapshots"):
            taken = rows(connection, "snapshots", ("label", "ts"), (), "ORDER BY ts")
            yield from read_each(taken, _snapshot)


class _Journal:
    """The changes of each memory, in order; where the clock stepped back, the time stands still."""

    def __init__(self) -> None:
        self.changes: dict[str, list[PastChange]] = {}
        self._namespaces: dict[str, str] = {}
        self._reasons: dict[str, object] = {}

    def read(self, place: str, row: Mapping[str, Any]) -> Iterator[Found]:
        """Add an entry; yield an unknown entry."""
        told, op, at = from_json("payload", row["payload"], dict), row["op"], moment(row["ts"])
        id, given = str(row["memory_id"]), {name: told[name] for name in _TOLD if name in told}
        if at is None:
            raise ValueError("an entry without a time")
        if op in ("store", "merge"):
            self._namespaces[id] = str(row["namespace"])
            new = {**_NEW, **given, "namespace": own_namespace(self._namespaces[id])}
            self._add(id, at, "update" if self.changes.get(id) else "store", new)
        elif op == "forget":
            self._reasons[id] = told.get("reason")
            self._add(id, at, "forget", {"state": "forgotten"})
        elif op == "reinforce":
            self._add(id, at, "reinforce", given)
        elif op == "feedback":
            action = "useful" if told.get("useful") else "useless"
            self._add(id, at, action, {"outcome": _outcome(told.get("usefulness"))})
        elif op in ("consolidate", "resolve"):
            self._add(id, at, "merge", given)
            if gone := told.get("absorbed") or told.get("dropped"):
                by = {"state": "superseded", "superseded_by": _name(id)}
                self._add(str(gone), at, "supersede", by)
        else:
            yield Skipped(place, f"unknown operation {str(op)[:64]!r}")

    def _add(self, id: str, at: float, action: str, fields: Mapping[str, Any]) -> None:
        if fields:
            changes = self.changes.setdefault(id, [])
            due = max(at, changes[-1].at) if changes else at
            changes.append(PastChange(due, action, fields))

    def forgotten(self) -> Iterator[Found]:
        """Yield the memories that are in the journal only, with their texts."""
        for id, changes in self.changes.items():
            fields: dict[str, Any] = {}
            for change in changes:
                fields |= change.fields
            if "content" in fields:
                own, why = fields.get("metadata") or {}, {"reason": self._reasons.get(id)}
                about = _about(id, self._namespaces[id], own, why)
                yield Memory(f"memory {id}", {**fields, **about}, tuple(changes))


def _memory(place: str, row: Mapping[str, Any], journal: _Journal) -> Iterator[Found]:
    id, past = str(row["id"]), journal.changes.pop(str(row["id"]), [])
    own = from_json("metadata", row.get("metadata"), dict)
    times = yield from read_times(place, row, "created_at", "last_accessed_at")
    created_at, accessed_at = times["created_at"], times["last_accessed_at"]
    usefulness = row.get("usefulness") or 0.0
    seen = {"access_count": row.get("access_count") or 0, "last_accessed_at": accessed_at}
    fields = {
        **_about(id, str(row["namespace"]), own, {"usefulness": usefulness}),
        **seen,
        "content": row["content"],
        "importance": row["importance"],
        "created_at": created_at,
        "outcome": _outcome(usefulness),
    }
    if created_at is not None and (not past or past[0].action != "store"):  # before remembrane 0.2
        past.insert(0, PastChange(created_at, "store", {}))
    if accessed_at is not None and past:
        at = max(accessed_at, past[0].at)  # a merged memory was accessed elsewhere
        past.append(PastChange(at, "access", seen))
        past.sort(key=attrgetter("at"))
    yield Memory(place, fields, tuple(past))


def _about(
    id: str, namespace: str, own: Mapping[str, Any], more: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what a memory's namespace and *own* metadata tell; *more* is for no field."""
    fields = {
        "namespace": own_namespace(namespace),
        "source": _name(id),
        "metadata": noted("remembrane", own, more),
    }
    if isinstance(own.get("role"), str):
        fields |= {"author": own["role"], "thread": namespace}
    return fields


def _snapshot(place: str, row: Mapping[str, Any]) -> Iterator[Found]:
    at = moment(row["ts"])
    if at is None:
        raise ValueError("a snapshot without a time")
    yield Moment(f"snapshot {row['label']!r}", row["label"], at)


def _outcome(usefulness: object) -> float:
    known = usefulness if isinstance(usefulness, int | float) else 0.0
    return max(math.tanh(known / 2), _LOWEST_OUTCOME)


def _name(id: str) -> str:
    return name_of("remembrane", id)
