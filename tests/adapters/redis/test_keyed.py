"""The keyed memory on Redis: the contract on every kind of client, and the ways of a server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis import Redis, RedisCluster

from bethink import (
    CorruptStoreError,
    KeyedMemory,
    MemoryStore,
    StorageError,
    StoreBusyError,
    ValidationError,
)
from bethink.testing.contracts import KeyedMemoryContract
from bethink.testing.contracts.memories import in_another_thread
from bethink_adapters.redis import RedisKeyedMemory, RedisMessageLog, keyed

from ...core.storage.processes import forks, together
from .servers import RedisServer

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
KEYS = st.text(min_size=1, max_size=20).filter(str.strip)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("remember"), st.sampled_from("abc"), JSON),
        st.tuples(st.just("increment"), st.sampled_from("abc"), st.integers() | st.just(0.5)),
        st.tuples(st.just("compare_and_set"), st.sampled_from("abc"), JSON, JSON),
        st.tuples(st.just("forget"), st.sampled_from("abc")),
        st.tuples(st.just("clear")),
        st.tuples(st.just("recent"), st.integers(0, 4)),
    ),
    max_size=20,
)


class TestRedisKeyedMemory(KeyedMemoryContract):
    kind = RedisKeyedMemory

    @pytest.fixture
    def place(self, client: Redis | RedisCluster) -> Redis | RedisCluster:
        return client


@given(key=KEYS, value=JSON)
def test_any_json_comes_back_under_any_key(server: RedisServer, key: str, value: Any) -> None:
    memory = RedisKeyedMemory(server.client)
    memory.remember(key, value)
    assert repr(memory.recall(key, "default")) == repr(value)
    assert memory.compare_and_set(key, value, 1)


@given(steps=STEPS)
def test_every_answer_is_that_of_a_store(server: RedisServer, steps: list[Any]) -> None:
    server.client.flushall()
    with MemoryStore() as store:
        pair = RedisKeyedMemory(server.client), KeyedMemory(store)
        for verb, *arguments in steps:
            assert len({said(memory, verb, arguments) for memory in pair}) == 1
            assert len({repr((memory.items(), memory.recent(9))) for memory in pair}) == 1


def said(memory: Any, verb: str, arguments: list[Any]) -> str:
    """Return what a verb answers, or the refusal."""
    try:
        return repr(getattr(memory, verb)(*arguments))
    except ValidationError as error:
        return str(error)


def test_a_server_that_is_not_there_is_a_storage_error(nobody: Redis) -> None:
    memory = RedisKeyedMemory(nobody)
    assert memory.recent(0) == ()
    for verb in (lambda: memory.recall("k"), memory.items, memory.count):
        with pytest.raises(StorageError, match="nothing was read"):
            verb()
    with pytest.raises(StorageError, match="whether the write is there is not known"):
        memory.remember("k", 1)


def test_what_is_refused_is_refused_before_the_server_is_asked(nobody: Redis) -> None:
    memory = RedisKeyedMemory(nobody)
    wrong: list[Callable[[], Any]] = [
        lambda: memory.remember("k", object()),
        lambda: memory.remember(" ", 1),
        lambda: memory.recall(""),
        lambda: memory.increment("k", "1"),  # type: ignore[arg-type]
        lambda: memory.increment("k", 10**5000),
        lambda: memory.compare_and_set("k", {1, 2}, 1),
        lambda: memory.update("k", None),  # type: ignore[arg-type]
        lambda: memory.recent(-1),
    ]
    for call in wrong:
        with pytest.raises(ValidationError):
            call()


@pytest.mark.parametrize("given", ["redis://localhost", None, 6379, Redis])
def test_a_client_is_a_client_of_redis_py(given: Any) -> None:
    with pytest.raises(ValidationError, match=r"client must be a redis\.Redis"):
        RedisKeyedMemory(given)


def test_neither_an_asynchronous_client_nor_a_pipeline_will_do(plain: Redis) -> None:
    from redis.asyncio import Redis as AsyncRedis

    for other in (AsyncRedis(), plain.pipeline()):
        with pytest.raises(ValidationError, match="not redis"):
            RedisKeyedMemory(other)  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"wait": -1}, {"wait": 1.5}, {"wait_seconds": 0.0}])
def test_waiting_is_a_count_and_seconds(plain: Redis, options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RedisKeyedMemory(plain, **options)


def test_a_server_that_forgets_its_scripts_is_told_again(plain: Redis) -> None:
    memory = RedisKeyedMemory(plain)
    for number in range(3):
        plain.script_flush()
        assert memory.increment("n") == number + 1
        assert memory.recall("n") == number + 1


def test_a_memory_that_is_cleared_leaves_nothing_in_the_server(plain: Redis) -> None:
    memory = RedisKeyedMemory(plain)
    for key in "abc":
        memory.remember(key, 1)
    assert memory.clear() == 3
    memory.remember("a", 1)
    memory.forget("a")
    assert plain.keys() == []


def test_a_key_of_another_type_is_a_storage_error(plain: Redis) -> None:
    memory = RedisKeyedMemory(plain, namespace="a")
    plain.set("bethink:{keyed/a}:values", "text")
    for verb in (lambda: memory.remember("k", 1), lambda: memory.increment("k"), memory.count):
        with pytest.raises(StorageError, match="WRONGTYPE"):
            verb()


@pytest.mark.parametrize("damaged", ["[1", "", "\xff"])
def test_a_damaged_value_is_not_returned(plain: Redis, damaged: str) -> None:
    memory = RedisKeyedMemory(plain)
    memory.remember("k", 1)
    plain.hset("bethink:{keyed/working}:values", "k", damaged)
    for verb in (lambda: memory.recall("k"), memory.items, lambda: memory.recent(1)):
        with pytest.raises(CorruptStoreError, match="damaged JSON"):
            verb()
    memory.remember("k", 2)
    assert memory.recall("k") == 2


def test_a_change_that_is_always_overtaken_gives_up(
    plain: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyed, "_MAX_SECONDS", -1.0)
    memory = RedisKeyedMemory(plain)
    memory.remember("k", 0.5)

    def overtaken(_: Any) -> float:
        in_another_thread(lambda: memory.remember("k", memory.recall("k") + 1))
        return 99.0

    with pytest.raises(StoreBusyError, match="'k'"):
        memory._change("k", overtaken)
    assert memory.recall("k") == 1.5


def test_the_documented_rights_are_enough(server: RedisServer) -> None:
    commands = ("eval", "evalsha", "wait", "scan", "@hash", "@sortedset", "exists", "del")
    server.client.flushall()
    server.client.acl_setuser(
        "app",
        enabled=True,
        passwords=["+secret"],
        keys=["bethink:*"],
        commands=[f"+{command}" for command in commands],
    )
    with Redis(port=server.port, username="app", password="secret") as client:
        memory = RedisKeyedMemory(client)
        log = RedisMessageLog(client, "s1")
        memory.remember("k", 1)
        assert memory.increment("k") == 2
        assert memory.increment("k", 0.5) == 2.5
        assert memory.items() == [("k", 2.5)]
        assert (memory.forget("k"), memory.clear(), memory.count()) == (True, 0, 0)
        log.append([{"content": "a"}, {"content": "b", "expires_at": -1e9}])
        assert RedisMessageLog.sessions(client) == ["s1"]
        assert (log.count(), log.clear()) == (1, 1)
    server.client.acl_deluser("app")


@forks
def test_processes_share_a_counter(server: RedisServer) -> None:
    def work() -> int:
        with Redis(port=server.port) as client:
            memory = RedisKeyedMemory(client, namespace="shared")
            for _ in range(50):
                memory.increment("by increment")
                memory.update("by update", lambda n: n + 1, default=0)
                while not memory.compare_and_set(
                    "by hand", n := memory.recall("by hand"), (n or 0) + 1
                ):
                    continue
            return memory.count()

    memory = RedisKeyedMemory(server.client, namespace="shared")
    memory.clear()
    together([work] * 4)
    assert dict(memory.items()) == dict.fromkeys(("by increment", "by update", "by hand"), 200)
