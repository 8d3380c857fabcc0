"""The view of one memory: edit, links, versions, outcomes, and the past field by field."""

from __future__ import annotations

import re
from typing import Any

import pytest

from bethink import MemoryRecord, MemoryStore

from ..rest.process import Served
from .conftest import axe


def fill(server: Served) -> tuple[MemoryRecord, MemoryRecord, MemoryRecord]:
    """Return a memory with a past, the memory before, and a linked memory."""
    with MemoryStore(server.path) as store:
        old = store.store("The bell rings at five.", namespace="boat")
        bell = store.store("The bell rings at six.", namespace="boat", supersedes=old.id)
        rope = store.store("The rope hangs by the door.", namespace="boat")
        store.update(bell.id, content="The bell rings at seven.", tags=["bell", "door"], key="bell")
        store.relate(bell.id, rope.id, "needs")
        for outcome in ("worked", "failed", "worked"):
            store.record_outcome(bell.id, outcome)
        return store[bell.id], old, rope


def visit(page: Any, record: MemoryRecord, rest: str = "") -> None:
    page.goto(f"/memories/{record.id}{rest}")
    page.wait_for_selector("memory-view .content")


def test_the_form_changes_text_tags_key_and_category_by_keyboard(page: Any, server: Served) -> None:
    bell, _, _ = fill(server)
    visit(page, bell)
    page.keyboard.press("e")
    page.wait_for_selector("textarea:focus")
    page.keyboard.press("Control+a")
    page.keyboard.type("The bell rings at noon.")
    for text in ("bell, noon", "noon bell", "sound"):
        page.keyboard.press("Tab")
        page.keyboard.press("Control+a")
        page.keyboard.type(text)
    made = page.get_by_role("group", name="Changes")
    assert made.locator("dt").all_inner_texts() == ["content", "key", "category", "tags"]
    assert made.locator("mark").all_inner_texts() == ["seven.", "noon."]
    page.keyboard.press("Enter")
    page.locator(".content", has_text="The bell rings at noon.").wait_for()
    with MemoryStore(server.path) as store:
        found = store[bell.id]
        assert (found.key, found.category, found.tags) == ("noon bell", "sound", ("bell", "noon"))
        assert found.importance == bell.importance


def test_the_history_tells_each_changed_field_before_and_after(page: Any, server: Served) -> None:
    bell, _, _ = fill(server)
    visit(page, bell)
    update = page.locator(".story li", has_text="update")
    shown = [text.strip() for text in update.locator("dt, del, ins").all_inner_texts()]
    assert shown == [
        *("content", "The bell rings at six.", "The bell rings at seven."),
        *("key", "none", "bell"),
        *("tags", "none", "bell, door"),
    ]
    assert page.locator(".story li", has_text="relate").get_by_role("link").count() == 1


def test_links_are_followed_added_removed_and_taken_back(page: Any, server: Served) -> None:
    bell, _, rope = fill(server)
    visit(page, bell)
    links = page.locator("memory-relations")
    assert "needs → this memory" in links.locator(".rows li").inner_text()
    links.get_by_label("To a memory").fill("when do deployments happen")
    page.keyboard.press("Enter")
    links.get_by_label("Kind of a new link").fill("about")
    links.get_by_role("button", name="Link: Deployments").click()
    links.get_by_role("button", name="Remove: about Deployments").wait_for()
    links.get_by_role("button", name="Remove: needs").press("Enter")
    page.locator(".toast", has_text="Link removed").wait_for()
    links.get_by_role("button", name="Remove: needs").wait_for(state="detached")

    def kinds() -> list[str]:
        with MemoryStore(server.path) as store:
            return [each.kind for each in store.related(bell.id)]

    assert kinds() == ["about"]
    page.get_by_role("button", name="Undo").last.click()
    links.get_by_role("button", name="Remove: needs").wait_for()
    assert sorted(kinds()) == ["about", "needs"]
    links.locator(".text", has_text=rope.content).click()
    page.locator(".content", has_text=rope.content).wait_for()
    links.get_by_role("button", name="Remove: needs The bell").click()
    links.locator(".rows").wait_for(state="detached")
    assert kinds() == ["about"]


def test_versions_lead_from_each_memory_to_the_next(page: Any, server: Served) -> None:
    bell, old, _ = fill(server)
    for record in (bell, old):
        visit(page, record)
        versions = page.get_by_role("list").filter(has_text="superseded").locator("a")
        assert versions.all_inner_texts()[:2] == [old.content, bell.content]
    page.get_by_role("link", name=bell.content).first.click()
    page.locator(".content", has_text=bell.content).wait_for()
    assert page.get_by_role("button", name="Edit").count() == 1


def test_the_line_of_outcomes_has_the_numbers_of_the_store(page: Any, server: Served) -> None:
    bell, _, _ = fill(server)
    visit(page, bell)
    page.locator("summary").click()
    with MemoryStore(server.path) as store:
        entries = store.outcomes(bell.id)
    shown = page.locator(".chart td").all_inner_texts()
    told = [f"{each.action}, {each.outcome:+.2f}" for each in entries]
    assert [text.replace("\N{MINUS SIGN}", "-") for text in shown] == told
    path = page.locator(".chart .line").get_attribute("d")
    heights = [float(down) for down in re.findall(r"[ML][\d.]+ ([\d.]+)", path)]
    wanted = [90 - (each.outcome + 1) / 2 * 84 for each in entries]
    assert heights == pytest.approx(wanted, abs=0.06)
    page.keyboard.press("p")
    page.locator(".chart td", has_text="partial").wait_for()


@pytest.mark.parametrize("page", ["light", "dark"], indirect=True)
def test_axe_finds_nothing_in_a_memory(page: Any, server: Served) -> None:
    bell, _, _ = fill(server)
    visit(page, bell, "?link=deployments")
    page.locator("memory-relations .rows").first.wait_for()
    page.locator("summary").click()
    assert axe(page) == []
    page.keyboard.press("e")
    page.wait_for_selector("textarea:focus")
    page.keyboard.type("More.")
    assert axe(page) == []
    page.set_viewport_size({"width": 360, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
