"""What a store reads when it starts: nothing to open, its scope to recall, segments before rows."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from bethink import EVERYWHERE, HashEmbedder, MemoryStore, Subtree
from bethink import index as resident
from bethink.index import keyword
from bethink.model.namespaces import Scope
from bethink.model.port import EMBEDDED, IndexData
from bethink.storage import open_backend
from bethink.storage.sql import loading
from bethink.storage.sqlite import SQLiteBackend
from bethink.storage.sqlite.opening import connect
from bethink.testing.contracts.samples import insert, record

from ..inside import engine_of
from .scripts import script, state_of

BLOCK = 16
WORDS = ("whale", "parrot", "ferry", "lantern", "cobalt", "maple", "violin", "harbour")
QUERIES = ("whale and parrot", "cobalt ferry", "maple", "the violin in the harbour", "memory 7")
NOW = 2e9
EMBEDDER = HashEmbedder(64)
Answers = list[list[tuple[str, float]]]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seal, save and read in blocks of a few rows, and pieces of few bytes, instead of many."""
    for module in (keyword, resident):
        monkeypatch.setattr(module, "BLOCK_DOCUMENTS", BLOCK)
    monkeypatch.setattr(resident, "_MIN_SAVED_ROWS", 4)
    monkeypatch.setattr(resident, "_BATCH_ROWS", 4 * BLOCK)
    monkeypatch.setattr(loading, "_READ_BYTES", 1000)


def opened(path: Path) -> MemoryStore:
    return MemoryStore(path, embedder=EMBEDDER, durability="normal")


def text(n: int) -> str:
    return f"memory {n} of a {WORDS[n % 8]} and a {WORDS[n // 8 % 8]}"


def fill(store: MemoryStore, count: int, start: int = 0, namespace: str = "default") -> list[str]:
    """Store *count* memories one by one; return their ids."""
    return [
        store.store(
            text(n), namespace=namespace, thread=f"t{n % 5}", importance=n % 10 / 10, author="Ann"
        ).id
        for n in range(start, start + count)
    ]


def answers(store: MemoryStore, namespace: Scope = "default") -> Answers:
    return [
        [
            (hit.memory.id, round(hit.score, 9))
            for hit in store.recall(query, k=500, namespace=namespace, now=NOW, touch=False)
        ]
        for query in QUERIES
    ]


def rebuilt(path: Path, namespace: Scope = "default") -> Answers:
    """Return the answers of a copy that has no segments to start from."""
    copy = path.with_name("copy.db")
    with closing(sqlite3.connect(path)) as connection:
        copy.unlink(missing_ok=True)
        connection.execute("VACUUM INTO ?", (str(copy),))
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("DELETE FROM segments")
        connection.commit()
    with opened(copy) as store, pytest.MonkeyPatch.context() as patch:
        patch.setattr(resident, "BLOCK_DOCUMENTS", 10_000)  # or small namespaces have segments
        found = answers(store, namespace)
    copy.unlink()
    return found


def spans(path: Path) -> list[tuple[str, int, int]]:
    with closing(sqlite3.connect(path)) as connection:
        sql = "SELECT namespace, first, last FROM segments ORDER BY 1, 2"
        return connection.execute(sql).fetchall()


def loaded(store: MemoryStore, scope: Scope = "default") -> IndexData:
    return engine_of(store).backend.load(scope)


def test_a_full_block_is_saved_at_once(path: Path) -> None:
    with opened(path) as store:
        fill(store, BLOCK - 1)
        assert spans(path) == []
        fill(store, 2)
        assert spans(path) == [("default", 1, BLOCK)]


@pytest.mark.slow
def test_a_segment_of_others_is_not_taken_for_one_that_was_read(path: Path) -> None:
    def run() -> None:
        with opened(path) as store:
            store.recall("whale", touch=False)
            fill(store, 4)

    for _ in range(7):
        run()
    with opened(path) as other:
        other.recall("whale", touch=False)
        run()
        assert len(spans(path)) == 1  # eight became one
        other.recall("whale", touch=False)
        for _ in range(7):
            run()
    with opened(path) as store:
        assert store.verify().ok
        assert len(loaded(store).unindexed) == 0


def test_the_rest_is_saved_at_the_end(path: Path) -> None:
    with opened(path) as store:
        fill(store, BLOCK + 9)
        store.recall("whale")
    assert [last for _, _, last in spans(path)][-1] == BLOCK + 9
    with opened(path) as store:
        assert loaded(store).unindexed == ()


def test_a_few_rows_are_not_worth_saving(path: Path) -> None:
    with opened(path) as store:
        fill(store, 3)
        store.recall("whale")
    assert spans(path) == []


@pytest.mark.slow
@pytest.mark.parametrize("namespace", ["default", Subtree("a"), EVERYWHERE], ids=repr)
def test_segments_answer_as_the_rows_do(path: Path, namespace: Scope) -> None:
    with opened(path) as store:
        for name in ("default", "a", "a/b"):
            fill(store, 2 * BLOCK + 5, namespace=name)
    assert len(spans(path)) >= 6
    with opened(path) as store:
        assert len(loaded(store, namespace).unindexed) < BLOCK
        assert answers(store, namespace) == rebuilt(path, namespace)
        assert all(answers(store, namespace))


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        "data = zeroblob(length(data))",
        "data = substr(data, 1, length(data) / 2)",
        "data = x''",
        "checksum = checksum + 1",
        "format = format + 1",
    ],
)
def test_a_damaged_segment_is_rebuilt_from_the_rows(path: Path, damage: str) -> None:
    with opened(path) as store:
        fill(store, 3 * BLOCK)
        store.recall("whale")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"UPDATE segments SET {damage} WHERE first > 1")
        connection.commit()
    with opened(path) as store:
        assert loaded(store).segments == ()
        assert answers(store) == rebuilt(path)
        fill(store, BLOCK, 100)
    with opened(path) as store:
        assert len(loaded(store).unindexed) < BLOCK
        assert answers(store) == rebuilt(path)


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1], ids=["first", "middle"])
@pytest.mark.parametrize("namespace", ["default", EVERYWHERE], ids=repr)
def test_a_missing_segment_is_named_and_rebuilt_from_the_rows(
    path: Path, number: int, namespace: Scope
) -> None:
    with opened(path) as store:
        for start in range(0, 4 * BLOCK, BLOCK):
            fill(store, BLOCK, start)
            fill(store, 1, start, namespace="elsewhere")
    _, first, _ = spans(path)[number]
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM segments WHERE first = ?", (first,))
        connection.commit()
    with opened(path) as store:
        assert answers(store, namespace) == rebuilt(path, namespace)
        assert [problem.what for problem in store.verify().problems] == ["it is missing"]
        assert store.repair().ok
    with opened(path) as store:
        assert loaded(store).segments
        assert answers(store, namespace) == rebuilt(path, namespace)


@pytest.mark.slow
def test_a_small_segment_that_is_missing_beside_a_large_one_is_made_again(path: Path) -> None:
    with opened(path) as store:
        fill(store, 10 * BLOCK)
    *_, (_, first, _), _ = spans(path)
    assert first > 5 * BLOCK
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM segments WHERE first = ?", (first,))
        connection.commit()
    with opened(path) as store:
        assert answers(store) == rebuilt(path)


def test_what_happened_after_saving_holds(path: Path) -> None:
    with opened(path) as store:
        ids = fill(store, 2 * BLOCK)
        store.forget(ids[3])
        store.recall("whale")
    with opened(path) as store:
        store.forget([ids[0], ids[9]])
        store.update(ids[1], content="now a lantern")
        store.update(ids[2], importance=1.0)
        store.update(ids[4], namespace="elsewhere")
        store.restore([ids[3], ids[9]])
        store.touch(ids[5])
    with opened(path) as store:
        assert spans(path)
        assert answers(store) == rebuilt(path)
        found = {id for answer in answers(store) for id, _ in answer}
        assert {ids[3], ids[9]} <= found
        assert not {ids[0], ids[4]} & found


@pytest.mark.slow
def test_stores_that_save_the_same_rows_make_no_copies(path: Path) -> None:
    with opened(path) as one, opened(path) as two:
        for round in range(8):
            for store in (one, two):
                fill(store, 9, 100 * round)
                store.recall("whale")
    with opened(path) as store:
        found = [id for id, _ in answers(store)[-1]]
        assert len(found) == len(set(found))
        assert answers(store) == rebuilt(path)


@pytest.mark.slow
def test_no_row_is_lost_between_segments(path: Path) -> None:
    with opened(path) as late:
        late.recall("whale")
        with opened(path) as early:
            fill(early, 5)
            early.recall("whale")
        for n in range(3 * BLOCK):
            fill(late, 1, n)
            late.recall("whale")
    assert spans(path)[0] == ("default", 1, 5)
    with opened(path) as store:
        assert len(answers(store)[-1]) == 3 * BLOCK + 5
        assert answers(store) == rebuilt(path)


@pytest.mark.slow
def test_many_restarts_answer_as_one(path: Path) -> None:
    steps = script("ann", 3, {})
    for _ in range(12):
        with opened(path) as store, opened(path) as other:
            for do, state in islice(steps, 11):
                do((store, other)[len(state) % 2])
            assert state_of(store, "ann") == state
            assert answers(store, "ann") == answers(other, "ann")
        assert answers_anew(path) == rebuilt(path, "ann")
    assert len(spans(path)) > 1


def answers_anew(path: Path) -> Answers:
    shutil.copy(path, path.with_name("anew.db"))  # so that looking changes nothing
    with opened(path.with_name("anew.db")) as store:
        return answers(store, "ann")


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Return how many instructions SQLite's machine has run since the last call."""
    done = 0

    def count() -> None:
        nonlocal done
        done += 1

    def counted(path: str, synchronous: str, patience: float) -> sqlite3.Connection:
        connection = connect(path, synchronous, patience)
        connection.set_progress_handler(count, 1)
        return connection

    def since() -> int:
        nonlocal done
        before, done = done, 0
        return before

    monkeypatch.setattr("bethink.storage.sqlite.connections.connect", counted)
    return since


def stock(path: Path, sizes: dict[str, int]) -> None:
    """Make a file with so many memories in each namespace."""
    vectors = {EMBEDDED: np.zeros(EMBEDDER.dimension, dtype=np.float32)}
    with closing(open_backend(path, "normal")) as backend:
        for namespace, size in sizes.items():
            records = (record(f"{namespace}{n}", text(n), namespace=namespace) for n in range(size))
            insert(backend, *records, vectors=vectors)


def test_opening_takes_the_same_work_whatever_the_size(
    tmp_path: Path, work: Callable[[], int]
) -> None:
    spent = []
    for size in (0, 20, 1000):
        stock(tmp_path / f"{size}.db", {"default": size})
        work()
        with opened(tmp_path / f"{size}.db"):
            spent.append(work())
    assert spent[1] == spent[2] <= spent[0] + 20 < 400


@pytest.mark.slow
def test_a_recall_reads_its_scope_only(tmp_path: Path, work: Callable[[], int]) -> None:
    spent = []
    for others in (0, 4000):
        path = tmp_path / f"{others}.db"
        stock(path, {"a": others // 2, "mine": 100, "z": others // 2})
        with opened(path) as store:
            work()
            assert len(store.recall("whale", namespace="mine", k=500)) > 0
            spent.append(work())
            assert len(loaded(store, "mine").unindexed) == 100
    assert spent[1] < 1.1 * spent[0]


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[Scope]:
    """Collect the scopes that are loaded."""
    seen: list[Scope] = []
    load = SQLiteBackend.load

    def noted(self: SQLiteBackend, scope: Scope, limit: int | None = None) -> IndexData:
        seen.append(scope)
        return load(self, scope, limit)

    monkeypatch.setattr(SQLiteBackend, "load", noted)
    return seen


def test_a_scope_is_loaded_on_its_first_recall_and_never_again(
    path: Path, loads: list[Scope]
) -> None:
    with opened(path) as store, opened(path) as other:
        fill(store, 3, namespace="a")
        store.get("none")
        store.all(namespace="a")
        assert loads == []
        for n in range(3):
            fill(store, 1, n, "a")
            fill(other, 1, n, "a")
            store.recall("whale", namespace="a")
        assert loads == ["a"]
        store.recall("whale", namespace=EVERYWHERE)
        store.recall("whale", namespace="a")
        assert loads == ["a", EVERYWHERE]
