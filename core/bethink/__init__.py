"""bethink: a memory for AI agents in one file.

``MemoryStore("agent.db")`` opens a memory, ``store`` keeps texts, and ``recall`` finds texts again.
A public name is imported at the first use; type checkers read the names in ``__init__.pyi``.
"""

import sys
from importlib import import_module

__version__ = "0.1.0"

_NAMES_BY_MODULE = {
    "aio": "AsyncFiles AsyncKeyedMemory AsyncMemoryStore AsyncPast AsyncVectorMemory",
    "embedders": "CallableEmbedder Embedder HashEmbedder StaticEmbedder",
    "errors": (
        "ArgumentError BethinkError CompactedError CorruptStoreError DimensionError EmbedderError "
        "EmbedderMismatchError HoleError IntegrityKeyError IsAFolderError LineRangeError "
        "MissingExtraError NotABethinkFileError NotAnchoredError NotFoundError OccurrenceError "
        "PathTakenError RateLimitError SchemaTooNewError ScreenedError SimilarMemoryError "
        "SourceError StorageError StoreBusyError StoreClosedError TamperedError ValidationError"
    ),
    "features.compaction": "Compaction",
    "features.duplicates": "Consolidated",
    "features.files": "FileEntry Files",
    "features.history": "Change Diff Version",
    "features.integrity": "Integrity Repair",
    "features.links": "Relation",
    "features.messages": "MessageLog",
    "features.models": "MiniLMEmbedder OpenAIEmbedder SentenceTransformerEmbedder",
    "features.outcomes": "OutcomeEntry",
    "features.packing": "Packed context_block",
    "features.past": "Past",
    "features.rankings": "CATEGORIES DecayProduct FiveSignal guess_category query_intent",
    "features.statements": "Conflict",
    "features.stats": "Stats",
    "features.transfer": "Archived Merged",
    "features.working": (
        "KeyedMemory LongTermMemory Memory MemoryItem ScoredRecord ShortTermMemory VectorMemory"
    ),
    "features.why_not": "WhyNot",
    "memory.ranking": "Ranking WeightedSum",
    "model.namespaces": "EVERYWHERE Subtree segment unsegment",
    "model.records": "Explanation LogEntry MemoryRecord RecallResult Snapshot",
    "storage": "Anchor Problem",
    "store": "MemoryStore Shards",
}
_MODULE_OF = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names.split()}
__all__ = sorted(_MODULE_OF)
_SUBMODULES = frozenset(module.partition(".")[0] for module in _NAMES_BY_MODULE) | {"index", "text"}


def __getattr__(name: str) -> object:
    """Import a public name or a submodule of the core on first use; keep a name for later uses.

    Several threads may ask for a name at once: the import system lets one thread load a module.
    """
    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _MODULE_OF:
        from .calls import missing_attribute

        raise missing_attribute(f"module {__name__!r}", name, sys.modules[__name__])
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names and the version."""
    return [*__all__, "__version__"]
