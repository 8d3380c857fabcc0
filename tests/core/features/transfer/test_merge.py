"""What another store holds comes into this one once, whole, and nothing of either is lost."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink import (
    EVERYWHERE,
    AsyncMemoryStore,
    HashEmbedder,
    MemoryRecord,
    MemoryStore,
    Merged,
    NotABethinkFileError,
    StorageError,
    StoreClosedError,
    ValidationError,
)
from bethink.features.duplicates.near_duplicates import DuplicateSearch
from bethink.features.transfer import merge

from ...clock import Clock
from ...storage.replay import table, unverified

EMBEDDER = HashEmbedder(32)
LONG = "the nightly backup of the billing database runs on the small server in the cellar"


def without_update(records: dict[str, MemoryRecord]) -> dict[str, MemoryRecord]:
    return {id: replace(record, updated_at=0.0) for id, record in records.items()}


def test_what_is_new_comes_with_its_times(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock
) -> None:
    kept = ours.store("ours")
    first = theirs.store("red cat", author="Ann", thread="t", occurred_at=900.0, tags=["x"])
    hidden = theirs.store("hidden")
    theirs.archive(hidden.id)
    clock.now = 2000.0
    theirs.touch(first.id)
    assert ours.merge_from(theirs) == Merged(added=2)
    assert ours.all() == [kept, theirs.get(first.id)]
    assert ours.get(hidden.id) == theirs.get(hidden.id)
    assert ours.get(first.id) == replace(first, access_count=1, last_accessed_at=2000.0)
    assert ours.recall("red cat")[0].memory.id == first.id
    assert [entry.at for entry in ours.log(id=first.id)] == [2000.0]
    assert ours.as_of(1999.0).get(first.id) is None


def test_a_file_is_merged_as_its_store_is(
    ours: MemoryStore, theirs: MemoryStore, tmp_path: Path
) -> None:
    record = theirs.store("theirs", vectors={"mine": [1.0, 2.0]})
    theirs.close()
    assert ours.merge_from(tmp_path / "other.db") == Merged(added=1)
    assert ours.merge_from(f"sqlite:///{tmp_path / 'other.db'}") == Merged(same=1)
    assert ours.all() == [record]
    assert ours.vectors(record.id, "mine")[record.id].tolist() == [1, 2]


def test_what_left_the_living_there_does_not_come(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock
) -> None:
    records = theirs.store_many(["forgotten", "erased", {"content": "x", "expires_at": 1500.0}])
    theirs.forget(records[0].id)
    theirs.erase(records[1].id)
    clock.now = 1500.0
    assert ours.merge_from(theirs) == Merged()
    assert ours.log() == []


def test_what_was_forgotten_or_erased_here_does_not_come_back(
    ours: MemoryStore, theirs: MemoryStore
) -> None:
    records = theirs.store_many(["to forget", "to erase"])
    ours.merge_from(theirs)
    ours.forget(records[0].id)
    ours.erase(records[1].id)
    assert ours.merge_from(theirs) == Merged(same=1, erased=1)
    assert ours.count() == 0


def test_one_record_of_both_takes_the_later_change_and_the_most_accesses(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock
) -> None:
    record = ours.store("one", importance=0.2)
    theirs.merge_from(ours)
    for _ in range(3):
        ours.touch(record.id)
    clock.now = 2000.0
    theirs.update(record.id, importance=0.9, tags=["late"], thread="t")
    theirs.record_outcome(record.id, "worked")
    for _ in range(2):
        theirs.touch(record.id)
    assert ours.merge_from(theirs) == Merged(same=1)
    merged = ours.get(record.id)
    assert merged == replace(
        record,
        importance=0.9,
        tags=("late",),
        thread="t",
        outcome=0.2,
        access_count=3,
        last_accessed_at=2000.0,
        updated_at=2000.0,
    )
    assert ours.log(limit=1)[0].action == "merge"
    assert [hit.memory for hit in ours.recall("one", touch=False)] == [merged]
    assert ours.outcomes(record.id)[-1].outcome == 0.2
    head = ours.log(limit=1)
    assert (ours.merge_from(theirs), ours.log(limit=1)) == (Merged(same=1), head)


def test_an_earlier_change_does_not_undo_a_later_one(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock
) -> None:
    record = ours.store("one")
    theirs.merge_from(ours)
    clock.now = 1100.0
    theirs.update(record.id, importance=0.9)
    clock.now = 1200.0
    mine = ours.update(record.id, importance=0.1)
    ours.merge_from(theirs)
    assert ours.get(record.id) == mine


def test_an_outcome_from_elsewhere_never_archives(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock
) -> None:
    record = ours.store("one")
    theirs.merge_from(ours)
    clock.now += 1
    for _ in range(2):
        theirs.record_outcome(record.id, "failed")
    ours.merge_from(theirs)
    merged = ours.get(record.id)
    assert merged is not None
    assert (merged.outcome, merged.state) == (-0.5, "live")


def test_what_outcomes_archived_here_stays_theirs_to_bring_back(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock
) -> None:
    record = ours.store("one")
    theirs.merge_from(ours)
    for _ in range(2):
        ours.record_outcome(record.id, "failed", session="here")
    clock.now += 1
    for _ in range(3):
        theirs.record_outcome(record.id, "failed", session="there")
    ours.merge_from(theirs)
    merged = ours.get(record.id)
    assert merged is not None
    assert (merged.outcome, merged.state) == (-0.9, "archived")


def test_what_was_archived_here_and_superseded_there_stays_archived(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock
) -> None:
    record = ours.store("a plan")
    theirs.merge_from(ours)
    ours.archive(record.id)
    clock.now += 1
    theirs.store("a better plan", supersedes=record.id)
    ours.merge_from(theirs)
    merged = ours.get(record.id)
    assert merged is not None
    assert (merged.state, merged.superseded_by) == ("archived", None)


def test_accesses_of_the_other_store_count_if_they_are_more(
    ours: MemoryStore, theirs: MemoryStore
) -> None:
    record = ours.store("one")
    theirs.merge_from(ours)
    for _ in range(2):
        theirs.touch(record.id)
    ours.merge_from(theirs)
    merged = ours.get(record.id)
    assert merged is not None
    assert merged.access_count == 2


def test_one_id_with_two_texts_is_two_records(ours: MemoryStore, theirs: MemoryStore) -> None:
    mine = ours.store("mine", id="same")
    other = theirs.store("theirs", id="same")
    theirs.update(theirs.store("gone", key=None).id, content="gone on")
    merged = ours.merge_from(theirs)
    assert (merged.added, merged.same, list(merged.renamed)) == (2, 0, ["same"])
    assert ours.get("same") == mine
    assert ours.get(merged.renamed["same"]) == replace(other, id=merged.renamed["same"])
    again = ours.merge_from(theirs)
    assert (again.added, again.same, again.renamed) == (0, 2, merged.renamed)
    assert ours.count() == 3


def test_who_supersedes_a_renamed_record_is_named_anew(
    ours: MemoryStore, theirs: MemoryStore
) -> None:
    ours.store("other", id="new")
    theirs.store("old fact", id="old")
    theirs.store("new fact", id="new", supersedes="old")
    merged = ours.merge_from(theirs)
    old = ours.get("old")
    assert old is not None
    assert (old.state, old.superseded_by) == ("superseded", merged.renamed["new"])


@pytest.mark.parametrize("later", [True, False])
def test_of_two_facts_the_later_one_holds(
    ours: MemoryStore, theirs: MemoryStore, *, later: bool
) -> None:
    mine = ours.store("the office is in Lyon", key="office", occurred_at=500.0)
    other = theirs.store("the office is in Graz", key="office", occurred_at=900.0 if later else 9.0)
    held, lost = (other, mine) if later else (mine, other)
    assert ours.merge_from(theirs) == Merged(added=1, outdated=0 if later else 1)
    assert ours.get(key="office") == held
    gone = ours.get(lost.id)
    assert gone is not None
    assert (gone.state, gone.superseded_by) == ("superseded", held.id)
    head = ours.log(limit=1)
    assert (ours.merge_from(theirs), ours.log(limit=1)) == (Merged(same=1), head)


def test_a_fact_whose_time_is_over_gives_its_key_up(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock
) -> None:
    ours.store("until noon", key="k", expires_at=1100.0)
    other = theirs.store("a longer one", key="k", occurred_at=10.0)
    clock.now = 1200.0
    ours.merge_from(theirs)
    assert ours.get(key="k") == other


def test_what_was_superseded_there_is_so_here(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock
) -> None:
    plain, _ = ours.store_many(["a plan", {"content": "Lyon", "key": "office"}])
    theirs.merge_from(ours)
    clock.now = 2000.0
    theirs.store("a better plan", supersedes=plain.id)
    theirs.store("Graz", key="office")
    assert ours.merge_from(theirs) == Merged(added=2, same=2)
    assert [record.content for record in ours.all()] == ["a better plan", "Graz"]
    assert without_update(table(ours)) == without_update(table(theirs))


def test_an_old_version_comes_as_superseded_by_the_one_that_replaced_it(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock
) -> None:
    first, second = (theirs.store(text, key="office") for text in ("Lyon", "Graz"))
    clock.now += 1
    ours.store("Oslo", key="office")
    assert ours.merge_from(theirs).outdated == 1
    assert table(ours)[first.id].superseded_by == second.id


def test_what_says_nearly_the_same_is_absorbed_once(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock
) -> None:
    mine = ours.store(LONG, importance=0.3, tags=["a"])
    ours.mark_useful(mine.id)
    other = theirs.store(f"{LONG} now", importance=0.8, tags=["b"])
    theirs.mark_useful(other.id)
    for id in (other.id, other.id):
        theirs.touch(id)
    ours.touch(mine.id)
    assert ours.merge_from(theirs) == Merged(added=1, absorbed=1)
    (kept,) = ours.all()
    assert (kept.id, kept.importance, kept.tags) == (mine.id, 0.8, ("a", "b"))
    assert (kept.access_count, kept.outcome) == (3, 0.2)
    gone = ours.get(other.id)
    assert gone is not None
    assert (gone.state, gone.superseded_by, gone.content) == ("superseded", mine.id, other.content)
    head = ours.log(limit=1)
    assert (ours.merge_from(theirs), ours.log(limit=1)) == (Merged(same=1), head)
    assert ours.recall("nightly backup")[0].memory.content == kept.content


def test_a_fuller_text_absorbs_the_one_that_was_here(
    ours: MemoryStore, theirs: MemoryStore, clock: Clock
) -> None:
    mine = ours.store("the nightly backup of the billing database runs", tags=["a"])
    other = theirs.store("the nightly backup of the billing database runs now", tags=["b"])
    fuller = theirs.store("cat the nightly backup of the billing database runs", tags=["c"])
    clock.now += 1
    assert ours.merge_from(theirs) == Merged(added=2, absorbed=2)
    (kept,) = ours.all()
    assert kept == replace(fuller, tags=("c", "a", "b"), updated_at=clock.now)
    records = table(ours)
    assert records[mine.id].superseded_by == fuller.id
    assert records[other.id].superseded_by == mine.id
    seen = records, ours.log(limit=1)
    assert ours.merge_from(theirs) == Merged(same=2)
    assert (table(ours), ours.log(limit=1)) == seen
    ours.undo(ours.log(limit=1)[0].seq)
    assert [each.id for each in ours.all()] == [mine.id]


def test_undoing_an_absorption_leaves_both(ours: MemoryStore, theirs: MemoryStore) -> None:
    mine, other = ours.store(LONG), theirs.store(f"{LONG} now", tags=["b"])
    ours.merge_from(theirs)
    ours.undo(ours.log(limit=1)[0].seq)
    assert [(each.id, each.content, each.tags) for each in ours.all()] == [
        (mine.id, LONG, ()),
        (other.id, other.content, ("b",)),
    ]
    assert [hit.memory.id for hit in ours.recall(LONG)] == [mine.id, other.id]


@pytest.mark.parametrize(
    "other",
    [
        LONG.replace("small", "large"),
        LONG.replace("runs", "never runs"),
        LONG.replace("the small server", "2 small servers"),
    ],
)
def test_what_differs_in_a_word_is_never_absorbed(
    ours: MemoryStore, theirs: MemoryStore, other: str
) -> None:
    ours.store(LONG)
    theirs.store(other)
    assert ours.merge_from(theirs) == Merged(added=1)


@pytest.mark.parametrize(
    "fields", [{"namespace": "b"}, {"thread": "t"}, {"author": "Ben"}, {"value": 1}, {"key": "k"}]
)
def test_what_is_said_elsewhere_or_by_another_is_not_the_same(
    ours: MemoryStore, theirs: MemoryStore, fields: dict[str, Any]
) -> None:
    ours.store(LONG)
    theirs.store(LONG, **fields)
    assert ours.merge_from(theirs) == Merged(added=1)


def test_the_same_words_are_absorbed_without_vectors(clock: Clock) -> None:
    blind = HashEmbedder(8)
    blind.embed = lambda texts: np.zeros((len(texts), 8), np.float32)  # type: ignore[method-assign]
    with MemoryStore(embedder=blind, clock=clock) as one, MemoryStore(embedder=blind) as other:
        one.store_many(["сервер в подвале", "кошка спит"])
        other.store_many(["кошка спит", "собака спит"])
        assert one.merge_from(other) == Merged(added=2, absorbed=1)


def test_signs_without_a_word_are_absorbed(ours: MemoryStore, theirs: MemoryStore) -> None:
    for store in (ours, theirs):
        store.store("👍")
    assert ours.merge_from(theirs) == Merged(added=1, absorbed=1)


def test_what_is_stored_here_meanwhile_is_found_too(
    ours: MemoryStore, theirs: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look_and_store(*given: Any) -> DuplicateSearch:
        found = DuplicateSearch(*given)
        ours.store(LONG)
        return found

    monkeypatch.setattr(merge, "DuplicateSearch", look_and_store)
    theirs.store(LONG)
    assert ours.merge_from(theirs) == Merged(added=1, absorbed=1)


def test_twins_of_the_other_store_that_are_fuller_than_one_here_become_one(
    ours: MemoryStore, theirs: MemoryStore
) -> None:
    ours.store(LONG)
    fuller, _ = theirs.store_many([f"{LONG} for Ann"] * 2)
    assert ours.merge_from(theirs) == Merged(added=2, absorbed=2)
    assert [record.id for record in ours.all()] == [fuller.id]


def test_twins_of_the_other_store_stay_two(ours: MemoryStore, theirs: MemoryStore) -> None:
    theirs.store_many([LONG, LONG])
    assert ours.merge_from(theirs) == Merged(added=2)
    assert ours.count() == 2


def test_another_embedder_makes_the_vectors_anew(ours: MemoryStore, clock: Clock) -> None:
    texts = ["the cat sleeps", "a dog runs", LONG]
    with MemoryStore(embedder=HashEmbedder(24), clock=clock) as other:
        other.store_many([*texts, {"content": "", "value": 1}])
        ours.store(LONG)
        assert ours.merge_from(other) == Merged(added=4, absorbed=1)
    found = ours.recall("the cat sleeps", mode="semantic", k=1)
    assert found[0].explain().signals["vector"] == pytest.approx(1.0)


def test_links_come_along(ours: MemoryStore, theirs: MemoryStore) -> None:
    ours.store("mine", id="b")
    theirs.store_many([{"content": text, "id": text} for text in "abc"])
    theirs.relate("a", "b", "fixes")
    theirs.relate("c", "a", "follows")
    theirs.forget("c")
    renamed = ours.merge_from(theirs).renamed["b"]
    assert [(link.kind, link.memory.id) for link in ours.related("a")] == [("fixes", renamed)]
    head = ours.log(limit=1)
    ours.merge_from(theirs)
    assert ours.log(limit=1) == head


def test_a_link_to_what_was_erased_here_does_not_come_back(
    ours: MemoryStore, theirs: MemoryStore
) -> None:
    one, two = ours.store_many(["one", "two"])
    theirs.merge_from(ours)
    theirs.relate(one.id, two.id, "fixes")
    ours.erase(two.id)
    head = ours.log(limit=1)
    ours.merge_from(theirs)
    assert ours.log(limit=1) == head


def test_all_of_it_comes_or_nothing(ours: MemoryStore, theirs: MemoryStore) -> None:
    ours.store("mine", vectors={"v": [1.0, 2.0]})
    theirs.store("good")
    theirs.store("bad", vectors={"v": [1.0, 2.0, 3.0]})
    before = ours.log()
    with pytest.raises(ValidationError, match="vector 'v' has 3 dimensions"):
        ours.merge_from(theirs)
    assert ours.log() == before
    assert ours.store("it goes on").content == "it goes on"


def test_a_store_is_not_merged_with_itself(ours: MemoryStore, path: Path, clock: Clock) -> None:
    ours.store("one")
    link = path.parent / "link.db"
    link.symlink_to(path)
    with MemoryStore(path, embedder=EMBEDDER) as again, MemoryStore() as memory:
        for one, other in (
            (ours, ours),
            (ours, again),
            (ours, path),
            (ours, link),
            (memory, memory),
        ):
            with pytest.raises(ValidationError, match="itself"):
                one.merge_from(other)
    assert ours.count() == 1


def test_an_empty_file_is_refused_and_stays_empty(ours: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    with pytest.raises(StorageError, match="empty"):
        ours.merge_from(path)
    assert path.read_bytes() == b""


def test_two_stores_in_memory_are_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ":memory:").touch()
    with MemoryStore() as one, MemoryStore() as other:
        other.store("red cat")
        assert one.merge_from(other).added == 1


def test_what_is_no_store_is_refused_and_not_made(ours: MemoryStore, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("not a store, but a text")
    with pytest.raises(NotABethinkFileError):
        ours.merge_from(tmp_path / "text.txt")
    for missing in (tmp_path / "none.db", ":memory:", tmp_path):
        with pytest.raises(StorageError, match="there is no such file"):
            ours.merge_from(missing)
    assert not (tmp_path / "none.db").exists()
    for wrong in (None, 7, ["x"]):
        with pytest.raises(ValidationError, match="a store or the path of one"):
            ours.merge_from(wrong)  # type: ignore[arg-type]
    closed = MemoryStore()
    closed.close()
    with pytest.raises(StoreClosedError):
        ours.merge_from(closed)


@contextmanager
def two_stores(clock: Clock) -> Iterator[tuple[MemoryStore, MemoryStore]]:
    with (
        MemoryStore(embedder=EMBEDDER, clock=clock) as one,
        MemoryStore(embedder=EMBEDDER, clock=clock) as other,
    ):
        yield one, other


def change(store: MemoryStore, chance: random.Random, clock: Clock) -> None:
    """Do something to a random record, or store one."""
    clock.now += chance.choice((0.0, 1.0, 5.0))
    ids = [record.id for record in store.all(namespace=EVERYWHERE)]
    doings: list[Callable[[str], object]] = [
        lambda id: store.update(id, content=f"{chance.choice(('cat', 'dog'))} {LONG}"),
        lambda id: store.update(id, importance=chance.random()),
        lambda id: store.forget(id),
        lambda id: store.archive(id),
        lambda id: store.touch(id),
        lambda id: store.record_outcome(id, "worked"),
    ]
    if ids and chance.randrange(2):
        chance.choice(doings)(chance.choice(ids))
    else:
        key = chance.choice((None, None, "k"))
        text = (
            f"{LONG}{chance.choice(('', ' now', ' too'))}" if key is None else chance.choice("xy")
        )
        store.store(text, key=key, namespace=chance.choice("ab"))


@pytest.mark.slow
@given(seed=st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_merging_again_changes_nothing(seed: int) -> None:
    chance, clock = random.Random(seed), Clock()
    with two_stores(clock) as (one, other):
        for _ in range(20):
            change(chance.choice((one, other)), chance, clock)
            if not chance.randrange(6):
                one.merge_from(other)
        live = {record.id: record for record in other.all(namespace=EVERYWHERE)}
        merged = one.merge_from(other)
        known = table(one)
        assert {merged.renamed.get(id, id) for id in live} <= known.keys()
        for id, record in live.items():
            here = known[merged.renamed.get(id, id)]
            told = [entry.changes.get("content") for entry in one.log(id=here.id)]
            assert here.state == "erased" or record.content in told
        seen, head = table(one), one.log(limit=1)
        again = one.merge_from(other)
        assert (again.added, again.absorbed, again.renamed) == (0, 0, merged.renamed)
        assert (table(one), one.log(limit=1)) == (seen, head)


def test_the_chain_holds(ours: MemoryStore, theirs: MemoryStore, path: Path) -> None:
    theirs.store_many(["a", "b", {"content": "c", "key": "k"}])
    ours.store("d", key="k")
    ours.merge_from(theirs)
    ours.close()
    assert unverified(path) == []


async def _awaited(path: Path) -> list[int]:
    async with AsyncMemoryStore() as one, AsyncMemoryStore(str(path)) as other:
        await other.store("x")
        return [(await one.merge_from(each)).added for each in (other, other.sync, path)]


def test_it_can_be_awaited(tmp_path: Path) -> None:
    assert asyncio.run(_awaited(tmp_path / "a.db")) == [1, 0, 0]


@pytest.mark.slow
@given(seed=st.integers(0, 2**32))
@settings(max_examples=15, deadline=None)
def test_however_two_stores_are_merged_nothing_supersedes_itself(seed: int) -> None:
    chance, clock = random.Random(seed), Clock()
    with two_stores(clock) as (one, other):
        for _ in range(30):
            into, source = chance.choice(((one, other), (other, one)))
            change(into, chance, clock)
            if not chance.randrange(3):
                into.merge_from(source)
                by = {id: each.superseded_by for id, each in table(into).items()}
                for id in by:
                    successor, steps = by[id], 0
                    while successor is not None and steps <= len(by):
                        successor, steps = by.get(successor), steps + 1
                    assert successor is None
