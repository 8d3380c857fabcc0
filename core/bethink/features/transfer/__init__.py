"""Transfer: export to lines of JSON, import, and merging one store into another."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...errors import StorageError
from ...memory.memories import Memories
from ...model import fields
from ...model.filters import Where, parse
from ...model.namespaces import EVERYWHERE, Scope, check_scope
from ...model.progress import Progress, telling
from ...storage import file_of, replace_file
from ..lazy_names import lazy_names
from .lines import LONGEST_LINE

if TYPE_CHECKING:
    from .archive import Archived as Archived
    from .exporter import Target
    from .foreign import ForeignLink as ForeignLink
    from .foreign import ForeignRecord as ForeignRecord
    from .foreign import PastChange as PastChange
    from .foreign import foreign_link as foreign_link
    from .foreign import foreign_record as foreign_record
    from .foreign import import_foreign as import_foreign
    from .importer import Source
    from .merge import Merged as Merged

__getattr__ = lazy_names(
    __name__,
    {
        "archive": "Archived",
        "foreign": "ForeignLink ForeignRecord PastChange "
        "foreign_link foreign_record import_foreign",
        "merge": "Merged",
    },
)


def copy_by_export(store: Memories, path: str) -> None:
    """Copy a store, with all history, into the new file *path*; the complete file appears at once.

    Raise ``StorageError`` if there is no folder for the file.
    """
    from tempfile import TemporaryDirectory

    from .archive import copy_records

    parent = os.path.dirname(path)
    if not os.path.isdir(parent):
        raise StorageError(path, "there is no such folder")
    with TemporaryDirectory(prefix=".bethink-", dir=parent) as folder:
        copy = os.path.join(folder, "copy.db")
        with type(store)(copy, embedder=store.embedder, clock=store._engine.clock) as made:
            copy_records(store._engine, made._engine, EVERYWHERE, None)
        replace_file(copy, path)


class TransferVerbs(Memories):
    """The verbs ``export``, ``import_``, ``merge_from`` and ``archive_to``."""

    def export(
        self,
        target: Target,
        *,
        namespace: Scope = EVERYWHERE,
        where: Where = None,
        progress: Progress = None,
    ) -> int:
        """Write all records, in any state, with history, as lines of JSON; return the number.

        *target* is a path, where the complete file appears at once and for the owner only, or a
        file open for writing. At a path an older export is replaced, and a file of another kind
        raises ``ValidationError``. *namespace* and *where* export the store as if only the passing
        records had ever been stored. *progress*, see ``reembed``, counts lines; an
        error there leaves no file at the path.
        """
        from .exporter import dump

        with telling(progress) as tell:
            return dump(self._engine, target, check_scope(namespace), parse(where), tell)

    def import_(
        self, source: Source, *, max_line: int = LONGEST_LINE, progress: Progress = None
    ) -> Merged:
        """Import an ``export`` from a path or a file open for reading; all or nothing.

        An empty store becomes the exported store, with history. A store with records merges the
        records, as ``merge_from`` does, without the history. Vectors of a different embedder are
        made again. A foreign file raises ``NotABethinkFileError``. A damaged file, or a line of
        more than *max_line* bytes, raises ``CorruptStoreError`` with the number of the line.
        *progress*, see ``reembed``, counts lines; an error there leaves nothing imported.
        """
        from .importer import load

        with telling(progress) as tell:
            return load(self._engine, source, fields.integer("max_line", max_line, 1), tell)

    def merge_from(
        self,
        other: Memories | str | os.PathLike[str],
        *,
        namespace: Scope = EVERYWHERE,
        similarity: float = 0.92,
        progress: Progress = None,
    ) -> Merged:
        """Merge the memories of a second store, open or at a location; all or nothing.

        *namespace* limits the merge to memories of the second store in the namespace, or in any of
        several. Near-duplicates have a cosine of at least *similarity*, in [0, 1].

        Records keep ids, times and statistics, whether live, archived or superseded. An equal id
        with an equal text is one record: the later change counts, and the higher number of
        accesses, but namespace, key and state stay as in this store, unless the record was
        superseded in the second. Of two texts with one id, the text that replaced the second stays;
        two texts that both replaced an earlier text become two records, one with a new id. Of
        near-duplicates (see *on_similar* of ``store``) the fuller record, else the record of this
        store, absorbs and supersedes the second. Of two facts with one key, and of two texts in
        ``Files`` with one path, the later supersedes the earlier. Merging again adds nothing.
        Vectors of a different embedder are made again. Each added or changed record has a journal
        entry of its own, so that ``log``, ``audit``, ``as_of`` and ``undo`` tell of each record;
        the entries are written in one transaction. *progress*, see ``reembed``, counts records; an
        error there leaves nothing merged.
        """
        from .merge import merge_from

        scope = check_scope(namespace)
        least = fields.number("similarity", similarity, 0.0, 1.0)
        source = other._engine if isinstance(other, Memories) else other
        with telling(progress) as tell:
            return merge_from(self._engine, source, scope, least, tell)

    def archive_to(
        self,
        other: Memories | str | os.PathLike[str],
        *,
        namespace: Scope,
        progress: Progress = None,
    ) -> Archived:
        """Move the memories of *namespace*, with all history, to a second store.

        *other* is an open store or the location of a store, new or empty. There, the memories have
        the same ids, versions and times; ``as_of`` a time, ``audit`` and ``undo`` answer as here.
        Then the memories are forgotten here; ``compact`` later removes them from the file. After a
        crash, repeat the call: a complete copy is found again. A store with different records
        raises ``ValidationError``, a namespace without memories ``NotFoundError``, a handle for one
        source ``SourceError``. To bring the memories back, ``restore`` them, or ``merge_from`` the
        second store once ``compact`` removed them; ``compact`` keeps a memory with a link, to be
        restored. *progress*, see ``reembed``, counts lines of the copy.
        """
        from .archive import archive, check_source

        scope = check_scope(namespace)
        with telling(progress) as tell:
            if isinstance(other, Memories):
                return archive(self._engine, other._engine, scope, tell)
            if not isinstance(other, str | os.PathLike):
                kind = type(other).__name__
                fields.fail(f"archive_to needs a store or the location of one, not {kind}")
            if other == ":memory:":
                fields.fail("archive_to needs a place that lasts, not ':memory:'")
            if (path := file_of(other)) is not None and not os.path.exists(path):
                check_source(self._engine, scope)
            clock = self._engine.clock
            with type(self)(other, embedder=self.embedder, clock=clock) as opened:
                return archive(self._engine, opened._engine, scope, tell)
