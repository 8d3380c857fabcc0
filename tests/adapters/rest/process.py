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
    """The *process* over the file at *path*, its *address*, and a client with the token for all."""

    path: Path
    process: subprocess.Popen[str]
    address: str
    token: str

    def client(self) -> httpx.Client:
        """Return a client that sends the token."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.Client(base_url=self.address, headers=headers, timeout=30)


@contextmanager
def served(folder: Path, *arguments: str) -> Iterator[Served]:
    """Serve ``m.db`` in *folder* until the end of the block."""
    path = folder / "m.db"
    tokens = folder / "tokens.json"
    [token] = read_tokens(tokens)
    command = [sys.executable, "-m", "bethink_adapters.cli", "serve", "--port", "0"]
    command += ["--db", str(path), "--tokens", str(tokens), "--json", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    assert process.stdout is not None
    try:
        told = json.loads(process.stdout.readline())
        assert told["token"] == token.text
        yield Served(path, process, told["url"], token.text)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
