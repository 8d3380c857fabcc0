"""crewAI: a storage backend and an embedder for the unified memory, and the older external memory.

    store = MemoryStore("crew.db")
    storage = CrewStorage(store)
    crew = Crew(..., memory=Memory(storage=storage, embedder=storage.embedder))

`CrewStorage` serves crewAI 1.10.1 to 1.15.30 (unified memory), `CrewExternalStorage` 1.9.3 and
before (`ExternalMemory`). ``register()`` lets crewAI 1.14 and newer find storages by name.
``offline_llm()`` answers the questions that crewAI's memory asks a model. With
``learn_outcomes(storage)``, memories learn from the tasks that recall the memories.
``erase_user(storage.bound("/users", user))`` erases a user's memories. Importing the package
imports no crewAI and registers nothing.
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
