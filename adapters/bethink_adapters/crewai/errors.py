"""Errors of the store, as crewAI's memory understands errors."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from bethink import DimensionError, StorageError
from bethink.adapting import explaining

Verb = TypeVar("Verb", bound=Callable[..., Any])

logger = logging.getLogger(__name__)


@contextmanager
def crew_errors() -> Iterator[None]:
    """Log an error of the store, for crewAI goes on without the memory, and raise the error.

    A ``DimensionError`` becomes crewAI's own error; see ``dimension_error``. A ``RuntimeError``
    becomes a ``StorageError``: up to 1.14.7, crewAI takes a ``RuntimeError`` for a shutdown and
    drops the save.
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


def crew_verb(verb: Verb) -> Verb:
    """Return *verb* with ``crew_errors``, and an ``ArgumentError`` for a wrong argument."""
    return explaining(crew_errors()(verb))


def dimension_error(stored: int, given: int) -> ValueError:
    """Return crewAI's ``EmbeddingDimensionMismatchError``; before crewAI 1.15 a ``ValueError``."""
    try:
        from crewai.memory.storage.backend import EmbeddingDimensionMismatchError
    except ImportError:
        return ValueError(
            f"this memory holds {stored}-dimensional embeddings, the embedder gave {given}; "
            "reset the memory, or go back to the embedder that filled it"
        )
    return EmbeddingDimensionMismatchError(stored, given)


def check_dimension(embedding: Sequence[float], dimension: int | None) -> None:
    """Raise the error of ``dimension_error`` unless *embedding* has *dimension* (None: any)."""
    if dimension is not None and dimension != len(embedding):
        raise dimension_error(dimension, len(embedding))
