"""The example runs twice on a real server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .servers import RedisServer

EXAMPLE = Path(__file__).parents[3] / "examples" / "redis_shared.py"


def test_workers_share_state_and_a_conversation(server: RedisServer) -> None:
    environment = {**os.environ, "REDIS_URL": f"redis://127.0.0.1:{server.port}"}
    command = [sys.executable, str(EXAMPLE)]
    for _ in range(2):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        said = [f"{name} is ready" for name in ("ann", "bob", "cid", "dee")]
        assert done.stdout.splitlines() == ["1 leader", "40 steps, 40 pages", *said]
