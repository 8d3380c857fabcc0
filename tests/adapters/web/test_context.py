"""The view Context: the block that the server packs, within every budget."""

from __future__ import annotations

import random
import re
from typing import Any

from bethink import MemoryStore

from ..rest.process import Served
from .conftest import SCRIPT

NONCE = re.compile(r"\d{18}")


def visit(page: Any, budget: int, rest: str = "") -> None:
    page.goto(f"/context?budget={budget}{rest}")
    page.locator("context-view .block, context-view .empty").first.wait_for()


def numbers(page: Any) -> list[int]:
    """Return the tokens used and the budget, as shown."""
    shown = page.locator(".used p").inner_text()
    return [int(each.replace(",", "")) for each in re.findall(r"[\d,]+", shown)]


def asked(page: Any, server: Served) -> dict[str, Any]:
    """Return the API's answer to the question, namespace and budget of the address."""
    query = dict(re.findall(r"(\w+)=([^&]*)", page.url))
    params = {"query": query.get("q", ""), "budget_tokens": query["budget"]}
    if "ns" in query:
        params |= {"namespace": query["ns"], "subtree": "true"}
    with server.client() as client:
        answer: dict[str, Any] = client.get("/v1/context", params=params).json()
    return answer


def test_context_shows_the_text_of_the_api_within_every_budget(page: Any, server: Served) -> None:
    drawn = random.Random(7)
    for budget in [0, *(drawn.randrange(1, 3000) for _ in range(12))]:
        visit(page, budget, "&q=tickets" if budget % 2 else "")
        packed = asked(page, server)
        ids = [each["memory"]["id"] for each in packed["results"] + packed["left_out"]]
        links = page.locator("context-view .rows .text")
        hrefs = [each.get_attribute("href") for each in links.all()]
        assert [re.split("[/?]", href)[2] for href in hrefs] == ids
        if not packed["text"]:
            assert page.locator("context-view .empty code").count() == 1
            continue
        used, shown = numbers(page)
        assert used <= shown == budget
        assert used == packed["tokens"]
        text = page.locator(".block").evaluate("e => e.textContent")
        assert NONCE.sub("#", text) == NONCE.sub("#", packed["text"])


def test_context_names_the_reason_of_every_memory_left_out(page: Any, server: Served) -> None:
    with MemoryStore(server.path) as store:
        store.store("Ann plays chess at noon.", namespace="ann", category="a")
        store.store("ann plays chess at noon", namespace="ann", category="a")
    visit(page, 800, "&ns=ann")
    assert page.locator("context-view .why").all_inner_texts() == ["Repeats another memory"]
    visit(page, 100, "&ns=tickets&q=ticket")
    assert set(page.locator("context-view .why").all_inner_texts()) == {"No room within the budget"}


def test_context_keeps_a_script_as_text(page: Any) -> None:
    visit(page, 800, "&ns=team")
    assert SCRIPT in page.locator(".block").evaluate("e => e.textContent")
    assert page.locator("context-view script, context-view img").count() == 0
    assert page.title() == "Context · bethink"


def test_context_budget_moves_by_keys_and_is_announced(page: Any) -> None:
    visit(page, 437, "&q=ticket&ns=tickets")
    slider = page.get_by_role("slider", name="Budget")
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.locator(".used p", has_text="of 587 tokens").wait_for()
    assert slider.get_attribute("aria-valuetext") == "587 tokens"
    assert set(page.url.split("?")[1].split("&")) == {"budget=587", "q=ticket", "ns=tickets"}
    told = page.locator("#announcer").inner_text()
    assert told.startswith(page.locator(".used p").inner_text())


def test_context_copies_the_block(page: Any) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("main").press("g")
    page.keyboard.press("p")
    page.locator("context-view .block").wait_for()
    page.get_by_role("button", name="Copy").click()
    page.locator(".toast", has_text="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.locator(".block").evaluate("e => e.textContent")
