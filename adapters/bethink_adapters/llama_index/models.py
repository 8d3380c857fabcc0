"""Classes of bethink joined with the base classes of LlamaIndex, pydantic models."""

from __future__ import annotations

from functools import cache
from types import new_class
from typing import Any, cast

from bethink import ArgumentError

from ..shared.extras import needs
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
    parts: dict[str, tuple[type[Any], type[Any]]] = {
        "RecallBlock": (RecallBlock, BaseMemoryBlock[str]),
        "BethinkChatStore": (BethinkChatStore, BaseChatStore),
        "BethinkDBChatStore": (BethinkDBChatStore, AsyncDBChatStore),
    }
    cls, base = parts[name]
    return _joined(cls, base)


def _joined(cls: type[Any], base: type[Any]) -> type[Any]:
    """Return a model of the fields of *cls*; no dump of the model shows the store."""
    from llama_index.core.bridge.pydantic import Field

    def made(self: Any, *placed: Any, **given: Any) -> None:
        if placed:
            raise ArgumentError(f"{cls.__name__} takes arguments by name only, such as store=…")
        refuse_unknown(given, list(type(self).model_fields))
        super(joined, self).__init__(**given)

    names = {name: getattr(cls, name) for name in ("__doc__", "__module__", "__qualname__")}
    hidden = {"store": Field(exclude=True, repr=False), "__annotations__": {"store": Any}}
    body = names | hidden | {"__init__": made}
    joined: Any = new_class(cls.__name__, (cls, base), exec_body=lambda each: each.update(body))
    return cast("type[Any]", joined)
