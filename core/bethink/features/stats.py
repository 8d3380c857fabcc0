"""Stats: what a store holds, counted without reading a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from ..memory.memories import Memories
from ..model.namespaces import EVERYWHERE
from ..model.records import Listed, State
from ..model.values import Value


@dataclass(frozen=True, slots=True)
class Stats(Value):
    """The contents of a store in numbers.

    ``states`` counts the records in each state: "live", "superseded", "archived", "forgotten",
    "erased", "expired". ``namespaces`` and ``categories`` count the live records; records without a
    category are in no category. ``bytes`` is the size of the file once the log is written back.
    ``last_change`` is the time of the last journal entry in Unix seconds, None without entries.
    ``keyed`` says whether the file has an integrity key.
    """

    location: str
    states: Mapping[str, int]
    namespaces: Mapping[str, int]
    categories: Mapping[str, int]
    bytes: int
    embedder: str
    schema_version: int
    journal_length: int
    last_change: float | None
    keyed: bool


class StatsVerbs(Memories):
    """The verb ``stats``."""

    def stats(self) -> Stats:
        """Count the records by state, namespace and category, and tell the facts of the file.

        The counts come from SQL alone: about 70 ms for 100,000 records. Codes of a file with an
        integrity key are not checked.
        """
        self._engine.check_open()
        backend, now = self._engine.backend, self._engine.clock()
        head, totals = backend.head(), backend.totals(now)
        states = dict.fromkeys((*get_args(State), *get_args(Listed)), 0)
        categories: dict[str, int] = {}
        for (state, category), count in totals.counts.items():
            states[state] += count
            if state == "live" and category is not None:
                categories[category] = count
        last = backend.journal_reader.entry(head) if head else None
        return Stats(
            self.location,
            states,
            backend.namespaces(EVERYWHERE, now),
            dict(sorted(categories.items())),
            totals.bytes,
            self.embedder.name,
            totals.schema_version,
            head,
            None if last is None else last.at,
            totals.keyed,
        )
