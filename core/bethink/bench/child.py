"""The helper processes of the benchmark.

``writer ENGINE FOLDER DIMENSION`` stores each line of the input and answers with a line.
``opener ENGINE FOLDER DIMENSION QUERY`` opens the store, recalls once and prints the cost.
A dimension of 0 means the engine's own embedder.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from bethink.bench.embedding import SharedEmbedder
from bethink.bench.engines import Engine, import_engine, open_engine


class Writer:
    """A second process that stores into the same files on request."""

    def __init__(self, engine: str, folder: Path, dimension: int) -> None:
        self.process = subprocess.Popen(
            _command("writer", engine, folder, dimension),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def store(self, text: str) -> None:
        """Send *text* to the second process; return when the text is durable."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(text) + "\n")
        self.process.stdin.flush()
        if not self.process.stdout.readline():
            raise RuntimeError("the writing process ended")

    def close(self) -> None:
        """Tell the second process to close the store and exit."""
        self.process.communicate()


def first_recall(engine: str, folder: Path, dimension: int, query: str) -> dict[str, float]:
    """Open and recall in a fresh process.

    Return the processor and wall seconds from the end of the imports to the first answer (*cpu*,
    *wall*), the seconds of the imports (*import_cpu*), and the resident megabytes (*rss*,
    *import_rss*), 0 where the system gives no number.
    """
    command = [*_command("opener", engine, folder, dimension), query]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _command(role: str, engine: str, folder: Path, dimension: int) -> list[str]:
    module = [sys.executable, "-m", "bethink.bench.child"]
    return [*module, role, engine, str(folder), str(dimension)]


def resident_megabytes() -> float:
    """Return the resident memory of the process, or 0 where the system gives no number."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return 0.0
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


def _open(engine: str, folder: str, dimension: str) -> Engine:
    embedder = SharedEmbedder(int(dimension)) if int(dimension) else None
    return open_engine(engine, Path(folder), embedder)


def _write(engine: str, folder: str, dimension: str) -> None:
    store = _open(engine, folder, dimension)
    for line in sys.stdin:
        store.store(json.loads(line))
        print("stored", flush=True)
    store.close()


def _open_and_recall(engine: str, folder: str, dimension: str, query: str) -> None:
    import_engine(engine)
    import_rss, import_cpu = resident_megabytes(), time.process_time()
    start = time.perf_counter()
    store = _open(engine, folder, dimension)
    store.recall(query)
    wall, cpu = time.perf_counter() - start, time.process_time() - import_cpu
    figures = {
        "cpu": cpu,
        "wall": wall,
        "import_cpu": import_cpu,
        "rss": resident_megabytes(),
        "import_rss": import_rss,
    }
    store.close()
    print(json.dumps(figures))


if __name__ == "__main__":
    role = _write if sys.argv[1] == "writer" else _open_and_recall
    role(*sys.argv[2:])
