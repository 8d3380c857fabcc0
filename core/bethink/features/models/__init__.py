"""Embedders that run or call a model: sentence-transformers, MiniLM on ONNX, OpenAI's service.

Making an embedder imports nothing, loads nothing and opens no socket; the first text does.
"""

from .minilm import MiniLMEmbedder
from .openai import OpenAIEmbedder
from .sentence_transformers import SentenceTransformerEmbedder

__all__ = ["MiniLMEmbedder", "OpenAIEmbedder", "SentenceTransformerEmbedder"]
