"""MemoryStore: the kernel's memories with the verbs of every feature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from .calls import suggesting
from .embedders import Embedder, StaticEmbedder
from .features.compaction import CompactionVerbs
from .features.conflicts import ConflictVerbs
from .features.container import Container
from .features.files import refuse_gaps
from .features.history import HistoryVerbs
from .features.integrity import IntegrityVerbs
from .features.links import LinkVerbs
from .features.models import MiniLMEmbedder
from .features.outcomes import OutcomeVerbs
from .features.packing import PackingVerbs
from .features.past import PastVerbs
from .features.reembedding import ReembeddingVerbs
from .features.retention import RetentionVerbs, check_expiries
from .features.sharding import Sharding
from .features.sources import SourceVerbs
from .features.stats import StatsVerbs
from .features.transfer import TransferVerbs
from .features.undo import UndoVerbs
from .features.vector_indexes import VectorIndexVerbs
from .features.why_not import WhyNotVerbs
from .memory.engine import Transaction


@suggesting
class MemoryStore(
    HistoryVerbs,
    OutcomeVerbs,
    LinkVerbs,
    ConflictVerbs,
    RetentionVerbs,
    CompactionVerbs,
    PackingVerbs,
    SourceVerbs,
    TransferVerbs,
    UndoVerbs,
    IntegrityVerbs,
    ReembeddingVerbs,
    StatsVerbs,
    WhyNotVerbs,
    VectorIndexVerbs,
    PastVerbs,
    Container,
):
    """The memories at *location*: ":memory:", a path, or a URL such as ``postgresql://host/name``.

    A missing file is made, with the folders. A file of a different program raises
    ``NotABethinkFileError``. *embedder* defaults to the file's if bethink can build the file's,
    else to ``StaticEmbedder``. *ranking* turns signals into scores. *clock* returns Unix seconds.
    With *durability* "full" an acknowledged write survives a power cut, with "normal" a crash of
    the process. *new_id* makes ids. Recall keeps about *max_resident* bytes in memory (None: no
    limit), drops the scope recalled longest ago, and keeps the scope in use, however large.

    With an *integrity_key*, at least 16 secret bytes, every write carries an authentication code,
    and a record changed without the key raises ``TamperedError`` instead of being returned. An
    *anchor*, an ``Anchor`` or a path that no intruder can write, keeps the last journal position:
    a file put back to an earlier state is refused. With an anchor every write is synced. A file
    keeps the key of the first opening; a different key, or none, raises ``IntegrityKeyError``, and
    so does a missing anchor, unless False gives the anchor up.

    *screen*, a function of a new or changed record, returns the text to store, or None to refuse
    the record with ``ScreenedError``. Imports and merged stores are not screened.

    A store may be used from many threads and its file by many processes. After ``close`` every verb
    raises ``StoreClosedError``; a wrong argument raises ``ValidationError`` before anything is
    written.
    """

    _embedders: ClassVar[Sequence[Callable[[], Embedder]]] = (StaticEmbedder, MiniLMEmbedder)
    _guards: ClassVar[Sequence[Callable[[Transaction], None]]] = (refuse_gaps, check_expiries)


@suggesting
class Shards(Sharding):
    """One memory in *count* stores, the shards, on the Postgres databases *servers*, URLs by name.

    A shard is a schema, ``SCHEMA_07_of_16``, and has a journal and a write lock of its own. The
    first *steps* steps of a namespace name the shard: with 2, as by default, "users/ann" and all
    below lie in one shard. ``store_for`` returns the ``MemoryStore`` of a namespace; the store
    refuses to write others. A loop visits the stores of all shards. *options* are those of every
    ``MemoryStore``.

    The first opening creates the shards and needs *count*, 1 to 1,000; *count* and *steps* are for
    good. ``move`` moves a shard to a different server while programs use the shard. A shard on no
    server or on several raises ``StorageError``.
    """

    _store_class: ClassVar = MemoryStore
