"""bethink: a small memory core for AI agents.

A public name is imported when the name is first used, so ``import bethink`` alone loads no other
module and costs next to nothing.
"""

from importlib import import_module

TYPE_CHECKING = False  # type checkers take the value for True; the module typing is slow to load
if TYPE_CHECKING:
    from .aio import AsyncFiles as AsyncFiles
    from .aio import AsyncKeyedMemory as AsyncKeyedMemory
    from .aio import AsyncMemoryStore as AsyncMemoryStore
    from .aio import AsyncPast as AsyncPast
    from .aio import AsyncVectorMemory as AsyncVectorMemory
    from .embedders import CallableEmbedder as CallableEmbedder
    from .embedders import Embedder as Embedder
    from .embedders import HashEmbedder as HashEmbedder
    from .embedders import StaticEmbedder as StaticEmbedder
    from .errors import ArgumentError as ArgumentError
    from .errors import BethinkError as BethinkError
    from .errors import CorruptStoreError as CorruptStoreError
    from .errors import DimensionError as DimensionError
    from .errors import EmbedderError as EmbedderError
    from .errors import EmbedderMismatchError as EmbedderMismatchError
    from .errors import HoleError as HoleError
    from .errors import IntegrityKeyError as IntegrityKeyError
    from .errors import IsAFolderError as IsAFolderError
    from .errors import LineRangeError as LineRangeError
    from .errors import MissingExtraError as MissingExtraError
    from .errors import NotABethinkFileError as NotABethinkFileError
    from .errors import NotAnchoredError as NotAnchoredError
    from .errors import NotFoundError as NotFoundError
    from .errors import OccurrenceError as OccurrenceError
    from .errors import PathTakenError as PathTakenError
    from .errors import RateLimitError as RateLimitError
    from .errors import SchemaTooNewError as SchemaTooNewError
    from .errors import ScreenedError as ScreenedError
    from .errors import SimilarMemoryError as SimilarMemoryError
    from .errors import SourceError as SourceError
    from .errors import StorageError as StorageError
    from .errors import StoreBusyError as StoreBusyError
    from .errors import StoreClosedError as StoreClosedError
    from .errors import TamperedError as TamperedError
    from .errors import ValidationError as ValidationError
    from .features.duplicates import Consolidated as Consolidated
    from .features.files import FileEntry as FileEntry
    from .features.files import Files as Files
    from .features.links import Relation as Relation
    from .features.messages import MessageLog as MessageLog
    from .features.models import MiniLMEmbedder as MiniLMEmbedder
    from .features.models import OpenAIEmbedder as OpenAIEmbedder
    from .features.models import SentenceTransformerEmbedder as SentenceTransformerEmbedder
    from .features.outcomes import OutcomeEntry as OutcomeEntry
    from .features.packing import Packed as Packed
    from .features.packing import context_block as context_block
    from .features.rankings import CATEGORIES as CATEGORIES
    from .features.rankings import DecayProduct as DecayProduct
    from .features.rankings import FiveSignal as FiveSignal
    from .features.rankings import guess_category as guess_category
    from .features.rankings import query_intent as query_intent
    from .features.statements import Conflict as Conflict
    from .features.stats import Stats as Stats
    from .features.transfer import Merged as Merged
    from .features.working import KeyedMemory as KeyedMemory
    from .features.working import LongTermMemory as LongTermMemory
    from .features.working import Memory as Memory
    from .features.working import MemoryItem as MemoryItem
    from .features.working import ScoredRecord as ScoredRecord
    from .features.working import ShortTermMemory as ShortTermMemory
    from .features.working import VectorMemory as VectorMemory
    from .memory.history import Change as Change
    from .memory.history import Diff as Diff
    from .memory.history import Version as Version
    from .memory.ranking import Ranking as Ranking
    from .memory.ranking import WeightedSum as WeightedSum
    from .model.namespaces import EVERYWHERE as EVERYWHERE
    from .model.namespaces import Subtree as Subtree
    from .model.namespaces import segment as segment
    from .model.namespaces import unsegment as unsegment
    from .model.records import Explanation as Explanation
    from .model.records import Integrity as Integrity
    from .model.records import LogEntry as LogEntry
    from .model.records import MemoryRecord as MemoryRecord
    from .model.records import Problem as Problem
    from .model.records import RecallResult as RecallResult
    from .model.records import Repair as Repair
    from .model.records import Snapshot as Snapshot
    from .model.records import WhyNot as WhyNot
    from .storage import Anchor as Anchor
    from .store import MemoryStore as MemoryStore
    from .store import Past as Past

__version__ = "0.1.0"

_NAMES_BY_MODULE = {
    "aio": "AsyncFiles AsyncKeyedMemory AsyncMemoryStore AsyncPast AsyncVectorMemory",
    "embedders": "CallableEmbedder Embedder HashEmbedder StaticEmbedder",
    "errors": (
        "ArgumentError BethinkError CorruptStoreError DimensionError EmbedderError "
        "EmbedderMismatchError HoleError IntegrityKeyError IsAFolderError LineRangeError "
        "MissingExtraError "
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
    "features.stats": "Stats",
    "features.transfer": "Merged",
    "features.working": (
        "KeyedMemory LongTermMemory Memory MemoryItem ScoredRecord ShortTermMemory VectorMemory"
    ),
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

        raise missing_attribute(f"module {__name__!r}", name, __all__)
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names and the version."""
    return [*__all__, "__version__"]
