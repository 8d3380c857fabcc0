"""Transfer: export to lines of JSON, import, and merging one store into another."""

from __future__ import annotations

import os

from ...memory.memories import Memories, Where
from ...model import fields
from ...model.filters import parse
from ...model.namespaces import EVERYWHERE, Scope, check_scope
from .exporter import Target, dump
from .importer import Source, load
from .lines import LONGEST_LINE
from .merge import Merged, merge_from

__all__ = ["LONGEST_LINE", "Merged", "Source", "Target", "TransferVerbs"]


class TransferVerbs(Memories):
    """The verbs ``export``, ``import_`` and ``merge_from``."""

    def export(self, target: Target, *, namespace: Scope = EVERYWHERE, where: Where = None) -> int:
        """Write all records, in any state, and all that led to them, as lines of JSON.

        *target* is a path, where the file appears at once and for its owner only, or a file open
        for writing. With *namespace* or *where* it is what the store would be had it never held
        other records than those that are there and pass. Return how many records that were.
        """
        return dump(self._engine, target, check_scope(namespace), parse(where))

    def import_(self, source: Source, *, max_line: int = LONGEST_LINE) -> Merged:
        """Take in what ``export`` wrote, from a path or a file open for reading; all or nothing.

        An empty store becomes what was exported, with its past. One that holds anything merges in
        the records, as ``merge_from`` does, and not their past. What another embedder made is made
        anew. Another file raises ``NotABethinkFileError``, a damaged one ``CorruptStoreError``,
        which names the line; so does a line of more than *max_line* bytes.
        """
        return load(self._engine, source, fields.integer("max_line", max_line, 1))

    def merge_from(self, other: Memories | str | os.PathLike[str]) -> Merged:
        """Bring in what another store, open or in a file, holds: all of it or nothing.

        Records come with their ids, times and statistics, be they live, archived or superseded. The
        same id with the same text is one record: the later change of it counts, and the higher
        number of accesses, but namespace, key and state stay those it has here, unless it has been
        superseded there. The same id with another text is kept under a new one. Of two records that
        say nearly the same (see ``store``'s *on_similar*) the fuller, else the one that was here,
        absorbs and supersedes the other; of two facts with one key, and of two texts in ``Files``
        with one path, the one that occurred or came to say something else later supersedes the
        other. Merging again adds nothing. Vectors of another embedder are made anew.
        """
        return merge_from(self._engine, other._engine if isinstance(other, Memories) else other)
