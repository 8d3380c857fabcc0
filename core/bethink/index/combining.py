"""Flat combining: threads that would wait hand their work to the threads that run.

As many threads run as there are processors. A thread that comes later leaves its work in a queue
and sleeps; a running thread does the work of the queue after its own, in order, and wakes the
owners. Several works are prepared at once, which takes less than one after the other, and the
owners are woken together, when the works are done. More running threads would only pass the
interpreter's lock around: each hand-over costs more than a step of the work.

Source: Hendler, Incze, Shavit and Tzafrir, "Flat Combining and the Synchronization-Parallelism
Tradeoff", SPAA 2010.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Generic, TypeVar, cast

T = TypeVar("T")
Item = TypeVar("Item")
Made = TypeVar("Made")

_TURNS: Final = 4  # works for each waiting thread, before an owner runs instead
_TOGETHER: Final = 16  # works whose items are prepared at once


class _Work:
    """An item, a function to call with what was made of the item, and how the call ended."""

    def __init__(self, item: Any, function: Callable[[Any], Any]) -> None:
        self.item = item
        self.function = function
        self.result: Any = None
        self.error: Exception | None = None
        self.done = False
        self._asleep = threading.Lock()
        self._asleep.acquire()

    def do(self, made: Any) -> None:
        """Call the function, for another thread; an interrupt is for the present thread."""
        try:
            self.result = self.function(made)
        except Exception as error:
            self.error = error
        self.done = True

    def wait(self) -> None:
        """Sleep until the work is done, or is the owner's to do."""
        self._asleep.acquire()

    def wake(self) -> None:
        """Wake the owner."""
        self._asleep.release()


class Combiner(Generic[Item, Made]):
    """Runs the work of any number of threads in at most *most* threads at a time.

    *prepare* makes one thing of each item that waits. The default is a thread for each processor
    that the process may use.
    """

    def __init__(
        self, prepare: Callable[[Sequence[Item]], Iterable[Made]], most: int | None = None
    ) -> None:
        self._prepare = prepare
        self._most = self._free = most or _processors()
        self._waiting = deque[_Work]()
        self._lock = threading.Lock()
        self._local = threading.local()

    @property
    def is_shared(self) -> bool:
        """Whether more than one thread runs."""
        return self._most - self._free > 1

    def run(self, item: Item, function: Callable[[Made], T]) -> T:
        """Return what *function* makes of what was prepared of *item*, in this thread or another.

        A call from within a running function runs at once.
        """
        if getattr(self._local, "runs", False):
            return function(*self._prepare([item]))
        work = _Work(item, function)
        with self._lock:
            if must_wait := not self._free:
                self._waiting.append(work)
            else:
                self._free -= 1
        if must_wait:
            self._wait(work)
            if work.error is not None:
                raise work.error
            if work.done:
                return cast("T", work.result)
        self._local.runs = True
        try:
            result = function(*self._prepare([item]))
            self._run_for_others()
            return result
        finally:
            self._local.runs = False
            self._pass_on()

    def _wait(self, work: _Work) -> None:
        try:
            work.wait()
        except BaseException:  # an interrupt
            with self._lock:
                is_queued = work in self._waiting
                if is_queued:
                    self._waiting.remove(work)
            if not is_queued:
                work.wait()
                if not work.done:
                    self._pass_on()
            raise

    def _run_for_others(self) -> None:
        turns = _TURNS * len(self._waiting)
        while turns > 0:
            with self._lock:
                some = min(turns, _TOGETHER, len(self._waiting))
                works = [self._waiting.popleft() for _ in range(some)]
            turns -= some
            if not works:
                return
            try:
                made = self._prepare([work.item for work in works])
                for work, each in zip(works, made, strict=True):
                    work.do(each)
            except Exception:  # of the preparation; the owners meet the error themselves
                return
            finally:
                with self._lock:
                    self._waiting.extendleft(work for work in reversed(works) if not work.done)
                for work in works:
                    if work.done:
                        work.wake()

    def _pass_on(self) -> None:
        """Let the next owner run, or none."""
        with self._lock:
            if not self._waiting:
                self._free += 1
                return
            work = self._waiting.popleft()
        work.wake()


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
