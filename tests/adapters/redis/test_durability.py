"""A server that is killed: what was acknowledged is there, and what the client repeats counts."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial

import pytest
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError
from redis.retry import Retry

from bethink import StorageError
from bethink_adapters.redis import RedisKeyedMemory, RedisMessageLog

from .servers import RedisServer, serving, until


def until_it_fails(write: Callable[[int], object]) -> int:
    """Call *write* with 1, 2 …; return the last number that was acknowledged."""
    number = 0
    while True:
        try:
            write(number + 1)
        except StorageError:
            return number
        number += 1


def remember_number(memory: RedisKeyedMemory, name: str, number: int) -> None:
    memory.remember(name, [number])


def test_what_was_acknowledged_is_there_after_a_kill() -> None:
    once = Retry(NoBackoff(), 0)
    with (
        serving("--appendonly", "yes", "--appendfsync", "always") as server,
        Redis(port=server.port, retry=once) as client,
        ThreadPoolExecutor(8) as threads,
    ):
        memory, log = RedisKeyedMemory(client), RedisMessageLog(client, "s1")
        counted = [threads.submit(until_it_fails, lambda _: memory.increment("n")) for _ in "abc"]
        kept = {
            name: threads.submit(until_it_fails, partial(remember_number, memory, name))
            for name in "def"
        }
        said = threads.submit(until_it_fails, lambda n: log.append([{"content": str(n)}] * 2))
        until(lambda: log.count() >= 200)
        server.kill()
        acknowledged = sum(each.result() for each in counted)
        server.start()
        assert acknowledged <= memory.recall("n") <= acknowledged + 3
        for name, last in kept.items():
            assert memory.recall(name)[0] - last.result() in (0, 1)
        texts = [record.content for record in log.messages()]
        assert texts == [str(n) for n in range(1, len(texts) // 2 + 1) for _ in range(2)]
        assert len(texts) // 2 - said.result() in (0, 1)


@contextmanager
def losing_a_reply(server: RedisServer) -> Iterator[tuple[int, threading.Event]]:
    """Yield a port that leads to *server*, and an event that makes the next reply be lost."""
    lose, callers = threading.Event(), list[socket.socket]()
    with socket.create_server(("127.0.0.1", 0)) as entry, ThreadPoolExecutor(8) as threads:

        def lead(caller: socket.socket) -> None:
            with caller, socket.create_connection(("127.0.0.1", server.port)) as onward:
                while asked := caller.recv(65_536):
                    onward.sendall(asked)
                    answer = onward.recv(65_536)
                    if lose.is_set():
                        lose.clear()
                        return
                    caller.sendall(answer)

        def listen() -> None:
            while True:
                try:
                    callers.append(entry.accept()[0])
                    threads.submit(lead, callers[-1])
                except OSError:
                    return

        threads.submit(listen)
        try:
            yield int(entry.getsockname()[1]), lose
        finally:
            for each in (entry, *callers):
                with suppress(OSError):  # closed already
                    each.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(("times", "counted"), [(0, 1), (1, 2)])
def test_a_lost_reply_is_told_or_the_client_repeats_the_write(
    server: RedisServer, times: int, counted: int
) -> None:
    server.client.flushall()
    with (
        losing_a_reply(server) as (port, lose),
        Redis(
            port=port,
            retry=Retry(NoBackoff(), times),
            retry_on_error=[ConnectionError],
            protocol=2,
        ) as client,
    ):
        memory = RedisKeyedMemory(client)
        memory.remember("n", 0)
        memory.increment("n", 0)  # the server knows the script
        lose.set()
        if times:
            assert memory.increment("n") == counted
        else:
            with pytest.raises(StorageError, match="is not known"):
                memory.increment("n")
        assert memory.recall("n") == counted
