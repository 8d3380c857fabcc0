from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bethink import (
    EVERYWHERE,
    HashEmbedder,
    MemoryRecord,
    MemoryStore,
    NotFoundError,
    Subtree,
    ValidationError,
)

from ..clock import Clock
from ..inside import engine_of


@pytest.fixture
def store(clock: Clock) -> Iterator[MemoryStore]:
    numbers = count()
    with MemoryStore(clock=clock, new_id=lambda: f"{next(numbers):03d}") as store:
        yield store


def contents(store: MemoryStore, **narrowed: Any) -> list[str]:
    return [record.content for record in store.all(**narrowed)]


def actions(store: MemoryStore, **narrowed: Any) -> list[str]:
    return [entry.action for entry in store.log(**narrowed)][::-1]


def test_what_is_stored_comes_back_in_full(store: MemoryStore) -> None:
    given: dict[str, Any] = {
        "namespace": "users/42",
        "key": "theme",
        "value": {"dark": True},
        "thread": "s1",
        "author": "Ann",
        "category": "preference",
        "tags": ("ui", "colour"),
        "importance": 0.9,
        "confidence": 0.8,
        "source": "chat",
        "metadata": {"turn": 3},
        "occurred_at": 5.0,
        "expires_at": 2e9,
    }
    record = store.store("prefers dark mode", **given)
    assert record == MemoryRecord(
        "000", content="prefers dark mode", created_at=1000.0, updated_at=1000.0, **given
    )
    assert store.get("000") == record


def test_a_memory_happened_when_it_is_stored_unless_told(store: MemoryStore) -> None:
    assert store.store("now").occurred_at == 1000.0
    assert store.store("now", occurred_at=None).occurred_at == 1000.0
    assert store.store("then", occurred_at=-5).occurred_at == -5.0


def test_an_id_of_ones_own_is_kept_and_unique(store: MemoryStore) -> None:
    assert store.store("x", id="mine").id == "mine"
    with pytest.raises(ValidationError, match="update"):
        store.store("y", id="mine")
    store.forget("mine")
    with pytest.raises(ValidationError, match="is forgotten"):
        store.store("y", id="mine", namespace="elsewhere")


def test_shared_fields_hold_where_an_item_says_nothing(store: MemoryStore) -> None:
    items: list[Any] = ["a", {"content": "b", "author": "Bob"}, {"content": "c", "author": None}]
    stored = store.store_many(items, author="Ann", thread="s")
    assert [record.author for record in stored] == ["Ann", "Bob", None]
    assert {record.thread for record in stored} == {"s"}
    assert store.store_many(iter(["d"]))[0].content == "d"
    assert store.store_many([]) == []


def test_what_another_item_of_the_batch_replaces_is_returned_as_replaced(
    store: MemoryStore,
) -> None:
    told_twice = store.store_many(["9:30", "10:00"], key="standup")
    corrected = store.store_many([{"content": "a", "id": "a"}, {"content": "b", "supersedes": "a"}])
    assert told_twice[0].superseded_by == told_twice[1].id
    assert [each.state for each in corrected] == ["superseded", "live"]
    assert all(store.get(each.id) == each for each in (*told_twice, *corrected))


@pytest.mark.parametrize("items", ["abc", {"content": "x"}, 3, None])
def test_many_are_a_list(store: MemoryStore, items: Any) -> None:
    with pytest.raises(ValidationError, match="list"):
        store.store_many(items)


def broken() -> Iterator[str]:
    yield "fine"
    raise OSError("the source broke")


@pytest.mark.parametrize(
    ("items", "error"),
    [
        (["fine", {"content": "x", "importance": 9}, "fine"], ValidationError),
        (["fine", 3, "fine"], ValidationError),
        (["fine", "", "fine"], ValidationError),
        (["fine", {"content": "x", "colour": 1}], ValidationError),
        ([{"content": "x", "id": "a"}, {"content": "y", "id": "a"}], ValidationError),
        (["fine", {"content": "y", "id": "000"}], ValidationError),
        (["fine", {"content": "y", "vectors": {"v": [1, 2, 3]}}], ValidationError),
        (broken(), OSError),
    ],
)
def test_many_are_stored_or_none(store: MemoryStore, items: Any, error: type[Exception]) -> None:
    first = store.store("first", vectors={"v": [1, 2]})
    store.recall("fine", touch=False)
    with pytest.raises(error):
        store.store_many(items)
    assert store.all() == [first]
    assert actions(store) == ["store"]
    assert store.recall("fine") == []
    store.store("fine again")
    assert len(store.recall("fine")) == 1


def test_storing_can_forget_in_the_same_transaction(store: MemoryStore) -> None:
    old, held = store.store("old"), store.store("held", key="k")
    stored = store.store_many(["new", {"content": "anew", "key": "k"}], forget=[old.id, held.id])
    assert store.all() == stored
    assert actions(store) == ["store", "store", "forget", "forget", "store", "store"]
    assert store.store_many([], forget=stored[0].id) == []
    assert store.all() == stored[1:]
    assert store.restore(old.id) == 1


@pytest.mark.parametrize(("items", "gone"), [(["new"], ["nobody"]), ([{"content": 3}], ["000"])])
def test_nothing_is_forgotten_unless_all_is_stored(
    store: MemoryStore, items: Any, gone: list[str]
) -> None:
    first = store.store("first", id="000")
    with pytest.raises((NotFoundError, ValidationError)):
        store.store_many(items, forget=gone)
    assert store.all() == [first]
    assert actions(store) == ["store"]


class Failing(HashEmbedder):
    """Fail on texts about failure."""

    def embed(self, texts: Any) -> Any:
        if any("fail" in text for text in texts):
            raise TimeoutError("no answer")
        return super().embed(texts)


OTHER_PROCESS = """
import sys
from bethink import MemoryStore
with MemoryStore(sys.argv[1]) as store:
    store.store("from another process")
"""


@pytest.mark.slow
def test_a_failing_embedder_leaves_nothing_open(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with MemoryStore(path, embedder=Failing()) as store:
        kept = store.store("kept")
        with pytest.raises(TimeoutError):
            store.store_many(["fine", "will fail"])
        with pytest.raises(TimeoutError):
            store.update(kept.id, content="will fail")
        with pytest.raises(TimeoutError):
            store.recall("fail")
        subprocess.run([sys.executable, "-c", OTHER_PROCESS, path], check=True, timeout=60)
        assert contents(store) == ["kept", "from another process"]


def rows(*shape: int, fill: float = 1.0) -> Any:
    return lambda texts: np.full((len(texts), *shape), fill, dtype=np.float32)


@pytest.mark.parametrize(
    "embed",
    [
        lambda texts: None,
        lambda texts: np.ones((len(texts) - 1, 4), np.float32),
        lambda texts: np.ones((len(texts) + 1, 4), np.float32),
        rows(3),
        rows(),
        rows(4, fill=float("nan")),
        rows(4, fill=float("inf")),
    ],
    ids=["none", "too few", "too many", "short", "flat", "nan", "inf"],
)
def test_an_embedder_that_misbehaves_is_an_error(embed: Any) -> None:
    class Misbehaving:
        name, dimension = "misbehaving", 4

        def embed(self, texts: Any) -> Any:
            return embed(texts)

    with MemoryStore(embedder=Misbehaving()) as store:
        with pytest.raises(ValidationError):
            store.store_many(["a cat", "a dog"])
        with pytest.raises(ValidationError):
            store.recall("a cat")
        assert store.log() == []


def test_a_key_supersedes(store: MemoryStore, clock: Clock) -> None:
    old = store.store("light", key="theme")
    clock.now += 5
    new = store.store("dark", key="theme")
    gone = replace(old, state="superseded", superseded_by=new.id, updated_at=1005.0)
    assert store.get(key="theme") == new
    assert store.get(old.id) == gone
    assert store.all() == [new]
    assert actions(store) == ["store", "supersede", "store"]


def test_a_key_belongs_to_its_namespace(store: MemoryStore) -> None:
    store.store("a", key="theme", namespace="a")
    store.store("b", key="theme", namespace="b")
    assert store.namespaces() == {"a": 1, "b": 1}
    assert store.get(key="theme") is None


def test_the_last_of_a_batch_holds_the_key(store: MemoryStore) -> None:
    store.store("zero cats", key="k")
    store.recall("cats", touch=False)
    store.store_many([{"content": f"{n} cats", "key": "k"} for n in ("one", "two")])
    assert contents(store) == ["two cats"]
    assert [hit.memory.content for hit in store.recall("cats", touch=False)] == ["two cats"]
    superseded = store.get("001")
    assert superseded is not None
    assert (superseded.state, superseded.superseded_by) == ("superseded", "002")
    assert actions(store) == ["store", "supersede", "store", "supersede", "store"]


def test_an_update_changes_what_is_passed_and_no_more(store: MemoryStore, clock: Clock) -> None:
    before = store.store("x", author="Ann", tags=["t"], vectors={"v": [1, 2]})
    clock.now += 1
    after = store.update(before.id, importance=0.75, author=None)
    assert after == replace(before, importance=0.75, author=None, updated_at=1001.0)
    assert store.get(before.id) == after
    assert store.log()[0].changes == {"importance": 0.75, "author": None}
    assert store.vectors([before.id], "v")[before.id].tolist() == [1, 2]


def test_an_update_keeps_the_statistics_and_the_place(store: MemoryStore) -> None:
    first = store.store("first cat")
    store.store("second cat")
    store.touch(first.id)
    store.recall("cat")
    after = store.update(first.id, content="still the first cat")
    assert (after.access_count, after.last_accessed_at) == (2, 1000.0)
    assert after.created_at == first.created_at
    assert contents(store) == ["still the first cat", "second cat"]


def test_an_update_is_found_by_its_new_words_only(store: MemoryStore) -> None:
    record = store.store("a red cat")
    store.recall("cat", touch=False)
    store.update(record.id, content="a blue ferry")
    assert store.recall("red cat") == []
    assert [hit.memory.id for hit in store.recall("ferry", mode="semantic")] == [record.id]


def test_an_update_moves_between_namespaces(store: MemoryStore) -> None:
    record = store.store("a cat", namespace="a", key="k", vectors={"v": [1, 0]})
    for namespace in ("a", "b"):
        store.recall("cat", namespace=namespace, touch=False)
    store.update(record.id, namespace="b")
    assert store.recall("cat", namespace="a") == []
    assert len(store.recall(None, namespace="b", vector=("v", [1, 0]))) == 1
    assert store.get(namespace="b", key="k") is not None


def test_an_update_may_not_take_a_key_from_another(store: MemoryStore) -> None:
    store.store("x", key="k")
    other = store.store("y", namespace="b", key="k")
    third = store.store("z")
    for changes in ({"namespace": "default"}, {"namespace": "default", "content": "new"}):
        with pytest.raises(ValidationError, match="held by"):
            store.update(other.id, **changes)  # type: ignore[arg-type]
    with pytest.raises(ValidationError, match="held by"):
        store.update(third.id, key="k")
    assert store.update(third.id, key="free").key == "free"
    assert store.update(third.id, key=None).key is None
    assert store.update(other.id, key="k").key == "k"


def test_an_update_without_an_occurrence_falls_back_to_creation(store: MemoryStore) -> None:
    record = store.store("x", occurred_at=5.0)
    assert store.update(record.id, occurred_at=None).occurred_at == 1000.0


def test_an_update_of_the_time_moves_a_turn(store: MemoryStore) -> None:
    store.store("paint for the boat?", thread="s", occurred_at=1.0)
    for n in range(3):
        store.store("the weather", thread="s", occurred_at=2.0 + n)
    late = store.store("the blue one", thread="s", occurred_at=9.0)
    assert len(store.recall("boat paint", k=9)) == 4
    store.update(late.id, occurred_at=1.5)
    found = [hit.memory.id for hit in store.recall("boat paint", k=2, now=1000.0)]
    assert set(found) == {"000", late.id}
    store.update(late.id, occurred_at=86_400.0)
    assert late.id in {hit.memory.id for hit in store.recall("2 January 1970")}


def test_an_update_leaves_something_held(store: MemoryStore) -> None:
    record = store.store("x")
    for changes in ({"content": ""}, {"content": " "}):
        with pytest.raises(ValidationError, match="empty"):
            store.update(record.id, **changes)  # type: ignore[arg-type]
    assert store.update(record.id, content="", value=1).content == ""
    with pytest.raises(ValidationError, match="empty"):
        store.update(record.id, value=None)


def test_an_update_that_changes_nothing_is_noted(store: MemoryStore) -> None:
    record = store.store("x")
    assert store.update(record.id, content="x") == record
    assert store.update(record.id) == record
    assert [entry.changes for entry in store.log(limit=2)] == [{}, {}]


def test_an_id_stays(store: MemoryStore) -> None:
    record = store.store("x")
    changes: Any = {"id": "y"}
    with pytest.raises((TypeError, ValidationError)):
        store.update(record.id, **changes)


def test_only_what_lives_can_be_updated(store: MemoryStore) -> None:
    forgotten, superseded = store.store("x"), store.store("y", key="k")
    store.forget(forgotten.id)
    store.store("z", key="k")
    for id in (forgotten.id, superseded.id, "unknown"):
        with pytest.raises(NotFoundError) as caught:
            store.update(id, content="w")
        assert caught.value.id == id


def test_a_changed_author_is_embedded_anew(store: MemoryStore) -> None:
    record = store.store("hello there")
    store.update(record.id, author="Zebediah")
    assert len(store.recall("Zebediah", mode="semantic")) == 1


def test_an_update_that_meets_another_embeds_what_is_written() -> None:
    class Meddling(HashEmbedder):
        store: MemoryStore

        def embed(self, texts: Any) -> Any:
            if list(texts) == ["Ann: a red cat"]:
                self.store.update("1", content="a blue ferry")
            return super().embed(texts)

    embedder = Meddling()
    with MemoryStore(embedder=embedder) as store:
        embedder.store = store
        store.store("a red cat", id="1")
        assert store.update("1", author="Ann").content == "a blue ferry"
        assert len(store.recall("ferry", mode="semantic")) == 1
        assert store.recall("red cat", mode="semantic") == []


def test_two_updates_that_meet_leave_something(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = store.store("x", value=1)
    embed = engine_of(store).embed

    def meddling(records: Any) -> Any:
        monkeypatch.undo()
        store.update(record.id, value=None)
        return embed(records)

    monkeypatch.setattr(engine_of(store), "embed", meddling)
    with pytest.raises(ValidationError, match="content must not be empty"):
        store.update(record.id, content="")
    assert store.get(record.id) == replace(record, value=None)


def test_forgetting_narrows_by_every_criterion(store: MemoryStore) -> None:
    for namespace in ("a", "a/b", "ab"):
        store.store_many(["x", {"content": "y", "category": "c"}], namespace=namespace)
    assert store.forget(["000", "002"], namespace="a") == 1
    assert store.forget(namespace=Subtree("a"), where={"category": "c"}) == 2
    assert store.namespaces() == {"a/b": 1, "ab": 2}
    assert store.forget(["002", "005"], where={"category": "c"}) == 1
    assert store.forget(namespace=EVERYWHERE) == 2
    assert store.count(namespace=EVERYWHERE) == 0
    assert actions(store) == ["store"] * 6 + ["forget"] * 6


def test_forgetting_needs_a_criterion(store: MemoryStore) -> None:
    store.store("x")
    with pytest.raises(ValidationError):
        store.forget()
    assert store.forget([]) == 0
    assert store.count() == 1


EMPTY: list[dict[str, Any]] = [
    {},
    {"$and": []},
    {"$and": [{}, {"$and": []}]},
    {"$or": [{}, {"author": "Ann"}]},
    {"$not": {"$or": []}},
]


@pytest.mark.parametrize("where", EMPTY, ids=repr)
def test_an_empty_filter_alone_takes_nothing_away(store: MemoryStore, where: Any) -> None:
    store.store("x")
    store.store("y", namespace="a")
    for verb in (store.forget, store.erase):
        with pytest.raises(ValidationError, match="filter"):
            verb(where=where)
        assert verb(where={"$or": []}) == verb(where={"$not": where}) == 0
    assert store.forget(namespace="a", where=where) == 1
    assert store.count() == 1


def test_an_unknown_id_forgets_nothing(store: MemoryStore) -> None:
    known = store.store("x")
    for wrong in ("unknown", [known.id, "unknown"]):
        with pytest.raises(NotFoundError):
            store.forget(wrong)
        with pytest.raises(NotFoundError):
            store.restore(wrong)
    assert store.get(known.id) == known


def test_forgetting_twice_counts_once(store: MemoryStore) -> None:
    record = store.store("x")
    assert store.forget([record.id, record.id]) == 1
    assert store.forget(record.id) == 0
    assert actions(store) == ["store", "forget"]


def test_what_is_forgotten_is_nowhere_and_comes_back(store: MemoryStore, clock: Clock) -> None:
    record = store.store("a red cat", key="k", vectors={"v": [1, 2]})
    store.recall("cat", touch=False)
    store.forget(record.id)
    assert store.get(record.id) is None
    assert store.get(key="k") is None
    assert (store.all(), store.recall("cat"), store.namespaces()) == ([], [], {})
    clock.now += 1
    assert store.restore(record.id) == 1
    assert store.get(key="k") == replace(record, updated_at=1001.0)
    assert len(store.recall("cat", vector=("v", [1, 2]))) == 1
    assert store.restore(record.id) == 0


def test_what_comes_back_stands_where_it_stood(store: MemoryStore) -> None:
    store.store_many(["a", "b", "c"])
    store.forget(["000", "001"])
    assert store.restore(["001", "000"]) == 2
    assert contents(store) == ["a", "b", "c"]


def test_what_was_superseded_comes_back_superseded(store: MemoryStore) -> None:
    old, new = (store.store(content, key="k") for content in ("old", "new"))
    assert store.restore(old.id) == 0
    for forgotten in ([old.id], [old.id, new.id]):
        assert store.forget(forgotten) == len(forgotten)
        assert store.restore(forgotten) == len(forgotten)
        (superseded,) = store.all(state="superseded")
        assert (superseded.id, superseded.superseded_by) == (old.id, new.id)
        assert store.all() == [store.get(key="k")] == [store.get(new.id)]


@pytest.mark.parametrize("verb", ["forget", "erase"])
def test_what_was_superseded_comes_back_alone_once_its_successor_is_gone(
    store: MemoryStore, verb: str
) -> None:
    old, new = (store.store(content, key="k") for content in ("old", "new"))
    store.forget(old.id)
    getattr(store, verb)(new.id)
    store.restore(old.id)
    (restored,) = store.all()
    assert (restored.id, restored.superseded_by) == (old.id, None)
    if verb == "forget":
        with pytest.raises(ValidationError, match="held by"):
            store.restore(new.id)


def test_a_dropped_twin_does_not_come_back_beside_the_one_that_stands_for_it(
    store: MemoryStore,
) -> None:
    kept, dropped = store.store("It is in Lyon"), store.store("It is in Graz")
    store.resolve(kept.id, [dropped.id])
    store.forget(dropped.id)
    assert store.restore(dropped.id) == 1
    assert [each.id for each in store.all()] == [kept.id]


# -- what is not live


def test_every_record_is_listed_in_one_state(store: MemoryStore, clock: Clock) -> None:
    for name in ("live", "superseded", "archived", "forgotten", "expired", "erased"):
        store.store(name, id=name, expires_at=1e9 if name == "expired" else None)
        store.store("elsewhere", id=f"{name} elsewhere", namespace="a")
    store.store("newer", id="newer", supersedes="superseded")
    store.archive("archived")
    store.forget("forgotten")
    store.erase("erased")
    clock.now = 1e9
    assert contents(store) == ["live", "newer"]
    for state in ("superseded", "archived", "forgotten", "expired"):
        assert contents(store, state=state) == [state]


def test_what_is_listed_by_state_is_filtered_and_paged(store: MemoryStore) -> None:
    for number in range(4):
        store.store(f"fact {number}", id=f"{number}", importance=number / 4, key=f"{number}")
    store.archive(["0", "1", "3"])
    assert contents(store, state="archived", order="newest", limit=1) == ["fact 3"]
    assert contents(store, state="archived", limit=None, offset=1) == ["fact 1", "fact 3"]
    where = {"importance": {"$gt": 0}, "key": {"$in": ["0", "1", "2"]}}
    assert contents(store, state="archived", where=where) == ["fact 1"]
    assert store.unarchive(record.id for record in store.all(state="archived")) == 3


def test_the_past_lists_what_had_expired_but_not_what_was_hidden(
    store: MemoryStore, clock: Clock
) -> None:
    store.store("fact", expires_at=1e9)
    clock.now = 2e9
    store.snapshot("late")
    assert [record.content for record in store.as_of("late").all(state="expired")] == ["fact"]
    with pytest.raises(ValidationError, match="archived"):
        store.as_of("late").all(state="archived")
