"""Threads: the order of turns in each thread, as links from turn to turn."""

from __future__ import annotations

from typing import Final

import numpy as np

from ..model.arrays import Column
from .columns import Columns

_THREAD_BYTES: Final = 200  # a name and its places in a dict and a list; measured


class Threads:
    """The order of turns within each thread, as links from turn to turn in *columns*.

    A record without words, such as the call of a tool, is no turn and has no links.
    """

    def __init__(self, columns: Columns) -> None:
        self.codes: dict[tuple[str, str], int] = {}
        self._columns = columns
        self._last: list[int] = []

    @property
    def nbytes(self) -> int:
        """The approximate bytes in use beside the columns."""
        return _THREAD_BYTES * len(self.codes)

    def code(self, thread: tuple[str, str]) -> int:
        """Return the number of *thread*, a new number for a new thread."""
        number = self.codes.setdefault(thread, len(self.codes))
        if number == len(self._last):
            self._last.append(-1)
        return number

    def names(self, numbers: Column) -> list[tuple[str, str]]:
        """Return the threads with *numbers*."""
        known = list(self.codes)
        return [known[number] for number in numbers]

    def rebuild(self) -> None:
        """Link all turns anew: by thread, then time, then insertion."""
        columns = self._columns
        threads, before, after = columns["thread"], columns["before"], columns["after"]
        before[:] = after[:] = -1
        self._last = [-1] * len(self.codes)
        turns = np.flatnonzero((threads >= 0) & (columns["words"] > 0) & columns["live"])
        keys = columns["ordinal"][turns], columns["occurred"][turns], threads[turns]
        order = turns[np.lexsort(keys)]
        same = threads[order[1:]] == threads[order[:-1]]
        before[order[1:][same]] = order[:-1][same]
        after[order[:-1][same]] = order[1:][same]
        for turn in order[np.append(~same, True)] if len(order) else ():
            self._last[threads[turn]] = int(turn)

    def append(self, turn: int) -> None:
        """Link the newest position *turn* into the thread.

        O(1) if the turn is also the latest in time.
        """
        columns = self._columns
        before, occurred, ordinals = columns["before"], columns["occurred"], columns["ordinal"]
        before[turn] = columns["after"][turn] = -1
        thread = self._thread(turn)
        if thread < 0:
            return
        when = (occurred[turn], ordinals[turn])
        later, earlier = -1, self._last[thread]
        while earlier >= 0 and (occurred[earlier], ordinals[earlier]) > when:
            later, earlier = earlier, int(before[earlier])
        self._join(earlier, turn, thread)
        self._join(turn, later, thread)

    def remove(self, turn: int) -> None:
        """Unlink a dead turn."""
        columns = self._columns
        if (thread := self._thread(turn)) >= 0:
            self._join(int(columns["before"][turn]), int(columns["after"][turn]), thread)

    def _thread(self, turn: int) -> int:
        """Return the number of the thread of *turn*, -1 without a thread or without words."""
        return int(self._columns["thread"][turn]) if self._columns["words"][turn] else -1

    def _join(self, earlier: int, later: int, thread: int) -> None:
        if earlier >= 0:
            self._columns["after"][earlier] = later
        if later >= 0:
            self._columns["before"][later] = earlier
        else:
            self._last[thread] = earlier
