"""bethink: a small memory core for AI agents.

A public name is imported when the name is first used, so ``import bethink`` alone loads no other
module and costs next to nothing.
"""

from importlib import import_module

TYPE_CHECKING = False  # type checkers take the value for True; the module typing is slow to load
if TYPE_CHECKING:
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
        ScreenedError,
        SimilarMemoryError,
        SourceError,
        StorageError,
        StoreBusyError,
        StoreClosedError,
        TamperedError,
        ValidationError,
    )
    from .features.duplicates import Consolidated
    from .features.files import FileEntry, Files
    from .features.links import Relation
    from .features.messages import MessageLog
    from .features.models import MiniLMEmbedder, OpenAIEmbedder, SentenceTransformerEmbedder
    from .features.outcomes import OutcomeEntry
    from .features.packing import Packed, context_block
    from .features.rankings import (
        CATEGORIES,
        DecayProduct,
        FiveSignal,
        guess_category,
        query_intent,
    )
    from .features.statements import Conflict
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
    "ScreenedError",
    "SentenceTransformerEmbedder",
    "ShortTermMemory",
    "SimilarMemoryError",
    "Snapshot",
    "SourceError",
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

_NAMES_BY_MODULE = {
    "aio": "AsyncFiles AsyncKeyedMemory AsyncMemoryStore AsyncPast",
    "embedders": "CallableEmbedder Embedder HashEmbedder StaticEmbedder",
    "errors": (
        "BethinkError CorruptStoreError DimensionError EmbedderError EmbedderMismatchError "
        "HoleError IntegrityKeyError IsAFolderError LineRangeError MissingExtraError "
        "NotABethinkFileError NotAnchoredError NotFoundError OccurrenceError PathTakenError "
        "RateLimitError SchemaTooNewError ScreenedError SimilarMemoryError SourceError "
        "StorageError StoreBusyError StoreClosedError TamperedError ValidationError"
    ),
    "features.duplicates": "Consolidated",
    "features.files": "FileEntry Files",
    "features.links": "Relation",
    "features.messages": "MessageLog",
    "features.models": "MiniLMEmbedder OpenAIEmbedder SentenceTransformerEmbedder",
    "features.outcomes": "OutcomeEntry",
    "features.packing": "Packed context_block",
    "features.rankings": "CATEGORIES DecayProduct FiveSignal guess_category query_intent",
    "features.statements": "Conflict",
    "features.transfer": "Merged",
    "features.working": "KeyedMemory LongTermMemory Memory MemoryItem ScoredRecord ShortTermMemory",
    "memory.history": "Change Diff Version",
    "memory.ranking": "Ranking WeightedSum",
    "model.namespaces": "EVERYWHERE Subtree segment unsegment",
    "model.records": (
        "Explanation Integrity LogEntry MemoryRecord Problem RecallResult Repair Snapshot WhyNot"
    ),
    "storage": "Anchor",
    "store": "MemoryStore Past",
}
_MODULE_OF = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names.split()}
_SUBMODULES = frozenset(module.partition(".")[0] for module in _NAMES_BY_MODULE) | {"index", "text"}


def __getattr__(name: str) -> object:
    """Import a public name or a submodule of the core on first use; keep a name for later uses.

    Several threads may ask for a name at once: the import system lets one thread load a module.
    """
    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names and the version."""
    return [*__all__, "__version__"]
