"""Embedders that run or call a model: sentence-transformers, MiniLM on ONNX, OpenAI's service.

Making an embedder imports nothing, loads nothing and opens no socket; the first text does.
"""

from typing import TYPE_CHECKING

from ..lazy_names import lazy_names

if TYPE_CHECKING:
    from .minilm import MiniLMEmbedder as MiniLMEmbedder
    from .openai import OpenAIEmbedder as OpenAIEmbedder
    from .sentence_transformers import SentenceTransformerEmbedder as SentenceTransformerEmbedder

__getattr__ = lazy_names(
    __name__,
    {
        "minilm": "MiniLMEmbedder",
        "openai": "OpenAIEmbedder",
        "sentence_transformers": "SentenceTransformerEmbedder",
    },
)
