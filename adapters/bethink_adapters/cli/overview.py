"""The overview of a file: what the file holds, the newest memories, conflicts and health."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Final

from bethink import EVERYWHERE, BethinkError, MemoryStore

from ..surface.location import Location
from .output import moment

_SHOWN: Final = 5  # memories, conflicts, problems, namespaces and categories
_MAX_COMPARED: Final = 200  # live memories: to compare more takes longer than 0.1 seconds
_MAX_VERIFIED: Final = 2 << 20  # bytes: to verify a larger file takes longer than 0.1 seconds


def overview(arguments: list[str]) -> int | str:
    """Print what the file in *arguments* holds; return 0, or why the file cannot be shown."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        return "usage: python -m bethink FILE, or as the command line: python -m bethink --help"
    (path,) = arguments
    if not os.path.isfile(path) or not os.path.getsize(path):
        return f"{path}: there is no such file, or the file is empty"
    try:
        with Location(path).open() as store:
            for line in _describe(store):
                print("".join(filter(str.isprintable, line)))  # no control codes of a terminal
    except BethinkError as error:
        return str(error)
    return 0


def _describe(store: MemoryStore) -> Iterator[str]:
    stats = store.stats()
    states = ", ".join(f"{count:,} {state}" for state, count in stats.states.items() if count)
    last = stats.last_change
    changed = "never changed" if last is None else f"last {moment(last)[:16]}"
    yield f"{stats.location}: {states or 'no memories'}; {stats.bytes / 1e6:,.1f} MB"
    yield f"  namespaces  {_largest(stats.namespaces)}"
    yield f"  categories  {_largest(stats.categories)}"
    yield f"  embedder    {stats.embedder}, schema {stats.schema_version}{', keyed' * stats.keyed}"
    yield f"  journal     {stats.journal_entries:,} entries, {changed}"
    yield f"  unused      {stats.free_bytes / 1e6:,.1f} MB of the file"
    yield "newest memories"
    for record in store.all(namespace=EVERYWHERE, order="newest", limit=_SHOWN):
        yield f"  {moment(record.created_at)[:16]}  {record.namespace}  {record}"
    if stats.states["live"] <= _MAX_COMPARED:
        found = store.conflicts(namespace=EVERYWHERE)
        yield f"open conflicts: {len(found)}"
        yield from (f"  {each.tier}: {each.older} | {each.newer}" for each in found[:_SHOWN])
    else:
        yield "open conflicts: not looked for among so many memories; store.conflicts() does"
    if stats.bytes <= _MAX_VERIFIED:
        problems = store.verify().problems
        yield f"health: {f'{len(problems)} problems' if problems else 'no damage found'}"
        yield from (f"  {problem}" for problem in problems[:_SHOWN])
    else:
        yield "health: not verified in so large a file; store.verify() does"


def _largest(counts: Mapping[str, int]) -> str:
    """Return the greatest of *counts* in words."""
    names = sorted(counts, key=lambda name: -counts[name])
    more = [f"and {len(names) - _SHOWN:,} more"] if len(names) > _SHOWN else []
    return ", ".join([f"{name} {counts[name]:,}" for name in names[:_SHOWN]] + more) or "none"
