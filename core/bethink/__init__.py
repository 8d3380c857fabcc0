"""bethink: a small memory core for AI agents."""

from .aio import AsyncKeyedMemory, AsyncMemoryStore
from .context import context_block
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
from .packing import Packed
from .ranking import Ranking, WeightedSum
from .records import Explanation, LogEntry, MemoryRecord, RecallResult
from .static import StaticEmbedder
from .store import MemoryStore
from .working import (
    KeyedMemory,
    LongTermMemory,
    Memory,
    MemoryItem,
    ScoredRecord,
    ShortTermMemory,
)

__version__ = "0.1.0"

__all__ = [
    "EVERYWHERE",
    "AsyncKeyedMemory",
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
    "KeyedMemory",
    "LogEntry",
    "LongTermMemory",
    "Memory",
    "MemoryItem",
    "MemoryRecord",
    "MemoryStore",
    "MessageLog",
    "MiniLMEmbedder",
    "MissingExtraError",
    "NotABethinkFileError",
    "NotFoundError",
    "OpenAIEmbedder",
    "Packed",
    "Ranking",
    "RateLimitError",
    "RecallResult",
    "SchemaTooNewError",
    "ScoredRecord",
    "SentenceTransformerEmbedder",
    "ShortTermMemory",
    "SimilarMemoryError",
    "StaticEmbedder",
    "StorageError",
    "StoreBusyError",
    "StoreClosedError",
    "Subtree",
    "ValidationError",
    "WeightedSum",
    "context_block",
    "segment",
    "unsegment",
]
