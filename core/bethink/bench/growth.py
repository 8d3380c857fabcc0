"""The growth table: what time and bytes the verbs take as a file grows.

Times are CPU seconds of the process. Vectors have 64 dimensions, made by ``HashEmbedder``.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bethink import EVERYWHERE, HashEmbedder, MemoryStore

SIZES = (10_000, 100_000)
_DIMENSION = 64
_MANY = 200
_THREADED = 640
_RECALLS = 4_000
_LANGUAGES = ("de", "en", "fr", "it")

Row = tuple[str, str]  # what was measured, and the figure


def growth(size: int) -> Iterator[Row]:
    """Yield the rows of the table for *size* memories."""
    with tempfile.TemporaryDirectory(prefix="bethink-growth-") as folder:
        path = Path(folder, "memory.db")
        with opened(path) as store:
            seconds = _cpu(lambda: _fill(store, size))
            yield "store_many, each", f"{seconds / size * 1e6:,.0f} µs"
            yield "bytes of a memory", f"{store.stats().bytes / size:,.0f}"
        for part in (_reads, _past, _writes, _cares):
            yield from part(path, size)
        yield from _scopes(Path(folder, "scopes.db"), size)


def _reads(path: Path, size: int) -> Iterator[Row]:
    with opened(path) as store:
        german = {"metadata.lang": "de"}
        yield "all(where=JSON, limit=20)", _milli(lambda: store.all(where=german, limit=20))
        yield "first recall", _milli(lambda: store.recall("note of the whale"))
        yield "recall", _milli(lambda: store.recall("note of the dog"))
        filtered = _milli(lambda: store.recall("note of the dog", where=german))
        yield "first recall under a broad filter on JSON", filtered
        store.recall("note of the dog", where={"metadata.lang": "fr"})
        again = _milli(lambda: store.recall("note of the dog", where={"metadata.lang": "en"}))
        yield "third recall under a filter on the field", again
        one, several = (_recalls_a_second(store, threads) for threads in (1, 64))
        yield "recalls a second, 64 threads against 1", f"{several / one:.2f}"
        yield "resident", f"{store.stats().resident_bytes / 1e6:,.1f} MB"


def _recalls_a_second(store: MemoryStore, threads: int) -> float:
    each = _THREADED // threads

    def work(first: int) -> None:
        for number in range(first, first + each):
            store.recall(f"note {number} of the lamp", touch=False)

    users = [threading.Thread(target=work, args=(each * user,)) for user in range(threads)]
    start = time.perf_counter()
    for user in users:
        user.start()
    for user in users:
        user.join()
    return each * threads / (time.perf_counter() - start)


def _past(path: Path, size: int) -> Iterator[Row]:
    with opened(path) as store:
        for number in range(_MANY):
            store.store(f"The door code is {number}", key="code")
        moment = size + _MANY // 2
        longest = _longest_wait(store, lambda: store.recall("door code", as_of=moment))
        yield "longest wait of a recall beside a first recall as of a moment", longest
        yield "next recall as of the moment", _milli(lambda: store.recall("whale", as_of=moment))
        yield f"audit of {_MANY} versions", _milli(lambda: store.audit("code"))
        yield "audit(limit=10)", _milli(lambda: store.audit("code", limit=10))
        yield "diff", _milli(lambda: store.diff(moment))


def _longest_wait(store: MemoryStore, work: Callable[[], object]) -> str:
    """Return the longest recall of the present while *work* runs, and the time of *work*."""
    store.recall("note of the whale", touch=False)
    worker, waits, start = threading.Thread(target=work), [0.0], time.perf_counter()
    worker.start()
    while worker.is_alive():
        before = time.perf_counter()
        store.recall("note of the whale", touch=False)
        waits.append(time.perf_counter() - before)
    return f"{max(waits) * 1e3:,.1f} ms of {(time.perf_counter() - start) * 1e3:,.0f}"


def _writes(path: Path, size: int) -> Iterator[Row]:
    with opened(path) as store:
        ids = [record.id for record in store.all(limit=max(_MANY, size // 10))]

        def bytes_of(call: Callable[[int], object], times: int = len(ids)) -> str:
            before = _used(store)
            for number in range(times):
                call(number)
            return f"{(_used(store) - before) / times:,.0f}"

        def recall_and_write(number: int) -> None:
            store.recall(f"note {number} of the whale", k=10)
            if not number % 10:
                store.update(ids[0], importance=number / _RECALLS)

        yield "bytes of a first recall of ten", bytes_of(recall_and_write, _RECALLS)
        yield "bytes of a recall of ten", bytes_of(recall_and_write, _RECALLS)
        yield "bytes of an update", bytes_of(lambda n: store.update(ids[n], importance=0.9))
        yield "bytes of a supersession", bytes_of(lambda n: store.store(f"Room {n}", key="room"))
        yield "bytes of a store and a forget", bytes_of(lambda n: store.forget(store.store("x").id))
        yield "erase of a namespace", _milli(lambda: store.erase(namespace="users/ann"))
        yield "bytes of an erased memory after compact", _bytes_of_erased(path.with_name("e.db"))


def _bytes_of_erased(path: Path) -> str:
    with opened(path) as store:
        sizes = []
        for _ in range(2):
            store.store_many(f"note {n}" for n in range(_RECALLS))
            store.erase(namespace="default")
            store.compact(keep=0)
            sizes.append(store.stats().bytes)
        return f"{(sizes[1] - sizes[0]) / _RECALLS:,.0f}"


def _cares(path: Path, size: int) -> Iterator[Row]:
    with opened(path) as store:
        yield "verify", _milli(store.verify)
        yield "export", _milli(lambda: store.export(path.with_suffix(".jsonl")))
        yield "compact", _milli(lambda: store.compact(keep=0))
        yield "bytes of a memory after compact", f"{store.stats().bytes / len(store):,.0f}"
    with opened(path.with_name("again.db")) as store:
        for number in range(4):
            store.store(f"note {number}", id=str(number))
        for number in range(2 * _MANY):
            store.touch([str(n) for n in range(4)])
            store.update(str(number % 4), importance=number / (2 * _MANY))
            if number == _MANY - 1:
                half = _cpu(store.verify)
        yield "verify after twice as many touched updates", f"{_cpu(store.verify) / half:.1f} times"


def _scopes(path: Path, size: int) -> Iterator[Row]:
    """Measure many namespaces of ten memories each."""
    with opened(path) as store:
        names = [f"users/{n}" for n in range(size // 10)]
        store.store_many(
            {"content": f"note {n} of the whale", "namespace": name}
            for name in names
            for n in range(10)
        )
        for name in names[:1000]:
            store.recall("whale", namespace=name, touch=False)
        resident = store.stats().resident_bytes / len(names[:1000])
        yield "resident bytes of a namespace of ten", f"{resident:,.0f}"
        store.recall("whale", namespace=EVERYWHERE, touch=False)
    with opened(path) as store:
        first = _milli(lambda: store.recall("whale", namespace=EVERYWHERE))
        yield "first recall over namespaces of ten", first


def _fill(store: MemoryStore, size: int) -> None:
    store.store_many(
        {
            "content": f"note {n} of the {('whale', 'dog', 'lamp')[n % 3]} in room {n % 997}",
            "metadata": {"lang": _LANGUAGES[n % 4]},
            "namespace": "users/ann" if n % 100 == 0 else "default",
        }
        for n in range(size)
    )


def opened(path: str | Path) -> MemoryStore:
    """Open the store at *path* as it is measured."""
    return MemoryStore(path, embedder=HashEmbedder(_DIMENSION), durability="normal")


def _used(store: MemoryStore) -> int:
    stats = store.stats()
    return stats.bytes - stats.free_bytes


def _cpu(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def _milli(call: Callable[[], object]) -> str:
    return f"{_cpu(call) * 1e3:,.1f} ms"
