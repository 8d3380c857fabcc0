"""bethink: a small memory core for AI agents."""

from .aio import AsyncMemoryStore
from .embedders import (
    CallableEmbedder,
    Embedder,
    HashEmbedder,
    OpenAIEmbedder,
    SentenceTransformerEmbedder,
)
from .errors import (
    BethinkError,
    CorruptStoreError,
    DimensionError,
    EmbedderError,
    EmbedderMismatchError,
    MissingExtraError,
    NotABethinkFileError,
    NotFoundError,
    RateLimitError,
    SchemaTooNewError,
    SimilarMemoryError,
    StorageError,
    StoreBusyError,
    StoreClosedError,
    ValidationError,
)
from .messages import MessageLog
from .minilm import MiniLMEmbedder
from .namespaces import EVERYWHERE, Subtree, segment, unsegment
from .ranking import Ranking, WeightedSum
from .records import Explanation, LogEntry, MemoryRecord, RecallResult
from .static import StaticEmbedder
from .store import MemoryStore

__version__ = "0.1.0"

__all__ = [
    "EVERYWHERE",
    "AsyncMemoryStore",
    "BethinkError",
    "CallableEmbedder",
    "CorruptStoreError",
    "DimensionError",
    "Embedder",
    "EmbedderError",
    "EmbedderMismatchError",
    "Explanation",
    "HashEmbedder",
    "LogEntry",
    "MemoryRecord",
    "MemoryStore",
    "MessageLog",
    "MiniLMEmbedder",
    "MissingExtraError",
    "NotABethinkFileError",
    "NotFoundError",
    "OpenAIEmbedder",
    "Ranking",
    "RateLimitError",
    "RecallResult",
    "SchemaTooNewError",
    "SentenceTransformerEmbedder",
    "SimilarMemoryError",
    "StaticEmbedder",
    "StorageError",
    "StoreBusyError",
    "StoreClosedError",
    "Subtree",
    "ValidationError",
    "WeightedSum",
    "segment",
    "unsegment",
]
