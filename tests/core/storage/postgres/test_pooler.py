"""A store behind PgBouncer, whose connections are those of others after each transaction."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from bethink import HashEmbedder, KeyedMemory, MemoryStore, Shards
from bethink.testing.contracts.backends import DurableContract

from ..processes import forks, together
from .server import NOBODY, free_port, fresh_location, shared_url

PROGRAM: Final = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
PATIENCE: Final = 10.0
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="PgBouncer is not installed")


@cache
def pooler_port(server_port: int) -> int:
    """Start PgBouncer before the server, with two connections; return the pooler's port."""
    assert PROGRAM is not None
    folder, port = Path(tempfile.mkdtemp(prefix="bethink-pgbouncer-")), free_port()
    folder.chmod(0o755)
    users = folder / "users.txt"
    users.write_text('"postgres" ""\n"one_tenant" ""\n')
    settings = folder / "pgbouncer.ini"
    settings.write_text(
        f"[databases]\n* = host=127.0.0.1 port={server_port}\n[pgbouncer]\n"
        f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        f"auth_type = trust\nauth_file = {users}\npool_mode = transaction\ndefault_pool_size = 4\n"
    )
    as_nobody: dict[str, Any] = {}
    if os.geteuid() == 0:  # PgBouncer refuses to run as root
        as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": ()}
    process = subprocess.Popen(
        [PROGRAM, "-q", settings], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **as_nobody
    )

    def stop() -> None:
        process.send_signal(signal.SIGTERM)
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            return port
        with suppress(subprocess.TimeoutExpired):
            raise AssertionError(f"PgBouncer ended: {process.wait(0.05)}")
    raise AssertionError("PgBouncer does not answer")


def pooled_location() -> str:
    """Return the location of a new store behind the pooler."""
    location = fresh_location()
    port = int(location.rpartition(":")[2].partition("/")[0])
    return location.replace(f":{port}/", f":{pooler_port(port)}/") + "&pooler=transaction"


@pytest.fixture
def location() -> str:
    return pooled_location()


class TestPooledPostgres(DurableContract):
    @pytest.fixture
    def location(self) -> str:
        return pooled_location()


def count_up(location: str) -> None:
    with MemoryStore(location, embedder=HashEmbedder(16)) as store:
        for _ in range(20):
            KeyedMemory(store).increment("count")
            store.store("a note")
            store.recall("note")


@forks
def test_processes_share_the_connections_of_the_pooler(location: str) -> None:
    MemoryStore(location, embedder=HashEmbedder(16)).close()
    together([lambda: count_up(location)] * 3)
    with MemoryStore(location, embedder=HashEmbedder(16)) as store:
        assert KeyedMemory(store).recall("count") == 60
        assert store.count() >= 60
        assert store.verify().ok


def test_a_shard_moves_behind_the_pooler() -> None:
    first = pooled_location().partition("?")[0]
    with psycopg.connect(shared_url(), autocommit=True) as connection:
        connection.execute("CREATE DATABASE behind_the_pooler")
    second = f"{first.rpartition('/')[0]}/behind_the_pooler"
    servers = {name: f"{url}?pooler=transaction" for name, url in (("a", first), ("b", second))}
    with Shards(servers, schema="pooled", count=1, embedder=HashEmbedder(16)) as shards:
        store = shards.store_for("users/ann")
        for target in "bab":
            assert shards.move(0, target)
            store.store(f"at {target}", namespace="users/ann")
            assert store.recall(f"at {target}", namespace="users/ann", k=1)[0].content[-1] == target
        assert (store.count(namespace="users/ann"), shards.places()) == (3, ["b"])
