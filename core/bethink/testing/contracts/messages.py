"""The behaviour of message logs: the messages of a session, in order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import pytest

from ...errors import NotFoundError, ValidationError
from ...model.records import MemoryRecord
from .memories import VALUES

SESSIONS = ("", "/", "//", "a/b", "a", "b", ".", "..", "%", "a%2Fb", "*", "?", "[a]", "\\", "}",
            "{", "{}", ":", "\x00", "\udc80", "用户")  # fmt: skip

EVERY_FIELD: dict[str, Any] = {
    "id": "message 1",
    "content": "Ann drinks tea. 🦊",
    "value": {"call": [1, None, 0.1]},
    "author": "Ann",
    "category": "habit",
    "tags": ("tea", "用户"),
    "importance": 0.25,
    "confidence": 0.75,
    "source": "chat",
    "metadata": {"n": 2**70, "deep": {"list": [True]}},
    "occurred_at": 1_000_000_000.123456,
    "expires_at": 100_000_000_000.5,
}
"""The arguments of ``append`` that every log keeps; key, vectors and supersedes are not among."""


def texts(log: Any, last: int | None = None) -> list[str]:
    """Return the contents of the *last* messages."""
    return [record.content for record in log.messages(last)]


def say(log: Any, *contents: str) -> None:
    """Append messages with *contents*."""
    log.append({"content": content} for content in contents)


class MessageLogContract(ABC):
    """The behaviour of every message log; override ``kind`` and the fixture ``place``."""

    kind: ClassVar[Any]
    """The class: ``kind(place, session)``, and ``kind.sessions(place, namespace=...)``."""

    @pytest.fixture
    @abstractmethod
    def place(self) -> Any:
        """Return the first argument of ``kind``: an empty store, or a client of an empty server."""

    @pytest.fixture
    def log(self, place: Any) -> Any:
        """Return a log without messages."""
        return self.kind(place, "s1")

    def test_messages_keep_the_order_they_were_appended_in(self, log: Any) -> None:
        log.append(
            [{"content": "later", "occurred_at": 2e9}, {"content": "earlier", "occurred_at": 1e9}]
        )
        say(log, "last")
        assert texts(log) == ["later", "earlier", "last"]

    def test_last_shows_the_newest_in_order(self, log: Any) -> None:
        say(log, "a", "b", "c")
        shown = [texts(log, last) for last in (0, 1, 2, 2**70)]
        assert shown == [[], ["c"], ["b", "c"], ["a", "b", "c"]]

    @pytest.mark.parametrize("last", [-1, 1.5, True, "2"])
    def test_last_is_a_count(self, log: Any, last: Any) -> None:
        for verb in (log.messages, log.values):
            with pytest.raises(ValidationError):
                verb(last)

    def test_a_message_is_a_record_of_its_session(self, place: Any) -> None:
        log = self.kind(place, "s/1")
        (record,) = log.append([EVERY_FIELD])
        assert {name: getattr(record, name) for name in EVERY_FIELD} == EVERY_FIELD
        assert record.namespace == log.namespace == "messages/s%2F1"
        assert (record.thread, record.state, record.key) == ("s/1", "live", None)
        assert record.created_at == record.updated_at > 0
        assert log.messages() == [record]
        assert repr(log.messages()) == repr([record])

    def test_a_message_says_when_and_has_an_id_of_its_own(self, log: Any) -> None:
        appended = log.append([{"content": "a"}, {"content": "b"}])
        assert all(isinstance(each, MemoryRecord) for each in appended)
        assert all(each.occurred_at == each.created_at for each in appended)
        assert appended[0].id < appended[1].id
        assert log.messages() == appended

    @pytest.mark.parametrize("value", [each for each in VALUES.values() if each is not None])
    def test_a_value_comes_back_to_the_last_digit(self, log: Any, value: Any) -> None:
        log.append([{"content": "", "value": value, "metadata": {"held": value}}])
        (record,) = log.messages()
        assert repr((record.value, record.metadata)) == repr((value, {"held": value}))
        assert repr(log.values()) == repr([value])

    def test_appending_is_all_or_nothing(self, log: Any) -> None:
        for wrong in ({"importance": 7}, {"content": ""}, {"content": 3}, {"contents": "a"}):
            with pytest.raises(ValidationError):
                log.append([{"content": "good"}, {"content": "bad", **wrong}])
        assert log.count() == 0

    @pytest.mark.parametrize("messages", ["text", {"content": "a"}, 3, None, ["a"]])
    def test_messages_are_a_list_of_mappings(self, log: Any, messages: Any) -> None:
        with pytest.raises(ValidationError):
            log.append(messages)
        assert log.count() == 0

    @pytest.mark.parametrize("name", ["namespace", "thread"])
    def test_a_message_cannot_go_elsewhere(self, log: Any, name: str) -> None:
        with pytest.raises(ValidationError, match="namespace or thread"):
            log.append([{"content": "hello", name: "other"}])

    def test_an_id_is_given_once(self, log: Any) -> None:
        log.append([{"content": "a", "id": "one"}])
        for ids in (["one"], ["two", "two"], ["three", "one"]):
            with pytest.raises(ValidationError):
                log.append({"content": "b", "id": id} for id in ids)
        assert texts(log) == ["a"]

    def test_appending_nothing_returns_nothing(self, log: Any) -> None:
        assert log.append([]) == []
        assert log.count() == 0

    def test_appending_may_forget(self, log: Any) -> None:
        first, second = log.append([{"content": "a"}, {"content": "b"}])
        with pytest.raises(NotFoundError):
            log.append([{"content": "c"}], forget=[first.id, "unknown"])
        assert texts(log) == ["a", "b"]
        log.append([{"content": "c"}], forget=first.id)
        assert texts(log) == ["b", "c"]
        assert log.append([], forget=[second.id]) == []
        assert texts(log) == ["c"]

    def test_pop_takes_the_last_message(self, log: Any) -> None:
        appended = log.append([{"content": "a"}, {"content": "b"}])
        popped = [log.pop(), log.pop(), log.pop()]
        assert popped == [*appended[::-1], None]
        assert log.count() == 0

    def test_clear_empties_one_session_only(self, place: Any) -> None:
        log, other = self.kind(place, "s1"), self.kind(place, "s2")
        say(log, "a", "b")
        say(other, "c")
        assert log.clear() == 2
        assert log.clear() == 0
        assert (texts(log), texts(other)) == ([], ["c"])

    def test_parallel_writers_append_every_message_and_takers_pop_each_once(self, log: Any) -> None:
        def write(name: str) -> None:
            for n in range(10):
                say(log, f"{name}{n} first", f"{name}{n} second")

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(write, "abcd"))
            said = texts(log)
            taken = list(threads.map(lambda _: log.pop(), range(90)))
        assert [each.replace("first", "second") for each in said[::2]] == said[1::2]
        assert sorted(said[::2]) == sorted(f"{name}{n} first" for name in "abcd" for n in range(10))
        assert sorted(record.content for record in taken if record) == sorted(said)

    def test_values_are_those_of_the_messages(self, log: Any) -> None:
        log.append({"content": "", "value": value} for value in ({"a": [1]}, "b", 0))
        log.append([{"content": "gone", "value": 1, "expires_at": -1e9}, {"content": "text"}])
        values = [log.values(last) for last in (None, 2, 0)]
        assert values == [[{"a": [1]}, "b", 0, None], [0, None], []]
        assert values[0] == [record.value for record in log.messages()]

    def test_what_has_expired_is_gone(self, log: Any) -> None:
        log.append([{"content": "a"}, {"content": "b", "expires_at": -1e9}])
        say(log, "c")
        log.append([{"content": "d", "expires_at": "1938-01-02"}])
        assert (texts(log), texts(log, 2), log.count()) == (["a", "c"], ["a", "c"], 2)
        popped = log.pop()
        assert (popped.content, texts(log), log.clear()) == ("c", ["a"], 1)

    def test_no_session_sees_another(self, place: Any) -> None:
        for session in SESSIONS:
            say(self.kind(place, session), f"of {session!r}")
        said = [texts(self.kind(place, session)) for session in SESSIONS]
        assert said == [[f"of {session!r}"] for session in SESSIONS]

    def test_sessions_are_listed_by_their_own_names(self, place: Any) -> None:
        for session in SESSIONS:
            say(self.kind(place, session), "hello")
        say(self.kind(place, "elsewhere", namespace="users/ann"), "hello")
        assert self.kind.sessions(place) == sorted(SESSIONS)
        assert self.kind.sessions(place, namespace="users/ann") == ["elsewhere"]
        assert self.kind.sessions(place, namespace="users") == []
        with pytest.raises(ValidationError):
            self.kind.sessions(place, namespace=3)

    def test_a_session_without_messages_is_not_listed(self, place: Any) -> None:
        cleared, expired, popped = (self.kind(place, name) for name in ("s1", "s2", "s3"))
        say(cleared, "hello")
        cleared.clear()
        expired.append([{"content": "gone", "expires_at": -1e9}])
        say(popped, "hello")
        popped.pop()
        assert self.kind.sessions(place) == []

    @pytest.mark.parametrize("session", [None, 7, b"s"])
    def test_a_session_is_a_text(self, place: Any, session: object) -> None:
        with pytest.raises(ValidationError):
            self.kind(place, session)
