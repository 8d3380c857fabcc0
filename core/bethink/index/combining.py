"""Flat combining: threads that would wait hand their work to the threads that run.

As many threads run as there are processors. A thread that comes later leaves its work in a queue
and sleeps; a running thread does the work of the queue after its own, in order, and wakes the
owners. More running threads would only pass the interpreter's lock around: each hand-over costs
more than a step of the work.

Source: Hendler, Incze, Shavit and Tzafrir, "Flat Combining and the Synchronization-Parallelism
Tradeoff", SPAA 2010.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

T = TypeVar("T")

_TURNS: Final = 4  # works for each waiting thread, before an owner runs instead


class _Work:
    """A function to call, and how the call ended."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function
        self.result: Any = None
        self.error: Exception | None = None
        self.done = False
        self._asleep = threading.Lock()
        self._asleep.acquire()

    def do(self) -> None:
        """Call the function, for another thread; an interrupt is for the present thread."""
        try:
            self.result = self.function()
        except Exception as error:
            self.error = error
        self.done = True

    def wait(self) -> None:
        """Sleep until the work is done, or is the owner's to do."""
        self._asleep.acquire()

    def wake(self) -> None:
        """Wake the owner."""
        self._asleep.release()


class Combiner:
    """Runs the work of any number of threads in at most *most* threads at a time.

    The default is a thread for each processor that the process may use.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = self._free = most or _processors()
        self._waiting = deque[_Work]()
        self._lock = threading.Lock()
        self._local = threading.local()

    @property
    def is_shared(self) -> bool:
        """Whether more than one thread runs."""
        return self._most - self._free > 1

    def run(self, function: Callable[[], T]) -> T:
        """Return what *function* returns, called in this thread or in another.

        A call from within a running function runs at once.
        """
        if getattr(self._local, "runs", False):
            return function()
        work = _Work(function)
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
            result = function()
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
        for _ in range(_TURNS * len(self._waiting)):
            with self._lock:
                if not self._waiting:
                    return
                work = self._waiting.popleft()
            try:
                work.do()
            except BaseException:  # an interrupt
                with self._lock:
                    self._waiting.appendleft(work)
                raise
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
