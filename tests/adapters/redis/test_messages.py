"""The message log on Redis: the contract on every kind of client, and the ways of a server."""

from __future__ import annotations

from typing import Any

import pytest
from redis import Redis, RedisCluster

from bethink import CorruptStoreError, StorageError, ValidationError
from bethink.testing import FrozenClock
from bethink.testing.contracts import MessageLogContract
from bethink.testing.contracts.messages import EVERY_FIELD, say, texts
from bethink_adapters.redis import RedisMessageLog


class TestRedisMessageLog(MessageLogContract):
    kind = RedisMessageLog

    @pytest.fixture
    def place(self, client: Redis | RedisCluster) -> Redis | RedisCluster:
        return client


@pytest.mark.parametrize("more", [{"key": "k"}, {"vectors": {"v": [1.0]}}, {"supersedes": "old"}])
def test_a_message_with_what_only_a_store_can_keep_is_refused(
    plain: Redis, more: dict[str, Any]
) -> None:
    log = RedisMessageLog(plain, "s1")
    with pytest.raises(ValidationError, match="no key, no vectors"):
        log.append([{"content": "good"}, {"content": "bad", **more}])
    log.append([{"content": "good", **dict.fromkeys(more)}])
    assert texts(log) == ["good"]


def test_a_wrong_message_is_named_by_its_number(plain: Redis) -> None:
    with pytest.raises(ValidationError, match="item 1: importance"):
        RedisMessageLog(plain, "s1").append([{"content": "a"}, {"content": "b", "importance": 7}])


def test_a_message_expires_when_its_time_has_come(plain: Redis) -> None:
    clock = FrozenClock(1000.0)
    log = RedisMessageLog(plain, "s1", clock=clock)
    log.append({"content": f"until {end}", "expires_at": end} for end in (1002.0, 1001.5, None))
    assert log.messages()[0].created_at == 1000.0
    assert (log.count(), RedisMessageLog.sessions(plain, clock=clock)) == (3, ["s1"])
    clock.set(1001.5)
    assert texts(log) == ["until 1002.0", "until None"]
    clock.set(1002.0)
    assert (texts(log, 2), log.count()) == (["until None"], 1)
    log.append([{"content": "the next write removes the expired messages"}])
    assert plain.zcard("bethink:{log/messages/s1}:expiring") == 0
    assert log.count() == 2


def test_an_expired_message_frees_its_id_and_cannot_be_forgotten(plain: Redis) -> None:
    clock = FrozenClock(1000.0)
    log = RedisMessageLog(plain, "s1", clock=clock)
    log.append([{"content": "a", "id": "one", "expires_at": 1001.0}])
    clock.advance(1)
    with pytest.raises(KeyError):
        log.append([], forget="one")
    log.append([{"content": "b", "id": "one"}])
    assert texts(log) == ["b"]


def test_forgetting_twice_in_one_call_is_forgetting_once(plain: Redis) -> None:
    log = RedisMessageLog(plain, "s1")
    (record,) = log.append([{"content": "a"}])
    assert log.append([], forget=[record.id, record.id]) == []
    assert log.count() == 0


def test_an_id_belongs_to_a_session(plain: Redis) -> None:
    for session in ("s1", "s2"):
        RedisMessageLog(plain, session).append([EVERY_FIELD])
    assert RedisMessageLog.sessions(plain) == ["s1", "s2"]


def test_a_cleared_log_leaves_nothing_in_the_server(plain: Redis) -> None:
    log = RedisMessageLog(plain, "s1")
    log.append([{"content": "a"}, {"content": "b", "expires_at": 9e11}])
    assert log.clear() == 2
    log.append([{"content": "c", "expires_at": 9e11}])
    log.pop()
    assert plain.keys() == []


def test_a_namespace_with_marks_of_patterns_lists_its_own_sessions(plain: Redis) -> None:
    for namespace in ("a*", "ab", "[ab]", "a?", "a\\*", "a-b", "^a"):
        say(RedisMessageLog(plain, f"of {namespace}", namespace=namespace), "hello")
        assert RedisMessageLog.sessions(plain, namespace=namespace) == [f"of {namespace}"]


@pytest.mark.parametrize("damaged", ["[1", "{}", "[]", '{"tags": [], "x": 1}'])
def test_a_damaged_message_is_not_returned(plain: Redis, damaged: str) -> None:
    log = RedisMessageLog(plain, "s1")
    (record,) = log.append([{"content": "a"}])
    plain.hset("bethink:{log/messages/s1}:records", record.id, damaged)
    with pytest.raises(CorruptStoreError, match="damaged"):
        log.messages()


def test_a_server_that_is_not_there_is_a_storage_error(nobody: Redis) -> None:
    log = RedisMessageLog(nobody, "s1")
    assert (log.append([]), log.messages(0)) == ([], [])
    for verb in (log.messages, log.count, lambda: RedisMessageLog.sessions(nobody)):
        with pytest.raises(StorageError, match="nothing was read"):
            verb()
    with pytest.raises(StorageError, match="whether the write is there is not known"):
        say(log, "a")


def test_a_thousand_messages_are_appended_and_read_at_once(plain: Redis) -> None:
    log = RedisMessageLog(plain, "s1")
    appended = log.append({"content": str(number)} for number in range(1000))
    assert log.messages() == appended
    assert log.messages(3) == appended[-3:]


def test_a_span_in_place_of_the_time_of_expiry_is_refused(plain: Redis) -> None:
    log = RedisMessageLog(plain, "s1")
    with pytest.raises(ValidationError, match="must be a time, not a span of 60 seconds"):
        log.append([{"content": "a"}, {"content": "b", "expires_at": 60}])
    assert log.count() == 0
