"""The check of an installation: the file, the server as a host starts it, and the hosts."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bethink import __version__

from ..surface.location import Location
from .install import Place, SettingsError, install, is_installed
from .settings import Program
from .table import Host

_SECONDS: Final = 10.0
_HANDSHAKE: Final = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bethink doctor", "version": "1"},
    },
}


@dataclass(frozen=True)
class Check:
    """One check: *what* was looked at, whether all is well, and the *detail*."""

    what: str
    ok: bool
    detail: str


def examine(location: Location, program: Program, where: Place) -> Iterator[Check]:
    """Yield the checks; nothing is written."""
    yield Check("bethink", True, __version__)
    yield _check_file(location)
    yield _check_server(program)
    for host in where.found():
        yield _check_host(host, program, where)


def _check_file(location: Location) -> Check:
    from bethink import BethinkError

    try:
        if not location.exists():
            return Check("file", True, f"{location} is not there yet; the first store makes it")
        with location.open() as store:
            found = store.stats()
            store.embedder.embed(["memory"])  # a host stores and asks
    except (BethinkError, OSError) as error:
        return Check("file", False, str(error))
    live = found.states["live"]
    memories = "memory" if live == 1 else "memories"
    facts = f"{live:,} {memories}, {found.bytes:,} bytes, {found.embedder}"
    return Check("file", True, f"{location}: {facts}")


def _check_server(program: Program) -> Check:
    """Start the server as a host would, and shake hands."""
    command = [*program.command, "mcp"]
    began = time.perf_counter()
    try:
        done = subprocess.run(
            command,
            input=json.dumps(_HANDSHAKE).encode() + b"\n",
            capture_output=True,
            timeout=_SECONDS,
            check=True,
        )
        name = json.loads(done.stdout)["result"]["serverInfo"]["name"]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
        return Check("server", False, f"{' '.join(command)}: {error}")
    seconds = time.perf_counter() - began
    return Check("server", True, f"{name} answers after {seconds:.2f} s: {' '.join(command)}")


def _check_host(host: Host, program: Program, where: Place) -> Check:
    try:
        missing = [str(each.path) for each in install(host, program, where) if each]
        has_server = not any(install(host, program, where, hooks=False))
        here = is_installed(host, where)
    except SettingsError as error:
        return Check(host.title, False, str(error))
    wants, line = host.wants.format(title=host.title), f"bethink install {host.name}"
    if not missing:
        return Check(host.title, True, f"installed; {wants}")
    if has_server:
        return Check(host.title, True, f"server installed, hooks missing or out of date: {line}")
    state = "out of date" if here else "not installed"
    return Check(host.title, True, f"{state} in {', '.join(missing)}: {line}")
