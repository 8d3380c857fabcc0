from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from bethink import CorruptStoreError, MemoryStore, MessageLog, Subtree, ValidationError
from bethink.adapting import Page, values

HOSTILE = ("", "/", "//", "a/b", "a", "b", ".", "..", "%", "a%2Fb", "*", "\x00", "\udc80", "用户")


def texts(log: MessageLog, last: int | None = None) -> list[str]:
    return [record.content for record in log.messages(last)]


def say(log: MessageLog, *contents: str) -> None:
    log.append({"content": content} for content in contents)


def test_messages_keep_the_order_they_were_appended_in(store: MemoryStore) -> None:
    log = MessageLog(store, "s1")
    log.append(
        [{"content": "later", "occurred_at": 2e9}, {"content": "earlier", "occurred_at": 1e9}]
    )
    say(log, "last")
    assert texts(log) == ["later", "earlier", "last"]


def test_last_shows_the_newest_in_order(store: MemoryStore) -> None:
    log = MessageLog(store, "s1")
    say(log, "a", "b", "c")
    assert [texts(log, last) for last in (0, 1, 2, 9)] == [[], ["c"], ["b", "c"], ["a", "b", "c"]]


def test_last_must_not_be_negative(store: MemoryStore) -> None:
    with pytest.raises(ValidationError):
        MessageLog(store, "s1").messages(-1)


def test_a_message_is_a_record_of_its_session(store: MemoryStore) -> None:
    log = MessageLog(store, "s/1")
    (record,) = log.append(
        [{"content": "", "value": {"call": 1}, "author": "Ann", "metadata": {"n": 2}}]
    )
    assert record.namespace == log.namespace == "messages/s%2F1"
    assert (record.thread, record.author, record.content) == ("s/1", "Ann", "")
    assert (record.value, record.metadata) == ({"call": 1}, {"n": 2})
    assert store.get(record.id) == record


def test_appending_is_all_or_nothing(store: MemoryStore) -> None:
    log = MessageLog(store, "s1")
    with pytest.raises(ValidationError):
        log.append([{"content": "good"}, {"content": "bad", "importance": 7}])
    assert log.count() == 0


@pytest.mark.parametrize("name", ["namespace", "thread"])
def test_a_message_cannot_go_elsewhere(store: MemoryStore, name: str) -> None:
    with pytest.raises(ValidationError, match="namespace or thread"):
        MessageLog(store, "s1").append([{"content": "hello", name: "other"}])


def test_appending_nothing_writes_nothing(store: MemoryStore) -> None:
    assert MessageLog(store, "s1").append([]) == []
    assert store.log() == []


def test_pop_takes_the_last_message(store: MemoryStore) -> None:
    log = MessageLog(store, "s1")
    say(log, "a", "b")
    popped = [log.pop(), log.pop(), log.pop()]
    assert [record and record.content for record in popped] == ["b", "a", None]
    assert log.count() == 0


def test_clear_empties_one_session_only(store: MemoryStore) -> None:
    log, other = MessageLog(store, "s1"), MessageLog(store, "s2")
    say(log, "a", "b")
    say(other, "c")
    assert log.clear() == 2
    assert log.clear() == 0
    assert (texts(log), texts(other)) == ([], ["c"])


def test_parallel_takers_pop_each_message_once(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "memory.db") as store, ThreadPoolExecutor(4) as takers:
        log = MessageLog(store, "s1")
        say(log, *map(str, range(40)))
        taken = list(takers.map(lambda _: log.pop(), range(50)))
    contents = [record.content for record in taken if record]
    assert sorted(contents, key=int) == list(map(str, range(40)))


@pytest.mark.parametrize("key", [None, b"a key of some bytes"], ids=["plain", "keyed"])
def test_values_are_those_of_the_messages(key: bytes | None) -> None:
    with MemoryStore(clock=lambda: 5.0, integrity_key=key) as store:
        log = MessageLog(store, "s1")
        log.append({"content": "", "value": value} for value in ({"a": [1]}, "b", 0))
        log.append([{"content": "gone", "value": 1, "expires_at": 4.0}, {"content": "text"}])
        values = [log.values(last) for last in (None, 2, 0)]
        assert values == [[{"a": [1]}, "b", 0, None], [0, None], []]
        assert values[0] == [record.value for record in log.messages()]


@pytest.mark.parametrize("key", [None, b"a key of some bytes"], ids=["plain", "keyed"])
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


def test_the_past_has_the_values_of_its_messages(store: MemoryStore) -> None:
    log = MessageLog(store, "s1")
    log.append({"content": "", "value": value} for value in (1, 2))
    seq = store.log(limit=1)[0].seq
    log.pop()
    past = store.as_of(seq)._engine.backend
    assert past.values(log.namespace, None, Page(9, descending=True)) == [2, 1]
    assert log.values() == [1]


def test_a_damaged_value_is_not_returned(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "memory.db") as store:
        MessageLog(store, "s1").append([{"content": "", "value": [1]}])
        with closing(sqlite3.connect(store.location)) as connection:
            connection.execute("UPDATE records SET value = '[1] 2'")
            connection.commit()
        with pytest.raises(CorruptStoreError, match="damaged JSON"):
            MessageLog(store, "s1").values()


def test_no_session_sees_another(store: MemoryStore) -> None:
    for session in HOSTILE:
        say(MessageLog(store, session), f"of {session!r}")
    assert [texts(MessageLog(store, session)) for session in HOSTILE] == [
        [f"of {session!r}"] for session in HOSTILE
    ]


def test_sessions_are_listed_by_their_own_names(store: MemoryStore) -> None:
    for session in HOSTILE:
        say(MessageLog(store, session), "hello")
    say(MessageLog(store, "elsewhere", namespace="users/ann"), "hello")
    assert MessageLog.sessions(store) == sorted(HOSTILE)
    assert MessageLog.sessions(store, namespace="users/ann") == ["elsewhere"]
    assert MessageLog.sessions(store, namespace="users") == []
    with pytest.raises(ValidationError):
        MessageLog.sessions(store, namespace=3)  # type: ignore[arg-type]


def test_a_cleared_session_is_not_listed(store: MemoryStore) -> None:
    log = MessageLog(store, "s1")
    say(log, "hello")
    log.clear()
    assert MessageLog.sessions(store) == []


def test_making_a_log_writes_nothing(store: MemoryStore) -> None:
    MessageLog(store, "s1")
    store.close()
    MessageLog(store, "s2")


@pytest.mark.parametrize("session", [None, 7, b"s"])
def test_a_session_is_a_text(store: MemoryStore, session: object) -> None:
    with pytest.raises(ValidationError):
        MessageLog(store, session)  # type: ignore[arg-type]


def test_messages_survive_reopening(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "memory.db") as store:
        say(MessageLog(store, "s1"), "a", "b")
    with MemoryStore(tmp_path / "memory.db") as store:
        assert texts(MessageLog(store, "s1")) == ["a", "b"]


def test_messages_are_recalled_like_any_memory(store: MemoryStore) -> None:
    say(MessageLog(store, "s1"), "The parrot is called Quetzal.", "It rains.")
    hits = store.recall("What is the parrot called?", namespace=Subtree("messages"))
    assert hits[0].memory.content == "The parrot is called Quetzal."
