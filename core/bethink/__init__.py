"""bethink: a small memory core for AI agents."""

from .aio import AsyncFiles, AsyncKeyedMemory, AsyncMemoryStore, AsyncPast
from .backends.anchors import Anchor
from .conflicts import Conflict
from .embedders import (
    CallableEmbedder,
    Embedder,
    HashEmbedder,
    MiniLMEmbedder,
    OpenAIEmbedder,
    SentenceTransformerEmbedder,
    StaticEmbedder,
)
from .errors import (
    BethinkError,
    CorruptStoreError,
    DimensionError,
    EmbedderError,
    EmbedderMismatchError,
    HoleError,
    IntegrityKeyError,
    IsAFolderError,
    LineRangeError,
    MissingExtraError,
    NotABethinkFileError,
    NotAnchoredError,
    NotFoundError,
    OccurrenceError,
    PathTakenError,
    RateLimitError,
    SchemaTooNewError,
    SimilarMemoryError,
    StorageError,
    StoreBusyError,
    StoreClosedError,
    TamperedError,
    ValidationError,
)
from .files import FileEntry, Files
from .history import Change, Diff, Past, Version
from .messages import MessageLog
from .namespaces import EVERYWHERE, Subtree, segment, unsegment
from .packing import Packed
from .packing.context import context_block
from .ranking import DecayProduct, FiveSignal, Ranking, WeightedSum
from .ranking.categories import CATEGORIES, guess_category, query_intent
from .records import (
    Explanation,
    Integrity,
    LogEntry,
    MemoryRecord,
    Problem,
    RecallResult,
    Repair,
    Snapshot,
    WhyNot,
)
from .store import MemoryStore
from .verbs.consolidation import Consolidated
from .verbs.joining import Merged
from .verbs.links import Relation
from .verbs.outcomes import OutcomeEntry
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
    "CATEGORIES",
    "EVERYWHERE",
    "Anchor",
    "AsyncFiles",
    "AsyncKeyedMemory",
    "AsyncMemoryStore",
    "AsyncPast",
    "BethinkError",
    "CallableEmbedder",
    "Change",
    "Conflict",
    "Consolidated",
    "CorruptStoreError",
    "DecayProduct",
    "Diff",
    "DimensionError",
    "Embedder",
    "EmbedderError",
    "EmbedderMismatchError",
    "Explanation",
    "FileEntry",
    "Files",
    "FiveSignal",
    "HashEmbedder",
    "HoleError",
    "Integrity",
    "IntegrityKeyError",
    "IsAFolderError",
    "KeyedMemory",
    "LineRangeError",
    "LogEntry",
    "LongTermMemory",
    "Memory",
    "MemoryItem",
    "MemoryRecord",
    "MemoryStore",
    "Merged",
    "MessageLog",
    "MiniLMEmbedder",
    "MissingExtraError",
    "NotABethinkFileError",
    "NotAnchoredError",
    "NotFoundError",
    "OccurrenceError",
    "OpenAIEmbedder",
    "OutcomeEntry",
    "Packed",
    "Past",
    "PathTakenError",
    "Problem",
    "Ranking",
    "RateLimitError",
    "RecallResult",
    "Relation",
    "Repair",
    "SchemaTooNewError",
    "ScoredRecord",
    "SentenceTransformerEmbedder",
    "ShortTermMemory",
    "SimilarMemoryError",
    "Snapshot",
    "StaticEmbedder",
    "StorageError",
    "StoreBusyError",
    "StoreClosedError",
    "Subtree",
    "TamperedError",
    "ValidationError",
    "Version",
    "WeightedSum",
    "WhyNot",
    "context_block",
    "guess_category",
    "query_intent",
    "segment",
    "unsegment",
]
