"""Run an example as a reader would."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
CONVERSATION = EXAMPLES / "data" / "two_friends.jsonl"


def run(example: str, *arguments: object, folder: Path) -> str:
    """Run an example in *folder* and return what it prints; nothing may go to stderr."""
    command = [sys.executable, str(EXAMPLES / example), *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def recall_of(output: str) -> float:
    (line,) = [line for line in output.splitlines() if line.startswith("all ")]
    return float(line.split()[2])
