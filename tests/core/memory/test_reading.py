from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bethink import (
    EVERYWHERE,
    DecayProduct,
    HashEmbedder,
    MemoryStore,
    Subtree,
    ValidationError,
    WeightedSum,
)
from bethink.memory.ranking import Scored, Signals
from bethink.memory.search import Mode

from ..clock import Clock
from ..inside import engine_of
from ..twin import Asked, Twin, assert_same


@pytest.fixture
def store(path: Path, clock: Clock) -> Iterator[MemoryStore]:
    with MemoryStore(path, clock=clock, durability="normal") as store:
        yield store


def accesses(store: MemoryStore, id: str) -> tuple[int, float | None]:
    record = store.get(id)
    assert record is not None
    return record.access_count, record.last_accessed_at


def actions(store: MemoryStore) -> list[str]:
    return [entry.action for entry in store.log(limit=None)][::-1]


def test_what_is_unknown_is_none(store: MemoryStore) -> None:
    assert store.get("unknown") is None
    assert store.get(key="unknown") is None


def test_an_access_shows_at_once_everywhere(store: MemoryStore, clock: Clock) -> None:
    id = store.store("a red cat", key="k").id
    clock.now += 5
    store.touch(id)
    clock.now += 5
    store.touch([id])
    found = [store.get(id), store.get(key="k"), store.all()[0]]
    found += [hit.memory for hit in store.recall("cat", touch=False)]
    assert [(one.access_count, one.last_accessed_at) for one in found if one] == [(2, 1010.0)] * 4


ACCESSED = {"access_count": {"$gte": 1}}
BESIDE = {
    "alone": ACCESSED,
    "beside another": {"author": "Ann", **ACCESSED},
    "before another": {**ACCESSED, "author": "Ann"},
    "in a list": {"$and": [{"author": "Ann"}, ACCESSED]},
    "as a choice": {"$or": [{"author": "Eve"}, ACCESSED]},
    "negated": {"$not": {"access_count": 0}},
    "by time": {"author": "Ann", "last_accessed_at": {"$gte": 0.0}},
}


@pytest.mark.parametrize("where", BESIDE.values(), ids=BESIDE)
def test_a_filter_on_accesses_sees_the_latest(store: MemoryStore, where: dict[str, Any]) -> None:
    cat, dog = store.store_many(["a red cat", "a red dog"], author="Ann")

    def found() -> tuple[list[str], int, list[str]]:
        hits = store.recall("red", where=where, touch=False)
        listed = [each.id for each in store.all(where=where)]
        return [hit.memory.id for hit in hits], store.count(where=where), listed

    assert found() == ([], 0, [])
    store.touch(cat.id)
    assert found() == ([cat.id], 1, [cat.id])
    store.touch(dog.id)
    assert found()[1:] == (2, [cat.id, dog.id])
    store.touch(cat.id)
    assert store.forget(where=where) == 2


def test_recall_counts_as_an_access_of_what_it_returns(store: MemoryStore, clock: Clock) -> None:
    cat, dog = store.store_many(["a red cat", "a red dog"])
    clock.now += 5
    assert store.recall("red cat", k=1)[0].memory.access_count == 0
    assert (accesses(store, cat.id), accesses(store, dog.id)) == ((1, 1005.0), (0, None))
    store.recall("red cat", k=1, touch=False)
    assert accesses(store, cat.id) == (1, 1005.0)


def test_reading_writes_nothing(store: MemoryStore) -> None:
    id = store.store("a red cat").id
    store.recall("cat")
    store.touch(id)
    store.get(id)
    assert actions(store) == ["store"]


def test_reading_waits_for_no_writer(store: MemoryStore) -> None:
    id = store.store("a red cat").id
    done = threading.Event()

    def read() -> None:
        store.recall("cat")
        store.touch(id)
        done.set()

    with engine_of(store).backend.write():
        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        assert done.wait(20)
    reader.join()


def test_one_call_counts_once(store: MemoryStore) -> None:
    id = store.store("a red cat").id
    store.touch([id, id])
    assert accesses(store, id) == (1, 1000.0)


def test_a_later_write_takes_accesses_along(store: MemoryStore, path: Path, clock: Clock) -> None:
    id = store.store("a red cat").id
    store.recall("cat")
    store.touch(id)
    with MemoryStore(path) as other:
        assert accesses(other, id) == (0, None)
        clock.now += 3600
        store.store("a dog")
        assert accesses(other, id) == (2, 1000.0)
    assert actions(store) == ["store", "touch", "store"]
    assert store.log()[1].changes["accesses"] == {id: [2, 1000.0]}
    assert accesses(store, id) == (2, 1000.0)


def test_accesses_survive_closing(path: Path) -> None:
    with MemoryStore(path, clock=lambda: 7.0) as store:
        id = store.store("a red cat").id
        store.recall("cat")
    with MemoryStore(path) as store:
        assert accesses(store, id) == (1, 7.0)


def test_accesses_survive_a_write_that_fails(store: MemoryStore, clock: Clock) -> None:
    id = store.store("a red cat").id
    store.touch(id)
    clock.now += 3600
    with pytest.raises(LookupError):
        store.forget("unknown")
    assert (accesses(store, id), actions(store)) == ((1, 1000.0), ["store"])
    store.store("a dog")
    assert (accesses(store, id), actions(store)) == ((1, 1000.0), ["store", "touch", "store"])


def test_only_the_living_are_accessed(store: MemoryStore) -> None:
    id = store.store("a red cat").id
    store.forget(id)
    store.touch([id, "unknown"])
    store.restore(id)
    assert accesses(store, id) == (0, None)


def test_an_access_of_what_is_forgotten_meanwhile_is_dropped(
    store: MemoryStore, path: Path, clock: Clock
) -> None:
    id = store.store("a red cat").id
    store.touch(id)
    with MemoryStore(path) as other:
        other.forget(id)
    clock.now += 3600
    store.store("a dog")
    assert actions(store) == ["store", "forget", "store"]


def test_an_access_makes_a_memory_recent(store: MemoryStore, clock: Clock) -> None:
    first, second = store.store_many(["a red cat", "a red cat"])
    clock.now += 1e6
    store.touch(second.id)
    assert [hit.memory.id for hit in store.recall("red cat")] == [second.id, first.id]


@pytest.mark.parametrize("change", [{"importance": 0.9}, {"author": "Ann"}, {"namespace": "b"}])
def test_an_access_counts_when_another_store_changes_the_record(
    path: Path, clock: Clock, change: dict[str, str]
) -> None:
    ranking = WeightedSum.classic()
    with (
        MemoryStore(path, clock=clock, ranking=ranking) as one,
        MemoryStore(path, clock=clock) as other,
    ):
        id = one.store("a red cat").id
        one.recall("cat", namespace=EVERYWHERE, touch=False)
        clock.now += 1e6
        one.touch(id)
        other.update(id, **change)  # type: ignore[arg-type]
        asked = Asked("red cat", namespace=EVERYWHERE, now=clock.now)
        assert_same(asked.of(one), Twin.of(one).recall(asked))


def test_an_access_counts_in_a_scope_that_is_loaded_after_the_change(
    path: Path, clock: Clock
) -> None:
    with MemoryStore(path, clock=clock) as one, MemoryStore(path, clock=clock) as other:
        id = one.store("a red cat").id
        clock.now += 1e6
        one.touch(id)
        other.update(id, author="Ann")
        asked = Asked("red cat", now=clock.now)
        assert_same(asked.of(one), Twin.of(one).recall(asked))


def test_a_filter_sees_accesses_as_they_are_shown(store: MemoryStore) -> None:
    id = store.store("a red cat").id
    store.touch(id)
    for where in ({"access_count": 1}, {"last_accessed_at": {"$gte": 1000.0}}):
        assert [record.id for record in store.all(where=where)] == [id]
        assert len(store.recall("cat", where=where, touch=False)) == store.count(where=where) == 1
    assert store.all(where={"access_count": 0}) == []


def test_many_accesses_are_written_together(store: MemoryStore, clock: Clock) -> None:
    stored = store.store_many(f"cat {n}" for n in range(200))
    store.recall("cat", k=200)
    clock.now += 3600
    store.store("a dog")
    assert actions(store) == ["store"] * 200 + ["touch", "store"]
    assert {accesses(store, record.id) for record in stored} == {(1, 1000.0)}


def test_many_threads_lose_no_access(store: MemoryStore) -> None:
    id = store.store("a red cat").id

    def access() -> None:
        for _ in range(20):
            store.touch(id)
            store.store("a dog")

    threads = [threading.Thread(target=access) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert accesses(store, id) == (80, 1000.0)
    asked = Asked("red cat", now=1000.0)
    assert_same(asked.of(store), Twin.of(store).recall(asked))


def test_named_vectors_come_back_as_float32(store: MemoryStore) -> None:
    cat = store.store("a cat", vectors={"v": [1, 0.1], "w": [3]})
    dog = store.store("a dog", vectors={"v": [2, 0]})
    found = store.vectors([cat.id, dog.id, "unknown"], "v")
    assert {id: vector.tolist() for id, vector in found.items()} == {
        cat.id: pytest.approx([1, 0.1]),
        dog.id: [2, 0],
    }
    assert {vector.dtype.name for vector in found.values()} == {"float32"}
    assert list(store.vectors(dog.id, "w")) == []
    assert [store.dimension(name) for name in ("v", "w", "x")] == [2, 1, None]


def test_an_update_adds_and_replaces_vectors(store: MemoryStore) -> None:
    id = store.store("a cat", vectors={"v": [1, 0]}).id
    store.recall(None, vector=("v", [1, 0]))
    store.update(id, vectors={"v": [0, 1], "w": [3, 3, 3]})
    assert store.vectors(id, "w")[id].tolist() == [3, 3, 3]
    assert store.recall(None, vector=("v", [1, 0])) == []
    assert len(store.recall(None, vector=("v", [0, 1]))) == 1


def test_vectors_of_a_dimension_that_is_given_up_do_not_come_back(store: MemoryStore) -> None:
    old = store.store("old", vectors={"v": [1.0, 2.0]})
    store.forget(old.id)
    new = store.store("new", vectors={"v": [1.0, 2.0, 3.0]})
    store.restore(old.id)
    assert list(store.vectors([old.id, new.id], "v")) == [new.id]
    assert not store.verify().problems


def test_a_dimension_that_nothing_has_any_more_may_change(store: MemoryStore) -> None:
    id = store.store("a cat", vectors={"v": [1, 0]}).id
    store.recall(None, vector=("v", [1, 0]))
    store.forget(id)
    store.store("a dog", vectors={"v": [1, 0, 0]})
    assert len(store.recall(None, vector=("v", [1, 0, 0]))) == 1


def test_recall_narrows_by_its_filter(store: MemoryStore, path: Path) -> None:
    store.store_many({"content": f"red cat {n}", "metadata": {"n": n % 4}} for n in range(40))
    for where, expected in (({"metadata.n": 1}, 10), ({"metadata.n": {"$gt": 1}}, 20)):
        assert len(store.recall("cat", k=99, where=where)) == expected
    with MemoryStore(path) as other:
        other.store("red cat 41", metadata={"n": 1})
    assert len(store.recall("cat", k=99, where={"metadata.n": 1})) == 11


@pytest.mark.parametrize(
    ("read", "where"),
    [("values", {"category": "x"}), ("matching", {"content": {"$contains": "a"}, "category": "x"})],
)
def test_what_is_written_between_index_and_filter_lets_nothing_else_pass(
    store: MemoryStore,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    read: str,
    where: dict[str, Any],
) -> None:
    from bethink.storage.sqlite import SQLiteBackend

    real = getattr(SQLiteBackend, read)
    store.recall("red cat", where=where)

    def late(self: SQLiteBackend, *given: Any) -> Any:
        with MemoryStore(path) as other:
            other.store("a late red cat", category="x")
        return real(self, *given)

    store.store_many([{"content": "a red cat", "category": "x"}, "a red cat"])
    monkeypatch.setattr(SQLiteBackend, read, late)
    found = store.recall("red cat", where=where)
    assert [hit.memory.content for hit in found] == ["a red cat", "a late red cat"]


class Meanwhile:
    """Rank as by default, after something that others do in the midst of the first recall."""

    def __init__(self, act: Callable[[], object]) -> None:
        self.acts = [act]

    def rank(self, evidence: Signals) -> Scored:
        while self.acts:
            self.acts.pop()()
        return WeightedSum().rank(evidence)


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
@pytest.mark.parametrize(
    ("change", "best"),
    [("store", "one red cat"), ("update", "one red cat"), ("forget", "a red cat or hen")],
)
def test_what_others_change_during_a_recall_leaves_no_gap(
    store: MemoryStore, path: Path, change: str, best: str, mode: Mode
) -> None:
    id = store.store("a red cat", key="k").id
    store.store("a red cat or hen")
    store.store_many(f"rain on day {day}" for day in range(256))  # so the hits are read at the end
    with MemoryStore(path) as other:
        acts: dict[str, Callable[[], object]] = {
            "store": partial(other.store, best, key="k"),
            "update": partial(other.update, id, content=best),
            "forget": partial(other.forget, id),
        }
        (hit,) = store.recall("red cat", k=1, mode=mode, ranking=Meanwhile(acts[change]))
        assert hit.memory.content == best


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("the child sleeps", "where are the kids"),
        ("Members receive a letter in May.", "who did recieve it"),
    ],
)
def test_a_word_is_found_by_a_synonym_or_a_slip_unless_words_alone_are_looked_for(
    text: str, query: str
) -> None:
    with MemoryStore(embedder=HashEmbedder(64)) as store:
        store.store(text)
        (hit,) = store.recall(query, touch=False)
        assert hit.explain().signals["keyword"] > 0
        assert store.recall(query, mode="keyword") == []


@pytest.fixture
def cats(clock: Clock) -> Iterator[MemoryStore]:
    """Return a store of six records, each in another plight."""
    with MemoryStore(clock=clock, embedder=HashEmbedder(64)) as store:
        store.store("a red cat sleeps", id="best", importance=1.0)
        store.store("a red cat sleeps in the long grass by the house", id="good")
        store.store("the ferry leaves at noon", id="unlike")
        store.store("a red cat", id="old", expires_at=clock.now + 5)
        store.store("a red cat", id="else", namespace="a/b")
        store.store("a red cat", id="gone")
        store.forget("gone")
        store.store("a red cat", id="first", key="k")
        store.store("a blue cat", id="second", key="k")
        clock.now += 10
        yield store


@pytest.mark.parametrize(
    ("id", "told"),
    [
        ("nobody", "nobody: unknown"),
        ("gone", "gone: forgotten"),
        ("first", "first: superseded (by second)"),
        ("old", "old: expired (5 seconds ago)"),
        ("else", "else: other namespace (it is in 'a/b')"),
        ("unlike", "unlike: no likeness (neither words nor vectors are alike enough)"),
    ],
)
def test_what_keeps_a_record_out_is_told(cats: MemoryStore, id: str, told: str) -> None:
    found = cats.why_not(id, "red cat")
    assert str(found) == told
    assert (found.rank, found.score, found.explanation) == (None, None, None)


def test_a_filter_is_told(cats: MemoryStore) -> None:
    found = cats.why_not("good", "red cat", where={"importance": {"$gt": 0.5}})
    assert str(found) == "good: filtered (it does not pass where)"
    found = cats.why_not("good", "red cat", where={"importance": {"$lte": 0.5}})
    assert (found.reason, found.rank) == ("returned", 1)


def test_a_score_that_is_no_number_is_below_every_bar(cats: MemoryStore) -> None:
    class Broken:
        def rank(self, evidence: Signals) -> Scored:
            return Scored({}, {"broken": evidence.similarity * np.nan})

    assert cats.recall("red cat", ranking=Broken()) == []
    assert cats.why_not("good", "red cat", ranking=Broken()).reason == "below min_score"


def test_a_bar_is_told_with_what_was_reached(cats: MemoryStore) -> None:
    good = cats.why_not("good", "red cat")
    assert good.explanation is not None
    similarity = good.explanation.signals["similarity"]
    assert good.score is not None
    low = cats.why_not("good", "red cat", min_score=good.score + 1e-9)
    assert (low.reason, low.score, low.rank) == ("below min_score", good.score, None)
    assert cats.why_not("good", "red cat", min_score=good.score).reason == "returned"
    less = cats.why_not("good", "red cat", min_similarity=similarity)
    assert (less.reason, less.rank) == ("below min_similarity", None)
    assert f"a similarity of {similarity:.3f}, not above" in str(less)


def test_why_not_names_the_share_that_keeps_a_record_out(cats: MemoryStore) -> None:
    hits = cats.recall("red cat", touch=False)
    for hit in hits:
        for share in (0.0, 0.5, hit.score / hits[0].score - 1e-9, 1.0):
            kept = [each.id for each in cats.recall("red cat", min_share=share, touch=False)]
            told = cats.why_not(hit.id, "red cat", min_share=share)
            assert told.reason == ("returned" if hit.id in kept else "below min_share")
    told = cats.why_not(hits[-1].id, "red cat", min_share=1.0)
    assert f"min_share is 1 of the best score, {hits[0].score:.3f}" in str(told)
    assert len(hits) > 1


def test_the_rank_is_told_with_the_score(cats: MemoryStore) -> None:
    best, good, *_ = cats.recall("red cat", touch=False)
    assert [best.memory.id, good.memory.id] == ["best", "good"]
    found = cats.why_not("good", "red cat", k=1)
    assert (found.reason, found.rank, found.score) == ("outranked", 2, good.score)
    assert str(found) == f"good: outranked, at rank 2 with a score of {good.score:.3f} (k is 1)"
    assert found.explanation == good.explain()
    assert cats.why_not("good", "red cat", k=2).reason == "returned"


def test_equals_are_ranked_by_id(clock: Clock) -> None:
    names = [f"{number * 7 % 40:02d}" for number in range(40)]
    with MemoryStore(clock=clock) as store:
        store.store_many({"id": name, "content": "a red cat"} for name in names)
        assert [store.why_not(name, "cat", k=3).rank for name in sorted(names)] == [*range(1, 41)]


def test_a_rank_counts_everyone_whatever_k_is(clock: Clock) -> None:
    with MemoryStore(clock=clock) as store:
        for number in range(60):
            store.store("x", id=f"{number:02d}", vectors={"v": [60 - number, number]})
        asked = ("v", [1.0, 0.0])
        ranks = [store.why_not(f"{at:02d}", None, k=1, vector=asked).rank for at in range(60)]
        assert ranks == [*range(1, 61)]


def test_the_rank_is_that_of_the_ranking_asked_for(cats: MemoryStore) -> None:
    cats.update("best", importance=0.0)
    product = DecayProduct(0.0)
    assert cats.recall("red cat", k=1, ranking=product, touch=False)[0].memory.id != "best"
    assert cats.why_not("best", "red cat", k=1).reason == "returned"
    assert cats.why_not("best", "red cat", k=1, ranking=product).reason == "outranked"
    assert cats.why_not("else", "red cat", namespace=Subtree("a")).rank == 1


def test_the_past_is_asked_why_not_as_well(cats: MemoryStore) -> None:
    (then,) = (entry.seq for entry in cats.log(id="gone") if entry.action == "store")
    assert cats.why_not("gone", "red cat", as_of=then).rank == 1
    assert cats.why_not("second", "red cat", as_of=then).reason == "unknown"
    ids = [hit.memory.id for hit in cats.recall("red cat", k=9, as_of=then)]
    ranks = [cats.why_not(id, "red cat", as_of=then).rank for id in ids]
    assert ranks == [*range(1, len(ids) + 1)]


def test_asking_why_not_is_no_access(cats: MemoryStore) -> None:
    cats.why_not("best", "red cat")
    assert accesses(cats, "best") == (0, None)


def test_why_not_needs_something_to_look_for(cats: MemoryStore) -> None:
    with pytest.raises(ValidationError, match="query or a vector"):
        cats.why_not("best", None)
    with pytest.raises(ValidationError):
        cats.why_not("", "red cat")


def test_what_another_store_just_wrote_is_ranked(path: Path, store: MemoryStore) -> None:
    id = store.store("a red cat").id
    store.recall("cat")
    with MemoryStore(path) as other:
        other.update(id, content="a red dog")
        other.store("a cat", id="new")
    assert store.why_not(id, "cat", mode="keyword").reason == "no likeness"
    assert store.why_not("new", "cat", mode="keyword").rank == 1


def test_an_access_counts_where_another_store_has_moved_the_record(
    path: Path, store: MemoryStore
) -> None:
    id = store.store("a red cat", namespace="a").id
    store.recall("cat", namespace="a")
    with MemoryStore(path) as other:
        other.update(id, namespace="b")
    (hit,) = store.recall("cat", namespace="b")
    assert hit.memory.access_count == 1


def test_an_id_is_found_in_the_namespace_alone_if_one_is_given(store: MemoryStore) -> None:
    id = store.store("a red cat", namespace="users/ann", key="pet").id
    for reader in (store, store.as_of(1)):
        found = reader.get(id)
        assert found == reader.get(id, namespace="users/ann")
        assert found == reader.get(namespace="users/ann", key="pet")
        assert found is not None
        for other in ("users/bob", "users", "default"):
            assert reader.get(id, namespace=other) is None
    with pytest.raises(ValidationError, match="is a pattern"):
        store.get(id, namespace="users/*")
