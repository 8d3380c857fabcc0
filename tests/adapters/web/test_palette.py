"""The palette of commands, by the keyboard alone, and the number of open conflicts."""

from __future__ import annotations

import re
from typing import Any

from bethink import MemoryStore

from ..rest.process import Served
from .conftest import SCRIPT, axe


def opened(page: Any, text: str) -> Any:
    """Open the palette, type *text*, return the dialog."""
    page.keyboard.press("Control+k")
    page.locator(".palette[open]").wait_for()
    page.keyboard.type(text)
    return page.locator(".palette")


def run(page: Any, text: str) -> None:
    """Run the command that *text* names, first of all by the group."""
    group = re.compile(rf"^\s*{text.split()[0]}", re.IGNORECASE)
    opened(page, text).locator("[aria-selected=true]").filter(has_text=group).wait_for()
    page.keyboard.press("Enter")
    page.locator(".palette[open]").wait_for(state="detached")


def test_the_help_lists_the_palette(page: Any) -> None:
    page.keyboard.press("?")
    assert page.locator("dialog.help dt", has_text="Ctrl+k").count() == 1


def test_a_few_letters_open_a_view(page: Any) -> None:
    run(page, "view act")
    page.wait_for_selector("activity-view .rows li")


def test_the_palette_runs_an_action_of_the_present_view(page: Any, server: Served) -> None:
    with MemoryStore(server.path) as store:
        id = store.store("The bell hangs.").id
    page.goto(f"/memories/{id}")
    page.wait_for_selector("memory-view .content")
    run(page, "do edit")
    page.wait_for_selector("memory-view textarea")


def test_the_palette_finds_a_memory_as_text(page: Any) -> None:
    palette = opened(page, "script document title")
    palette.get_by_role("option", name="Memory").first.wait_for()
    assert SCRIPT in palette.get_by_role("option").first.inner_text()
    page.keyboard.press("Enter")
    page.locator("memory-view .content", has_text=SCRIPT).wait_for()


def test_the_palette_hands_a_question_to_recall(page: Any) -> None:
    palette = opened(page, "when do deployments happen")
    palette.get_by_role("option", name="Memory").first.wait_for()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_selector("recall-view .score")
    assert page.url.endswith("/recall?q=when+do+deployments+happen")


def test_the_palette_switches_namespace_and_theme(page: Any) -> None:
    run(page, "namespace users/bob")
    page.wait_for_url("**/?ns=users%2Fbob")
    run(page, "theme dark")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_arrow_keys_move_and_escape_changes_nothing(page: Any) -> None:
    palette = opened(page, "")
    options, box = palette.get_by_role("option"), palette.get_by_role("combobox")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    chosen = palette.locator("[aria-selected=true]")
    assert box.get_attribute("aria-activedescendant") == chosen.get_attribute("id")
    assert chosen.inner_text() == options.nth(2).inner_text()
    address = page.url
    page.keyboard.press("Escape")
    page.locator(".palette[open]").wait_for(state="detached")
    assert page.url == address


def test_an_open_palette_learns_of_a_new_namespace(page: Any, server: Served) -> None:
    palette = opened(page, "namespace harbour")
    palette.get_by_role("option", name="Recall").wait_for()
    with MemoryStore(server.path) as store:
        store.store("The fee is due in May.", namespace="harbour/fees")
    palette.get_by_role("option", name="Namespace harbour/fees").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/?ns=harbour")


def test_what_is_chosen_stays_chosen_as_memories_are_found(page: Any) -> None:
    palette = opened(page, "deployments")
    page.keyboard.press("ArrowUp")
    palette.get_by_role("option", name="Memory").first.wait_for()
    assert palette.locator("[aria-selected=true]").inner_text().startswith("Recall")


def test_axe_finds_nothing_in_the_palette(page: Any) -> None:
    opened(page, "deployments").get_by_role("option", name="Memory").first.wait_for()
    assert axe(page) == []


def test_the_navigation_counts_conflicts_as_the_journal_grows(page: Any, server: Served) -> None:
    with MemoryStore(server.path) as store:
        store.store_many(f"Host{number // 4} has {number % 4} disks." for number in range(96))
    badge = page.locator(".side .badge")
    badge.filter(has_text="99+ open").wait_for()
    page.goto("/?ns=users")
    badge.filter(has_text="1 open").wait_for()
    with MemoryStore(server.path) as store:
        for city in ("Oslo", "Rome"):
            store.store(f"Ann lives in {city}.", namespace="users/ann")
    badge.filter(has_text="2 open").wait_for()
    run(page, "namespace users/ann")
    badge.filter(has_text="1 open").wait_for()
    run(page, "namespace team")
    badge.wait_for(state="detached")
