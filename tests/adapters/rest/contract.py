"""Run schemathesis against a server: `python -m tests.adapters.rest.contract`.

Every check, also sequences of operations; further arguments go to schemathesis.
"""

from __future__ import annotations

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
"""


def main(arguments: list[str]) -> int:
    """Return the exit code of schemathesis."""
    with TemporaryDirectory() as name, served(Path(name)) as server:
        config = Path(name, "schemathesis.toml")
        config.write_text(CONFIG)
        command = ["schemathesis", "--config-file", str(config), "run"]
        command += [f"{server.address}openapi.json", "--checks", "all", "--no-color"]
        command += ["-H", f"Authorization: Bearer {server.token}"]
        command += ["--phases", "examples,fuzzing,stateful", "--max-examples", "25"]
        return subprocess.run([*command, *arguments], cwd=name).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
