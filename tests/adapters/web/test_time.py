"""The time machine of the web interface, in a real browser."""

from __future__ import annotations

from typing import Any

from bethink import MemoryStore

from ..rest.process import Served


def grow(server: Served) -> int:
    """Change the file after a snapshot; return the snapshot's entry."""
    with MemoryStore(server.path) as store:
        lost = store.store("The old office is closed.", namespace="place")
        kept = store.store("The door code is 1234.", namespace="place")
        named = store.snapshot("before the move")
        store.update(kept.id, content="The door code is 9876.")
        store.forget(lost.id)
        store.store("The new office is open.", namespace="place")
        return named.seq


def opened(page: Any, address: str) -> Any:
    page.goto(address)
    page.wait_for_selector("time-view input[type=range]")
    return page.get_by_role("slider")


def test_the_list_at_a_snapshot_is_the_list_of_the_api(page: Any, server: Served) -> None:
    seq = grow(server)
    opened(page, "/time?ns=place")
    page.get_by_role("link", name="before the move").click()
    page.locator(".rows", has_text="The door code is 1234.").wait_for()
    with server.client() as client:
        query = {"as_of": "before the move", "namespace": "place", "subtree": "true"}
        told = client.get("/v1/memories", params=query).json()["items"]
    shown = page.locator(".rows .text").all_inner_texts()
    assert shown == [item["content"] for item in told]
    assert f"at={seq}" in page.url


def test_arrow_keys_step_entries_and_the_moment_is_announced(page: Any, server: Served) -> None:
    grow(server)
    slider = opened(page, "/time?ns=place")
    assert ": store" in slider.get_attribute("aria-valuetext")
    slider.press("ArrowLeft")
    page.locator(".head", has_text=": forget").wait_for()
    page.locator(".rows", has_text="The door code is 9876.").wait_for()
    assert ": forget" in slider.get_attribute("aria-valuetext")
    assert "at=" in page.url


def test_two_moments_differ_by_what_changed(page: Any, server: Served) -> None:
    seq = grow(server)
    opened(page, f"/time?ns=place&with={seq}")
    page.wait_for_selector(".changes")
    assert page.locator(".changes h3").all_inner_texts() == ["Added", "Changed", "Removed"]
    changed = page.locator(".changed").locator("dt, mark").all_inner_texts()
    assert changed == ["content", "1234.", "9876."]
    assert page.locator(".changes del").last.inner_text() == "The old office is closed."


def test_each_changed_field_is_named(page: Any, server: Served) -> None:
    with MemoryStore(server.path) as store:
        record = store.store("The door is open.", namespace="place")
        since = store.log(limit=1)[0].seq
        store.update(record.id, tags=["door"], category="fact", importance=0.9)
    opened(page, f"/time?ns=place&with=%23{since}")
    page.wait_for_selector(".changed")
    shown = page.locator(".changed").locator("dt, del, ins").all_inner_texts()
    assert shown == [
        *("category", "none", "fact"),
        *("tags", "none", "door"),
        *("importance", "0.5", "0.9"),
    ]


def test_any_moment_may_be_compared(page: Any, server: Served) -> None:
    seq = grow(server)
    opened(page, "/time?ns=place")
    other = page.get_by_label("Compare with")
    for moment, entry in (("before the move", seq), (f"#{seq - 1}", seq - 1), (str(seq), seq)):
        other.fill(moment)
        other.press("Enter")
        page.locator(".changes h2", has_text=f"From entry {entry} ").wait_for()
    other.fill("2020-01-01")
    other.press("Enter")
    page.locator(".changes h2", has_text="From entry 0 ").wait_for()
    assert page.locator(".changes h3").all_inner_texts() == ["Added"]


def test_all_rows_of_a_moment_are_reached(page: Any, server: Served) -> None:
    opened(page, "/time?ns=tickets")
    page.get_by_role("button", name="Show 100 more").click()
    page.locator(".rows .text", has_text="Ticket 0 waits.").wait_for()
    assert page.locator(".rows > li").count() == 120


def test_a_key_opens_the_time_machine(page: Any) -> None:
    page.keyboard.press("g")
    page.keyboard.press("t")
    page.wait_for_selector("time-view input[type=range]")


def test_recall_answers_as_of_the_moment(page: Any, server: Served) -> None:
    seq = grow(server)
    opened(page, f"/time?ns=place&at={seq}&q=door+code")
    page.wait_for_selector(".score")
    assert page.locator(".rows .text").first.inner_text() == "The door code is 1234."


def test_the_button_takes_a_named_snapshot(page: Any, server: Served) -> None:
    opened(page, "/time")
    page.get_by_label("Name of a snapshot").fill("today")
    page.get_by_role("button", name="Take snapshot").click()
    page.get_by_role("link", name="today").wait_for()
    with MemoryStore(server.path) as store:
        assert [each.name for each in store.snapshots()] == ["today"]


def test_a_long_journal_is_reached_in_stretches(page: Any, server: Served) -> None:
    with MemoryStore(server.path) as store:
        first = store.store_many(f"Note {n}." for n in range(1200))[0]
        oldest = store.log(id=first.id)[0].seq
        newest = store.log(limit=1)[0].seq
    opened(page, "/time?ns=default")
    page.get_by_text(f"Entries {newest - 998} to {newest}").wait_for()
    page.get_by_role("link", name="Older entries").click()
    page.get_by_text(f"Entries {oldest} to {newest - 999}").wait_for()
    page.locator(".head", has_text=f"Entry {newest - 999}, ").wait_for()
    page.get_by_role("link", name="Newest entries").click()
    page.locator(".head", has_text=f"Entry {newest}, ").wait_for()
    opened(page, f"/time?ns=default&at={oldest}")
    page.locator(".head", has_text=f"Entry {oldest}, ").wait_for()
    page.locator(".rows .text", has_text="Note 0.").wait_for()
