"""The store behind a component of a pipeline; the path is part of a dump."""

from __future__ import annotations

from pathlib import Path

from bethink import MemoryStore, ValidationError


def path_of(store: MemoryStore) -> str:
    """Return the path by which another process opens *store*."""
    if store.location == ":memory:" or "://" in store.location:
        raise ValidationError(f"only a store in a file can be dumped, not {store.location[:12]!r}")
    return str(Path(store.location).absolute())
