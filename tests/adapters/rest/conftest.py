"""Clients for the tests; without the extra there is nothing to test."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bethink import MemoryStore

if TYPE_CHECKING:
    from .serving import Client

collect_ignore_glob = [] if find_spec("fastapi") else ["test_*.py"]


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore() as made:
        yield made


@pytest.fixture
def client(store: MemoryStore) -> Client:
    from .serving import client_of

    return partial(client_of, store)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project, which is the working directory, of a user without settings."""
    for name in ("BEADS_DIR", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_TASK_LIST_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", "/nowhere")  # without the program of Beads
    project = tmp_path / "ferry"
    (project / ".beads").mkdir(parents=True)
    (project / ".git").mkdir()
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(project)
    return project
