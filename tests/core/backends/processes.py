"""Forked processes for the tests: run a function in one, hear what it says, kill it."""

from __future__ import annotations

import io
import os
import pickle
import select
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Generic, NoReturn, TypeAlias, TypeVar

Result = TypeVar("Result")
Say: TypeAlias = Callable[[object], None]
PATIENCE = 120.0


class Child(Generic[Result]):
    """A forked process that runs ``work(say)``; what it says is kept even when it is killed."""

    def __init__(self, work: Callable[[Say], Result]) -> None:
        self._outlet, inlet = os.pipe()
        with warnings.catch_warnings():  # Python 3.12 and later warn when threads are about
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            _run(work, inlet)
        os.close(inlet)
        self._heard = bytearray()

    def kill(self) -> None:
        """Kill it as ``kill -9`` does."""
        os.kill(self.pid, signal.SIGKILL)

    def listen(self, seconds: float) -> bool:
        """Collect what it says for at most *seconds*; tell whether it has ended."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if select.select([self._outlet], [], [], left)[0]:
                if not (heard := os.read(self._outlet, 65_536)):
                    return True
                self._heard += heard
        return False

    def listen_for(self, count: int) -> None:
        """Wait until it has said *count* things."""
        deadline = time.monotonic() + PATIENCE
        while len(_parts(self._heard)) < count and time.monotonic() < deadline:
            assert not self.listen(0.01), _parts(self._heard)

    def hear(self, patience: float = PATIENCE) -> list[Any]:
        """Wait for the end and return all that was said; the last thing is the outcome, if any."""
        ended = self.listen(patience)
        if not ended:
            self.kill()
        os.close(self._outlet)
        os.waitpid(self.pid, 0)
        assert ended, f"a process said {_parts(self._heard)[-3:]} and hung"
        return _parts(self._heard)

    def result(self, patience: float = PATIENCE) -> Result:
        """Return what *work* returned; fail with its traceback if it raised."""
        said = self.hear(patience)
        assert said, "a process died"
        kind, value = said[-1]
        assert kind == "returned", value
        returned: Result = value
        return returned


def together(works: Sequence[Callable[[], Result]], patience: float = PATIENCE) -> list[Result]:
    """Run every one of *works* in a process of its own, all let loose at the same moment."""
    gate, opener = os.pipe()

    def held(work: Callable[[], Result]) -> Callable[[Say], Result]:
        def run(_: Say) -> Result:
            os.close(opener)
            os.read(gate, 1)
            return work()

        return run

    children = [Child(held(work)) for work in works]
    os.close(opener)
    os.close(gate)
    return [child.result(patience) for child in children]


def _run(work: Callable[[Say], object], inlet: int) -> NoReturn:
    def say(value: object) -> None:
        os.write(inlet, pickle.dumps(value))

    try:
        try:
            say(("returned", work(say)))
        except BaseException:
            say(("raised", traceback.format_exc()))
    finally:
        os._exit(0)


def _parts(heard: bytes | bytearray) -> list[Any]:
    """Return the pickled values in *heard*, without one cut off by a kill."""
    parts, stream = [], io.BytesIO(heard)
    while True:
        try:
            parts.append(pickle.load(stream))
        except (EOFError, pickle.UnpicklingError):
            return parts
