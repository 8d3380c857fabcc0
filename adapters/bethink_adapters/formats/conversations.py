"""Exported conversations: a tree of messages, with the words spoken on a single branch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .times import moment


def branch(parents: Mapping[str, object], leaf: object) -> list[str]:
    """Return the ids from the first message to *leaf*, each the parent of the next.

    A parent that is not among the messages, or was met before, ends the way.
    """
    way: dict[str, None] = {}
    while isinstance(leaf, str) and leaf in parents and leaf not in way:
        way[leaf] = None
        leaf = parents[leaf]
    return list(reversed(way))


def newest_leaf(parents: Mapping[str, object], times: Mapping[str, float | None]) -> str | None:
    """Return the newest message without an answer; of several at the same time, the last."""
    answered = set(map(str, parents.values()))
    leaves = [id for id in parents if id not in answered]
    return max(reversed(leaves), key=lambda id: times.get(id) or 0.0, default=None)


def time_of(message: Mapping[str, Any], name: str) -> float | None:
    """Return the time in the field *name* of *message*, None for an unreadable time."""
    try:
        return moment(message.get(name))
    except ValueError:
        return None


def mapping_in(told: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the field *name* of *told*, empty if the field is no mapping."""
    found = told.get(name)
    return found if isinstance(found, dict) else {}


def list_in(told: Mapping[str, Any], name: str) -> list[Any]:
    """Return the field *name* of *told*, empty if the field is no list."""
    found = told.get(name)
    return found if isinstance(found, list) else []


class Documents:
    """The texts that an assistant writes beside a conversation, and writes again, by name."""

    def __init__(self) -> None:
        self.name: str | None = None
        self._texts: dict[str | None, tuple[str, str]] = {}

    def open(self, name: str) -> None:
        """Turn to the text called *name*."""
        self.name = name

    def text(self) -> str:
        """Return the present text, "" for a new text."""
        return self._texts.get(self.name, ("", ""))[0]

    def write(self, text: str, source: str) -> tuple[str, ...]:
        """Write *text*, which the finding *source* holds; return the source of the text before."""
        before = self._texts.get(self.name)
        self._texts[self.name] = text, source
        return () if before is None else (before[1],)
