"""What the tests of the Redis adapter share: servers, emptied before each test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from redis import Redis, RedisCluster
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import Sentinel

from .servers import RedisServer, clustered, free_port, replicated, serving, watching

PLAIN: dict[str, dict[str, Any]] = {
    "bytes": {},
    "texts": {"decode_responses": True},
    "latin 1": {"decode_responses": True, "encoding": "latin-1"},
    "RESP3": {"protocol": 3},
}
CLIENTS = (*PLAIN, "sentinel", "cluster")


@pytest.fixture(scope="session")
def server() -> Iterator[RedisServer]:
    with serving() as server:
        yield server


@pytest.fixture(scope="session")
def pair() -> Iterator[list[RedisServer]]:
    """Yield a primary and a replica."""
    with replicated(1) as servers:
        yield servers


@pytest.fixture(scope="session")
def watcher(pair: list[RedisServer]) -> Iterator[RedisServer]:
    """Yield a sentinel of the pair."""
    with watching(pair[0]) as sentinel:
        yield sentinel


@pytest.fixture(scope="session")
def nodes() -> Iterator[list[RedisServer]]:
    """Yield three primaries of a cluster, then a replica of each."""
    with clustered(3) as servers:
        yield servers


@pytest.fixture
def plain(server: RedisServer) -> Iterator[Redis]:
    with Redis(port=server.port) as client:
        client.flushall()
        yield client


@pytest.fixture
def nobody() -> Iterator[Redis]:
    """Yield a client of a port that nothing listens on."""
    with Redis(port=free_port(), retry=Retry(NoBackoff(), 0)) as client:
        yield client


@pytest.fixture
def cluster(nodes: list[RedisServer]) -> Iterator[RedisCluster]:
    with RedisCluster(host="127.0.0.1", port=nodes[0].port) as client:
        client.flushall()
        yield client


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> Iterator[Redis | RedisCluster]:
    """Yield each kind of client: of a server, of a sentinel's primary, of a cluster."""
    if request.param == "cluster":
        yield request.getfixturevalue("cluster")
        return
    if request.param == "sentinel":
        port = request.getfixturevalue("watcher").port
        sentinel: Any = Sentinel([("127.0.0.1", port)])  # type: ignore[no-untyped-call]
        client: Redis = sentinel.master_for("primary")
    else:
        port = request.getfixturevalue("server").port
        client = Redis(port=port, **PLAIN[request.param])
    with client:
        client.flushall()
        yield client
    if request.param == "sentinel":
        for each in sentinel.sentinels:
            each.close()
