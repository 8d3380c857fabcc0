"""Writes that wait for replicas: on a replica, behind a sentinel, in a cluster."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import Sentinel

from bethink import StorageError, ValidationError
from bethink.testing.contracts import KeyedMemoryContract, MessageLogContract
from bethink_adapters.redis import NotReplicatedError, RedisKeyedMemory, RedisMessageLog

from .servers import RedisServer, keys_in_slot, moving_slot, replicated, until, watching
from .test_durability import until_it_fails


class Waiting:
    """Every kind of client with replicas."""

    @pytest.fixture(params=["plain", "cluster"])
    def place(self, request: pytest.FixtureRequest, pair: list[RedisServer]) -> Any:
        if request.param == "cluster":
            return request.getfixturevalue("cluster")
        pair[0].client.flushall()
        return pair[0].client


class TestWaitingMemory(Waiting, KeyedMemoryContract):
    @staticmethod
    def kind(place: Any, **options: Any) -> RedisKeyedMemory:
        return RedisKeyedMemory(place, wait=1, wait_seconds=4.0, **options)


class WaitingLog(RedisMessageLog):
    def __init__(self, client: Any, session: str, **options: Any) -> None:
        super().__init__(client, session, wait=1, wait_seconds=4.0, **options)


class TestWaitingLog(Waiting, MessageLogContract):
    kind = WaitingLog


def test_an_acknowledged_write_is_on_the_replica(pair: list[RedisServer]) -> None:
    primary, replica = pair
    primary.client.flushall()
    memory = RedisKeyedMemory(primary.client, wait=1, wait_seconds=4.0)
    copy = RedisKeyedMemory(replica.client)
    for number in range(200):
        memory.remember("k", number)
        assert copy.recall("k") == number
        assert memory.increment("n") == copy.recall("n") == number + 1


def test_a_replica_reads_a_log_whose_messages_have_expired(pair: list[RedisServer]) -> None:
    primary, replica = pair
    primary.client.flushall()
    log = WaitingLog(primary.client, "s", clock=lambda: 50.0)
    log.append(
        {"content": each, "occurred_at": 0.0, "expires_at": expiry}
        for each, expiry in (("one", None), ("two", 60.0), ("three", 90.0), ("four", 60.0))
    )
    copy = RedisMessageLog(replica.client, "s", clock=lambda: 70.0)
    assert [each.content for each in copy.messages()] == ["one", "three"]
    assert [[each.content for each in copy.messages(n)] for n in (0, 1, 2, 3)] == [
        [],
        ["three"],
        ["one", "three"],
        ["one", "three"],
    ]
    assert (copy.count(), log.count()) == (2, 4)


def test_a_write_without_enough_replicas_is_told_and_is_on_the_primary(
    pair: list[RedisServer],
) -> None:
    primary = pair[0].client
    primary.flushall()
    memory = RedisKeyedMemory(primary, wait=2, wait_seconds=0.05)
    log = RedisMessageLog(primary, "s1", wait=2, wait_seconds=0.05)
    writes: list[Callable[[], Any]] = [
        lambda: memory.remember("k", 1),
        lambda: memory.increment("k"),
        lambda: memory.increment("k", 0.5),
        lambda: memory.compare_and_set("k", 2.5, 3),
        lambda: memory.update("k", lambda n: n + 1),
        lambda: log.append([{"content": "a"}, {"content": "b"}]),
        log.pop,
    ]
    for write in writes:
        with pytest.raises(NotReplicatedError, match="of 2 replicas"):
            write()
    assert (memory.recall("k"), [each.content for each in log.messages()]) == (4, ["a"])
    for clear in (lambda: memory.forget("k"), log.clear):
        with pytest.raises(NotReplicatedError):
            clear()
    assert primary.keys() == []
    with pytest.raises(NotReplicatedError, match="1 of 2 replicas") as raised:
        RedisKeyedMemory(primary, wait=2, wait_seconds=2.0).remember("k", 1)
    assert (raised.value.wanted, raised.value.confirmed) == (2, 1)


def test_what_changes_nothing_needs_no_replica(plain: Redis) -> None:
    memory = RedisKeyedMemory(plain, wait=1, wait_seconds=0.01)
    log = RedisMessageLog(plain, "s1", wait=1, wait_seconds=0.01)
    assert not memory.compare_and_set("k", 1, 2)
    assert (memory.forget("k"), memory.clear(), log.pop(), log.clear()) == (False, 0, None, 0)
    with pytest.raises(KeyError):
        log.append([], forget="unknown")


def test_a_replica_that_stands_still_confirms_nothing(pair: list[RedisServer]) -> None:
    primary, replica = pair
    primary.client.flushall()
    with replica.frozen(), pytest.raises(NotReplicatedError, match="0 of 1"):
        RedisKeyedMemory(primary.client, wait=1, wait_seconds=0.1).remember("k", 1)
    until(lambda: RedisKeyedMemory(replica.client).recall("k") == 1)


def test_the_client_waits_longer_than_the_server() -> None:
    with Redis(port=1, socket_timeout=2.0) as client:
        RedisKeyedMemory(client, wait_seconds=2.0)
        RedisKeyedMemory(client, wait=1, wait_seconds=1.9)
        for make in (RedisKeyedMemory, partial(RedisMessageLog, session="s1")):
            with pytest.raises(ValidationError, match="less than the client's socket_timeout, 2 s"):
                make(client, wait=1, wait_seconds=2.0)


def test_an_error_of_the_server_is_a_storage_error(pair: list[RedisServer]) -> None:
    primary = pair[0].client
    primary.flushall()
    primary.set("bethink:{keyed/working}:values", "text")
    with pytest.raises(StorageError, match="WRONGTYPE"):
        RedisKeyedMemory(primary, wait=1).remember("k", 1)


def test_a_server_that_forgets_its_scripts_is_told_again(pair: list[RedisServer]) -> None:
    memory = RedisKeyedMemory(pair[0].client, namespace="told again", wait=1, wait_seconds=4.0)
    for number in range(3):
        pair[0].client.script_flush()
        memory.remember("n", number)
        assert memory.increment("n") == number + 1


def test_the_error_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(NotReplicatedError(2, 1)))
    assert (error.wanted, error.confirmed, str(error)) == (2, 1, str(NotReplicatedError(2, 1)))


def test_what_a_replica_confirmed_survives_the_primary() -> None:
    with (
        replicated(1) as (primary, replica),
        Redis(port=primary.port, retry=Retry(NoBackoff(), 0)) as client,
        ThreadPoolExecutor(4) as threads,
    ):
        memory = RedisKeyedMemory(client, wait=1, wait_seconds=4.0)
        writers = [threads.submit(until_it_fails, lambda _: memory.increment("n")) for _ in "abcd"]
        until(lambda: memory.recall("n", 0) > 500)
        primary.kill()
        acknowledged = sum(each.result() for each in writers)
        replica.client.replicaof("NO", "ONE")
        found = RedisKeyedMemory(replica.client).recall("n")
        assert acknowledged <= found <= acknowledged + 4


def test_a_memory_behind_a_sentinel_goes_on_with_the_new_primary() -> None:
    with replicated(1) as (primary, replica), watching(primary, 1000) as watcher:
        sentinel: Any = Sentinel([("127.0.0.1", watcher.port)])  # type: ignore[no-untyped-call]
        with sentinel.master_for("primary", retry=Retry(NoBackoff(), 0)) as client:
            memory = RedisKeyedMemory(client, wait=1, wait_seconds=2.0)
            log = RedisMessageLog(client, "s1", wait=1, wait_seconds=2.0)
            memory.remember("k", "before")
            log.append([{"content": "before"}])
            primary.kill()
            with pytest.raises(StorageError):
                memory.remember("k", "meanwhile")
            until(lambda: replica.client.role()[0] == "master")
            until(lambda: watcher.client.sentinel_master("primary")["port"] == replica.port)
            assert memory.recall("k") == "before"
            with pytest.raises(NotReplicatedError, match="0 of 1"):
                memory.remember("k", "alone")
            after = RedisKeyedMemory(client)
            assert (after.recall("k"), after.increment("n")) == ("alone", 1)
            assert [each.content for each in log.messages()] == ["before"]
        for each in sentinel.sentinels:
            each.close()


def test_memories_are_spread_over_a_cluster_and_each_is_in_one_slot(
    cluster: Any, nodes: list[RedisServer]
) -> None:
    for number in range(60):
        memory = RedisKeyedMemory(cluster, namespace=f"users/{number}")
        memory.remember("k", number)
        slots = {cluster.keyslot(name) for name in memory._keys}
        assert len(slots) == 1
    held = [server.client.dbsize() for server in nodes[:3]]
    assert (sum(held), min(held) > 15) == (180, True)


@pytest.mark.parametrize("wait", [0, 1])
def test_a_slot_that_moves_takes_its_memory_along(
    cluster: Any, nodes: list[RedisServer], wait: int
) -> None:
    memory = RedisKeyedMemory(cluster, namespace=f"moving/{wait}", wait=wait, wait_seconds=4.0)
    memory.remember("k", 1)
    slot = cluster.keyslot(memory._keys[0])
    source = next(server for server in nodes[:3] if keys_in_slot(server, slot))
    target, rest = (server for server in nodes[:3] if server is not source)
    with moving_slot(slot, source, target, [rest]):
        assert (keys_in_slot(source, slot), keys_in_slot(target, slot)) == (0, 3)
        assert memory.increment("k") == 2
    assert memory.increment("k") == 3
    assert memory.items() == [("k", 3)]
    with moving_slot(slot, target, source, [rest]):
        pass
    assert memory.increment("k") == 4
