"""MemoryStore: the kernel's memories with the verbs of every feature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from .embedders import Embedder, StaticEmbedder
from .features.conflicts import ConflictVerbs
from .features.duplicates import DuplicateVerbs
from .features.files import check_whole
from .features.integrity import IntegrityVerbs
from .features.links import LinkReader, LinkVerbs
from .features.models import MiniLMEmbedder
from .features.outcomes import OutcomeVerbs
from .features.packing import PackingVerbs
from .features.transfer import TransferVerbs
from .features.undo import UndoVerbs
from .memory import memories
from .memory.engine import Transaction
from .memory.history import When


class Past(LinkReader, memories.Past):
    """What a store held right after journal entry ``seq``, at the time ``at``; to be read only.

    Its records are as they were, with the accesses that were written by then.
    """


class MemoryStore(
    OutcomeVerbs,
    LinkVerbs,
    ConflictVerbs,
    DuplicateVerbs,
    PackingVerbs,
    TransferVerbs,
    UndoVerbs,
    IntegrityVerbs,
):
    """The memories at *location*: ":memory:", a path, or a URL such as ``sqlite:///agent.db``.

    *embedder* defaults to the one the file was made with, if bethink can build it, else to the
    default one. *ranking* turns signals into scores. *clock* gives Unix seconds. With *durability*
    "full" an acknowledged write survives a power cut, with "normal" only a crash of the process.
    *new_id* makes ids. What recall holds in memory takes about *max_resident* bytes at most (None:
    any number): beyond that the scope recalled longest ago goes, and is read again on its next
    recall. The scope in use stays, even if it alone takes more.

    With an *integrity_key*, secret bytes, everything written carries a code that only the key can
    make, and what was changed by somebody else raises ``TamperedError`` instead of being returned.
    *anchor*, a path out of reach of whoever can change the store's file, or an ``Anchor``, keeps
    the last journal position: a file put back to an earlier state is refused. The key belongs to
    the file from the start; another or none raises ``IntegrityKeyError``.

    A store may be used from many threads and its file by many processes. After ``close`` every verb
    raises ``StoreClosedError``; a wrong argument raises ``ValidationError`` before anything is
    written.
    """

    _embedders: ClassVar[Sequence[Callable[[], Embedder]]] = (StaticEmbedder, MiniLMEmbedder)
    _guards: ClassVar[Sequence[Callable[[Transaction], None]]] = (check_whole,)

    def as_of(self, when: When) -> Past:
        """Return what the store held at a moment, to be read.

        *when* is a snapshot or its name, a journal entry or its number (right after it), or a time:
        a float or an aware datetime, for the last entry in the journal's order made by then.
        Accesses count from when they were written, which a snapshot sees to. An unknown name raises
        ``NotFoundError``.
        """
        moment = self._moments.find(when)
        return Past(self._moments.engine(moment), moment)
