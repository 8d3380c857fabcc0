"""Flat combining: few threads run, nothing waits for ever, and results go to their owners."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeAlias

import pytest

from bethink.index import combining
from bethink.index.combining import Combiner

WAIT = 10.0  # seconds, before a test fails

Numbers: TypeAlias = Combiner[int, int]


class Held:
    """Work that runs until ``go`` is set."""

    def __init__(self) -> None:
        self.runs, self.go = threading.Event(), threading.Event()
        self.thread: threading.Thread | None = None

    def __call__(self) -> str:
        self.thread = threading.current_thread()
        self.runs.set()
        assert self.go.wait(WAIT)
        return "held"


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool


def combiner_of(most: int | None = None) -> Numbers:
    """Return a combiner of at most *most* works at a time that makes nothing of the items."""
    return Combiner(list, most)


def run(combiner: Numbers, work: Callable[[], object], item: int = 0) -> object:
    return combiner.run(item, lambda _: work())


def when_waiting(combiner: Combiner[int, Any], count: int) -> None:
    """Return once *count* works wait."""
    alarm = threading.Event()
    for _ in range(1000):
        # No public name tells how many wait.
        if len(combiner._waiting) == count:
            return
        alarm.wait(0.01)
    raise AssertionError(f"{len(combiner._waiting)} works wait, not {count}")


def submitted(
    pool: ThreadPoolExecutor, combiner: Numbers, works: list[Callable[[], object]]
) -> list[Future[object]]:
    """Return the future results of *works*, queued one after the other."""
    futures = []
    for number, work in enumerate(works, 1):
        futures.append(pool.submit(run, combiner, work))
        when_waiting(combiner, number)
    return futures


def assert_as_many_run(pool: ThreadPoolExecutor, combiner: Numbers, most: int) -> None:
    """Check that the idle *combiner* runs *most* works at a time, and no more."""
    works = [Held() for _ in range(most)]
    running = list[Future[object]]()
    for work in works:
        running.append(pool.submit(run, combiner, work))
        assert work.runs.wait(WAIT)
    (later,) = submitted(pool, combiner, [lambda: "later"])
    for work in works:
        work.go.set()
    assert [each.result(WAIT) for each in (*running, later)] == ["held"] * most + ["later"]


def test_no_more_works_run_than_threads_may(pool: ThreadPoolExecutor) -> None:
    combiner, (first, second) = combiner_of(2), (Held(), Held())
    running = [pool.submit(run, combiner, first)]
    assert first.runs.wait(WAIT)
    assert not combiner.is_shared
    running.append(pool.submit(run, combiner, second))
    assert second.runs.wait(WAIT)
    assert combiner.is_shared
    (later,) = submitted(pool, combiner, [lambda: "later"])
    assert not later.done()
    second.go.set()
    assert later.result(WAIT) == "later"
    first.go.set()
    assert [each.result(WAIT) for each in running] == ["held", "held"]
    assert not combiner.is_shared


@pytest.mark.parametrize(
    ("usable", "count", "most"), [({3, 5}, 9, 2), (None, 2, 2), (None, None, 1)], ids=str
)
def test_as_many_works_run_as_the_process_has_processors(
    pool: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
    usable: set[int] | None,
    count: int | None,
    most: int,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: count)
    monkeypatch.setattr(os, "sched_getaffinity", {0: usable}.get, raising=False)
    if usable is None:  # as on macOS
        monkeypatch.delattr(os, "sched_getaffinity")
    assert_as_many_run(pool, combiner_of(), most)


def test_a_running_thread_does_the_works_that_wait_in_order(pool: ThreadPoolExecutor) -> None:
    combiner, held = combiner_of(1), Held()
    done: list[int] = []
    running = pool.submit(run, combiner, held)
    assert held.runs.wait(WAIT)

    def work(number: int) -> tuple[int, threading.Thread]:
        done.append(number)
        return number, threading.current_thread()

    waiting = submitted(pool, combiner, [partial(work, number) for number in range(5)])
    held.go.set()
    assert [each.result(WAIT) for each in waiting] == [(n, held.thread) for n in range(5)]
    assert running.result(WAIT) == "held"
    assert done == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("count", [1, 3])
def test_a_thread_does_the_works_of_others_for_a_while_only(
    pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(combining, "_TOGETHER", 1)
    combiner, held, ends = combiner_of(1), Held(), threading.Event()
    running, done = threading.Thread(target=run, args=(combiner, held)), list[threading.Thread]()
    running.start()
    assert held.runs.wait(WAIT)

    def work() -> None:
        done.append(threading.current_thread())
        if not ends.is_set():  # a queue that never ends by itself
            pool.submit(run, combiner, work)
            when_waiting(combiner, count)

    submitted(pool, combiner, [work] * count)
    held.go.set()
    running.join(WAIT)
    ends.set()
    assert done.count(running) == combining._TURNS * count


def test_an_error_goes_to_the_owner_alone(pool: ThreadPoolExecutor) -> None:
    combiner, held = combiner_of(1), Held()
    running = pool.submit(run, combiner, held)
    assert held.runs.wait(WAIT)
    failing, fine = submitted(pool, combiner, [lambda: 1 / 0, lambda: "fine"])
    held.go.set()
    with pytest.raises(ZeroDivisionError):
        failing.result(WAIT)
    assert (running.result(WAIT), fine.result(WAIT)) == ("held", "fine")
    with pytest.raises(ZeroDivisionError):
        run(combiner, lambda: 1 / 0)
    assert_as_many_run(pool, combiner, 1)


def test_a_work_within_a_work_runs_at_once() -> None:
    combiner = combiner_of(1)
    assert run(combiner, lambda: run(combiner, lambda: run(combiner, lambda: "inner"))) == "inner"


def test_an_interrupt_during_another_threads_work_leaves_the_work_to_the_owner(
    pool: ThreadPoolExecutor,
) -> None:
    combiner, held, threads = combiner_of(1), Held(), []
    running = pool.submit(run, combiner, held)
    assert held.runs.wait(WAIT)

    def work() -> str:
        threads.append(threading.current_thread())
        if len(threads) == 1:
            raise KeyboardInterrupt
        return "done"

    first, second = submitted(pool, combiner, [work, lambda: "second"])
    held.go.set()
    with pytest.raises(KeyboardInterrupt):
        running.result(WAIT)
    assert (first.result(WAIT), second.result(WAIT)) == ("done", "second")
    assert threads[0] is held.thread
    assert threads[1] is not held.thread
    assert_as_many_run(pool, combiner, 1)


@pytest.mark.parametrize("when", ["queued", "running", "handed back"])
def test_an_interrupted_wait_keeps_nobody_waiting(
    pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """The wait of the first waiting thread is interrupted, *when* the work is in this state."""
    combiner, held, inner = combiner_of(1), Held(), Held()
    real, let_go = combining._Work.wait, threading.Event()
    interrupted, waits_on = list[combining._Work](), threading.Event()

    def wait(work: combining._Work) -> None:
        if not interrupted:
            interrupted.append(work)
            assert let_go.wait(WAIT)
            raise KeyboardInterrupt
        waits_on.set()
        real(work)

    monkeypatch.setattr(combining._Work, "wait", wait)
    running = pool.submit(run, combiner, held)
    assert held.runs.wait(WAIT)

    def work() -> str:
        inner()
        if when == "handed back":
            raise KeyboardInterrupt
        return "done"

    (waiting,) = submitted(pool, combiner, [work])
    if when != "queued":
        held.go.set()
        assert inner.runs.wait(WAIT)
    let_go.set()
    if when == "queued":
        with pytest.raises(KeyboardInterrupt):
            waiting.result(WAIT)
        held.go.set()
    else:  # the work ends before its owner
        assert waits_on.wait(WAIT)
    inner.go.set()
    with pytest.raises(KeyboardInterrupt):
        waiting.result(WAIT)
    if when == "handed back":
        with pytest.raises(KeyboardInterrupt):
            running.result(WAIT)
    else:
        assert running.result(WAIT) == "held"
    assert inner.runs.is_set() == (when != "queued")
    assert_as_many_run(pool, combiner, 1)


def test_every_work_of_many_threads_is_done_once(pool: ThreadPoolExecutor) -> None:
    combiner, done = combiner_of(2), []

    def work(number: int) -> int:
        done.append(number)
        return -number

    results = pool.map(lambda number: combiner.run(number, work), range(2000))
    assert list(results) == [-number for number in range(2000)]
    assert sorted(done) == list(range(2000))
    assert_as_many_run(pool, combiner, 2)


def test_the_items_of_works_that_wait_are_prepared_together(pool: ThreadPoolExecutor) -> None:
    prepared = list[list[int]]()

    def prepare(items: Sequence[int]) -> list[int]:
        prepared.append([*items])
        return [-item for item in items]

    combiner, held = Combiner(prepare, 1), Held()
    running = pool.submit(run, combiner, held)
    assert held.runs.wait(WAIT)
    waiting = []
    with ThreadPoolExecutor(19) as others:
        for number in range(1, 20):
            waiting.append(others.submit(combiner.run, number, lambda made: made))
            when_waiting(combiner, number)
        held.go.set()
        assert [each.result(WAIT) for each in waiting] == [-number for number in range(1, 20)]
    assert running.result(WAIT) == "held"
    assert prepared == [[0], [*range(1, 17)], [17, 18, 19]]


@pytest.mark.parametrize("at_once", [True, False])
def test_an_error_of_the_preparation_goes_to_the_owners(
    pool: ThreadPoolExecutor, at_once: bool
) -> None:
    def prepare(items: Sequence[int]) -> Iterable[float]:
        made = (1 / item for item in items)
        return list(made) if at_once else made

    combiner, held = Combiner(prepare, 1), Held()
    running = pool.submit(combiner.run, 1, lambda _: held())
    assert held.runs.wait(WAIT)
    waiting = []
    for number, item in enumerate((2, 0, 4), 1):
        waiting.append(pool.submit(combiner.run, item, lambda made: made))
        when_waiting(combiner, number)
    held.go.set()
    assert running.result(WAIT) == "held"
    with pytest.raises(ZeroDivisionError):
        waiting[1].result(WAIT)
    assert [waiting[place].result(WAIT) for place in (0, 2)] == [0.5, 0.25]
    assert combiner.run(8, lambda made: made) == 0.125
