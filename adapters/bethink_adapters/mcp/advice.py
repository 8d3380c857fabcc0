"""Errors as a model reads them: what is wrong, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bethink import BethinkError, NotFoundError, StorageError, StoreBusyError, ValidationError
from bethink.adapting import check_namespace

from .schema import ArgumentError

_FIND: Final = "memory_recall finds memories and their ids"
_MOMENT: Final = "as_of takes an ISO 8601 time, an entry such as #12, or the name of a snapshot"
_NEXT: Final[Mapping[str, str]] = {
    "memory": _FIND,
    "record": _FIND,
    "snapshot": _MOMENT,
    "namespace": "leave namespace out",
    "journal entry": "memory_history shows the entries",
    "task": "memory_tasks with the action 'list' shows the open tasks",
    "memory file": "nothing is remembered yet, and this server only reads",
}
"""What was not found → what to do."""


def told(error: BethinkError | OSError) -> str:
    """Return the sentence of *error*, and what to do next."""
    advice = ""
    if isinstance(error, NotFoundError):
        advice = _NEXT.get(error.what, "")
    elif isinstance(error, OSError):
        soon = isinstance(error, StorageError) and error.is_unreachable
        soon = soon or isinstance(error, StoreBusyError)
        advice = "try again later" if soon else "tell the user; `bethink doctor` checks the memory"
    return f"{error}; {advice}" if advice else str(error)


def check_place(namespace: object) -> None:
    """Raise ``ArgumentError`` for a *namespace* that is no path; None is a default."""
    try:
        if namespace is not None:
            check_namespace(namespace)
    except ValidationError:
        raise ArgumentError(
            f"namespace must be a path such as projects/ferry, without '*', not {namespace!r}; "
            "leave namespace out for the default"
        ) from None


def not_found(ids: list[str]) -> list[str]:
    """Return a line for each of *ids* without a memory, and what to do."""
    lines = [f"No memory has the id {each}." for each in ids]
    return [*lines, f"{_FIND}."] if lines else []


def no_key(key: str, place: str) -> str:
    """Return the line for a *key* without a memory in the namespace *place*."""
    return f"No memory has the key {key} in {place}; {_FIND}."
