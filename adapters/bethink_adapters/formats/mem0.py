"""Memories of mem0: the rows of ``get_all`` as JSON, and the SQLite file of past changes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from bethink import segment

from .base import Found, Item, name_of, noted, read_each
from .jsons import values
from .sqlite import opened, rows
from .times import moment

_OWNERS: Final = (("user_id", "users"), ("agent_id", "agents"))
_MORE: Final = (*(owner for owner, _ in _OWNERS), "hash", "role", "attributed_to", "updated_at")
_DAY: Final = 86_400.0
_NEEDED: Final = ("memory_id", "new_memory")
_HISTORY: Final = ("id", "event", "created_at", "updated_at", "actor_id", "role")
_STILL_THERE: Final = (
    "WHERE memory_id NOT IN (SELECT memory_id FROM history WHERE event = 'DELETE' "
    "AND memory_id IS NOT NULL) ORDER BY rowid"
)


def read_mem0(path: str | os.PathLike[str]) -> Iterator[Found]:
    """Yield the memories in a JSON or JSON Lines file of mem0's rows, or of ``get_all``'s answers.

    A user's memories go to the namespace ``users/<user_id>``, those of no user but an agent to
    ``agents/<agent_id>``. The run is the thread, the actor or else the role the author.
    """
    return read_each(values(path), _value)


def read_mem0_history(path: str | os.PathLike[str]) -> Iterator[Found]:
    """Yield every text in mem0's ``history.db``; each text of a memory supersedes the text before.

    Deleted memories are left out. The file names no user: give ``import_from`` the namespace.
    """
    latest: dict[object, tuple[str, ...]] = {}
    with opened(path) as connection:
        found = rows(connection, "history", _NEEDED, _HISTORY, _STILL_THERE)
        yield from read_each(found, partial(_version, latest=latest))


def _value(place: str, value: object) -> Iterator[Found]:
    """Yield the memory in *value*, or the memories of an answer of mem0."""
    answer = value.get("results") if isinstance(value, dict) else None
    if isinstance(answer, list):
        results = ((f"{place}, result {number}", row) for number, row in enumerate(answer, 1))
        yield from read_each(results, _item)
    else:
        yield from _item(place, value)


def _item(place: str, row: object) -> Iterator[Item]:
    if not isinstance(row, dict):
        raise ValueError("not a memory of mem0: not an object")
    yield Item(place, _fields(row))


def _fields(row: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(row.get("id"), str):
        raise ValueError("not a memory of mem0: it has no id")
    own = row.get("metadata") or {}
    if not isinstance(own, dict):
        raise ValueError("metadata is not an object")
    expires = moment(row.get("expiration_date"))  # the last day on which it holds
    return {
        "content": row.get("memory", row.get("data")),
        "namespace": next(
            (f"{above}/{segment(str(row[name]))}" for name, above in _OWNERS if row.get(name)), None
        ),
        "thread": row.get("run_id"),
        "author": row.get("actor_id") or row.get("role"),
        "tags": row.get("categories") or (),
        "occurred_at": moment(row.get("created_at")),
        "expires_at": None if expires is None else expires + _DAY,
        "source": name_of("mem0", row["id"]),
        "metadata": noted("mem0", own, {name: row.get(name) for name in _MORE}),
    }


def _version(
    place: str, row: Mapping[str, Any], latest: dict[object, tuple[str, ...]]
) -> Iterator[Item]:
    """Yield a version of a memory; the version supersedes the *latest* version."""
    changed = row.get("event") != "ADD" and row.get("updated_at")
    id = row["memory_id"]
    name = name_of("mem0", str(id), str(row.get("id")))
    fields = {
        "content": row["new_memory"],
        "author": row.get("actor_id") or row.get("role"),
        "occurred_at": moment(changed or row.get("created_at")),
        "source": name,
        "metadata": {"mem0": {"memory_id": id}},
    }
    yield Item(place, fields, latest.get(id, ()))
    latest[id] = (name,)
