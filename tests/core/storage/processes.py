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
from types import TracebackType
from typing import Any, Generic, NoReturn, Self, TypeAlias, TypeVar

import pytest

Result = TypeVar("Result")
Say: TypeAlias = Callable[[object], None]

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
PATIENCE = 120.0
NOBODY = 65534
_QUESTION = "?"
_answers: int


class Child(Generic[Result]):
    """A forked process that runs ``work(say)``; what it says is kept even when it is killed.

    As a context it is killed at the end.
    """

    def __init__(self, work: Callable[[Say], Result]) -> None:
        self._outlet, inlet = os.pipe()
        answers, self._answers = os.pipe()
        with warnings.catch_warnings():  # Python 3.12 and later warn when threads are about
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            _run(work, inlet, answers)
        os.close(inlet)
        os.close(answers)
        self._heard = bytearray()
        self._questions = 0
        self._over = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
        self.hear()

    def kill(self) -> None:
        """Kill it as ``kill -9`` does."""
        os.kill(self.pid, signal.SIGKILL)

    def listen(self, seconds: float) -> bool:
        """Collect what it says for at most *seconds*; tell whether it has ended."""
        deadline = time.monotonic() + seconds
        while not self._over and (left := deadline - time.monotonic()) > 0:
            if select.select([self._outlet], [], [], left)[0]:
                heard = os.read(self._outlet, 65_536)
                self._over = not heard
                self._heard += heard
        return self._over

    def wait_for(self, count: int) -> None:
        """Wait until it has said *count* things."""
        self.wait_until(lambda: len(_parts(self._heard)) >= count)

    def wait_for_question(self) -> None:
        """Wait until it asks whether to go on; see ``ask``."""
        self._questions += 1
        self.wait_until(lambda: _parts(self._heard).count(_QUESTION) >= self._questions)

    def wait_until(self, enough: Callable[[], bool]) -> None:
        """Wait until it has done *enough*, or fail."""
        deadline = time.monotonic() + PATIENCE
        while not enough():
            assert not self.listen(0.01), _parts(self._heard)
            assert time.monotonic() < deadline, "a process hung"

    def answer(self) -> None:
        """Let it go on."""
        os.write(self._answers, b"!")

    def hear(self, patience: float = PATIENCE) -> list[Any]:
        """Wait for the end and return all that was said; the last thing is the outcome, if any."""
        ended = self.listen(patience)
        if not ended:
            self.kill()
        os.close(self._outlet)
        os.close(self._answers)
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


def fork(_: object = None) -> None:
    """Fork this process, and end the child at once."""
    Child(lambda _: None).result()


def ask(say: Say) -> None:
    """In a child, ask whether to go on and wait for the answer."""
    say(_QUESTION)
    os.read(_answers, 1)


def as_nobody(work: Callable[[], object]) -> None:
    """Run *work* in a process that permissions hold for."""

    def run(_: Say) -> None:
        if os.geteuid() == 0:
            os.seteuid(NOBODY)
        work()

    Child(run).result()


def together(works: Sequence[Callable[[], Result]], patience: float = PATIENCE) -> list[Result]:
    """Run every one of *works* in a process of its own, all let loose at the same moment."""

    def held(work: Callable[[], Result]) -> Callable[[Say], Result]:
        def run(say: Say) -> Result:
            ask(say)
            return work()

        return run

    children = [Child(held(work)) for work in works]
    for child in children:
        child.wait_for_question()
    for child in children:
        child.answer()
    return [child.result(patience) for child in children]


def _run(work: Callable[[Say], object], inlet: int, answers: int) -> NoReturn:
    global _answers
    _answers = answers

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
