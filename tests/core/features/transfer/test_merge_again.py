"""Two stores that take in from each other lose nothing and count nothing twice."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bethink import Files, HashEmbedder, MemoryStore

from ...clock import Clock
from ..files.long_files import LINE

EMBEDDER = HashEmbedder(32)
LONG = "the nightly backup of the billing database runs on the small server in the cellar"


def test_of_two_stores_that_absorb_from_each_other_neither_loses_what_both_say(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock
) -> None:
    mine = ours.store(LONG)
    theirs.store(f"{LONG} now")
    ours.merge_from(theirs)
    theirs.merge_from(ours)
    clock.now += 1
    ours.update(mine.id, importance=0.9)
    clock.now += 1
    theirs.merge_from(ours)
    ours.merge_from(theirs)
    assert [each.id for each in ours.all()] == [mine.id]
    assert [each.content for each in theirs.all()] == [f"{LONG} now"]


def test_what_one_store_has_counted_is_not_counted_again(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock
) -> None:
    one = ours.store("Ann prefers dark mode in every editor")
    other = theirs.store("Ann prefers dark mode in every editor.")
    for _ in range(5):
        ours.touch(one.id)
    for _ in range(3):
        theirs.touch(other.id)
    theirs.record_outcome(other.id, "failed")
    clock.now = 2000.0
    ours.merge_from(theirs)
    theirs.merge_from(ours)
    for store in (ours, theirs):
        (left,) = store.all()
        assert (left.access_count, left.outcome) == (8, -0.3)


def test_a_copy_that_comes_home_is_known(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock
) -> None:
    turn = ours.store("I said boats", thread="chat")
    theirs.merge_from(ours)
    clock.now = 2000.0
    ours.update(turn.id, content="I said boats, and meant ships")
    theirs.update(turn.id, content="I said trains")
    for _ in range(2):
        ours.merge_from(theirs)
        theirs.merge_from(ours)
    said = ["I said boats, and meant ships", "I said trains"]
    assert [record.content for record in ours.all()] == said
    assert [record.content for record in theirs.all()] == said[::-1]


FORMER: dict[str, dict[str, Any]] = {
    "text": {"content": "I live in Berlin near the river"},
    "turn": {"content": "I live in Berlin", "thread": "chat", "author": "Ann"},
    "fact": {"content": "Berlin", "key": "home"},
    "value": {"value": ["Berlin", 1], "key": "home"},
    "file": {"content": "I live in Berlin", "key": "/home"},
}
CHANGED: dict[str, dict[str, Any]] = {
    **{kind: {"content": "Ann moved to Lisbon"} for kind in FORMER},
    "value": {"value": ["Lisbon", 2]},
}


@pytest.mark.parametrize("then", ["", "forget", "archive", "update"])
@pytest.mark.parametrize("kind", FORMER)
def test_an_older_copy_of_a_store_brings_no_replaced_text_back(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock, kind: str, then: str
) -> None:
    ours.store_many([FORMER[kind], "another"])
    record, copy = ours.all()[0], io.BytesIO()
    ours.export(copy)
    theirs.merge_from(ours)
    clock.now += 1
    ours.update(record.id, **CHANGED[kind])
    clock.now += 1
    if then:
        getattr(ours, then)(record.id)
    before, seq = ours.all(), ours.stats().journal_length
    copy.seek(0)
    for merged in (ours.merge_from(theirs), ours.import_(copy)):
        assert (merged.added, merged.same, merged.renamed) == (0, 2, {})
    assert (ours.all(), ours.stats().journal_length) == (before, seq)


@pytest.mark.parametrize("exported", [False, True])
@pytest.mark.parametrize("kind", FORMER)
def test_a_newer_copy_brings_the_text_that_replaced_the_one_here(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock, kind: str, *, exported: bool
) -> None:
    ours.store_many([FORMER[kind], "another"])
    record, copy = ours.all()[0], io.BytesIO()
    theirs.merge_from(ours)
    clock.now += 1
    first: dict[str, Any] = dict.fromkeys(CHANGED[kind], "at first")
    theirs.update(record.id, **first)
    changed = theirs.update(record.id, **CHANGED[kind])
    clock.now += 1
    ours.reinforce(record.id)  # a later change of another field leaves the text to the other
    theirs.export(copy)
    for _ in range(2):
        copy.seek(0)
        ours.import_(copy) if exported else ours.merge_from(theirs)
        live = {each.content: each.value for each in ours.all()}
        assert live == {changed.content: changed.value, "another": None}
        assert {each.id for each in ours.all()} == {each.id for each in theirs.all()}
    if changed.content:
        assert ours.recall("Ann in Lisbon", mode="semantic")[0].content == "Ann moved to Lisbon"
        assert ours.recall("Berlin", mode="keyword") == []
    assert ours.verify().ok


def test_a_text_from_elsewhere_can_be_undone(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock
) -> None:
    record = ours.store("I live in Berlin")
    theirs.merge_from(ours)
    clock.now += 1
    theirs.update(record.id, content="Ann moved to Lisbon", tags=["home"])
    ours.merge_from(theirs)
    assert ours.undo(ours.log(limit=1)[0]).content == "I live in Berlin"
    assert ours.recall("Berlin", mode="keyword")[0].id == record.id


@pytest.mark.parametrize("gone", [MemoryStore.forget, MemoryStore.archive])
def test_a_later_text_of_a_hidden_record_comes_beside_it(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock, gone: Callable[..., object]
) -> None:
    record = ours.store("I live in Berlin")
    theirs.merge_from(ours)
    gone(ours, record.id)
    clock.now += 1
    theirs.update(record.id, content="Ann moved to Lisbon")
    for _ in range(2):
        ours.merge_from(theirs)
        assert [each.content for each in ours.all()] == ["Ann moved to Lisbon"]


def test_of_two_texts_that_replaced_each_other_the_later_holds(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock
) -> None:
    record = ours.store("I live in Berlin")
    clock.now += 1
    change = ours.update(record.id, content="Ann moved to Lisbon")
    theirs.merge_from(ours)
    clock.now += 1
    theirs.update(change.id, content="I live in Berlin")
    clock.now += 1
    theirs.update(change.id, content="Ann moved to Lisbon")
    clock.now += 1
    ours.undo(ours.log(limit=1)[0])
    for _ in range(2):
        theirs.merge_from(ours)
        ours.merge_from(theirs)
        for store in (ours, theirs):
            assert [each.content for each in store.all()] == ["I live in Berlin"]


def test_what_a_newer_copy_superseded_after_a_change_is_superseded_here(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock
) -> None:
    record = ours.store("I live in Berlin")
    theirs.merge_from(ours)
    clock.now += 1
    theirs.update(record.id, content="Ann moved to Lisbon")
    clock.now += 1
    theirs.store("The dentist is in Porto", supersedes=record.id)
    for _ in range(2):
        assert ours.merge_from(theirs).renamed == {}
        assert [each.content for each in ours.all()] == ["The dentist is in Porto"]


def test_a_change_made_before_a_merge_arrives_after_the_merge(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock, tmp_path: Path
) -> None:
    record = ours.store("I live in Berlin")
    theirs.merge_from(ours)
    with MemoryStore(tmp_path / "third.db", embedder=EMBEDDER, clock=clock) as third:
        third.merge_from(ours)
        clock.now += 1
        theirs.update(record.id, tags=["home"])
        theirs.recall("Berlin")
        clock.now += 1
        third.store("Ann moved to Lisbon", supersedes=record.id)
        clock.now += 1
        ours.merge_from(theirs)
        ours.merge_from(third)
    assert [each.content for each in ours.all()] == ["Ann moved to Lisbon"]


def test_the_later_tags_of_an_older_text_arrive(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock
) -> None:
    record = ours.store("I live in Berlin near the river")
    theirs.merge_from(ours)
    clock.now += 1
    ours.update(record.id, content="I live in Lisbon by the sea")
    clock.now += 1
    theirs.update(record.id, tags=["home"])
    ours.merge_from(theirs)
    (left,) = ours.all()
    assert (left.content, left.tags) == ("I live in Lisbon by the sea", ("home",))
    assert ours.recall("Berlin near the river", mode="keyword") == []


@pytest.mark.parametrize("then", [Files.delete, partial(Files.rename, new="/b"), Files.exists])
@pytest.mark.parametrize("text", ["one", LINE * 30])
@pytest.mark.parametrize("changed", ["two", f"{LINE * 9}two\n{LINE * 20}"])
def test_an_older_copy_brings_no_former_text_of_a_file_back(
    ours: MemoryStore, clock: Clock, text: str, changed: str, then: Callable[..., object]
) -> None:
    files, copy = Files(ours), io.BytesIO()
    files.write("/a", text)
    ours.export(copy)
    clock.now += 1
    files.write("/a", changed)
    then(files, "/a")
    left = files.list()
    copy.seek(0)
    ours.import_(copy)
    assert files.list() == left
    assert [files.read(each.path) for each in left] == [changed] * len(left)


@pytest.mark.parametrize("verb", ["forget", "erase"])
def test_a_copy_is_known_when_the_record_that_took_its_id_is_gone(
    ours: MemoryStore, theirs: MemoryStore, verb: str
) -> None:
    turn = ours.store("I said boats", thread="chat")
    theirs.merge_from(ours)
    theirs.update(turn.id, content="I said trains")
    theirs.merge_from(ours)
    getattr(theirs, verb)(turn.id)
    assert ours.merge_from(theirs).added == 0
    ours.forget(turn.id)
    ours.merge_from(theirs)
    assert ours.all() == []


def test_a_clock_that_is_ahead_does_not_take_back_what_was_merged(
    ours: MemoryStore, tmp_path: Path, clock: Clock
) -> None:
    ours.store(LONG, tags=["mine"], importance=0.9)
    known = ours.store("red cat", importance=0.1, id="cat")
    with MemoryStore(tmp_path / "ahead.db", clock=lambda: clock() + 60, embedder=EMBEDDER) as ahead:
        ahead.store(f"{LONG} carefully", tags=["theirs"])
        ahead.store("red cat", importance=0.7, id="cat")
        for _ in range(2):
            ours.merge_from(ahead)
    fuller = next(record for record in ours.all() if record.id != known.id)
    assert (fuller.tags, fuller.importance) == (("theirs", "mine"), 0.9)
    assert len(ours.log(id=known.id)) == 2
    assert ours.verify().problems == ()


@pytest.mark.parametrize("later", range(2))
def test_a_text_of_several_pieces_stays_whole_though_copies_of_its_beginning_go_around(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock, later: int
) -> None:
    stores = (ours, theirs)
    files = [Files(store) for store in stores]
    files[0].write("/a", "once\n")
    theirs.merge_from(ours)
    for turn in range(8):
        for number in (later, 1 - later) if turn % 2 else (1 - later, later):
            clock.now += 1
            mine = files[number]
            mine.append("/a", LINE * 30) if (turn + number) % 3 else mine.insert("/a", 0, "top\n")
        last = files[number].read_range("/a", 0)
        for number in (turn % 2, 1 - turn % 2, turn % 2):
            stores[number].merge_from(stores[1 - number])
            files[number].read_range("/a", 0)
        assert [each.read_range("/a", 0) for each in files] == [last, last]
