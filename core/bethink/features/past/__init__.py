"""The past: the verb ``as_of``, and the engine that recalls as of a moment."""

from __future__ import annotations

from typing import ClassVar

from ...calls import suggesting
from ...memory.engine import Engine
from ...memory.memories import Memories
from ...model.port import Moment
from ...model.records import When
from ..container import Container
from ..links import LinkReader
from .moments import Moments


@suggesting
class Past(LinkReader, Container):
    """The records of a store right after journal entry ``seq``, at the time ``at``; read only.

    The records have the fields of the moment, and the accesses written by then.
    """

    _remedy: ClassVar = "the store: recall, pack, why_not and audit take as_of=past.seq"

    def __init__(self, engine: Engine, moment: Moment) -> None:
        self._engine = engine
        self.seq = moment.seq
        self.at = moment.at

    def __repr__(self) -> str:
        return f"Past(seq={self.seq}, at={self.at})"


class PastVerbs(Memories):
    """The verb ``as_of``."""

    @property
    def _moments(self) -> Moments:
        """The moments in use, the same for all threads."""
        if "_moments" not in self.__dict__:
            self.__dict__.setdefault("_moments", Moments(self._engine))
        moments: Moments = self.__dict__["_moments"]
        return moments

    def _engine_at(self, as_of: When | None) -> Engine:
        return self._engine if as_of is None else self._moments.engine(self._moments.find(as_of))

    def as_of(self, when: When) -> Past:
        """Return the records of the store at a moment, read-only.

        *when* is a snapshot or a snapshot's name, a journal entry or an entry's number (the moment
        right after the entry), or a time, for the last entry in the journal's order made by then. A
        time is a float, an aware datetime, a date or an ISO text: "2026-11-24T10:00Z", or
        "2026-11-24" for the start of the day in UTC. Accesses count from the moment of their
        writing; a snapshot writes pending accesses. An unknown name raises ``NotFoundError``. A
        float such as 5.0 that was meant as entry 5 raises ``ValidationError``.
        """
        moment = self._moments.find(when)
        return Past(self._moments.engine(moment), moment)
