"""A browser before a real server: each test fails on errors of the console and foreign requests."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from bethink import MemoryStore

from ..rest.process import Served, announced, serve_arguments

sync_api = pytest.importorskip("playwright.sync_api")

SCRIPT = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# Servers are forked from a process that has imported all: to import takes a second.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["bethink_adapters.cli.parser", "bethink_adapters.rest.running"])
SERVE = """
import os, sys
from bethink_adapters.cli import main
folder, variables, output, arguments = given
os.chdir(folder)
os.environ.clear()
os.environ.update(variables)
sys.stdout = open(output.fileno(), "w", closefd=False)
sys.exit(main(arguments))
"""


def fill(path: Path) -> None:
    with MemoryStore(path) as store:
        store.store("Bob lives in Oslo.", namespace="users/bob")
        store.store("Bob lives in Bergen.", namespace="users/bob")
        store.store(SCRIPT, namespace="team", category="gotcha", tags=["xss"])
        store.store("Deployments happen on Tuesdays.", namespace="team", importance=0.9)
        for number in range(120):
            store.store(f"Ticket {number} waits.", namespace="tickets", category="todo")


def write_tasks(project: Path, *tasks: dict[str, Any]) -> None:
    """Write the list of Beads in *project*."""
    (project / ".beads/issues.jsonl").write_text("".join(json.dumps(each) + "\n" for each in tasks))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the server, with a list of Beads, in the home of a user."""
    for name in ("BEADS_DIR", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_TASK_LIST_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", "/nowhere")  # without the program of Beads
    made = tmp_path / "ferry"
    (made / ".beads").mkdir(parents=True)
    (made / ".git").mkdir()
    monkeypatch.chdir(made)
    write_tasks(made, {"id": "bd-1", "title": "Mend the ferry"}, {"id": "bd-2", "title": SCRIPT})
    return made


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the memories of ``fill``, to be copied."""
    path = tmp_path_factory.mktemp("filled") / "m.db"
    fill(path)
    return path


@pytest.fixture
def server(browser: Any, filled: Path, tmp_path: Path, project: Path) -> Iterator[Served]:
    shutil.copy(filled, tmp_path / "m.db")
    here, there = FORKS.Pipe(duplex=False)
    given = (str(Path.cwd()), dict(os.environ), there, serve_arguments(tmp_path))
    process = FORKS.Process(target=exec, args=(SERVE, {"given": given}))
    process.start()
    there.close()
    try:
        with open(here.fileno(), closefd=False, encoding="utf-8") as output:
            found = announced(output.readline(), tmp_path)
        yield found
    finally:
        process.kill()
        process.join()
        here.close()


def axe(page: Any) -> list[str]:
    """Return the names of what axe finds on *page*."""
    page.evaluate((resources.files("axe_playwright_python") / "axe.min.js").read_text())
    found: list[str] = page.evaluate(
        "axe.run().then((run) => run.violations.map((found) => found.id))"
    )
    return found


def is_fault(said: Any) -> bool:
    """Return whether the console shows an error; refusals that a view explains are none."""
    refused = ("409 (Conflict)", "412 (Precondition Failed)", "422 (Unprocessable")
    return said.type == "error" and not any(each in said.text for each in refused)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    chromium = next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        pytest.fail("Chromium is not installed")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        yield opened
        opened.close()


@pytest.fixture
def page(request: pytest.FixtureRequest, browser: Any, server: Served) -> Iterator[Any]:
    context = browser.new_context(
        base_url=server.address,
        color_scheme=getattr(request, "param", "light"),
        viewport={"width": 1280, "height": 800},
    )
    opened, faults = context.new_page(), list[str]()

    def note(fault: bool, text: str) -> None:
        if fault:
            faults.append(text)

    opened.on("pageerror", lambda error: note(True, str(error)))
    opened.on("console", lambda said: note(is_fault(said), said.text))
    opened.on("dialog", lambda dialog: note(True, dialog.message))
    opened.on("request", lambda sent: note(not sent.url.startswith(server.address), sent.url))
    opened.goto(f"/#token={server.token}")
    opened.wait_for_selector(".figures")
    yield opened
    context.close()
    assert faults == []
