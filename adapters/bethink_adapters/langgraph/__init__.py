"""LangGraph remembers in bethink: the long-term store of a graph.

    store = BethinkStore("agent.db")
    graph = builder.compile(store=store)

Importing this package loads no framework; making one of its objects does.
"""

from .store import BethinkStore

__all__ = ["BethinkStore"]
