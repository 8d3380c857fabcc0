"""LangGraph remembers in bethink: the checkpoints of a graph's threads, and its long-term store.

    store = BethinkStore("agent.db")
    graph = builder.compile(checkpointer=BethinkSaver(store.store), store=store)

Importing this package loads no framework; making one of its objects does.
"""

from ..langchain.erasing import erase_user
from .checkpoint import BethinkSaver
from .store import BethinkStore

__all__ = ["BethinkSaver", "BethinkStore", "erase_user"]
