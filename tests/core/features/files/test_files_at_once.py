"""Files that many change at once: nobody's edit is lost, and no two files share a place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bethink import Files, HashEmbedder, MemoryStore, NotFoundError, PathTakenError

from ...storage.processes import Child, forks
from ...storage.replay import assert_journal_is_state
from .test_files import texts


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Files]:
    with MemoryStore(tmp_path / "memory.db", durability="normal") as store:
        yield Files(store)


def test_threads_lose_no_line(files: Files) -> None:
    files.create("/a", "")

    def write(n: int) -> None:
        Files(files.store).insert("/a", 0, f"line {n}")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(24)))
    assert sorted(files.read("/a").splitlines()) == sorted(f"line {n}" for n in range(24))


@forks
def test_processes_lose_no_line(files: Files) -> None:
    files.create("/a", "")

    def write(name: str, _: object = None) -> None:
        for n in range(8):
            files.insert("/a", 0, f"{name}{n}")

    others = [Child(partial(write, name)) for name in "xy"]
    write("z")
    for other in others:
        other.result()
    assert sorted(files.read("/a").split()) == [f"{name}{n}" for name in "xyz" for n in range(8)]
    assert_journal_is_state(files.store)


def test_one_of_many_creates_a_file(files: Files) -> None:
    def create(n: int) -> bool:
        try:
            files.create("/d" if n % 2 else "/d/a", str(n))
        except PathTakenError:
            return False
        return True

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(create, range(12))) == 1
    assert len(texts(files)) == 1


class Interrupting(HashEmbedder):
    """Do something once while a text is being embedded."""

    def __init__(self) -> None:
        super().__init__(16)
        self.interruption: Callable[[], object] | None = None

    def embed(self, texts: Any) -> Any:
        interruption, self.interruption = self.interruption, None
        if interruption:
            interruption()
        return super().embed(texts)


@pytest.fixture
def embedder() -> Interrupting:
    return Interrupting()


@pytest.fixture
def interrupted(embedder: Interrupting) -> Iterator[Files]:
    with MemoryStore(embedder=embedder) as store:
        yield Files(store)


def test_an_edit_that_is_overtaken_is_made_of_the_newer_text(
    interrupted: Files, embedder: Interrupting
) -> None:
    interrupted.create("/a", "one\n")
    embedder.interruption = lambda: interrupted.insert("/a", 0, "zero")
    assert interrupted.str_replace("/a", "one", "two") == "     1\tzero\n     2\ttwo\n     3\t"
    assert interrupted.read("/a") == "zero\ntwo\n"


def test_an_edit_notices_that_its_file_has_gone(interrupted: Files, embedder: Interrupting) -> None:
    interrupted.create("/a", "one\n")
    embedder.interruption = lambda: interrupted.rename("/a", "/b")
    with pytest.raises(NotFoundError):
        interrupted.insert("/a", 0, "zero")
    assert texts(interrupted) == {"/b": "one\n"}


@pytest.mark.parametrize("rival", ["/d/a", "/d", "/d/a/b"])
def test_a_create_that_is_overtaken_is_refused(
    interrupted: Files, embedder: Interrupting, rival: str
) -> None:
    embedder.interruption = lambda: interrupted.create(rival, "rival")
    with pytest.raises(PathTakenError):
        interrupted.create("/d/a", "late")
    assert texts(interrupted) == {rival: "rival"}
