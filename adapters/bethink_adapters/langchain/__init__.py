"""LangChain remembers in bethink: histories, and what chains ask for. langchain-core 0.2 to 1.8.

Importing this package loads no part of LangChain; what is named here is made when it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .conversation import ConversationMemory
    from .history import ChatMessageHistory, message_history_factory

__all__ = ["ChatMessageHistory", "ConversationMemory", "message_history_factory"]

_HOMES: Final = {
    "ChatMessageHistory": "history",
    "ConversationMemory": "conversation",
    "message_history_factory": "history",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    return found


def __dir__() -> list[str]:
    return [*globals(), *__all__]
