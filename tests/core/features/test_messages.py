from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bethink import CorruptStoreError, MemoryStore, MessageLog, Subtree
from bethink.adapting import Page, values
from bethink.testing.contracts import MessageLogContract
from bethink.testing.contracts.messages import say, texts

KEYS = {"plain": None, "keyed": b"a key of some bytes"}


class TestMessageLog(MessageLogContract):
    kind = MessageLog

    @pytest.fixture(params=KEYS)
    def place(self, request: pytest.FixtureRequest) -> Iterator[MemoryStore]:
        with MemoryStore(integrity_key=KEYS[request.param]) as store:
            yield store


def test_a_message_is_found_by_its_id(store: MemoryStore) -> None:
    (record,) = MessageLog(store, "s/1").append([{"content": "hello", "author": "Ann"}])
    assert store.get(record.id) == record


def test_appending_nothing_writes_nothing(store: MemoryStore) -> None:
    assert MessageLog(store, "s1").append([]) == []
    assert store.log() == []


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_values_pass_the_filter(key: bytes | None) -> None:
    with MemoryStore(integrity_key=key) as store:
        for value in range(6):
            metadata = {"odd": value % 2, "name": f"n{value}"}
            store.store("", value=value, category="ab"[value % 2], metadata=metadata)
        page = Page(2, 1)
        by_column = values(store, namespace="default", where={"category": "b"}, page=page)
        by_json = values(store, namespace="default", where={"metadata.odd": 1}, page=page)
        assert by_column == by_json == [3, 5]
        assert values(store, namespace="default", where={"metadata.name": "n4"}) == [4]
        names = values(store, namespace="default", path=("metadata", "name"), page=Page(2))
        assert names == ["n0", "n1"]


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_only_the_values_of_changed_messages_are_edited(key: bytes | None) -> None:
    def edit(value: int, content: str) -> str:
        return f"{value} {content}"

    with MemoryStore(integrity_key=key) as store:
        log = MessageLog(store, "s1")
        _, second, _ = log.append({"content": "said", "value": value} for value in (1, 2, 3))
        store.update(second.id, content="edited")
        place, seq = log.namespace, store.log(limit=1)[0].seq
        assert values(store, namespace=place, edit=edit) == [1, "2 edited", 3]
        log.pop()
        found = store.as_of(seq)._engine.backend.values_and_contents(
            place, None, Page(2, descending=True)
        )
        assert list(found) == [(3, None), (2, "edited")]


def test_the_past_has_the_values_of_its_messages(store: MemoryStore) -> None:
    log = MessageLog(store, "s1")
    log.append({"content": "", "value": value} for value in (1, 2))
    seq = store.log(limit=1)[0].seq
    log.pop()
    past = store.as_of(seq)._engine.backend
    found = past.values(log.namespace, None, Page(9, descending=True))
    assert [value for _, value in found] == [2, 1]
    assert log.values() == [1]


def test_a_damaged_value_is_not_returned(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "memory.db") as store:
        MessageLog(store, "s1").append([{"content": "", "value": [1]}])
        with closing(sqlite3.connect(store.location)) as connection:
            connection.execute("UPDATE records SET value = '[1] 2'")
            connection.commit()
        with pytest.raises(CorruptStoreError, match="damaged JSON"):
            MessageLog(store, "s1").values()


def test_making_a_log_writes_nothing(store: MemoryStore) -> None:
    MessageLog(store, "s1")
    store.close()
    MessageLog(store, "s2")


def test_messages_survive_reopening(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "memory.db") as store:
        say(MessageLog(store, "s1"), "a", "b")
    with MemoryStore(tmp_path / "memory.db") as store:
        assert texts(MessageLog(store, "s1")) == ["a", "b"]


def test_messages_are_recalled_like_any_memory(store: MemoryStore) -> None:
    say(MessageLog(store, "s1"), "The parrot is called Quetzal.", "It rains.")
    hits = store.recall("What is the parrot called?", namespace=Subtree("messages"))
    assert hits[0].memory.content == "The parrot is called Quetzal."
