"""crewAI remembers in bethink: a storage backend, its embedder, and the older external memory.

    store = MemoryStore("crew.db")
    storage = CrewStorage(store)
    crew = Crew(..., memory=Memory(storage=storage, embedder=storage.embedder))

`CrewStorage` serves crewAI 1.10.1 to 1.15.30 (unified memory), `CrewExternalStorage` 1.9.3 and
before (`ExternalMemory`). ``register()`` lets crewAI 1.14 and newer know storages by name,
``offline_llm()`` answers what its memory asks a model. Nothing is registered or subclassed unasked,
and crewAI is imported only by the calls that return its types.
"""

from .embedder import RememberingEmbedder
from .external import CrewExternalStorage
from .offline import offline_llm
from .registry import register, storage_of
from .storage import CrewStorage

__all__ = [
    "CrewExternalStorage",
    "CrewStorage",
    "RememberingEmbedder",
    "offline_llm",
    "register",
    "storage_of",
]
