"""Of many records that are compared at once, each finds the one that says the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bethink import HashEmbedder, MemoryRecord, MemoryStore
from bethink.backends import EMBEDDED, Row
from bethink.verbs.nearness import Nearest

EMBEDDER = HashEmbedder(64)
LONG = "the nightly backup of the billing database runs on the small server in the cellar"


@pytest.fixture(autouse=True)
def _in_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bethink.verbs.nearness._AT_ONCE", 2)


def new(store: MemoryStore, *contents: str) -> list[Row]:
    """Return rows of another store with these *contents*."""
    with MemoryStore(embedder=EMBEDDER) as other:
        records = other.store_many(contents)
    vectors = EMBEDDER.embed(contents)
    return [
        Row(place, place, record, {EMBEDDED: vector})
        for place, (record, vector) in enumerate(zip(records, vectors, strict=True), 1)
    ]


def found(store: MemoryStore, nearest: Nearest, record: MemoryRecord) -> str | None:
    """Return the content of the record that is found for *record*."""
    with store._engine.backend.write() as writer:
        pair = nearest.to(writer, record)
    return None if pair is None else pair[1].content


def test_each_finds_its_like_in_whatever_block_it_is() -> None:
    with MemoryStore(embedder=EMBEDDER) as store:
        texts = [f"{LONG} of {name}" for name in ("Ann", "Ben", "Cleo", "Dan", "Eve")]
        store.store_many(texts)
        store.store(f"{LONG} of Fred", namespace="elsewhere")
        rows = new(store, *(f"{text} now" for text in texts), f"{LONG} of Fred", "a red cat")
        nearest = Nearest(store._engine, rows)
        assert [found(store, nearest, row.record) for row in rows] == [*texts, None, None]


def test_the_very_text_comes_before_what_is_nearly_it() -> None:
    with MemoryStore(embedder=EMBEDDER) as store:
        store.store_many([f"{LONG} now", LONG, f"{LONG} too"])
        (row,) = new(store, LONG)
        assert found(store, Nearest(store._engine, [row]), row.record) == LONG


def test_what_has_changed_or_gone_meanwhile_is_not_found() -> None:
    with MemoryStore(embedder=EMBEDDER) as store:
        gone, changed = store.store_many([LONG, f"{LONG} now"])
        (row,) = new(store, LONG)
        nearest = Nearest(store._engine, [row])
        store.update(changed.id, content=f"{LONG} of 2 houses")
        assert found(store, nearest, row.record) == LONG
        store.forget(gone.id)
        assert found(store, nearest, row.record) is None


def test_what_is_not_live_or_a_turn_of_a_talk_looks_for_nothing() -> None:
    with MemoryStore(embedder=EMBEDDER) as store:
        store.store(LONG)
        (row,) = new(store, LONG)
        for record in (
            replace(row.record, state="superseded"),
            replace(row.record, thread="t"),
            replace(row.record, content="", value=1),
        ):
            assert (
                found(store, Nearest(store._engine, [replace(row, record=record)]), record) is None
            )
