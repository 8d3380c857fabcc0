"""The pages about the command line tell the truth."""

import re
import shlex
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from bethink_adapters.cli.parser import BY_NAME, GROUPS

from .conftest import Run
from .test_every_command import WITHOUT_A_FILE

ROOT = Path(__file__).parents[3]
ROW = r"^\| `(remembrane|mem) ([a-z-]+)[^|]*\| (.*) \|$"
ROWS = re.findall(ROW, (ROOT / "docs" / "cli.md").read_text("utf-8"), re.MULTILINE)
EXAMPLES = [each.example for group in GROUPS.values() for each in group]
SERVERS = tuple(f"bethink {name}" for name in WITHOUT_A_FILE)

pytestmark = pytest.mark.usefixtures("file")


@pytest.fixture
def maker(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    return import_module("tests.making.command_pages")


def test_the_pages_and_the_manual_are_those_of_the_tables(maker: ModuleType) -> None:
    written = maker.PAGE.read_text("utf-8")
    assert maker.page(written) == written
    hosts = maker.HOSTS_PAGE.read_text("utf-8")
    assert maker.hosts_page(hosts) == hosts
    assert maker.manual() == maker.MANUAL.read_text("utf-8")


@pytest.mark.parametrize("example", [each for each in EXAMPLES if not each.startswith(SERVERS)])
def test_an_example_of_a_command_runs(example: str, run: Run) -> None:
    done = run(*shlex.split(example)[1:])
    assert (done.code, done.err) == (0, "")


def test_every_command_of_the_predecessors_has_a_row() -> None:
    assert {name for system, name, _ in ROWS if system == "remembrane"} == {
        *("store", "recall", "list", "forget", "export", "stats", "snapshot"),
        *("log", "diff", "conflicts", "feedback", "pack", "merge"),
    }
    assert {name for system, name, _ in ROWS if system == "mem"} == {
        *("add", "search", "why", "show", "list", "delete", "outcome", "context", "extract"),
        *("track-file", "stats", "check", "serve", "ingest", "export", "install-plugin", "session"),
        *("beads-sync", "beads-context", "beads-link", "beads-stats"),
        *("tasks", "tasks-sync", "tasks-context", "tasks-stats"),
    }


@pytest.mark.parametrize(("system", "name", "ours"), ROWS)
def test_a_command_of_a_predecessor_has_a_command_that_runs(
    system: str, name: str, ours: str, run: Run
) -> None:
    if name in ("extract", "track-file"):
        assert ours.startswith("none: ")
        return
    commands = re.findall(r"`(bethink [^`]+)`", ours)
    assert commands
    for command in commands:
        words = shlex.split(command)[1:]
        assert words[0] in BY_NAME
        done = run(*words)
        assert (done.code, done.err) == (0, "")
        assert done.out
