"""What was read last: what was recalled is recalled again, and need not be read again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Generic, TypeVar

Value = TypeVar("Value")

AHEAD: Final = 24
"""Once one row in so many had to be read, all are worth reading."""


class Kept(Generic[Value]):
    """What was read last of some rows, by row: about *most* bytes, as *weigh* counts a value's.

    Where room is wanting, all goes but what is asked for, however much that is. Where there is
    room for all that may be asked for, all of it should be, once `wants_all` says so.
    """

    def __init__(self, most: int, weigh: Callable[[Value], int]) -> None:
        self.nbytes = 0
        self._most = most
        self._weigh = weigh
        self._held: dict[int, Value] = {}
        self._missed = 0

    def of(
        self, rows: Sequence[int], read: Callable[[list[int]], Mapping[int, Value]]
    ) -> dict[int, Value]:
        """Return what *rows* hold, read with *read* unless it is kept; without those it leaves out.

        The values are shared with later callers.
        """
        if missing := [row for row in rows if row not in self._held]:
            found = read(missing)
            self._missed += len(found)
            taken = sum(map(self._weigh, found.values()))
            if self.nbytes + taken > self._most:
                self._held = {row: self._held[row] for row in rows if row in self._held}
                self.nbytes = sum(map(self._weigh, self._held.values()))
            self._held.update(found)
            self.nbytes += taken
        return {row: self._held[row] for row in rows if row in self._held}

    def wants_all(self, count: int) -> bool:
        """Tell whether to ask for all rows now, *count* of them, rather than for each in its turn.

        Each in its turn takes two or three times as long. It is told once, and again when as many
        more were read.
        """
        if self._missed * AHEAD < count:
            return False
        self._missed = 0
        return 0 < self.nbytes * count <= self._most * len(self._held)

    def forget(self, row: int) -> None:
        """Let go of what *row* held, which is something else now or nothing."""
        if row in self._held:
            self.nbytes -= self._weigh(self._held.pop(row))
