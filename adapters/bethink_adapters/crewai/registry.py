"""Storages by name: ``Memory(storage="bethink:crew.db")``, or bethink as crewAI's default storage.

A crew's JSON dump and a checkpoint hold a storage's name, but no object. For dumps and checkpoints,
describe the embedder in a dictionary too, from which crewAI makes the embedder.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from bethink import ValidationError

from ..shared.extras import needs
from .storage import CrewStorage

if TYPE_CHECKING:
    from crewai.memory.storage.factory import MemoryStorageFactory

SCHEME: Final = "bethink:"
DEFAULT: Final = "lancedb"
"""The name that crewAI uses for a memory without a storage."""

_storages: dict[str, CrewStorage] = {}
_lock: Final = threading.Lock()


def storage_of(spec: str) -> CrewStorage:
    """Return the storage named *spec*: "bethink:", a path or a URL, and perhaps "#" and a root.

    "bethink:crew.db#/users/ann" is the storage bound to "/users/ann". All names of a file share a
    store and an embedder, so give ``storage_of(spec).embedder`` to ``Memory`` beside the name. A
    malformed *spec* raises ``ValidationError``.
    """
    location, bound, root = spec.removeprefix(SCHEME).partition("#")
    if not spec.startswith(SCHEME) or not location or (bound and not root):
        raise ValidationError(f"a storage is named as in 'bethink:crew.db', not {spec!r}")
    storage = _storage_at(location)
    return storage.bound(root) if root else storage


def _storage_at(location: str) -> CrewStorage:
    is_path = location != ":memory:" and "://" not in location
    path = os.path.abspath(os.path.expanduser(location)) if is_path else location
    with _lock:
        if path not in _storages:
            _storages[path] = CrewStorage(path)
        return _storages[path]


def register(default: str | os.PathLike[str] | None = None) -> Callable[[], None]:
    """Let crewAI 1.14 and newer find storages by name; return a function that unregisters.

    *default* is the path of a file for every memory without a named storage: the memories of
    ``Crew(memory=True)`` and of every Flow. Names from earlier registrations still work. Older
    crewAI raises ``MissingExtraError``.
    """
    with needs("crewai", "crewai>=1.14"):
        from crewai.memory.storage import factory
    before: MemoryStorageFactory | None = factory._factory
    default_path = None if default is None else os.fspath(default)

    def storage_named(spec: str) -> Any:
        if spec.startswith(SCHEME):
            return storage_of(spec)
        if spec == DEFAULT and default_path is not None:
            return _storage_at(default_path)
        return before(spec) if before is not None else None

    def unregister() -> None:
        if factory._factory is storage_named:
            factory.set_memory_storage_factory(before)

    factory.set_memory_storage_factory(storage_named)
    return unregister
