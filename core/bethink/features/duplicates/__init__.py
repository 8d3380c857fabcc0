"""Near-duplicates: found when a record is written, and merged on request."""

from __future__ import annotations

from ...memory.memories import Memories, Where
from ...memory.writing import ON_SIMILAR, DuplicateFinder, OnSimilar
from ...model import fields
from ...model.filters import parse
from ...model.namespaces import Scope, check_scope
from .consolidation import Consolidated, consolidate
from .merging import combined, is_fuller
from .near_duplicates import DuplicateSearch, Found, WriteFinder
from .repetition import repeats
from .similarity import say_the_same, similarities

__all__ = [
    "Consolidated",
    "DuplicateSearch",
    "DuplicateVerbs",
    "Found",
    "combined",
    "is_fuller",
    "repeats",
    "say_the_same",
    "similarities",
]


class DuplicateVerbs(Memories):
    """The verb ``consolidate``, and *on_similar* of ``store`` and ``store_many``."""

    def consolidate(
        self, *, namespace: Scope = "default", where: Where = None
    ) -> list[Consolidated]:
        """Merge memories that nearly repeat each other; return what was merged.

        Of each group the memory that says most stays, of equals the oldest, with all tags and
        metadata (the later counts), the highest importance and confidence, and the sum of accesses
        and outcomes. It supersedes the others, and ``undo`` of its entry "merge" brings them back.
        What differs in a number, a date, a denial, a key, a value, an author or the day it happened
        stays apart, and so do turns of a conversation (records with a ``thread``).
        """
        return consolidate(self._engine, check_scope(namespace), parse(where))

    def _duplicate_finder(self, on_similar: OnSimilar) -> DuplicateFinder | None:
        chosen = fields.one_of("on_similar", on_similar, ON_SIMILAR)
        return None if chosen == "keep" else WriteFinder(self._engine, chosen)
