"""Texts into vectors.

An embedder is any object with a ``name``, a ``dimension`` and ``embed``. `StaticEmbedder` and
`HashEmbedder` need nothing and are always available.
"""

from .base import (
    CallableEmbedder,
    Embedder,
    LazyEmbedder,
    check_embedder,
    check_rows,
    import_extra,
    normalise,
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
    "StaticEmbedder",
    "check_embedder",
    "check_rows",
    "embedder_for",
    "import_extra",
    "normalise",
    "vocabulary",
    "word_pieces",
]
