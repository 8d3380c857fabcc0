"""The model, with undo: it remembers everything, so it can give back what any entry took."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from bethink import MemoryRecord, NotFoundError, ValidationError

from .reference import Model
from .reference_entries import SILENT, Undoing, differing


class WholeModel(Model):
    """All that two stores on one file do."""

    def undo(self, seq: int) -> MemoryRecord:
        if 1 <= seq < len(self.entries) and self.entries[seq].action in ("relate", "unrelate"):
            return self._undo_link(seq)
        first, *others = self._undoings(seq)
        self._check_last(seq, *first)
        with self.writing():
            undone = self._take_back(seq, *first)
            self.undoes[len(self.entries) - 1] = seq
            for each in others:
                self._take_back(seq, *each)
        return self.current(undone)

    def _check_last(
        self, seq: int, left: MemoryRecord, back: dict[str, Any], checked: Iterable[str]
    ) -> None:
        """Refuse what a later entry changed, unless that was taken back itself."""
        undone: set[int] = set()
        for later in range(len(self.entries) - 1, seq, -1):
            if self.entries[later].id != left.id or later in undone:
                continue
            if self.undoes.get(later, 0) > seq:
                undone.add(self.undoes[later])
                continue
            before, after = self._around(later)
            if before and after and not set(checked).isdisjoint(differing(before, after)):
                raise ValidationError("it was changed since")

    def _undo_link(self, seq: int) -> MemoryRecord:
        if seq not in self.linked:
            raise ValidationError("what it told has been erased")
        link, made = self.linked[seq], self.entries[seq].action == "relate"
        with self.writing():
            if not self._link(link, holds=not made):
                raise ValidationError("the link has changed since")
        return self.current(self.records[link[0]])

    def _undoings(self, seq: int) -> list[Undoing]:
        """Return the records that entry *seq* left, what to give back to each, what to check."""
        if not 1 <= seq < len(self.entries):
            raise NotFoundError("journal entry", str(seq))
        entry = self.entries[seq]
        before, after = self._around(seq)
        if after is None or (before is None and entry.action != "store"):
            raise ValidationError("accesses, and what was erased")
        if before is not None:
            back = {name: getattr(before, name) for name in differing(before, after)}
            others = self._superseded_before(seq, after.id, self.merged.get(seq, ()))
            if not back and not others and not self._vectors_before(seq, after.id):
                raise ValidationError("nothing to undo")
            return [(after, back, back), *others]
        everything = set(MemoryRecord.__slots__) - SILENT
        others = self._superseded_before(seq, after.id)
        return [(after, {"state": "forgotten"}, everything), *others]

    def _superseded_before(
        self, seq: int, by: str, among: Sequence[str] | None = None
    ) -> list[Undoing]:
        """Return what brings back what entry *seq* had superseded right before it."""
        undoings: list[Undoing] = []
        while (earlier := self.entries[seq := seq - 1]).id is not None:
            old = self._around(seq)[1]
            if old is None and earlier.action == "supersede":
                continue  # erased since
            if old is None or old.superseded_by != by:
                break
            if among is not None and old.id not in among:
                break
            checked = ("state", "superseded_by")
            if all(getattr(self.records[old.id], name) == getattr(old, name) for name in checked):
                undoings.append((old, {"state": "live", "superseded_by": None}, checked))
        return undoings

    def _around(self, seq: int) -> tuple[MemoryRecord | None, MemoryRecord | None]:
        """Return the record of an entry before and after it."""
        id = self.entries[seq].id
        if id is None:
            return None, None
        return self.entries[seq - 1].records.get(id), self.entries[seq].records.get(id)

    def _vectors_before(self, seq: int, id: str) -> dict[str, Sequence[float]]:
        """Return the vectors that entry *seq* took from a record, if no later one did."""
        vectors = {}
        for (owner, name), since in self.since.items():
            if (owner, since) == (id, seq):
                if name not in self.entries[seq - 1].named.get(id, {}):
                    raise ValidationError("it gave vectors first")
                vectors[name] = self.entries[seq - 1].named[id][name]
        return vectors

    def _take_back(
        self, seq: int, left: MemoryRecord, back: dict[str, Any], checked: Iterable[str]
    ) -> MemoryRecord:
        now = self.records[left.id]
        if any(getattr(now, name) != getattr(left, name) for name in checked):
            raise ValidationError("it has changed since")
        if "state" not in back and now.state != "live":
            raise ValidationError("it is not alive")
        before, merged = self._around(seq)
        counting = self.entries[seq].action in ("merge", "undo")
        if counting and before and merged and merged.id == left.id:
            counted = now.access_count - merged.access_count + before.access_count
            back = {**back, "access_count": counted}
        after = replace(now, **back, updated_at=self.clock())
        if after.state == "live":
            self._check_key_free(after)
        if after.state == "superseded":
            self._check_successor(after)
        born = left.id not in self.entries[seq - 1].records
        first = left.id == self.entries[seq].id
        self._note("undo", after, self._vectors_before(seq, left.id) if first and not born else {})
        return after

    def _check_successor(self, back: MemoryRecord) -> None:
        by, seen = self.records.get(back.superseded_by or ""), {back.id}
        if by is None or by.state == "erased":
            raise ValidationError("its successor is gone")
        while by is not None and by.id not in seen:
            seen.add(by.id)
            by = self.records.get(by.superseded_by or "")
        if by is not None and by.id == back.id:
            raise ValidationError("its successor is superseded by it")
