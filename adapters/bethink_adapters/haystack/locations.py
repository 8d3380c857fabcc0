"""The store behind a component of a pipeline; the path is part of a dump."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

from bethink import MemoryStore, ValidationError

Location: TypeAlias = MemoryStore | str | os.PathLike[str]


def opened(store: Location) -> MemoryStore:
    """Return *store*, or the store at the path."""
    return store if isinstance(store, MemoryStore) else MemoryStore(store)


def path_of(store: MemoryStore) -> str:
    """Return the path by which another process opens *store*."""
    if store.location == ":memory:" or "://" in store.location:
        raise ValidationError(f"only a store in a file can be dumped, not {store.location[:12]!r}")
    return str(Path(store.location).absolute())
