"""What exports of conversations share: a tree of messages, of which one branch is what was said."""

from __future__ import annotations

from collections.abc import Mapping


def branch(parents: Mapping[str, object], leaf: object) -> list[str]:
    """Return the ids from the first message to *leaf*, each the parent of the next.

    A parent that is not among the messages ends the way, and so does one that was met before.
    """
    way: dict[str, None] = {}
    while isinstance(leaf, str) and leaf in parents and leaf not in way:
        way[leaf] = None
        leaf = parents[leaf]
    return list(reversed(way))


def newest_leaf(parents: Mapping[str, object], times: Mapping[str, float | None]) -> str | None:
    """Return the message without an answer that is newest, the last of those told at that time."""
    answered = set(map(str, parents.values()))
    leaves = [id for id in parents if id not in answered]
    return max(reversed(leaves), key=lambda id: times.get(id) or 0.0, default=None)
