"""The view Home: the numbers of `bethink stats --json`, for the file and for a namespace."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bethink import EVERYWHERE, MemoryStore
from bethink_adapters.rest.tokens import new_token, write_tokens

from ..rest.process import Served, served
from .conftest import axe

STATES = ("live", "superseded", "archived", "expired")


def judge(server: Served) -> None:
    """Give outcomes to the memories of team, and supersede, archive and forget some tickets."""
    with MemoryStore(server.path) as store:
        useful, useless = store.all(namespace="team")
        store.record_outcome(useful.id, "worked")
        store.record_outcome(useless.id, "failed")
        one, two, three, four = store.all(namespace="tickets", limit=4)
        store.resolve(one.id, [two.id])
        store.archive([three.id])
        store.forget(four.id)


def told(server: Served) -> dict[str, Any]:
    """Return what the command line tells of the file."""
    command = [sys.executable, "-m", "bethink_adapters.cli", "stats", "--json"]
    done = subprocess.run(
        [*command, "--db", str(server.path)], capture_output=True, check=True, text=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def visit(page: Any, address: str) -> None:
    page.goto(address)
    page.locator(".figures strong", has_not_text="…").last.wait_for()


def shares(page: Any, title: str) -> dict[str, int]:
    lines = page.locator("section", has_text=title).locator(".shares a").all_inner_texts()
    pairs = (re.split(r"\s+", each.strip()) for each in lines)
    return {name: int(number) for name, number in pairs}


def table(page: Any, title: str) -> list[list[str]]:
    """Return the rows of the table beside a chart."""
    part = page.locator("section", has=page.get_by_role("heading", name=title))
    part.locator("summary").click()
    return [row.locator("th, td").all_inner_texts() for row in part.locator("tbody tr").all()]


def test_every_number_is_the_number_of_the_command_line(page: Any, server: Served) -> None:
    judge(server)
    visit(page, "/")
    stats = told(server)
    figures = page.locator(".figures strong").all_inner_texts()
    assert [int(each) for each in figures[:4]] == [stats["states"][each] for each in STATES]
    assert shares(page, "By namespace") == stats["namespaces"]
    assert shares(page, "By category") == stats["categories"]
    outcomes = {name.replace("\N{MINUS SIGN}", "-"): int(n) for name, n in table(page, "Outcomes")}
    assert outcomes == {
        f"{float(name):+.2f}" if float(name) else "0.00": number
        for name, number in stats["outcomes"].items()
    }
    _, *days = table(page, "Live memories by day")
    [(day, number)] = stats["created"].items()
    assert days == [[day, f"{number} new, {number} in all"]]
    head = page.locator(".head").inner_text()
    assert str(server.path) in head
    assert f"{stats['journal_length']} journal entries" in head


def test_a_namespace_has_numbers_of_its_own(page: Any, server: Served) -> None:
    judge(server)
    visit(page, "/?ns=users")
    page.locator(".figures strong").last.filter(has_text="1").wait_for()  # conflicts come last
    assert page.locator(".figures strong").all_inner_texts() == ["2", "0", "0", "0", "1"]
    assert shares(page, "By namespace") == {"users/bob": 2}
    assert page.get_by_role("heading", name="Outcomes").count() == 0


def test_charts_have_the_numbers_as_labels(page: Any, server: Served) -> None:
    judge(server)
    visit(page, "/")
    labels = [each.get_attribute("aria-label") for each in page.get_by_role("img").all()]
    with MemoryStore(server.path) as store:
        live = store.count(namespace=EVERYWHERE)
    assert any(str(each).startswith(f"{live} live memories, stored on 1 day") for each in labels)
    assert f"Of {live} live memories, 1 helped and 1 misled" in labels


@pytest.mark.usefixtures("project")
def test_home_counts_what_a_bound_token_sees(browser: Any, tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "m.db") as store:
        store.store("Ann prefers tea.", namespace="users/ann", category="taste")
        store.store("Bob prefers milk.", namespace="users/bob")
    write_tokens(tmp_path / "tokens.json", [new_token(["users/ann"])])
    with served(tmp_path) as server:
        context = browser.new_context(base_url=server.address)
        page, refused = context.new_page(), list[str]()
        page.on("response", lambda reply: refused.append(reply.url) if reply.status > 399 else None)
        visit(page, f"/#token={server.token}")
        assert page.locator(".figures strong").first.inner_text() == "1"
        assert shares(page, "By category") == {"taste": 1}
        assert str(server.path) not in page.locator("main").inner_text()
        assert refused == []
        context.close()


@pytest.mark.parametrize("page", ["light", "dark"], indirect=True)
def test_axe_finds_nothing_in_the_charts(page: Any, server: Served) -> None:
    judge(server)
    visit(page, "/")
    table(page, "Outcomes")
    assert axe(page) == []
