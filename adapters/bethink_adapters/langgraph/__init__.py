"""LangGraph remembers in bethink: checkpoints of threads, and the long-term store.

    store = BethinkStore("agent.db")
    graph = builder.compile(checkpointer=BethinkSaver(store.store), store=store)

The import of the package loads no framework; the first object does.
"""

from ..langchain.erasing import erase_user
from .checkpoint import BethinkSaver
from .store import BethinkStore

__all__ = ["BethinkSaver", "BethinkStore", "erase_user"]
