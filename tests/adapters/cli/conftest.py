"""The command line in this process: a runner, and a file with a few memories."""

import io
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bethink import MemoryStore
from bethink_adapters.cli import main


@dataclass
class Done:
    """What a command line has answered."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Done]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, and a home beside."""
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    home.mkdir()
    monkeypatch.chdir(work)
    for name in ("BETHINK_DB", "BETHINK_NAMESPACE", "NO_COLOR", "FORCE_COLOR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("COLUMNS", "80")
    return work


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """A function that runs a command line, with a text on the standard input."""

    def run(*words: str, text: str = "", terminal: bool = False) -> Done:
        source = io.TextIOWrapper(io.BytesIO(text.encode()), newline="\n")
        capsys.readouterr()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", source)
            for stream in (sys.stdin, sys.stdout):
                patch.setattr(stream, "isatty", lambda: terminal)
            code = main(list(words))
        return Done(code, *capsys.readouterr())

    return run


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of memories of several kinds, its export, and a second file."""
    folder = tmp_path_factory.mktemp("made")
    with MemoryStore(folder / "memory.db") as store:
        store.store("Standup is at 9:00", key="standup", id=ids()[0])
        store.store("Standup is at 10:00", key="standup", id=ids()[1], tags=["team"])
        store.store("The ferry leaves from pier 3", id=ids()[2], category="travel")
        store.store("The ferry leaves from pier 4", id=ids()[3], category="travel")
        store.store("Ann drinks tea", id=ids()[4], namespace="users/ann")
        store.forget(store.store("Trams run late", id=f"019000000000700080000000{'7f1de620'}").id)
        store.archive(store.store("Bikes are free", id=f"019000000000700080000000{'0b3c55d9'}").id)
        store.relate(ids()[2], ids()[3], "contradicts")
        store.snapshot("before-move")
        store.export(folder / "in.jsonl")
    with MemoryStore(folder / "second.db") as store:
        store.store("Bob likes ham")
    return folder


@pytest.fixture
def file(folder: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of memories, named by BETHINK_DB; export and second file are in the folder."""
    path = folder.parent / "memory.db"
    shutil.copy(made / "memory.db", path)
    for name in ("in.jsonl", "second.db"):
        shutil.copy(made / name, folder / name)
    (folder / "notes").mkdir()
    (folder / "notes" / "pier.md").write_text("The pier is old", encoding="utf-8")
    (folder / ".beads").mkdir()
    (folder / ".beads" / "issues.jsonl").write_text('{"id": "bd-1", "title": "Fix the pier"}\n')
    monkeypatch.setenv("BETHINK_DB", str(path))
    return path


def ids() -> list[str]:
    """Return the ids in the file: superseded standup, standup, two ferries, Ann."""
    ends = ("96ac20b6", "4a998ed4", "ef5a0645", "5b7d1c02", "c83f9e11")
    return [f"019000000000700080000000{end}" for end in ends]
