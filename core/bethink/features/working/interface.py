"""The interface of working memories: remember a value under a key, and return the value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...model.values import Value, json_form


class MemoryItem(NamedTuple):
    """A key with the remembered value; unpacks like an item of a dict."""

    key: str
    value: Any

    def to_dict(self) -> dict[str, Any]:
        """Return key and value, ready for ``json.dumps`` if the value is JSON."""
        return {"key": self.key, "value": json_form(self.value)}


@dataclass(frozen=True, slots=True)
class ScoredRecord(Value):
    """An item found by a search, with the cosine in [-1, 1]."""

    record: MemoryItem
    score: float


class Memory(ABC):
    """The interface of a working memory; safe for threads.

    Keys are non-blank text. Values are copied on the way in and out: changing a copy does not
    change the remembered value.
    """

    @abstractmethod
    def remember(self, key: str, value: Any) -> None:
        """Remember *value* under *key*, in place of any value before; *key* becomes the newest."""

    @abstractmethod
    def recall(self, key: str, default: Any = None) -> Any:
        """Return the value under *key*, else *default*; the key does not become newer."""

    @abstractmethod
    def recent(self, limit: int) -> tuple[MemoryItem, ...]:
        """Return the *limit* items remembered last, newest last."""
