"""More memories than the newest part of an index holds: the older ones are found like the newest.

4,096 documents become one frozen block. Every question here is asked of a memory in the block and
of a memory after the block.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bethink import HashEmbedder, MemoryStore

from ..clock import Clock

BLOCK = 4096
OLD = "Sono allergico alle arachidi"
NEW = "L'allergia di Anna passa presto"


def opened(path: str) -> MemoryStore:
    return MemoryStore(path, embedder=HashEmbedder(8), clock=Clock(), durability="normal")


def fill(store: MemoryStore) -> None:
    store.store(OLD, id="old", author="Zoë Ferrars")
    store.store("Il treno parte", id="dead")
    store.store_many(f"nota {number}" for number in range(BLOCK - 2))
    store.store(NEW, id="new")
    store.store("Il treno arriva", id="alive")
    store.forget("dead")


@pytest.fixture(scope="module", params=["grown", "saved"])
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MemoryStore]:
    """Yield a store whose index grew with the writes, or came from the file."""
    saved = request.param == "saved"
    path = str(tmp_path_factory.mktemp("large") / "memory.db") if saved else ":memory:"
    with opened(path) as store:
        store.recall("nothing yet")
        fill(store)
        if not saved:
            yield store
    if saved:
        with opened(path) as store:
            yield store


def found(store: MemoryStore, query: str, k: int = 5, as_of: int | None = None) -> list[str]:
    hits = store.recall(query, k=k, mode="keyword", touch=False, as_of=as_of)
    return [hit.memory.id for hit in hits]


def test_another_form_of_a_word_is_found(store: MemoryStore) -> None:
    assert set(found(store, "Che allergie ho?")) == {"old", "new"}


def test_what_an_author_said_is_found_by_name(store: MemoryStore) -> None:
    assert found(store, "What did Ferrars say?") == ["old"]


def test_what_was_forgotten_is_not_found(store: MemoryStore) -> None:
    assert found(store, "treno") == ["alive"]


def test_a_word_of_many_memories_finds_them_all(store: MemoryStore) -> None:
    assert len(found(store, "nota", k=BLOCK)) == BLOCK - 2


def test_a_moment_is_asked_alike(store: MemoryStore) -> None:
    then = BLOCK + 2  # before "dead" was forgotten
    assert found(store, "What did Ferrars say?", as_of=then) == ["old"]
    assert set(found(store, "treno", as_of=then)) == {"dead", "alive"}


def test_the_words_of_a_change_take_the_place_of_the_old_ones(store: MemoryStore) -> None:
    before = store.get("old")
    store.update("old", content="Il gatto dorme")
    changed = found(store, "arachidi"), found(store, "gatto")
    store.update("old", content=OLD)
    assert changed == ([], ["old"])
    assert before is not None
    assert before.content == OLD
    assert (found(store, "arachidi"), found(store, "gatto")) == (["old"], [])
