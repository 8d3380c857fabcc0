"""The examples of adapters run as a reader would run them, where their framework is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ..core.examples import CONVERSATION, EXAMPLES, recall_of, run
from ..core.installed import is_installed

NEEDS = {
    "langchain": "langchain_core",
    "crewai": "crewai.memory.types",
    "autogen": "autogen_core.memory",
}
APPS = {
    "langgraph_memory.py": (
        "langgraph",
        "Friday: Where do I live? (known: ['I live in Oslo now.'])",
        "known on Tuesday: {'text': 'I live in Graz.'}",
        "records erased",
    ),
    "crewai_private.py": (
        "crewai.memory.unified_memory",
        "lawyer: The contract with Acme ends in May 2027.",
        "cook: Nobody told me.",
        "2 memories of the lawyer erased",
    ),
    "autogen_team.py": (
        "autogen_ext",
        "A good plan. Known: Ann travels by train only.",
        "6 memories erased",
    ),
}


@pytest.mark.parametrize("adapter", NEEDS)
def test_a_conversation_goes_through_an_adapter(adapter: str, tmp_path: Path) -> None:
    if not is_installed(NEEDS[adapter]):
        pytest.skip(f"{NEEDS[adapter]} is not installed")
    output = run("long_conversation.py", CONVERSATION, "--via", adapter, folder=tmp_path)
    assert "remembered 66 turns" in output
    assert recall_of(output) >= 0.7


@pytest.mark.parametrize("app", APPS)
def test_an_app_of_fifty_lines_runs_twice(app: str, tmp_path: Path) -> None:
    module, *told = APPS[app]
    if not is_installed(module):
        pytest.skip(f"{module} is not installed")
    assert len((EXAMPLES / app).read_text("utf-8").splitlines()) <= 50
    for _ in range(2):
        command = [sys.executable, str(EXAMPLES / app)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert [each for each in told if each not in done.stdout] == []
