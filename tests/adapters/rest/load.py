"""Measure the server under load: `python -m tests.adapters.rest.load [--rival PYTHON]`.

A server of bethink, and with *--rival* the HTTP server of mcp-memory-service in the environment of
that interpreter, each over 2,000 memories, answer the same requests in turns: with 1 and 8 clients,
recalls of 5, pages of 20 and stores of one memory. The CPU time of the server's process is read
from the system; the same recalls without a server give the overhead of HTTP. All on 127.0.0.1.
"""

from __future__ import annotations

import argparse
import os
import random
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import httpx2 as httpx
import numpy as np

from bethink import MemoryStore

from .process import served

MEMORIES: Final = 2_000
REQUESTS: Final = 80  # of one kind, a round
ROUNDS: Final = 2
CLIENTS: Final = (1, 8)
WORDS: Final = tuple(f"{first}{rest}" for first in "bdfhlmprst" for rest in ("ale", "ine", "and"))
Calls = dict[str, Callable[[httpx.Client, int], httpx.Response]]


def text(number: int) -> str:
    """Return the text of memory *number*."""
    return f"Note {number}: " + " ".join(random.Random(number).choices(WORDS, k=12))


def query(number: int) -> str:
    """Return a question of four words."""
    return " ".join(random.Random(-number - 1).choices(WORDS, k=4))


@dataclass
class Measured:
    """A server: the *process*, clients by *connect*, and the requests."""

    process: int
    connect: Callable[[], httpx.Client]
    calls: Calls

    def cpu(self) -> float:
        """Return the CPU seconds of the process so far."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def run(self, kind: str, clients: int, first: int) -> tuple[list[float], float, float]:
        """Return the seconds of each request, of all together, and of the CPU."""
        each = REQUESTS // clients

        def work(number: int) -> list[float]:
            took = list[float]()
            with self.connect() as http:
                for step in range(each):
                    begun = time.perf_counter()
                    reply = self.calls[kind](http, first + number * each + step)
                    took.append(time.perf_counter() - begun)
                    reply.raise_for_status()
            return took

        cpu, begun = self.cpu(), time.perf_counter()
        with ThreadPoolExecutor(clients) as pool:
            found = [one for took in pool.map(work, range(clients)) for one in took]
        return found, time.perf_counter() - begun, self.cpu() - cpu


@contextmanager
def ours(folder: Path) -> Iterator[Measured]:
    """Serve a file of bethink."""
    with MemoryStore(folder / "m.db") as store:
        store.store_many([text(number) for number in range(MEMORIES)])
    calls: Calls = {
        "recall": lambda http, n: http.post("/v1/recall", json={"query": query(n), "k": 5}),
        "list": lambda http, n: http.get(f"/v1/memories?limit=20&offset={n % 100 * 20}"),
        "store": lambda http, n: http.post("/v1/memories", json={"content": text(MEMORIES + n)}),
    }
    with served(folder) as server:
        yield Measured(server.process.pid, server.client, calls)


@contextmanager
def theirs(folder: Path, python: str) -> Iterator[Measured]:
    """Serve an empty folder of mcp-memory-service, and fill the folder over HTTP."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "MCP_MEMORY_SQLITE_PATH": str(folder / "m.db"),
        "MCP_HTTP_ENABLED": "true",
        "MCP_HTTP_HOST": "127.0.0.1",
        "MCP_HTTP_PORT": str(port),
        "MCP_ALLOW_ANONYMOUS_ACCESS": "true",
        "HF_HUB_OFFLINE": "1",
    }
    command = [str(Path(python).parent / "memory"), "server", "--http"]
    five = {"n_results": 5}
    calls: Calls = {
        "recall": lambda http, n: http.post("/api/search", json={"query": query(n), **five}),
        "list": lambda http, n: http.get(f"/api/memories?page={n % 100 + 1}&page_size=20"),
        "store": lambda http, n: http.post("/api/memories", json={"content": text(MEMORIES + n)}),
    }

    def connect() -> httpx.Client:
        return httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30)

    with (folder / "output").open("w") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        until = time.monotonic() + 90
        with connect() as http:
            while not answers(http):
                if process.poll() is not None or time.monotonic() > until:
                    raise SystemExit((folder / "output").read_text()[-2_000:])
                time.sleep(0.5)
            for number in range(MEMORIES):
                calls["store"](http, number - MEMORIES).raise_for_status()
        yield Measured(process.pid, connect, calls)
    finally:
        process.kill()
        process.wait()


def answers(http: httpx.Client) -> bool:
    """Return whether the server answers."""
    try:
        return http.get("/api/health").is_success
    except httpx.TransportError:
        return False


def without_server(folder: Path) -> float:
    """Return the CPU milliseconds of a recall by the verb."""
    with MemoryStore(folder / "m.db") as store:
        store.recall(query(0), k=5)
        begun = time.process_time()
        for number in range(REQUESTS):
            store.recall(query(number), k=5)
        return (time.process_time() - begun) / REQUESTS * 1_000


def main() -> None:
    """Print a line for each server, kind of request and number of clients."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rival", metavar="PYTHON", help="the interpreter with the rival")
    given = parser.parse_args()
    with ExitStack() as stack:
        folders = [Path(stack.enter_context(TemporaryDirectory())) for _ in range(2)]
        servers = {"bethink": stack.enter_context(ours(folders[0]))}
        if given.rival:
            servers["mcp-memory-service"] = stack.enter_context(theirs(folders[1], given.rival))
        for kind in ("recall", "list", "store"):
            for clients in CLIENTS:
                measure(servers, kind, clients)
        alone = without_server(folders[0])
        print(f"recall without a server: {alone:.2f} ms of CPU")


def measure(servers: dict[str, Measured], kind: str, clients: int) -> None:
    """Print the figures of the *servers*, measured in turns."""
    found: dict[str, list[Any]] = {name: [] for name in servers}
    for number in range(ROUNDS):
        for name, server in servers.items():
            first = (number * len(CLIENTS) + CLIENTS.index(clients)) * REQUESTS
            found[name].append(server.run(kind, clients, first))
    for name, rounds in found.items():
        took, seconds, cpu = (list(each) for each in zip(*rounds, strict=True))
        p50, p99 = np.percentile([one for each in took for one in each], (50, 99)) * 1_000
        count = ROUNDS * (REQUESTS // clients * clients)
        print(
            f"{name:<20}{kind:<8}{clients} clients: p50 {p50:6.1f} ms  p99 {p99:6.1f} ms  "
            f"{count / sum(seconds):6.0f} requests/s  CPU {sum(cpu) / count * 1_000:5.2f} ms",
            flush=True,
        )


if __name__ == "__main__":
    main()
