"""Texts into vectors.

An embedder is anything with a ``name``, a ``dimension`` and ``embed``. `StaticEmbedder` and
`HashEmbedder` need nothing and are always there; the others reach for a model, but only when the
first text comes: making one imports nothing, loads nothing and opens no socket.
"""

from .base import CallableEmbedder, Embedder, checked, checked_rows
from .catalogue import embedder_for
from .hashing import HashEmbedder
from .minilm import MiniLMEmbedder
from .openai import OpenAIEmbedder
from .sentence_transformers import SentenceTransformerEmbedder
from .static import StaticEmbedder

__all__ = [
    "CallableEmbedder",
    "Embedder",
    "HashEmbedder",
    "MiniLMEmbedder",
    "OpenAIEmbedder",
    "SentenceTransformerEmbedder",
    "StaticEmbedder",
    "checked",
    "checked_rows",
    "embedder_for",
]
