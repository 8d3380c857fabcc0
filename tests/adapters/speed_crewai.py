"""The speed of ``CrewStorage`` beside crewAI's own storage on LanceDB; not part of the tests.

    python -m tests.adapters.speed_crewai [RECORDS]

Prints a table: see ``speeds``.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from bethink import MemoryStore
from bethink_adapters.crewai import CrewStorage

from .crewai_offline import record
from .speeds import Measured, print_table

RECORDS = 5_000
DIMENSIONS = 128
BATCH = 500
_START = datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None)


def records(random: np.random.Generator) -> Iterator[Any]:
    """Yield records without end, each with a text, a scope and an embedding of its own."""
    for number in itertools.count():
        words = " ".join(f"word{each}" for each in random.integers(0, 2000, 8))
        yield record(
            f"Fact {number}: {words}.",
            f"/crew/agent{number % 10}",
            id=f"r{number}",
            categories=[f"c{number % 7}"],
            metadata={"number": number},
            importance=0.5,
            created_at=_START + timedelta(seconds=number),
            embedding=random.normal(size=DIMENSIONS).tolist(),
        )


class Pair:
    """Both storages with the same records."""

    def __init__(self, folder: Path, size: int) -> None:
        from crewai.memory.storage.lancedb_storage import LanceDBStorage

        self.random = np.random.default_rng(7)
        self.made = records(self.random)
        self.store = MemoryStore(folder / "ours.db")
        self.ours = CrewStorage(self.store)
        self.theirs = LanceDBStorage(path=folder / "theirs", vector_dim=DIMENSIONS)
        self.size = size
        for start in range(0, size, 1000):
            self.both(itertools.islice(self.made, min(1000, size - start)))

    def both(self, new: Any) -> None:
        """Save the same records in both storages."""
        batch = list(new)
        self.ours.save(batch)
        self.theirs.save(batch)

    def vector(self) -> list[float]:
        """Return a new embedding."""
        return list(map(float, self.random.normal(size=DIMENSIONS)))


def operations(pair: Pair) -> list[tuple[str, int, Callable[[], Callable[[Any], object]]]]:
    """Return name, number of rounds and a maker of the call for each operation."""
    gone = iter(range(pair.size))

    def delete_one() -> Callable[[Any], object]:
        id = f"r{next(gone)}"
        return lambda storage: storage.delete(record_ids=[id])

    def save(count: int) -> Callable[[], Callable[[Any], object]]:
        def make() -> Callable[[Any], object]:
            new = list(itertools.islice(pair.made, count))
            return lambda storage: storage.save(new)

        return make

    def update() -> Callable[[Any], object]:
        changed = record("Changed.", "/crew/agent1", id=f"r{pair.size - 1 - next(gone)}")
        changed.embedding = pair.vector()
        return lambda storage: storage.update(changed)

    def search(scope: str | None) -> Callable[[], Callable[[Any], object]]:
        def make() -> Callable[[Any], object]:
            vector = pair.vector()
            return lambda storage: storage.search(vector, scope_prefix=scope, limit=10)

        return make

    def touch() -> Callable[[Any], object]:
        ids = [f"r{pair.size - 1 - each}" for each in pair.random.integers(0, 500, 5)]
        return lambda storage: storage.touch_records(ids)

    def always(call: Callable[[Any], object]) -> Callable[[], Callable[[Any], object]]:
        return lambda: call

    return [
        ("search", 15, search(None)),
        ("search in a scope", 15, search("/crew/agent3")),
        ("get_record", 15, always(lambda storage: storage.get_record("r4000"))),
        ("list_records(200)", 15, always(lambda storage: storage.list_records(limit=200))),
        (
            "list_records(200) of a scope",
            15,
            always(lambda storage: storage.list_records("/crew/agent3", limit=200)),
        ),
        ("count", 15, always(lambda storage: storage.count())),
        ("get_scope_info", 9, always(lambda storage: storage.get_scope_info("/crew"))),
        ("list_scopes", 9, always(lambda storage: storage.list_scopes("/crew"))),
        ("list_categories", 9, always(lambda storage: storage.list_categories())),
        ("touch_records(5)", 9, touch),
        ("save one", 15, save(1)),
        ("update one", 15, update),
        ("delete one", 15, delete_one),
        (f"save {BATCH} at once", 7, save(BATCH)),
    ]


def measure(size: int = RECORDS) -> list[Measured]:
    """Return the measures of all operations on *size* records."""
    with tempfile.TemporaryDirectory() as folder:
        pair = Pair(Path(folder), size)
        try:
            return [
                Measured.of(name, pair.ours, pair.theirs, rounds, make)
                for name, rounds, make in operations(pair)
            ]
        finally:
            pair.store.close()


def main() -> None:
    """Print the table."""
    found = measure(int(sys.argv[1]) if len(sys.argv) > 1 else RECORDS)
    print_table("CrewStorage beside LanceDBStorage", ("crewai", "lancedb"), found)


if __name__ == "__main__":
    main()
