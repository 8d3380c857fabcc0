"""What is erased is in no byte of any file, and nothing else is missed."""

from __future__ import annotations

import json
import random
import sqlite3
import struct
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bethink import (
    EVERYWHERE,
    HashEmbedder,
    MemoryRecord,
    MemoryStore,
    NotFoundError,
    StorageError,
    StoreBusyError,
    Subtree,
    ValidationError,
)
from bethink import index as resident
from bethink.index import keyword
from bethink.index.scope import ScopeIndex
from bethink.index.vectors import VectorColumn
from bethink.model.port import LogQuery, Segment
from bethink.storage import FullBackend as Backend
from bethink.storage.sqlite import SQLiteBackend, connections
from bethink.storage.sqlite.connections import Connections
from bethink.testing.contracts.samples import records_of
from bethink.text import terms

from ..inside import engine_of
from ..storage.processes import Child, Say, ask, forks
from ..storage.replay import assert_journal_is_state, unverified

DIMENSION = 16
SEALED = 8


@pytest.fixture
def _small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have even a few records be saved as segments."""
    monkeypatch.setattr(keyword, "BLOCK_DOCUMENTS", SEALED)
    for name, value in (
        ("BLOCK_DOCUMENTS", SEALED),
        ("_BATCH_ROWS", 2 * SEALED),
        ("_MIN_SAVED_ROWS", 3),
    ):
        monkeypatch.setattr(resident, name, value)


def opened(path: Path | str, **given: Any) -> MemoryStore:
    return MemoryStore(path, embedder=HashEmbedder(DIMENSION), durability="normal", **given)


class Secret:
    """A secret in every field of a record, and the bytes that would betray it."""

    def __init__(self, dice: random.Random) -> None:
        self.word = "".join(dice.choices("bcdfghjklmnpqrtvwxz", k=14))
        self.id = f"id{dice.getrandbits(64):016x}"
        self.vector = [dice.uniform(-1, 1) for _ in range(6)]
        self.filler = " ".join(f"w{dice.randrange(500)}" for _ in range(dice.randrange(150)))

    def fields(self) -> dict[str, Any]:
        """Return what to store."""
        return {
            "id": self.id,
            "content": f'{self.word}C "né\n記\x01{self.word}" {self.filler}',
            "value": {"v": [f"{self.word}V\t☃"]},
            "metadata": {f"{self.word}K": f"{self.word}M"},
            **{name: f"{self.word}{name}" for name in ("author", "thread", "key", "source")},
            "category": f"{self.word}Y",
            "tags": [f"{self.word}T"],
            "vectors": {"mine": self.vector},
        }

    def traces(self, store: MemoryStore) -> list[bytes]:
        """Return each form in which the secret may be in a file."""
        whole = str(self.fields()["content"])
        embedded = store.embedder.embed([f"{self.word}author: {whole}"])
        column = VectorColumn(DIMENSION)
        column.append(embedded)
        return [
            self.word.encode(),
            self.word.upper().encode(),
            self.word.encode("utf-16-le"),
            json.dumps(whole)[1:-1].encode(),
            *(term.encode() for term in terms(f"{self.word} {self.word}C") if len(term) > 8),
            struct.pack("<6f", *self.vector),
            embedded.astype("<f4").tobytes(),
            column.quantised(0, 1)[0].tobytes(),
        ]


def seen(path: Path, traces: Mapping[str, list[bytes]]) -> dict[str, int]:
    """Return how many of the traces of each secret are in any file of the store."""
    files = [file.read_bytes() for file in path.parent.iterdir()]
    counts = {
        id: sum(any(trace in file for file in files) for trace in each)
        for id, each in traces.items()
    }
    return {id: count for id, count in counts.items() if count}


def lead_a_life(store: MemoryStore, secrets: list[Secret], dice: random.Random) -> None:
    """Store every secret and have it superseded, moved, forgotten, archived, changed and read."""
    for number, secret in enumerate(secrets):
        store.store(**secret.fields(), namespace=f"n/{number % 3}")
    for number, secret in enumerate(secrets):
        store.record_outcome(secret.id, "worked", session=f"{secret.word}S")
        store.relate(secret.id, secrets[(number + 1) % len(secrets)].id, f"{secret.word}L")
        match number % 7:
            case 0:
                store.update(secret.id, content=f"{secret.word} anew", thread=None, vectors=None)
            case 1:
                store.update(secret.id, namespace="moved")
            case 2:
                store.store("a new one", supersedes=secret.id)
            case 3:
                store.forget(secret.id)
            case 4:
                store.archive(secret.id)
            case 5:
                store.update(secret.id, source=secret.word * dice.randrange(1, 60))
            case 6:
                store.update(secret.id, key=f"k{number}", vectors={"mine": secret.vector[::-1]})
    store.recall(secrets[-1].word, namespace=EVERYWHERE)


def others(store: MemoryStore, erased: set[str]) -> dict[str, MemoryRecord]:
    ids = {entry.id for entry in store.log(limit=None) if entry.id is not None}
    return records_of(engine_of(store).backend, list(ids - erased))


@pytest.mark.slow
@pytest.mark.usefixtures("_small_segments")
def test_no_byte_of_what_is_erased_is_left(path: Path) -> None:
    dice = random.Random(20)
    secrets = [Secret(dice) for _ in range(160)]
    with opened(path) as store:
        lead_a_life(store, secrets, dice)
    victims = dice.sample(secrets, 64)
    ids = {victim.id for victim in victims}
    with opened(path) as store:
        traces = {secret.id: secret.traces(store) for secret in secrets}
        hidden = {id: traces[id] for id in ids}
        kept = others(store, ids)
        assert seen(path, traces).keys() == traces.keys()
        store.recall("w1 w2", namespace=EVERYWHERE, touch=False)
        assert store.erase(ids) == len(ids)
        assert seen(path, hidden) == {}
        assert others(store, ids) == kept
        assert_journal_is_state(store)
        survivors = {secret.id: traces[secret.id] for secret in secrets if secret.id not in ids}
        assert seen(path, survivors).keys() == survivors.keys()
    assert seen(path, hidden) == {}
    assert unverified(path) == []


def test_a_tombstone_is_all_that_stays(path: Path) -> None:
    with opened(path, clock=lambda: 50.0) as store:
        record = store.store(
            "a cat", id="r1", key="k", occurred_at=3.0, expires_at=90.0, author="A"
        )
        store.touch("r1")
        store.store("a dog", id="r2", supersedes="r1")
        assert store.erase("r1") == 1
        tombstone = MemoryRecord("r1", "default", "", 50.0, 50.0, 50.0, state="erased")
        assert records_of(engine_of(store).backend, ["r1"]) == {"r1": tombstone}
        assert store.get("r1") is None
        assert record.content == "a cat"
        assert [(entry.action, bool(entry.changes)) for entry in store.log(id="r1")] == [
            ("erase", True),
            ("supersede", False),
            ("store", False),
        ]
    assert unverified(path) == []


def test_what_is_erased_stays_so(store: MemoryStore) -> None:
    store.store("a cat", id="r1", key="k")
    store.erase("r1")
    entries = len(store.log())
    assert store.erase("r1") == store.restore("r1") == store.forget("r1") == 0
    assert store.archive("r1") == store.unarchive("r1") == 0
    store.touch("r1")
    for change in (store.reinforce, store.update, lambda id: store.store("x", supersedes=id)):
        with pytest.raises(NotFoundError):
            change("r1")
    with pytest.raises(ValidationError):
        store.store("another", id="r1")
    with pytest.raises(ValidationError, match="erased"):
        store.undo(entries)
    assert len(store.log()) == entries
    assert store.store("a new cat", key="k").id != "r1"


def test_the_past_knows_nothing_of_it(store: MemoryStore) -> None:
    store.store("a cat", id="r1", key="k")
    store.store("a dog", id="r2")
    store.snapshot("then")
    past = store.as_of("then")
    assert store.recall("cat", as_of="then", touch=False)
    store.update("r1", content="a red cat", key=None)
    store.erase("r1")
    past = store.as_of("then")
    assert (past.get("r1"), past.get(key="k")) == (None, None)
    assert store.recall("cat", as_of="then", mode="keyword") == []
    assert [record.id for record in past.all()] == ["r2"]


def test_criteria_narrow_and_reach_every_state(store: MemoryStore) -> None:
    for name in ("a", "a/b", "ab"):
        store.store_many(
            [{"content": "x", "id": f"{name} {n}"} for n in range(4)], namespace=name, author="Ann"
        )
        store.forget(f"{name} 1")
        store.archive(f"{name} 2")
        store.store("y", id=f"{name} 4", supersedes=f"{name} 3", namespace=name)
    assert store.erase(["a 0", "ab 0"], namespace="a") == 1
    assert store.erase(namespace=Subtree("a"), where={"author": "Ann"}) == 7
    assert store.erase(namespace=Subtree("a")) == 2
    assert store.erase(where={"author": "Ann"}) == 4
    assert [record.id for record in store.all(namespace=EVERYWHERE)] == ["ab 4"]


def test_keys_can_be_listed_that_forgotten_records_held(store: MemoryStore) -> None:
    store.store_many([{"content": "x", "id": id, "key": id} for id in "abc"])
    store.forget("a")
    assert store.erase(namespace="default", where={"key": {"$in": ["a", "b"]}}) == 2
    assert [record.id for record in store.all()] == ["c"]


def test_erasing_needs_a_criterion_and_known_ids(store: MemoryStore) -> None:
    kept = store.store("x")
    with pytest.raises(ValidationError):
        store.erase()
    with pytest.raises(NotFoundError):
        store.erase([kept.id, "unknown"])
    assert store.erase([]) == 0
    assert store.all() == [kept]


@pytest.mark.usefixtures("_small_segments")
@pytest.mark.parametrize("scope", ["a", Subtree("a"), EVERYWHERE], ids=repr)
def test_the_resident_index_forgets_the_words(path: Path, scope: Any) -> None:
    with opened(path) as store, opened(path) as other:
        for number in range(4 * SEALED):
            store.store(
                f"zebra{number} grazing", id=str(number), namespace="a", thread=f"t{number}"
            )
        store.update("3", namespace="b")
        for each in (store, other):
            assert len(each.recall("zebra3 zebra20", namespace=scope, touch=False)) > 0
        store.erase(["3", "20"])
        for each in (store, other):
            left = each.recall("grazing", namespace=scope, k=99, touch=False)
            assert {hit.memory.id for hit in left}.isdisjoint({"3", "20"})
            assert len(left) == 4 * SEALED - 2
            index = engine_of(each).index.open(scope)
            assert isinstance(index, ScopeIndex)
            assert not {"t3", "t20"} & {name for _, name in index.threads.codes}
            words = {term for block in index.keyword.blocks for term in block.terms}
            assert not {"zebra3", "zebra20"} & {*words, *index.keyword._tail}


@pytest.mark.usefixtures("_small_segments")
def test_the_saved_index_is_made_anew(path: Path) -> None:
    with opened(path) as store:
        store.store_many([{"content": f"zebra{n}", "id": str(n)} for n in range(3 * SEALED)])
    with opened(path) as store:
        before = engine_of(store).backend.load("default")
        store.erase(str(SEALED + 1))
        after = engine_of(store).backend.load("default")
    assert (len(before.segments), before.unindexed, after.unindexed) == (3, (), ())
    assert after.segments[0] == before.segments[0]
    assert sum(segment.count for segment in after.segments) == 3 * SEALED - 1


@pytest.mark.usefixtures("_small_segments")
def test_an_index_made_before_is_not_saved_after(path: Path) -> None:
    with opened(path) as store, opened(path) as other:
        other.recall("zebra")
        for number in range(3):
            other.store(f"zebra{number} grazing", id=str(number))
        traces = {"1": [b"zebra1"]}
        assert seen(path, traces)
        store.erase("1")
        other.close()
        assert seen(path, traces) == {}
        assert [hit.memory.id for hit in store.recall("zebra0")] == ["0"]


@pytest.mark.usefixtures("_small_segments")
def test_who_writes_after_an_erasing_still_saves_its_index(path: Path) -> None:
    with opened(path) as store, opened(path) as other:
        store.store("zebra", id="1", namespace="elsewhere")
        store.erase("1")
        for number in range(SEALED):
            other.store(f"zebra{number}")
        assert len(engine_of(store).backend.load("default").segments) == 1


@pytest.mark.usefixtures("_small_segments")
def test_an_index_that_always_comes_too_late_is_given_up(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []

    def refuse(self: SQLiteBackend, segments: Iterable[Segment]) -> list[int | None]:
        tries.append(len(list(segments)))
        assert len(tries) < 9
        return [None] * tries[-1]

    with opened(path) as store:
        monkeypatch.setattr(SQLiteBackend, "save", refuse)
        store.store_many([f"zebra{n}" for n in range(5 * SEALED)])
        assert len(store.recall("zebra3", mode="keyword")) == 1
    assert tries


@forks
def test_another_process_forgets_as_well(path: Path) -> None:
    with opened(path) as store:
        store.store_many([{"content": f"zebra{n} grazing", "id": str(n)} for n in range(9)])

        def watch(say: Say) -> list[str]:
            with opened(path) as other:
                assert other.recall("zebra4", touch=False)
                ask(say)
                return [hit.memory.id for hit in other.recall("zebra4 grazing", k=9)]

        child = Child(watch)
        child.wait_for_question()
        assert store.erase("4") == 1
        assert seen(path, {"4": [b"zebra4"]}) == {}
        child.answer()
        assert sorted(child.result()) == ["0", "1", "2", "3", "5", "6", "7", "8"]


@contextmanager
def reader_of(path: Path) -> Iterator[None]:
    """Hold the state that the file is in now."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM records").fetchone()
        yield


def test_a_reader_of_an_old_state_is_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "BUSY_SECONDS", 0.2)
    monkeypatch.setattr("bethink.storage.sqlite.BUSY_SECONDS", 0.2)
    traces = {"1": [b"zebra1"]}
    with opened(path) as store:
        store.store_many([{"content": f"zebra{n}", "id": str(n)} for n in range(3)])
        with reader_of(path):
            with pytest.raises(StoreBusyError, match="out of everyone's reach"):
                store.erase("1")
            assert store.recall("zebra1", mode="keyword") == []
            assert seen(path, traces)
            store.store("others can write meanwhile")
        assert store.erase([]) == 0
        assert seen(path, traces) == {}


def test_a_reader_that_ends_in_time_is_no_error(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(path) as store:
        store.store("zebra1", id="1")
        reading, emptied = reader_of(path), Connections._empty_log
        tries: list[bool] = []

        def tried(self: Connections) -> bool:
            tries.append(emptied(self))
            if len(tries) == 1:
                reading.__exit__(None, None, None)
            return tries[-1]

        monkeypatch.setattr(Connections, "_empty_log", tried)
        reading.__enter__()
        assert store.erase("1") == 1
    assert tries == [False, True]
    assert seen(path, {"1": [b"zebra1"]}) == {}


@forks
@pytest.mark.parametrize("step", ["blank", "_empty_log"])
def test_an_erasing_that_is_killed_is_finished_at_the_next_opening(path: Path, step: str) -> None:
    def die(say: Say) -> None:
        store = opened(path)
        store.store_many([{"content": f"zebra{n}", "id": str(n)} for n in range(3)])
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Connections, step, lambda *_: ask(say))
            store.erase("1")

    with Child(die) as child:
        child.wait_for_question()
        child.kill()
    assert seen(path, {"1": [b"zebra1"]})
    with opened(path) as store:
        assert seen(path, {"1": [b"zebra1"]}) == {}
        assert [record.id for record in store.all()] == ["0", "2"]
    assert unverified(path) == []


def test_opening_goes_on_where_cleaning_fails(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(self: Connections, patience: float) -> None:
        raise StorageError(str(path), "database or disk is full")

    with opened(path) as store, monkeypatch.context() as patched:
        store.store("zebra1", id="1")
        patched.setattr(Connections, "blank", full)
        with pytest.raises(StorageError, match=r"full; what was erased is out of .* reach"):
            store.erase("1")
        with opened(path) as other:
            assert other.get("1") is None
        assert "not yet removed" in caplog.text
    opened(path).close()
    assert seen(path, {"1": [b"zebra1"]}) == {}


def test_copies_made_by_upgrades_go(path: Path) -> None:
    copies = [path.with_name(f"memory.db{end}") for end in (".v1.backup", ".v12.backup.part")]
    foreign = [path.with_name(name) for name in ("memory.db.mine", "other.db.v1.backup")]
    with opened(path) as store:
        store.store("zebra1", id="1")
        for file in (*copies, *foreign):
            file.write_bytes(b"zebra1")
        store.erase("1")
    assert [file.exists() for file in (*copies, *foreign)] == [False, False, True, True]


def test_a_copy_that_cannot_be_removed_is_named_and_does_not_keep_the_store_shut(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    copy = path.with_name("memory.db.v1.backup")
    with opened(path) as store:
        store.store("zebra1", id="1")
        copy.mkdir()
        with pytest.raises(StorageError, match=r"v1\.backup"):
            store.erase("1")
    opened(path).close()
    assert "not yet removed" in caplog.text
    copy.rmdir()
    opened(path).close()
    assert caplog.text.count("not yet removed") == 1


def test_nothing_is_cleaned_where_nothing_was_erased(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleaned: list[float] = []
    monkeypatch.setattr(Connections, "blank", lambda self, patience: cleaned.append(patience))
    with opened(path) as store:
        store.store("x", id="1")
        assert store.erase([]) == store.erase(namespace="none") == 0
        assert cleaned == []
        store.erase("1")
        store.erase("1")
        assert cleaned == [connections.BUSY_SECONDS]
    opened(path).close()
    assert len(cleaned) == 1


@pytest.mark.slow
def test_threads_erase_and_store_at_the_same_time(path: Path) -> None:
    with opened(path) as store:
        ids = [record.id for record in store.store_many([f"zebra{n} grazing" for n in range(40)])]

        def work(part: int) -> None:
            for number in range(part, 40, 4):
                if number % 8 < 4:
                    store.erase(ids[number])
                else:
                    store.store("more grazing")
                store.recall("grazing")

        workers = [threading.Thread(target=work, args=(part,)) for part in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert len(store.recall("grazing", k=99)) == store.count() == 40
        assert_journal_is_state(store)
        gone = [number for number in range(40) if number % 8 < 4]
    assert seen(path, {str(number): [b"zebra%d " % number] for number in gone}) == {}
    assert unverified(path) == []


def test_a_store_in_memory_erases(store: MemoryStore) -> None:
    store.store("a red cat", id="r1", vectors={"v": [1, 2]})
    assert store.recall("cat")
    assert store.erase("r1") == 1
    assert (store.recall("cat"), store.all(), store.vectors("r1", "v")) == ([], [], {})


def leak(store: MemoryStore, secret: str) -> list[Callable[[], Any]]:
    backend: Backend = engine_of(store).backend
    return [
        lambda: records_of(backend, [secret]),
        lambda: backend.log(LogQuery()),
        lambda: backend.changes(0, [EVERYWHERE]),
        lambda: backend.load("default"),
    ]


def test_no_answer_of_the_backend_tells_it(store: MemoryStore) -> None:
    store.store("zebra", id="r1", metadata={"a": "zebra"}, vectors={"v": np.ones(3)})
    store.update("r1", content="zebras and zebra", author="zebra")
    store.erase("r1")
    assert [repr(ask()).count("zebra") for ask in leak(store, "r1")] == [0] * 4


def test_what_was_erased_and_is_told_again_is_named(path: Path) -> None:
    with opened(path) as store, closing(sqlite3.connect(path)) as connection:
        store.store("a secret", id="a")
        told = connection.execute("SELECT salt, changes FROM journal").fetchone()
        store.erase("a")
        assert store.verify().ok
        connection.execute("UPDATE journal SET salt = ?, changes = ? WHERE seq = 1", told)
        connection.commit()
        assert list(map(str, store.verify().problems)) == [
            "journal entry 1: it still tells what was erased"
        ]
