"""Storage by name: ``Memory(storage="bethink:crew.db")``, and crewAI's own default if you like.

A name survives where an object cannot: in a crew's JSON dump and in checkpoints. So must the
embedder be one that crewAI makes from a dictionary, for neither can hold a callable.
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
"""What crewAI asks for when nobody said which storage."""

_storages: dict[str, CrewStorage] = {}
_lock: Final = threading.Lock()


def storage_of(spec: str) -> CrewStorage:
    """Return the storage that *spec* names: "bethink:", a path, and perhaps "#" and a root.

    "bethink:crew.db#/users/ann" is bound to that root. The same file is the same storage, so that
    ``storage_of(spec).embedder`` is the embedder to give to ``Memory`` beside the name.
    """
    location, bound, root = spec.removeprefix(SCHEME).partition("#")
    if not spec.startswith(SCHEME) or not location or (bound and not root):
        raise ValidationError(f"a storage is named as in 'bethink:crew.db', not {spec!r}")
    storage = _storage_at(location)
    return storage.bound(root) if root else storage


def _storage_at(location: str) -> CrewStorage:
    path = location if location == ":memory:" else os.path.abspath(os.path.expanduser(location))
    with _lock:
        return _storages.setdefault(path, CrewStorage(path))


def register(default: str | os.PathLike[str] | None = None) -> Callable[[], None]:
    """Let crewAI 1.14 and newer know storages by name; return what takes that back.

    With *default*, a path, every memory that names no storage is kept there: that of
    ``Crew(memory=True)`` and of every Flow. Names that others registered still go to them.
    """
    with needs("crewai>=1.14", "crewai"):
        from crewai.memory.storage import factory
    before: MemoryStorageFactory | None = factory._factory
    claimed = None if default is None else os.fspath(default)

    def find(spec: str) -> Any:
        if spec.startswith(SCHEME):
            return storage_of(spec)
        if spec == DEFAULT and claimed is not None:
            return _storage_at(claimed)
        return before(spec) if before is not None else None

    def take_back() -> None:
        if factory._factory is find:
            factory.set_memory_storage_factory(before)

    factory.set_memory_storage_factory(find)
    return take_back
