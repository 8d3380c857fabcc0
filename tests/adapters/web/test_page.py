"""The web interface of `bethink serve`, in a real browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from bethink import MemoryStore

from ..rest.process import Served
from .conftest import SCRIPT, axe

sync_api = pytest.importorskip("playwright.sync_api")
VIEWS = (
    "/",
    "/memories",
    "/recall?q=when+do+deployments+happen",
    "/conflicts",
    "/activity",
    "/context?q=tickets",
    "/time?with=1",
    "/tasks?sync=1&task=beads:bd-1",
    "/data",
)
READY = {
    "/": ".figures",
    "/conflicts": ".pair",
    VIEWS[7]: "task-links .empty",
    "/data": "data-erase",
}
DOCS = Path(__file__).parents[3] / "docs"
NARROWEST, WIDEST = 360, 2560


def visit(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_selector(READY.get(address, ".rows li"))


def test_the_token_leaves_the_address(page: Any, server: Served) -> None:
    assert page.url == server.address


def test_a_token_is_taken_from_an_address_in_an_open_tab(browser: Any, server: Served) -> None:
    opened = browser.new_page()
    opened.goto(server.address)
    opened.get_by_role("dialog", name="Token").wait_for()
    opened.goto(f"{server.address}#token={server.token}")
    opened.wait_for_selector(".figures")
    assert opened.url == server.address
    opened.close()


def test_an_open_tab_lends_the_token_to_a_second_tab(page: Any, server: Served) -> None:
    visit(page, "/")
    second = page.context.new_page()
    second.goto(f"{server.address}memories")
    second.wait_for_selector(".rows li")
    assert second.get_by_role("dialog", name="Token").count() == 0


def test_a_refused_token_is_named_and_asked_for_again(browser: Any, server: Served) -> None:
    page = browser.new_page(base_url=server.address)
    page.goto("/")
    dialog = page.get_by_role("dialog", name="Token")
    assert dialog.get_by_role("alert").count() == 0
    for token in ("wrong", server.token):
        dialog.get_by_label("Token", exact=True).fill(token)
        page.keyboard.press("Enter")
        if token == "wrong":
            dialog.get_by_role("alert").filter(has_text="refuses").wait_for()
    page.wait_for_selector(".figures")
    dialog.wait_for(state="hidden")
    page.close()


def test_a_late_refusal_of_a_former_token_asks_nobody(browser: Any, server: Served) -> None:
    page = browser.new_page(base_url=server.address)
    page.goto("/")
    page.evaluate(
        """async (token) => {
          const api = await import("/web/js/core/api.js");
          api.setToken("wrong");
          const late = api.get("/stats").catch((problem) => problem.status);
          api.setToken(token);
          window.said = 0;
          addEventListener("bethink-token", () => window.said++);
          window.status401 = await late;
        }""",
        server.token,
    )
    assert page.evaluate("[window.status401, window.said]") == [401, 0]
    page.close()


def test_a_server_that_is_gone_is_told_and_its_return_heals_every_view(
    browser: Any, server: Served
) -> None:
    page = browser.new_page(base_url=server.address)
    page.goto(f"/#token={server.token}")
    for name in ("memories", "data"):
        page.evaluate(f"customElements.whenDefined('{name}-view').then(() => null)")
    page.context.set_offline(True)
    page.keyboard.press("g")
    page.keyboard.press("m")
    page.locator(".toast", has_text="The server does not answer.").first.wait_for()
    assert page.locator("h1", has_text="Memories").is_visible()
    page.context.set_offline(False)
    page.keyboard.press("g")
    page.keyboard.press("d")
    page.keyboard.press("g")
    page.keyboard.press("m")
    page.wait_for_selector("memories-view .rows li")
    page.close()


def test_a_count_leads_to_the_filtered_list(page: Any) -> None:
    page.locator(".shares a", has_text="gotcha").click()
    page.wait_for_selector("memories-view .rows li")
    assert page.locator(".rows > li").count() == 1
    assert page.url.endswith("/memories?category=gotcha")


def test_scripts_in_memories_are_text(page: Any) -> None:
    visit(page, "/memories?category=gotcha")
    assert page.locator(".rows .text").inner_text() == SCRIPT
    assert page.title() == "Memories · bethink"


def test_the_last_row_is_reached_page_by_page_and_back_restores_the_list(page: Any) -> None:
    visit(page, "/memories")
    page.get_by_role("link", name="Next").click()
    last = page.locator(".rows .text", has_text="Bob lives in Oslo.")
    last.click()
    page.wait_for_selector("memory-view .content")
    page.go_back()
    last.wait_for()
    assert page.locator(".rows > li").count() == 24


def test_the_bars_of_a_hit_sum_to_the_score(page: Any) -> None:
    visit(page, VIEWS[2])
    for hit in page.locator(".score").all():
        shares = hit.locator("[data-share]").all()
        widths = [float(re.sub("%", "", each.evaluate("e => e.style.width"))) for each in shares]
        score = float(hit.locator("strong").inner_text())
        assert sum(widths) / 100 == pytest.approx(score, abs=1e-3)


def test_forgetting_a_choice_can_be_undone(page: Any, server: Served) -> None:
    visit(page, "/memories?category=gotcha")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.get_by_role("button", name="Forget").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    page.wait_for_selector("memories-view .empty")
    page.get_by_role("button", name="Undo").click()
    page.wait_for_selector("memories-view .rows li")
    with MemoryStore(server.path) as store:
        found = store.all(namespace="team", where={"category": "gotcha"})
        assert [each.content for each in found] == [SCRIPT]


def test_an_edit_by_keyboard_appears_in_the_history(page: Any, server: Served) -> None:
    visit(page, "/memories?category=gotcha")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector("memory-view .content")
    page.keyboard.press("e")
    page.locator("textarea").fill("The form escapes markup.")
    page.get_by_role("button", name="Save").click()
    page.locator(".content", has_text="The form escapes markup.").wait_for()
    assert page.locator(".story strong").all_inner_texts() == ["update", "store"]


def test_an_edit_over_a_change_elsewhere_shows_the_text_there(page: Any, server: Served) -> None:
    visit(page, "/memories?category=gotcha")
    page.locator(".rows .text").click()
    page.get_by_role("button", name="Edit").click()
    page.wait_for_selector("textarea")
    with MemoryStore(server.path) as store:
        (record,) = store.all(namespace="team", where={"category": "gotcha"})
        store.update(record.id, content="Changed by a colleague.")
    page.locator("textarea").fill("Mine.")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("alert").filter(has_text="Changed by a colleague.").wait_for()
    assert page.locator("textarea").input_value() == "Mine."


def test_a_conflict_is_settled_by_keys_and_taken_back(page: Any, server: Served) -> None:
    page.goto("/conflicts?ns=users")
    page.wait_for_selector(".pair")
    page.keyboard.press("j")
    page.keyboard.press("2")
    page.wait_for_selector("conflicts-view .empty")
    page.get_by_role("button", name="Undo").click()
    page.wait_for_selector(".pair")


def test_a_slow_search_for_conflicts_is_told_and_holds_no_decision_up(page: Any) -> None:
    held, holding = list[Any](), True
    page.route("**/v1/conflicts?*", lambda each: held.append(each) if holding else each.continue_())
    page.goto("/conflicts?ns=users")
    busy = page.locator("conflicts-view[aria-busy=true]")
    busy.wait_for()
    assert busy.evaluate("(view) => getComputedStyle(view, '::after').content") == '"Reading…"'
    holding = False
    for route in held:
        route.continue_()
    page.wait_for_selector(".pair")
    assert busy.count() == 0
    holding = True
    page.keyboard.press("j")
    page.keyboard.press("2")
    page.locator(".pair").wait_for(state="detached")
    busy.wait_for()


@pytest.mark.parametrize("view", ["/", "/data"])
def test_a_phone_shows_the_way_to_every_view(page: Any, view: str) -> None:
    page.set_viewport_size({"width": NARROWEST, "height": 800})
    visit(page, view)
    for link in page.locator(".side li a").all():
        box = link.bounding_box()
        assert 0 <= box["x"] < box["x"] + box["width"] <= NARROWEST
    place = page.locator(".side")
    assert place.evaluate("(side) => side.clientHeight - side.lastElementChild.offsetTop") < 100


def test_a_write_of_a_program_shows_without_a_reload(page: Any, server: Served) -> None:
    visit(page, "/activity")
    page.locator("text=live").first.wait_for()
    with MemoryStore(server.path) as store:
        store.store("Written by a program.", namespace="team")
    page.locator(".rows", has_text="Written by a program.").wait_for(timeout=5000)


@pytest.mark.parametrize("width", [NARROWEST, WIDEST])
def test_no_view_scrolls_sideways(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    for view in VIEWS:
        visit(page, view)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view


@pytest.mark.parametrize("width", [NARROWEST, 1280])
def test_endless_texts_neither_widen_a_view_nor_fill_a_list(
    page: Any, server: Served, width: int
) -> None:
    endless = "deployments" + 4000 * "A"
    with MemoryStore(server.path) as store:
        store.store(
            endless,
            namespace=f"team/{endless[:250]}",
            key=endless[:250],
            author=endless[:250],
            category=endless[:250],
            tags=[endless[:250]],
            metadata={endless[:250]: endless},
        )
        kept = store.store(1000 * "deployments happen ", namespace="team")
    page.set_viewport_size({"width": width, "height": 800})
    for view in (*VIEWS, f"/memories/{kept.id}"):
        page.goto(view)
        page.wait_for_selector(".content" if kept.id in view else READY.get(view, ".rows li"))
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view
        heights = "[...document.querySelectorAll('.rows :is(.text, p)')].map((e) => e.clientHeight)"
        assert max(page.evaluate(heights), default=0) <= 300, view


def test_a_text_from_right_to_left_ends_at_the_left(page: Any, server: Served) -> None:
    with MemoryStore(server.path) as store:
        kept = store.store("שלום עולם.", namespace="team")
    edges = """(element) => [0, 9].map((at) => {
        const range = new Range();
        const text = document.createTreeWalker(element, NodeFilter.SHOW_TEXT).nextNode();
        range.setStart(text, at);
        range.setEnd(text, at + 1);
        return range.getBoundingClientRect().left;
    })"""
    for view, place in (("/memories", ".rows .text"), (f"/memories/{kept.id}", ".content")):
        page.goto(view)
        first, last = page.locator(place).first.evaluate(edges)
        assert last < first


@pytest.mark.parametrize("page", ["light", "dark"], indirect=True)
def test_axe_finds_nothing(page: Any) -> None:
    for view in VIEWS:
        visit(page, view)
        assert axe(page) == [], view


def test_each_view_of_the_predecessor_is_in_the_table_and_opens(page: Any, server: Served) -> None:
    section = (
        (DOCS / "web.md").read_text("utf-8").split("## From Memory Layer\n")[1].split("\n## ")[0]
    )
    rows = re.findall(r"^\| (\w+)[^|]*\| ([^|]+) \|$", section, re.MULTILINE)
    wanted = {"Dashboard", "Memories", "Search", "Add", "Tasks", "Details", "Theme"}
    assert {name for name, _ in rows} == wanted | {"Memory"}
    with MemoryStore(server.path) as store:
        [memory] = store.all(namespace="team", where={"tags": ["xss"]})
    for name, place in rows:
        for address in re.findall(r"`(/[^`]*)`", place):
            page.goto(address.replace(":id", memory.id))
            page.locator("main h1").wait_for()
        for button in re.findall(r"(?:Helped partly|Helped|Misled|Forget)", place):
            page.get_by_role("button", name=button, exact=True).wait_for()
        if name == "Add":
            page.locator("edit-form textarea").wait_for()
