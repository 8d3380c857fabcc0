"""The way to a store, shared by the contracts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

NS = ("users", "ann")


class Contract(ABC):
    """Tests of a store from ``open``."""

    @abstractmethod
    def open(self, **config: Any) -> AbstractContextManager[Any]:
        """Return a context manager of a new, empty store; *config* may be ``index`` or ``ttl``."""

    @pytest.fixture
    def store(self) -> Iterator[BaseStore]:
        """Yield a store without any configuration."""
        with self.open() as store:
            yield store


def keys(found: Any) -> list[str]:
    """Return the keys of items, in order."""
    return [item.key for item in found]
