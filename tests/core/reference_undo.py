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
        self._check_last(*first)
        was, undoes = dict(self.records), dict[int, int]()
        with self.writing():
            for each in sorted([first, *others], key=lambda each: -each[0]):
                self._take_back(*each)
                undoes[len(self.entries) - 1] = each[0]
            for each in (first, *others):
                self._check_successor(was[each[1].id], self.records[each[1].id])
        self.undoes |= undoes
        self.together |= {each: list(undoes) for each in undoes}
        return self.current(self.records[first[1].id])

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
        first = self._undoing(seq)
        if first is None:
            raise ValidationError("accesses, and what was erased")
        others = self._superseded_before(seq, first[1].id, self.merged.get(seq, ()))
        if self.entries[seq].action == "undo":
            mates = (self._undoing(each) for each in self.together[seq] if each != seq)
            others = [each for each in mates if each is not None and self._stands(each[1], each[3])]
        if not first[2] and not others and not self._vectors_before(seq, first[1].id):
            raise ValidationError("nothing to undo")
        return [first, *others]

    def _undoing(self, seq: int) -> Undoing | None:
        """Return how entry *seq* alone is undone, None if it is erased."""
        before, after = self._around(seq)
        if after is None or (before is None and self.entries[seq].action != "store"):
            return None
        if before is None:
            return seq, after, {"state": "forgotten"}, set(MemoryRecord.__slots__) - SILENT
        back = {name: getattr(before, name) for name in differing(before, after)}
        return seq, after, back, back

    def _stands(self, left: MemoryRecord, checked: Iterable[str]) -> bool:
        now = self.records[left.id]
        return all(getattr(now, name) == getattr(left, name) for name in checked)

    def _superseded_before(self, seq: int, by: str, among: Sequence[str]) -> list[Undoing]:
        """Return what brings back what entry *seq* had superseded right before it."""
        stored = self.entries[seq].action == "store"
        undoings: list[Undoing] = []
        while (earlier := self.entries[seq := seq - 1]).id is not None:
            old = self._around(seq)[1]
            if old is None and earlier.action == "supersede":
                continue  # erased since
            if old is None or old.superseded_by != by:
                break
            if not stored and old.id not in among:
                break
            back = {"state": "live", "superseded_by": None}
            if self._stands(old, back):
                undoings.append((seq, old, back, back))
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
        if not self._stands(left, checked):
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
        born = left.id not in self.entries[seq - 1].records
        self._note("undo", after, {} if born else self._vectors_before(seq, left.id))
        return after

    def _check_successor(self, was: MemoryRecord, back: MemoryRecord) -> None:
        if back.state != "superseded":
            return
        by, seen = self.records.get(back.superseded_by or ""), {back.id}
        if by is None or by.state == "erased":
            raise ValidationError("its successor is gone")
        while by is not None and by.id not in seen:
            seen.add(by.id)
            last, by = by, self.records.get(by.superseded_by or "")
        if by is None and was.state == "live" and last.state in ("forgotten", "erased"):
            raise ValidationError("it would be hidden")
        if by is not None and by.id == back.id:
            raise ValidationError("its successor is superseded by it")
