"""crewAI remembers in bethink: a storage backend, its embedder, and the older external memory.

    store = MemoryStore("crew.db")
    storage = CrewStorage(store)
    crew = Crew(..., memory=Memory(storage=storage, embedder=storage.embedder))

`CrewStorage` serves crewAI 1.10.1 to 1.15.30 (unified memory), `CrewExternalStorage` 1.9.3 and
before (`ExternalMemory`). ``register()`` lets crewAI 1.14 and newer know storages by name,
``offline_llm()`` answers what its memory asks a model, ``learn_outcomes(storage)`` lets memories
learn from the tasks that recall them, ``erase_user(storage.bound("/users", user))`` erases all of a
user. Nothing is registered or subclassed unasked, and crewAI is
imported only by the calls that need it.
"""

from .embedder import RememberingEmbedder
from .erasing import erase_user
from .external import CrewExternalStorage
from .memory import crew_memory
from .offline import offline_llm
from .outcomes import OutcomeListener, learn_outcomes
from .registry import register, storage_of
from .storage import CrewStorage

__all__ = [
    "CrewExternalStorage",
    "CrewStorage",
    "OutcomeListener",
    "RememberingEmbedder",
    "crew_memory",
    "erase_user",
    "learn_outcomes",
    "offline_llm",
    "register",
    "storage_of",
]
