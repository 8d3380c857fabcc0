"""bethink: a small memory core for AI agents."""

from .aio import AsyncFiles, AsyncKeyedMemory, AsyncMemoryStore, AsyncPast
from .embedders import CallableEmbedder, Embedder, HashEmbedder, StaticEmbedder
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
from .features.conflicts import Conflict
from .features.duplicates import Consolidated
from .features.files import FileEntry, Files
from .features.links import Relation
from .features.messages import MessageLog
from .features.models import MiniLMEmbedder, OpenAIEmbedder, SentenceTransformerEmbedder
from .features.outcomes import OutcomeEntry
from .features.packing import Packed, context_block
from .features.rankings import CATEGORIES, DecayProduct, FiveSignal, guess_category, query_intent
from .features.transfer import Merged
from .features.working import (
    KeyedMemory,
    LongTermMemory,
    Memory,
    MemoryItem,
    ScoredRecord,
    ShortTermMemory,
)
from .memory.history import Change, Diff, Version
from .memory.ranking import Ranking, WeightedSum
from .model.namespaces import EVERYWHERE, Subtree, segment, unsegment
from .model.records import (
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
from .storage import Anchor
from .store import MemoryStore, Past

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
