"""The past beside the present: neither waits, memory is bounded, and answers are those of then."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink import EVERYWHERE, HashEmbedder, MemoryStore, Subtree
from bethink import index as resident
from bethink.index import keyword, scope
from bethink.storage.sql import backend, journal_reader

from ...clock import Clock
from ...inside import engine_of

SECONDS = 60  # longer than any verb takes


class Gate:
    """A function that stops every caller until the gate is opened."""

    def __init__(self, function: Any) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()
        self._function = function

    def __call__(self, *args: Any, **options: Any) -> Any:
        if threading.current_thread().name == "past":
            self.reached.set()
            assert self.opened.wait(SECONDS)
        return self._function(*args, **options)


@contextmanager
def held(monkeypatch: pytest.MonkeyPatch, store: MemoryStore, place: str) -> Iterator[list[str]]:
    """Hold the first recall of a moment at *place*; the answer is there afterwards."""
    module, name = (backend, "load") if place == "load" else (journal_reader, place)
    gate, answer = Gate(getattr(module, name)), list[str]()

    def ask() -> None:
        answer.extend(hit.memory.content for hit in store.recall("cat", as_of="then"))

    with monkeypatch.context() as patch:
        patch.setattr(module, name, gate)
        past = threading.Thread(target=ask, name="past")
        past.start()
        try:
            assert gate.reached.wait(SECONDS)
            yield answer
        finally:
            gate.opened.set()
            past.join(SECONDS)


def in_time(verb: Any) -> Any:
    """Return what *verb* returns in another thread, within the time of the test."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(verb()), daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert found, "the present waits for the past"
    return found[0]


@pytest.mark.parametrize("place", ["load", "read_history"])
def test_the_present_goes_on_while_a_moment_is_read(
    place: str, store: MemoryStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, _ = store.store_many(["a red cat", "a blue cat"])
    store.snapshot("then")
    store.update(record.id, importance=0.9)
    with MemoryStore(path, embedder=store.embedder) as store:  # no scope is resident
        with held(monkeypatch, store, place) as answer:
            new = in_time(lambda: store.store("a green cat"))
            assert len(in_time(lambda: store.recall("cat"))) == 3
            assert len(in_time(lambda: store.recall("cat", namespace=EVERYWHERE))) == 3
            assert in_time(lambda: store.count()) == 3
            in_time(lambda: store.update(new.id, content="a yellow cat"))
            assert not answer
        assert sorted(answer) == ["a blue cat", "a red cat"]


def test_a_moment_dropped_while_it_is_read_is_not_kept(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, secret = store.store_many(["a red cat", "a secret cat"])
    store.snapshot("then")
    store.update(record.id, importance=0.9)
    store.recall("cat")
    with held(monkeypatch, store, "read_history"):
        index = engine_of(store).index
        index.drop_moments()
    assert list(index._scopes.indexes) == ["default"]
    assert len(index._scopes._held) == 1
    store.erase(secret.id)
    assert [hit.memory.content for hit in store.recall("cat", as_of="then")] == ["a red cat"]


def test_moments_count_in_the_memory_of_the_store() -> None:
    with MemoryStore(embedder=HashEmbedder(32), max_resident=1) as store:
        store.store_many(["a red cat", "a blue cat"])
        lru = engine_of(store).index._scopes
        store.recall("cat")
        assert list(lru.indexes) == ["default"]
        assert len(store.recall("cat", as_of=1)) == 1
        assert not lru.indexes  # the moment is the scope in use
        store.recall("cat")
        assert len(lru._held) == 1


def test_a_moment_shares_texts_and_vectors_with_the_present() -> None:
    with MemoryStore(embedder=HashEmbedder(64)) as store:
        store.store_many([f"the cat number {n}" for n in range(200)])
        lru = engine_of(store).index._scopes
        store.recall("cat")
        alone = lru._bytes
        store.recall("cat", as_of=199)
        both = lru._bytes
        vectors = 200 * 64
        assert both - alone < lru._counted[None, "default"] - vectors
        lru.drop(lru.indexes["default"])
        assert lru._bytes >= both - alone + vectors  # nobody else has the vectors now


def test_a_moment_without_a_resident_scope_is_read_from_segments(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyword, "BLOCK_DOCUMENTS", 4)
    monkeypatch.setattr(resident, "BLOCK_DOCUMENTS", 4)
    with MemoryStore(path, embedder=HashEmbedder(16)) as store:
        store.store_many([f"the cat number {n}" for n in range(20)])
    told: list[str] = []
    monkeypatch.setattr(scope, "document", lambda record: told.append(record.content))
    with MemoryStore(path, embedder=HashEmbedder(16)) as store:
        assert len(store.recall("cat", k=30, as_of=17)) == 17
        assert not told
        assert not engine_of(store).index._scopes.indexes


NAMESPACES = ("a", "a/b", "c")
WORDS = ["red", "blue", "cat", "dog", "house"]
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4)
CHANGES = st.one_of(
    st.fixed_dictionaries({"content": TEXTS.map(" ".join)}),
    st.fixed_dictionaries({"importance": st.sampled_from([0.1, 0.9])}),
    st.fixed_dictionaries({"namespace": st.sampled_from(NAMESPACES)}),
    st.fixed_dictionaries({"thread": st.sampled_from(["t", "u"])}),
    st.fixed_dictionaries({"expires_at": st.sampled_from([1001.0, 1e6])}),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("store"), TEXTS.map(" ".join), st.sampled_from(NAMESPACES)),
        st.tuples(st.just("update"), st.integers(0, 40), CHANGES),
        st.tuples(st.sampled_from(["forget", "restore", "archive", "erase"]), st.integers(0, 40)),
        st.tuples(st.just("recall"), TEXTS.map(" ".join)),
        st.tuples(st.just("reopen")),
    ),
    max_size=14,
)


class Walk:
    """A store at *path* that takes steps, with threads, accesses and changes in every namespace."""

    def __init__(self, path: Path) -> None:
        self.path, self.clock, self.ids = path, Clock(), list[str]()
        self.store = self.open(path)

    def open(self, path: Path) -> MemoryStore:
        return MemoryStore(path, clock=self.clock, embedder=HashEmbedder(16), durability="normal")

    def take(self, steps: list[tuple[Any, ...]]) -> None:
        for verb, *args in steps:
            self.clock.now += 1
            if verb == "store":
                content, namespace = args
                thread = "t" if "dog" in content else None
                record = self.store.store(content, namespace=namespace, thread=thread)
                self.ids.append(record.id)
            elif verb == "recall":
                self.store.recall(args[0], namespace=EVERYWHERE, k=3)
            elif verb == "reopen":
                self.store.close()
                self.store = self.open(self.path)
            elif self.ids:
                self._change(verb, *args)

    def _change(self, verb: str, number: int, changes: dict[str, Any] | None = None) -> None:
        id = self.ids[number % len(self.ids)]
        record = self.store.get(id)
        if verb == "update":
            if record is not None and record.state == "live":
                self.store.update(id, **(changes or {}))
        elif verb == "erase":
            self.store.erase(id)
            self.ids.remove(id)
        elif verb == "restore":
            if record is None:
                self.store.restore(id)
        elif record is not None and record.state == "live":
            getattr(self.store, verb)(id)


def answers(store: MemoryStore, as_of: str | None, now: float) -> list[Any]:
    """Return what *store* recalls in every scope, with all numbers."""
    return [
        [(hit.memory, hit.score, hit.explain().signals) for hit in hits]
        for query in ("red cat", "a blue dog house")
        for scope in (*NAMESPACES, Subtree("a"), EVERYWHERE, ("a", "c"))
        if (hits := store.recall(query, k=50, namespace=scope, as_of=as_of, now=now, touch=False))
    ]


@pytest.mark.parametrize("small", [True, False])
@settings(max_examples=20)
@given(before=STEPS, after=STEPS)
def test_a_moment_answers_as_a_copy_made_then(
    small: bool, before: list[tuple[Any, ...]], after: list[tuple[Any, ...]]
) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        if small:
            for module, name, size in (
                *((keyword, "BLOCK_DOCUMENTS", 4), (keyword, "MERGED_BLOCKS", 2)),
                *((resident, "BLOCK_DOCUMENTS", 4), (resident, "_MIN_SAVED_ROWS", 2)),
                *((scope, "MIN_DEAD", 1), (resident, "_MIN_PAST_SHARE", 0.5)),
            ):
                patch.setattr(module, name, size)
        walk = Walk(Path(folder) / "memory.db")
        try:
            walk.take(before)
            moment = walk.store.snapshot("then")
            copied = Path(folder) / "copy.db"
            walk.store.backup(copied)
            # Erased records leave the past, too.
            walk.take([step for step in after if step[0] != "erase"])
            found = answers(walk.store, "then", moment.at)
        finally:
            walk.store.close()
        with walk.open(copied) as copy:
            assert found == answers(copy, None, moment.at)
