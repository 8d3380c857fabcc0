"""The completion of the shells offers commands, options and values."""

import shutil
import subprocess
from pathlib import Path

import pytest

from .conftest import Run


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash is here")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        (["rec"], "recall"),
        (["recall", "--mode", ""], "hybrid keyword semantic"),
        (["search", "--mode", "h"], "hybrid"),
        (["outcome", "u"], "useful useless"),
        (["install", "cl"], "claude-code claude-desktop cline"),
        (["--db", "x", "forget", "--ye"], "--yes"),
        (["recall", "--no-"], "--no-pager"),
        (["import", "--from", "mem"], "mem0 memory-layer"),
        (["recall", "--db", "x"], ""),  # bash itself offers files
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bash_offers_what_fits(line: list[str], offered: str, run: Run) -> None:
    Path("bethink.bash").write_text(run("completion", "bash").out)
    words = " ".join(f"'{word}'" for word in ["bethink", *line])
    code = (
        f"source ./bethink.bash; COMP_WORDS=({words}); COMP_CWORD={len(line)}; _bethink; "
        'echo "${COMPREPLY[*]}"'
    )
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == (offered, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_valid_and_names_every_command(shell: str, run: Run) -> None:
    script = run("completion", shell).out
    for part in ("recall", "search", "hybrid", "claude-code", "dry-run"):
        assert part in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)
