"""Run schemathesis against a server: `python -m tests.adapters.rest.contract`.

Every check, also sequences of operations; further arguments go to schemathesis.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from .process import served

# An If-Match that names no version is valid, and refused by 412.
CONFIG = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", "401", "403", "404", "409", "412", "429", "503"]

[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "405", "406", "409", "413", "415", "422", "429"]

# A stream that follows the journal has no end.
[[operations]]
include-path = "/v1/events"
parameters = { "query.follow" = "false" }

# A forgotten memory keeps its history, and a thread of another namespace is another thread.
[[operations]]
include-path-regex = "/history$|^/v1/threads/"
checks.use_after_free.enabled = false

# The body may name a namespace or a target where nothing is found.
[[operations]]
include-path-regex = "^/v1/memories/.*/(why|relations)$"
checks.ensure_resource_availability.enabled = false
"""

# A memory that is stored as expired is gone at once, though created.
HOOKS = """
import schemathesis
from datetime import datetime

@schemathesis.hook
def map_body(context, body):
    when = body.get("expires_at") if isinstance(body, dict) else None
    try:
        past = when is not None and float(when) < 4e9
    except (TypeError, ValueError):
        try:
            past = datetime.fromisoformat(when).year < 2096
        except (TypeError, ValueError):
            past = False
    return {**body, "expires_at": None} if past else body
"""


def main(arguments: list[str]) -> int:
    """Return the exit code of schemathesis, whose default is every check."""
    with TemporaryDirectory() as name, served(Path(name)) as server:
        config = Path(name, "schemathesis.toml")
        config.write_text(f'hooks = "hooks_of_contract"\n{CONFIG}')
        Path(name, "hooks_of_contract.py").write_text(HOOKS)
        command = ["schemathesis", "--config-file", str(config), "run"]
        command += [f"{server.address}openapi.json", "--no-color"]
        command += ["-H", f"Authorization: Bearer {server.token}"]
        command += ["--phases", "examples,fuzzing,stateful", "--max-examples", "15"]
        # The simplest filter that hypothesis finds is long; the check is about speed alone.
        command += ["--suppress-health-check", "large_base_example"]
        path = os.pathsep.join([name, os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": path}
        return subprocess.run([*command, *arguments], cwd=name, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
