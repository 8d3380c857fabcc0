"""Memories of mem0: the rows of ``get_all`` as JSON, and the SQLite file of past changes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from bethink import segment

from .base import Found, Item, Memory, Skipped, name_of, noted, read_each, read_times
from .jsons import values
from .sqlite import opened, rows

_OWNERS: Final = (("user_id", "users"), ("agent_id", "agents"))
_MORE: Final = (
    *(owner for owner, _ in _OWNERS),
    *("hash", "role", "attributed_to", "updated_at", "app_name"),
)
_ANSWERS: Final = ("results", "memories", "items")
_TEXT: Final = ("memory", "data", "content", "text")
_MEMBER: Final = r"memories\.json"
_DAY: Final = 86_400.0
_NEEDED: Final = ("memory_id", "new_memory")
_HISTORY: Final = ("id", "event", "created_at", "updated_at", "actor_id", "role")
_STILL_THERE: Final = (
    "WHERE memory_id NOT IN (SELECT memory_id FROM history WHERE event = 'DELETE' "
    "AND memory_id IS NOT NULL) ORDER BY rowid"
)


def read_mem0(path: str | os.PathLike[str]) -> Iterator[Found]:
    """Yield the memories in a JSON or JSON Lines file of mem0's rows, or of ``get_all``'s answers.

    Pages of OpenMemory and the archive of OpenMemory's backup are read, too. A user's memories go
    to the namespace ``users/<user_id>``, those of no user but an agent to ``agents/<agent_id>``.
    The run is the thread, the actor or else the role the author. Times are kept, and what mem0 has
    changed since an earlier import changes.
    """
    return read_each(values(path, _MEMBER), _value)


def read_mem0_history(path: str | os.PathLike[str]) -> Iterator[Found]:
    """Yield every text in mem0's ``history.db``; each text of a memory supersedes the text before.

    Deleted memories are left out. The file names no user: give ``import_from`` the namespace.
    """
    latest: dict[object, tuple[str, ...]] = {}
    with opened(path) as connection:
        found = rows(connection, "history", _NEEDED, _HISTORY, _STILL_THERE)
        yield from read_each(found, partial(_version, latest=latest))


def _value(place: str, value: object) -> Iterator[Found]:
    """Yield the memory in *value*, or the memories of an answer or a backup of mem0."""
    answers = [value[name] for name in _ANSWERS if name in value] if isinstance(value, dict) else []
    if answers and isinstance(answers[0], list):
        results = ((f"{place}, result {number}", row) for number, row in enumerate(answers[0], 1))
        yield from read_each(results, _row)
    else:
        yield from _row(place, value)


def _row(place: str, row: object) -> Iterator[Found]:
    if not isinstance(row, dict):
        raise ValueError("not a memory of mem0: not an object")
    if not isinstance(row.get("id"), str):
        raise ValueError("not a memory of mem0: it has no id")
    if row.get("state") == "deleted":
        yield Skipped(place, "deleted by its user")
        return
    times = yield from read_times(place, row, "created_at", "updated_at", "expiration_date")
    last_day = times["expiration_date"]
    fields = {**_fields(row), "expires_at": None if last_day is None else last_day + _DAY}
    archived = row.get("state") == "archived"
    if times["created_at"] is None:
        yield Item(place, fields, archived=archived)
    else:
        dated = {name: times[name] for name in ("created_at", "updated_at")}
        state = {"state": "archived"} if archived else {}
        yield Memory(place, {**fields, **dated, **state})


def _fields(row: Mapping[str, Any]) -> dict[str, Any]:
    own = row.get("metadata") or row.get("metadata_") or {}
    if not isinstance(own, dict):
        raise ValueError("metadata is not an object")
    return {
        "content": next((row[name] for name in _TEXT if name in row), None),
        "namespace": next(
            (f"{above}/{segment(str(row[name]))}" for name, above in _OWNERS if row.get(name)), None
        ),
        "thread": row.get("run_id"),
        "author": row.get("actor_id") or row.get("role"),
        "tags": row.get("categories") or (),
        "source": name_of("mem0", row["id"]),
        "metadata": noted("mem0", own, {name: row.get(name) for name in _MORE}),
    }


def _version(
    place: str, row: Mapping[str, Any], latest: dict[object, tuple[str, ...]]
) -> Iterator[Found]:
    """Yield a version of a memory; the version supersedes the *latest* version."""
    times = yield from read_times(place, row, "created_at", "updated_at")
    changed_at = None if row.get("event") == "ADD" else times["updated_at"]
    id = row["memory_id"]
    name = name_of("mem0", str(id), str(row.get("id")))
    fields = {
        "content": row["new_memory"],
        "author": row.get("actor_id") or row.get("role"),
        "occurred_at": times["created_at"] if changed_at is None else changed_at,
        "source": name,
        "metadata": {"mem0": {"memory_id": id}},
    }
    yield Item(place, fields, latest.get(id, ()))
    latest[id] = (name,)
