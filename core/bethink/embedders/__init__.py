"""Texts into vectors.

An embedder is any object with a ``name``, a ``dimension`` and ``embed``. `StaticEmbedder` and
`HashEmbedder` need nothing and are always available.
"""

from ..model.arrays import Matrix
from .base import (
    CallableEmbedder,
    Embedder,
    LazyEmbedder,
    checked,
    checked_rows,
    imported,
    normalised,
)
from .hashing import HashEmbedder
from .registry import embedder_for
from .static import StaticEmbedder, word_pieces
from .static.wordpiece import UNKNOWN, vocabulary

__all__ = [
    "UNKNOWN",
    "CallableEmbedder",
    "Embedder",
    "HashEmbedder",
    "LazyEmbedder",
    "Matrix",
    "StaticEmbedder",
    "checked",
    "checked_rows",
    "embedder_for",
    "imported",
    "normalised",
    "vocabulary",
    "word_pieces",
]
