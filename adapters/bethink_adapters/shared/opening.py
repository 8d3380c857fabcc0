"""The store of an adapter: a store of the caller, or a path that the adapters share."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Final, TypeAlias
from weakref import WeakValueDictionary

from bethink import MemoryStore, ValidationError
from bethink.adapting import check_store, close_when_unused

StoreOrPath: TypeAlias = MemoryStore | str | os.PathLike[str]

_opened: Final = WeakValueDictionary[str, MemoryStore]()
"""The stores by path, as long as an adapter holds the store."""

_opening: Final = threading.Lock()


def open_store(store: StoreOrPath, *, shared: bool = True) -> MemoryStore:
    """Return *store*, or open the path *store* at once.

    The adapters of a process share the store of a path, which is closed when no adapter holds the
    store any longer, or the program ends. With *shared* False, the store is the caller's to close.
    Each ``":memory:"`` is a new store. Raises ``ValidationError`` for anything else, and
    ``StorageError`` for a path that cannot be opened.
    """
    if not isinstance(store, str | os.PathLike):
        return check_store(store)
    name = os.fspath(store)
    if not shared or name == ":memory:" or "://" in name:
        return close_when_unused(MemoryStore(store))
    place = os.path.realpath(name)
    with _opening:
        found = _opened.get(place)
        if found is None or found.closed:
            found = _opened[place] = close_when_unused(MemoryStore(store))
        return found


def path_of(store: MemoryStore, name: str = "store") -> str:
    """Return the path for another process to open *store*; an error calls the store *name*."""
    if store.location == ":memory:" or "://" in store.location:
        raise ValidationError(f"only a {name} in a file can be dumped, not {store.location[:12]!r}")
    return str(Path(store.location).absolute())
