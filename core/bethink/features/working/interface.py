"""What every working memory can do: remember a value under a key, and give it back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple


class MemoryItem(NamedTuple):
    """A key and the value remembered under it; it unpacks like the items of a dict."""

    key: str
    value: Any


@dataclass(frozen=True, slots=True)
class ScoredRecord:
    """An item that a search found, with its cosine in [-1, 1]."""

    record: MemoryItem
    score: float


class Memory(ABC):
    """The interface of a working memory; safe for threads.

    Keys are text that is not blank. A value is copied on its way in and on its way out: changing
    what was put in or got out does not change what is remembered.
    """

    @abstractmethod
    def remember(self, key: str, value: Any) -> None:
        """Remember *value* under *key*, instead of what was there; *key* becomes the newest."""

    @abstractmethod
    def recall(self, key: str, default: Any = None) -> Any:
        """Return what is remembered under *key*, else *default*; it does not become newer."""

    @abstractmethod
    def recent(self, limit: int) -> tuple[MemoryItem, ...]:
        """Return the *limit* items remembered last, newest last."""
