"""The index of a moment: the index of the present, taken back to the moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...index import ResidentIndex, ScopeIndex, ScopeReader
from ...model.namespaces import Scope
from ...model.port import EMBEDDED, Row
from ...storage import PastBackend


class PastIndex(ResidentIndex):
    """The scopes of *backend*, a moment, in memory; hold ``lock`` while using a scope.

    The lock is the moment's own: *present* goes on while a scope is built. All scopes count in the
    memory bound of *present*.
    """

    def __init__(
        self, backend: PastBackend, dimension: Callable[[], int], present: ResidentIndex
    ) -> None:
        super().__init__(backend, dimension, lambda _: None)  # as of the present, already checked
        self.backend = backend
        self._present = present
        present.add_moment(self)

    def _open(self, scope: Scope) -> ScopeIndex:
        """Return the index of *scope* at the moment."""
        index = self._present.at_moment(scope, self)
        if index is None:
            index, touched = self._start(scope)
            changed, live = self.backend.changed(scope, touched)
            missing = index.rewind(self._seen, changed, live)
            index.complete(self._with_vectors(missing))
            self._present.keep_at_moment(index, self)
        return index

    def _start(self, scope: Scope) -> tuple[ScopeIndex, Sequence[str]]:
        """Return an index of the present, and the records whose accesses are not written."""
        if copied := self._present.copy_at(scope, self._seen, self.backend):
            twin, seen, touched = copied
            if not self.backend.journal_reader.erased(seen):
                return twin, touched
        reader, dimension = ScopeReader(self.backend, scope), self._dimension()
        return ScopeIndex.of(reader, dimension, self.backend.load(scope), whole=False), ()

    def _with_vectors(self, rows: Sequence[Row]) -> list[Row]:
        found = self.backend.vectors([row.row for row in rows], EMBEDDED) if rows else {}
        return [
            replace(row, vectors={EMBEDDED: found[row.row]} if row.row in found else {})
            for row in rows
        ]
