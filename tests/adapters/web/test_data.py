"""The view Data: previews before writing, damage by line, and erasing after typing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bethink import MemoryStore
from bethink_adapters.rest.tokens import new_token, write_tokens

from ..rest.process import Served, served
from .conftest import SCRIPT


def visit(page: Any, rest: str = "") -> None:
    page.goto(f"/data{rest}")
    page.locator("data-erase section").wait_for()


def choose(page: Any, path: Path) -> None:
    page.set_input_files("data-upload input", path)


def exported(server: Served, **params: str) -> bytes:
    with server.client() as client:
        lines: bytes = client.get("/v1/export", params=params).content
    return lines


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """The file of a second store with two memories; an export is beside the file."""
    path = tmp_path / "other.db"
    with MemoryStore(path) as store:
        store.store_many(["The bell weighs 40 kg.", "Harbour fees are due in May."])
        store.export(path.with_suffix(".jsonl"))
    return path


@pytest.mark.parametrize(("suffix", "button"), [(".jsonl", "Import"), (".db", "Merge")])
def test_data_takes_a_file_in_after_a_preview(
    page: Any, server: Served, other: Path, suffix: str, button: str
) -> None:
    visit(page)
    before = exported(server)
    choose(page, other.with_suffix(suffix))
    take = page.get_by_role("button", name=f"{button} 2 memories")
    take.wait_for()
    assert page.locator("data-upload .counts").inner_text().split() == ["2", "new"]
    assert exported(server) == before
    take.press("Enter")
    page.locator(".toast", has_text=f"2 memories added from other{suffix}").wait_for()
    with MemoryStore(server.path) as store:
        assert {"The bell weighs 40 kg.", "Harbour fees are due in May."} <= {
            each.content for each in store.all()
        }


def test_data_names_the_lines_of_a_damaged_file_and_changes_nothing(
    page: Any, server: Served, other: Path
) -> None:
    lines = other.with_suffix(".jsonl").read_text().splitlines(keepends=True)
    lines[1] = f"{SCRIPT}\n"
    lines[2] = "7\n"
    (damaged := other.with_name("damaged.jsonl")).write_text("".join(lines))
    visit(page)
    before = exported(server)
    choose(page, damaged)
    told = page.locator("data-upload [role=alert]")
    told.wait_for()
    assert told.locator("p").inner_text() == "damaged.jsonl is refused, and nothing was changed."
    assert [each.split("\n")[0] for each in told.locator("li").all_inner_texts()] == [
        "line 2 is not JSON",
        "line 3 is not a JSON object",
    ]
    assert told.locator("code").first.inner_text() == SCRIPT
    assert told.locator("script, img").count() == 0
    assert page.title() == "Data · bethink"
    assert exported(server) == before
    page.get_by_role("button", name="Discard").press("Escape")
    told.wait_for(state="detached")


def test_data_downloads_the_export_of_a_namespace_by_key(page: Any, server: Served) -> None:
    page.locator("main").press("g")
    page.keyboard.press("d")
    page.locator("data-erase section").wait_for()
    page.get_by_label("Namespace").select_option("users/bob")
    page.locator(".panel strong", has_text="users/bob").first.wait_for()
    with page.expect_download() as waiting:
        page.locator("main").press("o")
    assert waiting.value.suggested_filename.startswith("bethink-users-bob-")
    wanted = exported(server, namespace="users/bob", subtree="true")
    assert Path(waiting.value.path()).read_bytes() == wanted


def test_data_reports_damage_and_mends_the_file(page: Any, server: Served) -> None:
    visit(page)
    page.locator("main").press("v")
    page.locator("data-view .good", has_text="The file is whole.").wait_for()
    with closing(sqlite3.connect(server.path)) as file, file:
        file.execute("UPDATE vectors SET vector = x'00' WHERE rowid <= 3")
    page.locator("main").press("v")
    page.locator("data-view .bad", has_text="problems found").wait_for()
    page.get_by_role("button", name="Repair").click()
    page.locator("data-view .good", has_text="mended. The file is whole.").wait_for()
    with MemoryStore(server.path) as store:
        assert store.verify().ok


def test_data_erases_after_a_count_and_the_typed_words(page: Any, server: Served) -> None:
    visit(page, "?ns=tickets")
    page.get_by_role("button", name="Count").press("Enter")
    confirm = page.locator("data-erase input[name=confirm]")
    confirm.wait_for()
    assert "120 memories would be erased" in page.locator("data-erase .bad").inner_text()
    confirm.press_sequentially("erase 12")
    confirm.press("Enter")
    assert page.get_by_role("button", name="Erase 120").is_disabled()
    confirm.press("0")
    confirm.press("Enter")
    page.locator(".toast", has_text="120 memories erased").wait_for()
    assert b"Ticket" not in exported(server)
    assert b"Bob lives in Oslo." in exported(server)


def test_data_erases_nothing_else_than_was_counted(page: Any, server: Served) -> None:
    visit(page, "?ns=users")
    page.get_by_role("button", name="Count").click()
    confirm = page.locator("data-erase input[name=confirm]")
    confirm.press_sequentially("erase 2")
    with MemoryStore(server.path) as store:
        late = store.store("Bob moved.", namespace="users/bob")
        confirm.press("Enter")
        page.locator(".toast.error", has_text="memories may have changed since").wait_for()
        assert store[late.id].state == "live"
    page.get_by_role("button", name="Count").click()
    page.get_by_role("button", name="Erase 3").wait_for()
    confirm.press("Escape")
    confirm.wait_for(state="detached")


def test_data_erases_a_category_of_the_address(page: Any, server: Served) -> None:
    visit(page)
    page.get_by_label("Category").fill("gotcha")
    page.get_by_label("Category").press("Enter")
    page.get_by_role("button", name="Count").click()
    page.locator("data-erase .bad", has_text="1 memory would be erased").wait_for()
    assert page.url.endswith("/data?category=gotcha")


def test_data_lists_agent_hosts_with_the_command(page: Any, project: Path) -> None:
    visit(page)
    hosts = page.locator("data-view .panel", has_text="Agent hosts")
    assert hosts.locator(".empty code").inner_text() == "bethink install"
    (project.parent / "home/.cursor").mkdir(parents=True)
    visit(page)
    assert hosts.locator("li").inner_text().split("\n") == ["Cursor", "bethink install cursor"]


@pytest.mark.usefixtures("project")
def test_data_of_a_bound_token_exports_and_erases_only(browser: Any, tmp_path: Path) -> None:
    write_tokens(tmp_path / "tokens.json", [new_token(["users"])])
    with served(tmp_path) as server:
        context = browser.new_context(base_url=server.address)
        page, refused = context.new_page(), list[str]()
        page.on("response", lambda got: refused.append(got.url) if got.status == 403 else None)
        page.goto(f"/data#token={server.token}")
        page.locator("data-view .empty", has_text="bethink serve --new-token").wait_for()
        assert page.locator("data-view .panel h2").all_inner_texts() == ["Export", "Erase"]
        context.close()
    assert not [url for url in refused if "/hosts" in url or "/stats" in url]
