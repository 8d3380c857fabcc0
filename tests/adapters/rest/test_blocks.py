"""The blocks of `docs/rest.md`, run in one shell, with what each block prints."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[3]
PAGE: Final = (ROOT / "docs" / "rest.md").read_text()
BLOCK: Final = re.compile(r"^```bash\n(.*?)^```\n(?:\n```(?:json|text)\n(.*?)^```\n)?", re.S | re.M)
SHELL: Final = f"""
set -eu
bethink() {{ {sys.executable} -m bethink_adapters.cli "$@"; }}
pip() {{ [[ "$*" == "install .[server]" ]]; }}
"""
END: Final = "\nprintf '\\0'\n"


def test_every_block_of_the_page_has_a_language_that_is_run() -> None:
    languages = set(re.findall(r"^```(\w+)$", PAGE, re.M))
    assert languages == {"bash", "json", "text"}
    assert PAGE.count("```") == 2 * sum(1 + bool(told) for _, told in BLOCK.findall(PAGE))


@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl to run")
def test_every_block_of_the_page_prints_what_the_page_says(tmp_path: Path) -> None:
    blocks = BLOCK.findall(PAGE)
    assert len(blocks) >= 8
    start = "bethink serve &"
    commands = [code.replace(start, "bethink serve --port 8420 &") for code, _ in blocks]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    script = SHELL + "".join(code + END for code in commands)
    printed = run(script.replace("8420", port), tmp_path).split("\0")
    for (code, told), found in zip(blocks, printed, strict=False):
        pattern = re.escape(told.replace(",\n", ",").strip()).replace("…", ".*")
        assert re.fullmatch(pattern, found.strip(), re.S), (code, found)
    assert len(printed) == len(blocks) + 1


def run(script: str, folder: Path) -> str:
    """Return what *script* prints, in *folder*, for a user without any file."""
    environment = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    with (folder / "told").open("w+") as told, (folder / "errors").open("w+") as errors:
        shell = subprocess.Popen(
            ["bash", "-c", script],
            cwd=folder,
            env={**environment, "HOME": str(folder)},
            stdout=told,
            stderr=errors,
            start_new_session=True,
        )
        try:
            code = shell.wait(60)
        finally:
            os.killpg(shell.pid, signal.SIGKILL)
        assert code == 0, (folder / "errors").read_text()
        return (folder / "told").read_text()
