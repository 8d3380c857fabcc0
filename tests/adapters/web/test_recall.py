"""The view Recall: three ways to search, scores in parts, and the reason of a missing memory."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

from bethink import MemoryStore, Subtree, WhyNot

from ..rest.process import Served
from .conftest import axe

QUERY = "when do deployments happen"
ALL = "/recall?mode=all&ns=team&q=" + QUERY.replace(" ", "+")


def fill(server: Served) -> tuple[str, str]:
    """Store a memory and the successor; return the ids."""
    with MemoryStore(server.path) as store:
        old = store.store("Deployments happen on Mondays.", namespace="team", category="old")
        new = store.store("Deployments happen at noon.", namespace="team", supersedes=old.id)
        return old.id, new.id


def visit(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("why-not .panel")


def texts(page: Any, mode: str) -> list[str]:
    found: list[str] = page.get_by_role("region", name=mode).locator(".text").all_inner_texts()
    return found


def test_three_ways_to_search_stand_side_by_side(page: Any, server: Served) -> None:
    fill(server)
    visit(page, ALL)
    with MemoryStore(server.path) as store:
        for mode in ("hybrid", "keyword", "semantic"):
            hits = store.recall(QUERY, k=10, namespace=Subtree("team"), mode=mode, touch=False)
            assert texts(page, mode) == [hit.content for hit in hits] != []


def test_the_bars_of_every_way_sum_to_the_score(page: Any, server: Served) -> None:
    fill(server)
    visit(page, ALL)
    assert page.locator(".score").count() > 3
    for hit in page.locator(".score").all():
        widths = hit.locator("i").evaluate_all("all => all.map((e) => parseFloat(e.style.width))")
        score = float(hit.locator("strong").inner_text())
        assert sum(widths) / 100 == pytest.approx(score, abs=1e-3)


def test_filter_least_score_and_moment_come_from_the_address(page: Any, server: Served) -> None:
    old, _ = fill(server)
    with MemoryStore(server.path) as store:
        [moment] = [entry.seq for entry in store.log(id=old) if entry.action == "store"]
    where = quote(json.dumps({"category": "old"}))
    visit(page, f"/recall?q=deployments&ns=team&as_of=%23{moment}&where={where}")
    assert texts(page, "hybrid") == ["Deployments happen on Mondays."]
    page.get_by_label("Least score").fill("0.99")
    page.get_by_role("button", name="Search").click()
    page.locator("recall-view .empty").wait_for()
    assert "min_score=0.99" in page.url


@pytest.mark.parametrize(
    ("where", "told"), [("{x", "no JSON"), ('{"tags": {"$near": 1}}', "where")]
)
def test_a_wrong_filter_is_told(page: Any, where: str, told: str) -> None:
    page.goto(f"/recall?q=deployments&where={quote(where)}")
    page.get_by_role("alert").filter(has_text=told).first.wait_for()


def test_why_not_tells_the_reason_of_the_api(page: Any, server: Served) -> None:
    old, new = fill(server)
    visit(page, "/recall?k=5&ns=team&q=" + QUERY.replace(" ", "+"))
    page.get_by_label("A memory that you miss").fill(old)
    page.keyboard.press("Enter")
    page.locator("why-not .reason", has_text="superseded").wait_for()
    for id in (old, new):
        page.goto(f"/recall?k=5&ns=team&q={QUERY.replace(' ', '+')}&why={id}")
        page.wait_for_selector("why-not .reason")
        with server.client() as client:
            body = {"query": QUERY, "k": 5, "namespace": "team", "subtree": True}
            told = client.post(f"/v1/memories/{id}/why", json=body).json()
        told["explanation"] = None
        shown = page.locator("why-not .reason").inner_text()
        assert shown.replace("hybrid ", f"{id}: ") == str(WhyNot(**told))


def test_why_not_finds_the_memory_by_words(page: Any, server: Served) -> None:
    visit(page, "/recall?ns=team&q=tickets")
    page.get_by_label("A memory that you miss").fill("when do deployments happen")
    page.get_by_role("button", name="Look").click()
    page.get_by_role("link", name="Why not: Deployments").click()
    page.locator("why-not .reason").wait_for()
    page.reload()
    page.locator("why-not p", has_text="Deployments happen on Tuesdays.").wait_for()


def test_why_not_tells_that_no_memory_has_the_words(page: Any) -> None:
    visit(page, "/recall?q=tickets&find=zzz")
    page.locator("why-not", has_text="No live memory").wait_for()


def test_two_hits_are_compared_by_keys(page: Any, server: Served) -> None:
    fill(server)
    visit(page, "/recall?ns=team&q=" + QUERY.replace(" ", "+"))
    for _ in range(2):
        page.keyboard.press("j")
        page.keyboard.press("x")
    page.locator("table").wait_for()
    page.reload()
    page.locator("table").wait_for()
    with MemoryStore(server.path) as store:
        hits = store.recall(QUERY, k=2, namespace=Subtree("team"), touch=False)
    cells = page.locator("tbody tr", has_text="keyword").locator("td").all_inner_texts()
    for cell, hit in zip(cells[:2], hits, strict=True):
        assert cell.startswith(f"{hit.explanation.contributions['keyword']:.3f}")
        assert cell.endswith(f"{hit.explanation.signals['keyword']:.3f}")
    page.get_by_role("checkbox", checked=True).first.press("Space")
    page.locator("table").wait_for(state="detached")


@pytest.mark.parametrize("page", ["light", "dark"], indirect=True)
def test_axe_finds_nothing_in_the_whole_lab(page: Any, server: Served) -> None:
    old, _ = fill(server)
    visit(page, f"{ALL}&why={old}&find=deployments")
    page.locator("main").press("j")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.locator("table").wait_for()
    page.wait_for_selector("why-not .reason")
    assert axe(page) == []
    page.set_viewport_size({"width": 360, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
