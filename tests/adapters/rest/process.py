"""A server in a process of its own, by the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2 as httpx

from bethink_adapters.rest.tokens import read_tokens


@dataclass
class Served:
    """The file at *path*, the *address* of the server, and a client with the *token* for all."""

    path: Path
    address: str
    token: str

    def client(self) -> httpx.Client:
        """Return a client that sends the token."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.Client(base_url=self.address, headers=headers, timeout=30)


@dataclass
class ServedByProcess(Served):
    """Served by *process*."""

    process: subprocess.Popen[str]


def serve_arguments(folder: Path) -> list[str]:
    """Return the arguments of the command line that serve ``m.db`` in *folder*."""
    path, tokens = str(folder / "m.db"), str(folder / "tokens.json")
    return ["serve", "--port", "0", "--db", path, "--tokens", tokens, "--json"]


def announced(line: str, folder: Path) -> Served:
    """Return the server of *folder* that printed *line*: the address, and the token of the file."""
    told = json.loads(line)
    [token] = read_tokens(folder / "tokens.json")
    assert told["token"] == token.text
    return Served(folder / "m.db", told["url"], token.text)


@contextmanager
def served(folder: Path, *arguments: str) -> Iterator[ServedByProcess]:
    """Serve ``m.db`` in *folder* until the end of the block."""
    command = [sys.executable, "-m", "bethink_adapters.cli", *serve_arguments(folder), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    assert process.stdout is not None
    try:
        found = announced(process.stdout.readline(), folder)
        yield ServedByProcess(found.path, found.address, found.token, process)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
