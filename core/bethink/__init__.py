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
from .namespaces import EVERYWHERE, Subtree, segment
from .ranking import Ranking, WeightedSum
from .records import Explanation, LogEntry, MemoryRecord, RecallResult
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
    "EmbedderMismatchError",
    "Explanation",
    "HashEmbedder",
    "LogEntry",
    "MemoryRecord",
    "MemoryStore",
    "MessageLog",
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
    "StorageError",
    "StoreBusyError",
    "StoreClosedError",
    "Subtree",
    "ValidationError",
    "WeightedSum",
    "segment",
]
