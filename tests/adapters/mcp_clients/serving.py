"""The real server as a process, over stdio or HTTP."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

SERVER = [sys.executable, "-m", "bethink_adapters.mcp", "--tools", "all"]
FOLDER = Path(__file__).parent


def environment(home: Path) -> dict[str, str]:
    """Return the environment for a server whose user's folder is *home*."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BETHINK_")}
    return {**kept, "HOME": str(home), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


@contextmanager
def serving(command: Sequence[str], folder: Path) -> Iterator[str]:
    """Run *command*, which tells its address on the standard error, and yield the address."""
    server = subprocess.Popen(
        command, cwd=folder, env=environment(folder), stderr=subprocess.PIPE, text=True
    )
    assert server.stderr is not None
    try:
        yield server.stderr.readline().strip()
    finally:
        server.terminate()
        server.communicate(timeout=30)
