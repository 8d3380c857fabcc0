"""A soak: two processes with two threads each use one store for minutes, at a constant size.

``python -m bethink.bench.soak LOCATION SECONDS PROCESS LIVE`` is one of the processes.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bethink import MemoryStore
from bethink.bench.growth import opened
from bethink.bench.rounds import percentile

PROCESSES, THREADS = 2, 2
LIVE = 20_000
WARM_SECONDS = 120.0
_WORDS = [
    f"{first}{last}" for first in ("whale", "dog", "desk", "lamp", "pier") for last in range(40)
]


def soak(minutes: float, live: int = LIVE, location: str | None = None) -> tuple[list[str], int]:
    """Use a store of *live* memories for *minutes*; return lines of figures, and the errors.

    *location* is that of an empty store, None for a file that is removed at the end.
    """
    seconds = 60.0 * minutes
    with tempfile.TemporaryDirectory(prefix="bethink-soak-") as folder:
        path = location or str(Path(folder, "memory.db"))
        with opened(path) as store:
            texts = map(_text, random.Random(0).choices(range(10**6), k=live))
            store.store_many({"content": text, "id": f"m{n}"} for n, text in enumerate(texts))
        command = [sys.executable, "-m", "bethink.bench.soak", path, str(seconds)]
        users = [
            subprocess.Popen([*command, str(n), str(live)], stdout=subprocess.PIPE, text=True)
            for n in range(PROCESSES)
        ]
        time.sleep(min(WARM_SECONDS, seconds / 10))
        sizes = [_size(path)]
        told = [json.loads(user.communicate()[0]) for user in users]
        sizes.append(_size(path))
        with opened(path) as store:
            store.compact(keep=0)
            sizes.append(store.stats().bytes)
            problems = len(store.verify().problems)
    errors = [error for each in told for error in each["errors"]]
    return [*_lines(told, sizes), *errors], len(errors) + problems


def _lines(told: list[dict[str, dict[str, list[float]]]], sizes: list[int]) -> Iterator[str]:
    warm, end, compacted = (size / 1e6 for size in sizes)
    yield f"store {warm:,.1f} MB warm, {end:,.1f} MB at the end ({end / warm:.2f} of warm)"
    yield f"store {compacted:,.1f} MB after compact ({compacted / warm:.2f} of warm)"
    for kind in ("recall", "write"):
        first, last = (
            [time for each in told for time in each[fifth][kind]] for fifth in ("first", "last")
        )
        count = sum(len(each["all"][kind]) for each in told)
        yield f"{kind} {count:,} calls, first fifth {_quantiles(first)}, last {_quantiles(last)}"


def _quantiles(times: list[float]) -> str:
    p50, p99 = (percentile(times, share) * 1e3 if times else 0.0 for share in (0.5, 0.99))
    return f"p50 {p50:.2f} p99 {p99:.2f} ms"


def _size(location: str) -> int:
    """Return the bytes of the store, and of the log beside a file."""
    log = Path(f"{location}-wal")
    with opened(location) as store:
        return store.stats().bytes + (log.stat().st_size if log.exists() else 0)


def _text(number: int) -> str:
    chosen = random.Random(number)
    return f"The {chosen.choice(_WORDS)} of {chosen.choice(_WORDS)} stands in room {number}"


class _Use:
    """The calls of one process: recalls, and writes that keep the number of memories."""

    def __init__(self, store: MemoryStore, seconds: float) -> None:
        self._store = store
        self._start, self._seconds = time.monotonic(), seconds
        self._times = {
            part: defaultdict[str, list[float]](list) for part in ("first", "last", "all")
        }
        self._errors: list[str] = []

    def run(self, seed: int, ids: list[str]) -> None:
        """Call verbs about *ids*, the memories of one thread, until the time is over."""
        chance = random.Random(seed)
        while (share := (time.monotonic() - self._start) / self._seconds) < 1:
            kind, call = self._next(chance, ids)
            start = time.perf_counter()
            try:
                call()
            except Exception as error:
                self._errors.append(f"{kind}: {error!r}")
            taken = time.perf_counter() - start
            for part, holds in (("first", share < 0.2), ("last", share >= 0.8), ("all", True)):
                if holds:
                    self._times[part][kind].append(taken)

    def _next(self, chance: random.Random, ids: list[str]) -> tuple[str, Callable[[], object]]:
        store, number = self._store, chance.randrange(10**6)
        place, text = chance.randrange(len(ids)), _text(number)
        if chance.random() < 0.8:
            return "recall", lambda: store.recall(text, k=10)
        if chance.random() < 0.5:
            return "write", lambda: store.update(ids[place], importance=number / 10**6)

        def replace() -> None:
            old, ids[place] = ids[place], store.store(text).id
            store.forget(old)

        return "write", replace

    def told(self) -> str:
        """Return times and errors as JSON."""
        kinds = ("recall", "write")
        times = {part: {kind: own[kind] for kind in kinds} for part, own in self._times.items()}
        return json.dumps({**times, "errors": self._errors})


def main(location: str, seconds: str, process: str, live: str) -> None:
    """Use the file as one of the processes, and print the times as JSON."""
    with opened(location) as store:
        use = _Use(store, float(seconds))
        places = range(int(process) * THREADS, (int(process) + 1) * THREADS)
        ids = [[f"m{n}" for n in range(at, int(live), PROCESSES * THREADS)] for at in places]
        with ThreadPoolExecutor(THREADS) as threads:
            list(threads.map(use.run, places, ids))
    sys.stdout.write(use.told())
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
