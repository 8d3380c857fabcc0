"""The store behind a crew's storage: given and left open, or opened here and closed here."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bethink import DimensionError, MemoryStore, StorageError

logger = logging.getLogger(__name__)


class StoreHandle:
    """Hold *store*, or the location of one that is opened when first used.

    crewAI goes on saving after it closed its memory, so a closed handle opens its store again.
    """

    def __init__(self, store: MemoryStore | str | os.PathLike[str]) -> None:
        self._store = store if isinstance(store, MemoryStore) else None
        self._location = None if isinstance(store, MemoryStore) else os.fspath(store)
        self._lock = threading.Lock()

    def __call__(self) -> MemoryStore:
        """Return the open store."""
        with self._lock:
            if self._store is None:
                assert self._location is not None
                self._store = MemoryStore(self._location)
            return self._store

    def close(self) -> None:
        """Close the store if it was opened here; one in memory stays, for closing would lose it."""
        with self._lock:
            if self._location in (None, ":memory:") or self._store is None:
                return
            self._store.close()
            self._store = None


@contextmanager
def crew_errors() -> Iterator[None]:
    """Log a failing store, for crewAI goes on without it, and raise what crewAI understands.

    No ``RuntimeError`` leaves: up to 1.14.7 crewAI takes one for a shutdown and drops the save.
    """
    try:
        yield
    except DimensionError as error:
        raise dimension_error(error.expected, error.found) from error
    except OSError as error:
        logger.warning("crewAI's memory failed: %s", error)
        raise
    except RuntimeError as error:
        logger.warning("crewAI's memory failed: %s", error)
        raise StorageError(None, str(error)) from error


def dimension_error(stored: int, given: int) -> ValueError:
    """Return crewAI's own error where it has one (1.15 and later), else a plain ``ValueError``."""
    try:
        from crewai.memory.storage.backend import EmbeddingDimensionMismatchError
    except ImportError:
        return ValueError(
            f"this memory holds {stored}-dimensional embeddings, the embedder gave {given}; "
            "reset the memory, or go back to the embedder that filled it"
        )
    return EmbeddingDimensionMismatchError(stored, given)


def check_dimension(embedding: Sequence[float], dimension: int | None) -> None:
    """Refuse an *embedding* that is not of this *dimension*; None fits all."""
    if dimension is not None and dimension != len(embedding):
        raise dimension_error(dimension, len(embedding))
