"""Near-duplicates: found when a record is written, and merged on request."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ...memory.memories import Memories
from ...memory.writing import ON_SIMILAR, FinderMaker, OnSimilar
from ...model import fields
from ...model.filters import Where, parse
from ...model.namespaces import Scope, check_scope
from ...model.progress import Progress, telling
from ..lazy_names import lazy_names

if TYPE_CHECKING:
    from .merging import Consolidated as Consolidated
    from .merging import combine as combine
    from .merging import has_more_words as has_more_words
    from .merging import last_access as last_access
    from .near_duplicates import DuplicateSearch as DuplicateSearch
    from .near_duplicates import Match as Match
    from .near_duplicates import find_near_duplicates as find_near_duplicates
    from .repetition import find_repetitions as find_repetitions
    from .similarity import are_interchangeable as are_interchangeable
    from .similarity import similarities as similarities

__getattr__ = lazy_names(
    __name__,
    {
        "merging": "Consolidated combine has_more_words last_access",
        "near_duplicates": "DuplicateSearch Match find_near_duplicates",
        "repetition": "find_repetitions",
        "similarity": "are_interchangeable similarities",
    },
)


class DuplicateVerbs(Memories):
    """The verb ``consolidate``, and *on_similar* of ``store`` and ``store_many``."""

    def consolidate(
        self,
        *,
        namespace: Scope = "default",
        where: Where = None,
        similarity: float = 0.92,
        progress: Progress = None,
    ) -> list[Consolidated]:
        """Merge memories that nearly repeat each other; return the merged groups.

        The fullest memory of a group stays, of equals the oldest, with all tags and metadata (the
        later value counts), the highest importance and confidence, and the sum of accesses and
        outcomes. The memory supersedes the rest of the group; ``undo`` of the entry "merge" reverts
        the merge. A difference in a number, date, denial, key, value, author, source, day or
        capital letter inside a sentence keeps memories apart; names of imports are no sources here.
        Turns of a conversation (records with a ``thread``) stay apart, too. *similarity* is that of
        ``store``.
        *progress*, see ``reembed``, tells of the search; an error there leaves nothing merged.
        """
        from .merging import consolidate

        least = fields.number("similarity", similarity, 0.0, 1.0)
        with telling(progress) as tell:
            return consolidate(self._engine, check_scope(namespace), parse(where), least, tell)

    def _duplicate_finder(self, on_similar: OnSimilar, similarity: float) -> FinderMaker | None:
        chosen = fields.one_of("on_similar", on_similar, ON_SIMILAR)
        least = fields.number("similarity", similarity, 0.0, 1.0)
        if chosen == "keep":
            return None
        from .near_duplicates import WriteFinder

        return partial(WriteFinder, self._engine, chosen, least)
