"""``python -m bethink FILE`` shows a file and changes nothing."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from bethink import CallableEmbedder, MemoryStore
from bethink.__main__ import run
from bethink_adapters.cli.overview import overview


def shown(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert overview([str(path)]) == 0
    return capsys.readouterr().out


def test_a_file_is_shown_and_left_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "agent.db"
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(1_763_000_000))
    with MemoryStore(path, clock=lambda: 1_763_000_000.0) as store:
        store.store("Ann drinks tea", namespace="users/ann", category="taste")
        store.store_many(["Bob likes ham", "Bob hates ham", "a\x1b[2J note\n of two lines"])
        store.forget(store.store("gone").id)
    before = path.read_bytes()
    lines = shown(path, capsys).splitlines()
    assert lines[0] == f"{path}: 4 live, 1 forgotten; 0.1 MB"
    assert lines[1].split() == ["namespaces", "default", "3,", "users/ann", "1"]
    assert lines[2].split() == ["categories", "taste", "1"]
    assert lines[3].split(maxsplit=1) == ["embedder", "static-minilm-128-v1, schema 2"]
    assert lines[4].endswith(f"6 entries, last {when}")
    newest = lines[lines.index("newest memories") + 1 :]
    assert newest[0] == f"  {when}  default  a[2J note of two lines"
    assert newest[3] == f"  {when}  users/ann  Ann drinks tea"
    conflicts = newest[newest.index("open conflicts: 1") + 1 :]
    assert conflicts == ["  likely: Bob likes ham | Bob hates ham", "health: no damage found"]
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (before, [path])


def test_an_empty_store_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "agent.db"
    MemoryStore(path).close()
    text = shown(path, capsys)
    assert text.startswith(f"{path}: no memories")
    assert "0 entries, never changed" in text


def test_a_file_is_shown_without_its_embedder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "agent.db"
    embedder = CallableEmbedder(lambda texts: [[1.0, 2.0] for _ in texts], name="mine")
    with MemoryStore(path, embedder=embedder) as store:
        store.store_many(["Bob likes ham", "Bob hates ham"])
    text = shown(path, capsys)
    assert "mine, schema 2" in text
    assert "open conflicts: 1" in text


def test_a_damaged_file_tells_the_damage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "agent.db"
    with MemoryStore(path) as store:
        store.store("a red cat")
    damaged = path.read_bytes().replace(b"a red cat", b"a red bat")
    path.write_bytes(damaged)
    lines = shown(path, capsys).splitlines()
    problems = lines[lines.index(next(line for line in lines if line.startswith("health: "))) :]
    assert problems[0] != "health: no damage found"
    assert len(problems) > 1


def test_much_is_counted_and_little_is_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "agent.db"
    with MemoryStore(path) as store:
        store.store_many({"content": f"note {n}", "namespace": f"n{n % 7}"} for n in range(300))
    text = shown(path, capsys)
    assert "and 2 more" in text
    assert text.count("note ") == 5
    assert "open conflicts: not looked for" in text


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["--help"]])
def test_wrong_arguments_are_answered_with_the_usage(arguments: Sequence[str]) -> None:
    assert str(overview(list(arguments))).startswith("usage: python -m bethink FILE, or ")


def test_what_is_no_store_is_refused_in_a_sentence_and_never_made(tmp_path: Path) -> None:
    missing, empty, foreign = (tmp_path / name for name in ("missing.db", "empty.db", "text.txt"))
    empty.touch()
    foreign.write_text("a text " * 100)
    for path in (missing, empty, tmp_path):
        assert overview([str(path)]) == f"{path}: there is no such file, or the file is empty"
    assert str(overview([str(foreign)])).startswith(f"{foreign}: not a bethink file")
    assert sorted(tmp_path.iterdir()) == [empty, foreign]
    assert not empty.read_bytes()


def test_an_unknown_command_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["rember", "The meeting is on Monday"]) == 2
    assert "no command 'rember'" in capfd.readouterr().err


def test_the_module_runs_and_its_exit_code_tells(tmp_path: Path) -> None:
    path = tmp_path / "missing.db"
    command = [sys.executable, "-m", "bethink", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"{path}: there is no such file")
