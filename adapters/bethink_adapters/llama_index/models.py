"""Classes of bethink joined with the base classes of LlamaIndex, pydantic models."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from types import new_class
from typing import Annotated, Any, cast

from bethink import ArgumentError, MemoryStore, ValidationError

from ..shared.extras import needs
from ..shared.opening import path_of
from ..shared.subclassing import refuse_unknown
from .block import RecallBlock
from .chat_stores import BethinkChatStore, BethinkDBChatStore


@cache
def model(name: str) -> type[Any]:
    """Return the class called *name*, a subclass of LlamaIndex's class."""
    with needs("llama-index"):
        from llama_index.core.memory import BaseMemoryBlock
        from llama_index.core.storage.chat_store.base import BaseChatStore
        from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore
        from llama_index.core.storage.chat_store.loading import RECOGNIZED_CHAT_STORES
    parts: dict[str, tuple[type[Any], type[Any]]] = {
        "RecallBlock": (RecallBlock, BaseMemoryBlock[str]),
        "BethinkChatStore": (BethinkChatStore, BaseChatStore),
        "BethinkDBChatStore": (BethinkDBChatStore, AsyncDBChatStore),
    }
    cls, base = parts[name]
    joined = _joined(cls, base)
    if cls is BethinkChatStore:  # the only model that LlamaIndex dumps and loads with its field
        RECOGNIZED_CHAT_STORES[name] = joined
    return joined


def _joined(cls: type[Any], base: type[Any]) -> type[Any]:
    """Return a model of the fields of *cls*.

    The dump of a ``BethinkChatStore`` has the path of a store in a file, for loading; no other dump
    shows the store.
    """
    from llama_index.core.bridge.pydantic import Field, PlainSerializer

    def made(self: Any, *placed: Any, **given: Any) -> None:
        if placed:
            raise ArgumentError(f"{cls.__name__} takes arguments by name only, such as store=…")
        refuse_unknown(given, list(type(self).model_fields))
        super(joined, self).__init__(**given)

    names = {name: getattr(cls, name) for name in ("__doc__", "__module__", "__qualname__")}
    store = Field(exclude=cls is not BethinkChatStore, repr=False)
    kinds = {"store": Annotated[Any, PlainSerializer(_place)]}
    body = names | {"store": store, "__annotations__": kinds, "__init__": made}
    joined: Any = new_class(cls.__name__, (cls, base), exec_body=lambda each: each.update(body))
    return cast("type[Any]", joined)


def _place(store: MemoryStore) -> str | None:
    """Return the path of *store*, None for a store that no path opens again."""
    with suppress(ValidationError):
        return path_of(store)
    return None
