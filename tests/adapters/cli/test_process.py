"""The command line as a process: pipes, interrupts, the ways to start."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import bethink_adapters
from bethink import MemoryStore
from bethink.__main__ import run as run_module
from bethink_adapters.cli import main

from .conftest import Run

COMMAND = [sys.executable, "-m", "bethink_adapters.cli"]
MODULE = [sys.executable, "-m", "bethink"]


def environment(file: Path) -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("BETHINK_")}
    return {**kept, "BETHINK_DB": str(file)}


def test_python_m_bethink_is_the_command_line_or_shows_a_file(
    file: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_module(["recall", "standup", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["memory"]["key"] == "standup"
    assert run_module(["--version"]) == 0
    assert capsys.readouterr().out.startswith("bethink ")
    assert run_module([str(file)]) == 0
    assert "newest memories" in capsys.readouterr().out
    file.rename("recall")
    assert run_module(["./recall"]) == 0
    assert "newest memories" in capsys.readouterr().out
    assert run_module(["ls"]) == 2
    assert "perhaps `bethink list`" in capsys.readouterr().err
    assert run_module(["recall.txt"]) == "recall.txt: there is no such file, or the file is empty"


def test_the_modules_run(file: Path) -> None:
    for command in (COMMAND, MODULE):
        done = subprocess.run(
            [*command, "get", "--key", "none"],
            capture_output=True,
            text=True,
            env=environment(file),
            check=False,
        )
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == "bethink: no memory has the key 'none' in 'default'\n"


def test_the_console_script_is_the_command_line() -> None:
    settings = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))
    module, _, name = settings["project"]["scripts"]["bethink"].partition(":")
    assert getattr(import_module(module), name) is main


def test_a_terminal_of_few_characters_shows_escapes(file: Path) -> None:
    with MemoryStore(file) as store:
        store.store("Zoë likes 日本", namespace="few")
    done = subprocess.run(
        [*COMMAND, "list", "-n", "few"],
        capture_output=True,
        env={**environment(file), "PYTHONIOENCODING": "ascii"},
        check=True,
    )
    assert b"Zo\\xeb likes \\u65e5\\u672c" in done.stdout


def test_help_loads_no_memory_core(file: Path) -> None:
    folder = os.fspath(Path(bethink_adapters.__file__).parents[1])  # -S leaves out site-packages
    code = (
        f"import sys; sys.path.insert(0, {folder!r}); "
        "from bethink_adapters.cli import main; main(['--help']); "
        "print(sys.modules.keys() & {'bethink', 'numpy', 'asyncio', 'dataclasses', 'json', "
        "'importlib.metadata', 'pathlib', 'shutil', 'subprocess', 'tempfile'})"
    )
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


@pytest.mark.skipif(os.name == "nt", reason="signals and pipes of POSIX")
@pytest.mark.parametrize("language", ["C", "C.UTF-8"])
def test_bytes_on_the_standard_input_that_are_no_text_are_refused(
    file: Path, language: str
) -> None:
    done = subprocess.run(
        [*COMMAND, "store", "-"],
        input="Röhre".encode("latin-1"),
        capture_output=True,
        env={**environment(file), "LC_ALL": language},
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, b"bethink: the text is no UTF-8 at byte 1\n")


@pytest.mark.skipif(os.name == "nt", reason="arguments are bytes on POSIX only")
@pytest.mark.parametrize("words", [[b"store"], [b"recall"], [b"update", b"4a998ed4", b"--content"]])
def test_an_argument_that_is_no_text_is_told_as_such(file: Path, words: list[bytes]) -> None:
    done = subprocess.run(
        [*COMMAND, *words, b"\xc3\xa9 \xff"],
        env=environment(file),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, b"bethink: the text is no UTF-8 at byte 3\n")


def test_a_closed_pipe_ends_quietly(file: Path) -> None:
    with MemoryStore(file) as store:
        store.store_many([f"note {number} {'x' * 2_000}" for number in range(300)])
    for form in ([], ["--json"], ["--jsonl"]):
        reader = subprocess.Popen(["head", "-1"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        done = subprocess.run(
            [*COMMAND, "list", "--limit", "300", *form],
            stdout=reader.stdin,
            stderr=subprocess.PIPE,
            env=environment(file),
            check=False,
        )
        assert reader.stdin is not None
        reader.stdin.close()
        reader.wait()
        assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(os.name == "nt", reason="signals and pipes of POSIX")
def test_an_overview_that_nobody_reads_ends_quietly(file: Path) -> None:
    MemoryStore(file).close()
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "bethink", str(file)],
        stdout=writing,
        stderr=subprocess.PIPE,
        env=environment(file),
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(os.name == "nt", reason="signals and pipes of POSIX")
@pytest.mark.parametrize(
    ("words", "closed", "code"),
    [("recall standup", ">&-", 0), ("store -", "<&-", 2), ("get --key none", "2>&-", 1)],
)
def test_closed_streams_are_empty(file: Path, words: str, closed: str, code: int) -> None:
    line = f'exec "$0" -m bethink_adapters.cli {words} {closed}'
    done = subprocess.run(
        ["sh", "-c", line, sys.executable],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment(file),
        check=False,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)
    with MemoryStore(file) as store:
        assert store.verify().ok


@pytest.mark.skipif(os.name == "nt", reason="signals and pipes of POSIX")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_log_is_followed_until_a_signal(file: Path, sent: signal.Signals) -> None:
    following = subprocess.Popen(
        [*COMMAND, "log", "--follow", "--jsonl", "--limit", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(file),
    )
    assert following.stdout is not None
    assert json.loads(following.stdout.readline())["action"] == "snapshot"
    with MemoryStore(file) as store:
        store.store("news of a second process")
    assert json.loads(following.stdout.readline())["changes"]["content"].startswith("news")
    following.send_signal(sent)
    out, err = following.communicate(timeout=30)
    assert (following.returncode, out, err) == (130, "", "")


@pytest.mark.skipif(os.name == "nt", reason="terminals of POSIX")
def test_a_terminal_shows_a_followed_log_at_once(file: Path) -> None:
    import pty

    reader, terminal = pty.openpty()
    words = [*COMMAND, "log", "--follow"]
    with subprocess.Popen(words, stdout=terminal, env=environment(file)) as following:
        os.close(terminal)
        shown = select.select([reader], [], [], 60)[0] and os.read(reader, 2)
        following.kill()
    os.close(reader)
    assert shown == b"#1"


@pytest.mark.skipif(os.name == "nt", reason="terminals of POSIX")
def test_a_server_for_hosts_tells_a_terminal_who_speaks_to_the_server(file: Path) -> None:
    import pty

    writer, terminal = pty.openpty()
    pipe, kept = subprocess.PIPE, environment(file)
    with subprocess.Popen([*COMMAND, "mcp"], stdin=terminal, stderr=pipe, env=kept) as server:
        assert server.stderr is not None
        told = server.stderr.readline()
        server.kill()
    os.close(writer)
    assert b"messages of an agent host" in told
    os.close(terminal)
    done = subprocess.run([*COMMAND, "mcp"], input=b"", capture_output=True, env=kept, check=True)
    assert done.stderr == b""


def test_a_file_that_is_no_store_is_told_in_a_sentence(run: Run, folder: Path) -> None:
    Path("notes.txt").write_text("a text " * 100)
    done = run("--db", "notes.txt", "list")
    assert (done.code, done.out) == (1, "")
    assert "notes.txt: not a bethink file" in done.err
    assert run("--db", ".", "list").code == 1


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="rights of POSIX")
def test_a_read_only_file_is_read_and_refuses_writes(run: Run, file: Path, read_only: Path) -> None:
    for words in (["list"], ["recall", "standup"], ["stats"], ["get", "--key", "standup"], ["log"]):
        done = run("--db", str(read_only), *words)
        assert (done.code, done.err) == (0, "")
        assert done.out
    for words in (["store", "Bob likes ham"], ["forget", "--category", "travel", "--yes"]):
        done = run("--db", str(read_only), *words)
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith(f"bethink: {read_only}: ")
        assert done.err.count("\n") == 1
    assert [each.name for each in read_only.parent.iterdir()] == [read_only.name]


@pytest.fixture
def read_only(run: Run, file: Path) -> Iterator[Path]:
    """A file in a folder, both without the right to write, for a user without privileges."""
    run("recall", "standup")  # imports what the user may not read
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        shutil.copy(file, path)
        path.chmod(0o444)
        Path(folder).chmod(0o555)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65_534)
        try:
            yield path
        finally:
            os.seteuid(user)
            Path(folder).chmod(0o755)
