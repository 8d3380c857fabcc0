"""A day's work by the keyboard alone: find, edit, resolve, undo, travel in time, pack."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from bethink import MemoryStore, Subtree

from ..rest.process import Served
from .test_palette import run


def press(page: Any, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def tab_to(page: Any, name: str) -> None:
    """Press Tab until the button or link *name* has the focus."""
    for _ in range(60):
        press(page, "Tab")
        if page.evaluate("document.activeElement.textContent.trim()") == name:
            return
    raise AssertionError(f"Tab never reaches {name!r}")


def find(page: Any, question: str) -> None:
    press(page, "/")
    page.wait_for_selector("recall-view input[type=search]:focus")
    page.keyboard.type(question)
    press(page, "Enter")
    page.wait_for_selector("recall-view .score")


def choose(page: Any, namespace: str) -> None:
    run(page, f"namespace {namespace}")
    page.wait_for_url(lambda address: f"ns={quote(namespace, safe='')}" in address)


def test_undo_takes_back_nothing_but_the_change(page: Any, server: Served) -> None:
    """Older entries of further namespaces stay."""
    page.goto("/conflicts?ns=users")
    page.wait_for_selector(".pair")
    with MemoryStore(server.path) as store:
        before = store.log(limit=1)[0].seq
    press(page, "j", "2")
    page.locator(".toast", has_text="Kept the newer").wait_for()
    press(page, "z")
    page.wait_for_selector(".pair")
    with MemoryStore(server.path) as store:
        assert [each.action for each in store.log(since=before)] == ["undo", "resolve"]


def test_a_day_of_work_by_the_keyboard_alone(page: Any, server: Served) -> None:
    find(page, "when do deployments happen")
    press(page, "j", "Enter")
    page.locator(".content", has_text="Tuesdays").wait_for()

    press(page, "e")
    page.wait_for_selector("textarea:focus")
    press(page, "Control+a")
    page.keyboard.type("Deployments happen on Fridays.")
    tab_to(page, "Save")
    press(page, "Enter")
    page.locator(".content", has_text="Fridays").wait_for()

    choose(page, "team")
    press(page, "g", "t")
    page.wait_for_selector("time-view input[type=range]")
    page.get_by_role("slider").focus()
    press(page, "ArrowLeft")
    page.locator(".rows", has_text="Deployments happen on Tuesdays.").wait_for()

    choose(page, "users/bob")
    press(page, "g", "c")
    page.wait_for_selector(".pair")
    press(page, "j", "2")
    page.wait_for_selector("conflicts-view .empty")
    with MemoryStore(server.path) as store:
        assert [each.content for each in store.all(namespace="users/bob")] == [
            "Bob lives in Bergen."
        ]
    page.locator(".toast", has_text="Kept the newer").wait_for()
    press(page, "z")
    page.wait_for_selector(".pair")

    press(page, "g", "p")
    page.locator("context-view .block").wait_for()
    block = page.locator(".block").inner_text()
    with MemoryStore(server.path) as store:
        inside = store.all(namespace=Subtree("users/bob"))
        assert [each.content in block for each in inside] == [True, True]
        edited = {each.content for each in store.all(namespace="team")}
        assert "Deployments happen on Fridays." in edited
