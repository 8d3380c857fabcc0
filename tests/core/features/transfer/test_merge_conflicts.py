"""Of two stores that tell one thing in two ways, what was told last holds, and whole."""

from __future__ import annotations

import pytest

from bethink import MemoryStore
from bethink.features.files import Files
from bethink.features.working import KeyedMemory

from ...clock import Clock


def test_what_a_fact_came_to_say_last_is_what_counts(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock
) -> None:
    status, limit = KeyedMemory(ours), ours.store("The limit is 100", key="limit")
    status.remember("status", "draft")
    for store, said in ((theirs, "review"), (ours, "done")):
        clock.now += 5.0
        KeyedMemory(store).remember("status", said)
    older = theirs.store("The limit is 200", key="limit")
    clock.now += 5.0
    ours.update(limit.id, content="The limit is 300")
    clock.now += 5.0
    theirs.mark_useful(older.id)
    ours.merge_from(theirs)
    theirs.merge_from(ours)
    for store in (ours, theirs):
        assert KeyedMemory(store).recall("status") == "done"
        assert [each.content for each in store.all(where={"key": "limit"})] == ["The limit is 300"]


@pytest.mark.parametrize("later", ["ours", "theirs"])
def test_of_two_texts_in_pieces_the_later_one_stays_whole(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock, later: str
) -> None:
    mine, other = Files(ours), Files(theirs)
    mine.append("/log", "start\n")
    theirs.merge_from(ours)
    texts = {"ours": "A: one\nA: two\n", "theirs": "B: a much longer first line\n"}
    for name, files in sorted(
        (("ours", mine), ("theirs", other)), key=lambda each: each[0] == later
    ):
        clock.now += 1.0
        for line in texts[name].splitlines(keepends=True):
            files.append("/log", line)
    ours.merge_from(theirs)
    whole = f"start\n{texts[later]}"
    assert mine.read("/log") == whole
    assert mine.list()[0].size == mine.append("/log", "next\n") == len(whole)
    assert mine.read("/log") == f"{whole}next\n"


def test_a_text_that_goes_on_where_the_other_ends_is_taken_over(
    ours: MemoryStore, theirs: MemoryStore
) -> None:
    mine, other = Files(ours), Files(theirs)
    mine.append("/log", "start\n")
    theirs.merge_from(ours)
    other.append("/log", "one\n")
    ours.merge_from(theirs)
    assert mine.read("/log") == "start\none\n"
    mine.append("/log", "two\n")
    ours.merge_from(theirs)
    assert mine.read("/log") == "start\none\ntwo\n"


def test_a_text_that_wins_after_it_had_lost_comes_back_whole(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock
) -> None:
    mine, other = Files(ours), Files(theirs)
    mine.write("/a", "one\n")
    theirs.merge_from(ours)
    clock.now += 1.0
    mine.write("/a", "ONE\n")
    ours.merge_from(theirs)
    clock.now += 1.0
    other.append("/a", "two\n")
    ours.merge_from(theirs)
    assert mine.read("/a") == other.read("/a") == "one\ntwo\n"
    assert ours.verify().problems == ()


def test_what_was_cut_off_here_comes_back_with_the_text_that_was_told_last(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock
) -> None:
    mine, other = Files(ours), Files(theirs)
    for line in ("one\n", "two\n"):
        mine.append("/a", line)
    theirs.merge_from(ours)
    clock.now += 1.0
    other.write("/a", "one\n")
    clock.now += 1.0
    mine.append("/a", "three\n")
    theirs.merge_from(ours)
    assert other.read("/a") == mine.read("/a") == "one\ntwo\nthree\n"
    assert other.append("/a", "four\n") == len("one\ntwo\nthree\n")


def test_a_text_that_was_deleted_here_stays_so(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock
) -> None:
    mine, other = Files(ours), Files(theirs)
    mine.write("/a", "one\n")
    theirs.merge_from(ours)
    mine.delete("/a")
    clock.now += 1.0
    other.append("/a", "two\n")
    ours.merge_from(theirs)
    assert not mine.exists("/a")
    assert ours.count(namespace=mine.namespace) == 0


def test_a_value_that_is_set_back_arrives(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock
) -> None:
    for state in ("on", "off", "on"):
        clock.now += 1.0
        KeyedMemory(ours).remember("lamp", state)
        clock.now += 1.0
        theirs.merge_from(ours)
        assert KeyedMemory(theirs).recall("lamp") == state


@pytest.mark.parametrize("said", ["The limit is 100", "The limit really is 100"])
def test_a_fact_that_was_taken_in_stays_so_though_it_was_told_last(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock, said: str
) -> None:
    kept = ours.store("The limit is 100", key="limit")
    clock.now += 5.0
    theirs.store(said, key="limit")
    ours.merge_from(theirs)
    head = ours.log(limit=1)
    (holder,) = ours.all()
    assert (holder.id == kept.id) == (said == kept.content)
    assert ours.merge_from(theirs).same == 1
    assert (ours.all(), ours.log(limit=1)) == ([holder], head)


def test_a_fact_whose_arrival_was_undone_comes_back_only_after_a_change(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock
) -> None:
    ours.store("The office is in Lyon", key="office")
    clock.now += 1.0
    other = theirs.store("The office is in Graz", key="office")
    ours.merge_from(theirs)
    clock.now += 1.0
    ours.undo(ours.log(limit=1)[0])
    for _ in range(2):
        ours.merge_from(theirs)
        assert [each.content for each in ours.all()] == ["The office is in Lyon"]
    clock.now += 1.0
    theirs.update(other.id, content="The office is in Vienna")
    ours.merge_from(theirs)
    assert [each.content for each in ours.all()] == ["The office is in Vienna"]
