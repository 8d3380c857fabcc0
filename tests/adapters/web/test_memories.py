"""The view of memories: filters, columns, choices, files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bethink import MemoryRecord, MemoryStore

from ..rest.process import Served
from .conftest import SCRIPT, axe
from .test_page import visit

CHANGED_BY_UNDO = {"updated_at": 0.0}


def records(server: Served) -> dict[str, dict[str, Any]]:
    """Return the live memories of the file, without the time of the last change."""
    with MemoryStore(server.path) as store:
        return {each.id: {**each.to_dict(), **CHANGED_BY_UNDO} for each in everything(store)}


def everything(store: MemoryStore) -> list[MemoryRecord]:
    return [record for name in store.namespaces() for record in store.all(namespace=name)]


def choose_all_and(page: Any, action: str) -> None:
    page.keyboard.press("a")
    page.get_by_role("button", name=action, exact=True).click()


def confirm(page: Any, action: str) -> None:
    page.get_by_role("dialog").get_by_role("button", name=action, exact=True).click()


def test_many_are_archived_after_a_preview_and_taken_back(page: Any, server: Served) -> None:
    before = records(server)
    visit(page, "/memories?category=todo")
    choose_all_and(page, "Archive")
    page.get_by_role("heading", name="Archive 100 memories?").wait_for()
    assert page.locator(".preview li").count() == 5
    page.get_by_role("dialog").get_by_text("and 95 memories more").wait_for()
    assert records(server) == before
    confirm(page, "Archive")
    page.locator(".toast", has_text="100 memories archived").wait_for()
    assert len(records(server)) == len(before) - 100
    page.get_by_role("button", name="Undo").click()
    page.locator("#announcer", has_text="Undone").wait_for(state="attached")
    assert records(server) == before


def test_a_cancelled_preview_changes_nothing(page: Any, server: Served) -> None:
    before = records(server)
    visit(page, "/memories?category=gotcha")
    choose_all_and(page, "Forget")
    page.get_by_role("dialog").get_by_text(SCRIPT).wait_for()
    assert axe(page) == []
    confirm(page, "Cancel")
    page.get_by_role("dialog").wait_for(state="hidden")
    assert records(server) == before


def test_a_memory_is_stored_by_keyboard_and_taken_back(page: Any, server: Served) -> None:
    page.goto("/memories?ns=team")
    page.wait_for_selector("memories-view .rows li")
    page.keyboard.press("c")
    page.wait_for_selector("textarea:focus")
    page.keyboard.type("The bell rings at six.")
    page.get_by_label("Tags").fill("bell, door")
    assert page.locator("edit-form input[name=namespace]").input_value() == "team"
    page.get_by_role("button", name="Save").press("Enter")
    row = page.locator(".rows li", has_text="The bell rings at six.")
    row.wait_for()
    with MemoryStore(server.path) as store:
        [stored] = store.all(namespace="team", where={"category": None, "tags": ["bell", "door"]})
        assert stored.content == "The bell rings at six."
        page.keyboard.press("z")
        row.wait_for(state="detached")
        assert store.get(stored.id) is None


def test_tags_are_added_and_removed(page: Any, server: Served) -> None:
    visit(page, "/memories?category=gotcha")
    choose_all_and(page, "Tag…")
    page.get_by_label("Add tags").fill("web, safe")
    page.get_by_label("Remove tags").fill("xss")
    confirm(page, "Tag")
    page.locator(".rows .tag", has_text="safe").wait_for()
    assert page.locator(".rows .tag").all_inner_texts() == ["web", "safe"]


def test_words_and_times_filter_and_stay_in_the_address(page: Any) -> None:
    visit(page, "/memories?ns=tickets")
    page.get_by_label("Words").fill("ticket 17")
    page.keyboard.press("Enter")
    page.locator(".head", has_text="2 rows").wait_for()
    shown = page.locator(".rows .text").all_inner_texts()
    assert shown == ["Ticket 117 waits.", "Ticket 17 waits."]
    assert "q=ticket+17" in page.url
    visit(page, "/memories?since=2000-01-01&category=gotcha")
    assert page.locator(".rows .text").inner_text() == SCRIPT
    page.goto("/memories?until=2000-01-01")
    page.wait_for_selector("memories-view .empty")


def test_columns_are_chosen_and_stay_in_the_address(page: Any) -> None:
    visit(page, "/memories?category=gotcha")
    page.get_by_text("Columns").click()
    page.get_by_label("importance").check()
    page.locator(".rows .facts", has_text="importance 0.50").wait_for()
    page.reload()
    page.locator(".rows .facts", has_text="importance 0.50").wait_for()
    page.get_by_label("importance").uncheck()
    page.locator(".rows .facts", has_text="importance").wait_for(state="detached")


def test_the_whole_list_is_saved_as_json_and_as_lines(page: Any, server: Served) -> None:
    visit(page, "/memories?category=todo")
    wanted = {id for id, record in records(server).items() if record["category"] == "todo"}
    for ending, parse in (
        (".json", json.loads),
        (".jsonl", lambda text: [json.loads(line) for line in text.splitlines()]),
    ):
        with page.expect_download() as told:
            page.get_by_role("link", name=ending, exact=True).click()
        assert told.value.suggested_filename == f"memories{ending}"
        found = parse(Path(told.value.path()).read_text(encoding="utf-8"))
        assert len(found) == 120
        assert {each["id"] for each in found} == wanted


def test_the_address_of_a_saved_list_is_read_by_a_program(page: Any, server: Served) -> None:
    visit(page, "/memories?q=WAITS+ticket&order=oldest")
    address = page.get_by_role("link", name=".jsonl", exact=True).get_attribute("href")
    with server.client() as http:
        lines = http.get(address).text.splitlines()
    assert [json.loads(line)["content"] for line in lines] == [
        f"Ticket {number} waits." for number in range(120)
    ]


def test_other_lists_are_saved_as_lines(page: Any, server: Served) -> None:
    with MemoryStore(server.path) as store:
        store.store_many(f"Host{number // 4} has {number % 4} disks." for number in range(680))
    for view, ready in (("conflicts", ".pair"), ("activity", ".rows li"), ("tasks", ".rows li")):
        page.goto(f"/{view}")
        page.wait_for_selector(ready)
        link = page.get_by_role("link", name=".jsonl", exact=True)
        with page.expect_download() as told:
            link.click()
        with server.client() as http:
            wanted = http.get(link.get_attribute("href")).text
        assert Path(told.value.path()).read_text(encoding="utf-8") == wanted
        assert wanted.count("\n") == {"conflicts": 1000, "activity": 804, "tasks": 2}[view]


def test_a_filtered_list_is_saved_as_shown(page: Any, server: Served) -> None:
    with MemoryStore(server.path) as store:
        store.snapshot("monday")
    for place, field, value in (
        ("/activity?action=snapshot", "action", "snapshot"),
        ("/tasks?source=beads", "source", "beads"),
    ):
        page.goto(place)
        page.wait_for_selector(".rows li")
        with page.expect_download() as told:
            page.get_by_role("link", name=".jsonl", exact=True).click()
        lines = Path(told.value.path()).read_text(encoding="utf-8").splitlines()
        assert {json.loads(line)[field] for line in lines} == {value}
        assert len(lines) == page.locator(".rows > li").count()


def test_a_page_of_twelve_thousand_rows_is_read_and_drawn_alone(page: Any, server: Served) -> None:
    with MemoryStore(server.path) as store:
        store.store_many([{"content": f"Row {number}."} for number in range(11_876)])
        assert len(everything(store)) == 12_000
    asked = list[str]()
    page.on("request", lambda sent: asked.append(sent.url))
    visit(page, "/memories")
    assert page.locator(".rows > li").count() == 100
    assert sum("/v1/memories?" in url and "limit=100" in url for url in asked) == 1
    page.get_by_text("rows 1 to 100 of 12,000").wait_for()
    page.keyboard.press("n")
    page.get_by_text("Page 2 of 120").wait_for()
    page.get_by_role("link", name="Last").click()
    page.get_by_text("rows 11,901 to 12,000 of 12,000").wait_for()
    assert page.locator(".rows .text").last.inner_text() == "Bob lives in Oslo."
    assert page.url.endswith("/memories?page=120")
    page.go_back()
    page.get_by_text("Page 2 of 120").wait_for()
    page.get_by_label("Category").fill("gotcha")
    page.keyboard.press("Enter")
    page.locator(".head", has_text="1 row").wait_for()


def test_fifty_of_two_pages_are_forgotten_and_taken_back(page: Any, server: Served) -> None:
    before = records(server)
    visit(page, "/memories?ns=tickets")
    for box in page.get_by_role("checkbox", name="Choose: Ticket").all()[:49]:
        box.check()
    page.keyboard.press("n")
    page.get_by_text("Page 2 of 2").wait_for()
    page.get_by_role("checkbox", name="Choose: Ticket 3 waits.").check()
    page.get_by_role("button", name="Forget", exact=True).click()
    page.get_by_role("heading", name="Forget 50 memories?").wait_for()
    confirm(page, "Forget")
    page.locator(".toast", has_text="50 memories forgotten").wait_for()
    assert len(records(server)) == len(before) - 50
    page.get_by_role("button", name="Undo").click()
    page.locator("#announcer", has_text="Undone").wait_for(state="attached")
    assert records(server) == before


def test_the_whole_list_is_chosen(page: Any, server: Served) -> None:
    visit(page, "/memories?category=todo")
    page.keyboard.press("a")
    page.get_by_role("button", name="Choose all 120 of the list").click()
    page.get_by_role("toolbar").get_by_text("120 memories chosen").wait_for()
    page.get_by_role("button", name="Archive", exact=True).click()
    page.get_by_role("heading", name="Archive 120 memories?").wait_for()
    confirm(page, "Archive")
    page.wait_for_selector("memories-view .empty")
    assert len(records(server)) == 4
