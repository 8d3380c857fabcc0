"""What is taken back is as it was, and nothing else is changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bethink import EVERYWHERE, MemoryRecord, MemoryStore, NotFoundError, ValidationError

from ..past.counting import Counting

UNDOABLE: dict[str, Callable[[MemoryStore, MemoryRecord], object]] = {
    "text": lambda store, record: store.update(record.id, content="other", importance=0.1),
    "key": lambda store, record: store.update(record.id, key="new", metadata={}),
    "namespace": lambda store, record: store.update(record.id, namespace="b"),
    "vectors": lambda store, record: store.update(record.id, vectors={"v": [0.0, 1.0]}),
    "forget": lambda store, record: store.forget(record.id),
    "store": lambda store, _: store.store("another cat"),
    "supersede": lambda store, _: store.store("another cat", key="k", vectors={"v": [1.0, 1.0]}),
    "supersede two": lambda store, _: store.store(
        "another cat", key="k", supersedes=store.all(order="newest")[0].id
    ),
    "archive": lambda store, record: store.archive(record.id),
}


@pytest.mark.parametrize("doing", UNDOABLE.values(), ids=UNDOABLE)
def test_undoing_gives_back_what_was(
    store: MemoryStore, doing: Callable[[MemoryStore, MemoryRecord], object]
) -> None:
    given: dict[str, Any] = {"key": "k", "metadata": {"a": [1]}, "vectors": {"v": [1.0, 0.5]}}
    record = store.store("a cat", **given)
    store.store("the dog and the cat")
    store.touch(record.id)
    store.snapshot("before")
    asked: tuple[dict[str, Any], ...] = ({"query": "cat"}, {"query": None, "vector": ("v", [1, 0])})
    before = [store.recall(**each, touch=False) for each in asked]
    doing(store, record)
    last = store.log(limit=1)[0]
    assert [store.recall(**each, touch=False) for each in asked] != before
    undone = store.undo(last.seq)
    assert [store.recall(**each, touch=False) for each in asked] == before
    assert not store.diff("before", namespace=EVERYWHERE)
    entry = next(entry for entry in store.log() if entry.id == undone.id)
    assert (entry.action, entry.changes["undoes"]) == ("undo", last.seq)


def test_undoing_leaves_accesses_counted(store: MemoryStore) -> None:
    record = store.store("one")
    store.reinforce(record.id)
    undone = store.undo(2)
    assert (undone.importance, undone.access_count) == (0.5, 1)


def test_undoing_a_merge_leaves_the_accesses_to_those_that_had_them(store: MemoryStore) -> None:
    kept, other = store.store("Ann likes tea"), store.store("Ann likes the tea")
    store.touch(kept.id)
    store.touch(other.id)
    for times in (1, 2):
        (merged,) = store.consolidate()
        assert merged.record.access_count == times + 1
        entry = store.log(id=kept.id, limit=1)[0]
        store.touch(kept.id)
        store.undo(entry)
        assert [each.access_count for each in store.all()] == [times + 1, 1]
    assert store.verify().ok


def test_an_undo_can_be_undone(store: MemoryStore) -> None:
    record = store.store("one", key="k")
    store.update(record.id, content="two")
    assert store.undo(2).content == "one"
    assert store.undo(3).content == "two"
    store.forget(record.id)
    store.restore(record.id)
    assert store.undo(6).state == "forgotten"
    assert store.undo(7).state == "live"


def test_a_forgotten_record_that_was_superseded_is_superseded_again(store: MemoryStore) -> None:
    old, new = store.store("old", key="k"), store.store("new", key="k")
    store.forget(old.id)
    undone = store.undo(store.log(limit=1)[0].seq)
    assert (undone.state, undone.superseded_by) == ("superseded", new.id)


def test_no_two_records_come_to_supersede_each_other(store: MemoryStore) -> None:
    a, b = store.store("It is in Lyon"), store.store("It is in Graz")
    store.resolve(b.id, [a.id])
    store.undo(store.log(limit=1)[0])
    undone = store.log(limit=1)[0]
    store.resolve(a.id, [b.id])
    refused(store, undone.seq, "superseded by that")
    assert [each.id for each in store.all()] == [a.id]


def test_nothing_comes_to_stand_behind_what_was_erased(store: MemoryStore) -> None:
    old, new = store.store("old", key="k"), store.store("new", key="k")
    store.forget(old.id)
    forgotten = store.log(limit=1)[0]
    store.erase(new.id)
    refused(store, forgotten.seq, "erased")
    store.restore(old.id)
    assert [each.id for each in store.all()] == [old.id]


VERBS: dict[str, Callable[[MemoryStore], object]] = {
    "store": lambda store: store.store("new"),
    "store with a key": lambda store: store.store("new", key="k"),
    "store with supersedes": lambda store: store.store("new", supersedes="b"),
    "store over two": lambda store: store.store("new", key="k", supersedes="b"),
    "merge": lambda store: store.store("Cats like the warm milk", on_similar="merge", tags=["t"]),
    "consolidate": lambda store: store.consolidate(),
    "resolve": lambda store: store.resolve("a", "b"),
    "archive": lambda store: store.archive("a"),
    "forget": lambda store: store.forget("a"),
    "update": lambda store: store.update("a", content="other", key="new", importance=0.9),
    "reinforce": lambda store: store.reinforce("a"),
    "useful": lambda store: store.mark_useful("a"),
    "merge_from": lambda store: _merge_more(store, "Cats really like warm milk today"),
    "merge_from less": lambda store: _merge_more(store, "Cats like warm milk", tags=["t"]),
}


def _merge_more(store: MemoryStore, content: str, **given: Any) -> None:
    with MemoryStore() as other:
        other.store(content, id="other", **given)
        store.merge_from(other)


def held(store: MemoryStore) -> dict[str, Any]:
    """Return every record as ``get`` shows it, but for accesses and the time of the last change."""
    found = {id: store.get(id) for id in {entry.id for entry in store.log()} if id}
    same: dict[str, Any] = {"updated_at": 0.0, "access_count": 0, "last_accessed_at": None}
    return {id: each and replace(each, **same) for id, each in found.items()}


@pytest.mark.parametrize("place", [0, -1])
@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_an_undo_is_undone_whole_by_any_entry(
    store: MemoryStore, verb: Callable[[MemoryStore], object], place: int
) -> None:
    store.store("Cats like warm milk", id="a", key="k")
    for id in ("b", "c", "d"):
        store.store("Cats like the warm milk", id=id)
    before = held(store)
    verb(store)
    after, last = held(store), store.log(limit=1)[0]
    store.undo(last)
    undone = held(store)
    assert before.items() <= undone.items()
    for expected in (after, undone, after):
        written = [entry for entry in store.log() if entry.seq > last.seq]
        assert {entry.action for entry in written} == {"undo"}
        last = store.log(limit=1)[0]
        store.undo(written[place])
        assert held(store) == expected
    assert store.verify().ok


def told(store: MemoryStore, id: str) -> tuple[float, str | None]:
    record = store.get(id)
    assert record is not None
    return record.importance, record.superseded_by


def test_an_undo_beside_a_second_undo_is_undone_alone(store: MemoryStore) -> None:
    store.store("Cats like warm milk", id="a", importance=0.5)
    store.store("Cats like the warm milk", id="b")
    store.consolidate()
    store.update("a", importance=0.9)
    store.resolve("a", store.store("Dogs like milk", id="c").id)
    for seq in (7, 5, 4):
        store.undo(seq)
    store.undo(8)
    assert [told(store, id) for id in "abc"] == [(0.5, None), (0.5, None), (0.5, "a")]
    store.undo(9)
    assert [told(store, id) for id in "abc"] == [(0.9, None), (0.5, None), (0.5, "a")]


def test_what_changed_since_stays_when_an_undo_is_undone(store: MemoryStore) -> None:
    store.store("old", id="a", key="k")
    store.store("new", id="b", key="k")
    store.undo(3)
    store.forget("a")
    assert store.undo(4).id == "b"
    assert [each.id for each in store.all()] == ["b"]


def test_an_undo_that_ended_an_expired_record_is_undone_whole(store: MemoryStore) -> None:
    store.store("old", id="a", key="k")
    store.store("new", id="b", key="j", supersedes="a")
    store.store("brief", key="k", expires_at=-1e9)
    store.undo(3)
    assert [entry.action for entry in store.log(limit=3)] == ["undo", "expire", "undo"]
    store.undo(5)
    assert [each.id for each in store.all()] == ["b"]


def test_no_fact_is_hidden_behind_a_forgotten_fact(store: MemoryStore) -> None:
    for id in ("a", "b", "c"):
        store.store(f"fact {id}", id=id)
    store.resolve("b", "a")
    store.undo(4)
    store.forget("b")
    refused(store, 5, "record 'b', which superseded its record, is forgotten; restore it first")
    store.restore("b")
    store.resolve("c", "b")
    store.forget("c")
    refused(store, 5, "record 'c', which superseded its record, is forgotten")
    store.restore("c")
    assert store.undo(5).superseded_by == "b"


@pytest.mark.parametrize("verb", ["forget", "erase"])
@pytest.mark.parametrize("changed", [0, 1])
def test_undoing_brings_back_whatever_else_gave_way(
    store: MemoryStore, verb: str, changed: int
) -> None:
    old = [store.store("one", key="k"), store.store("two")]
    store.store("new", key="k", supersedes=old[1].id)
    seq = store.log(limit=1)[0].seq
    getattr(store, verb)(old[changed].id)
    store.undo(seq)
    assert [each.id for each in store.all()] == [old[1 - changed].id]
    assert store.verify().problems == ()


def test_what_others_changed_since_is_kept(store: MemoryStore) -> None:
    record = store.store("a red cat")
    store.update(record.id, content="other", importance=0.9)
    store.update(record.id, author="Ann", category="fact")
    undone = store.undo(2)
    assert (undone.content, undone.author, undone.importance) == ("a red cat", "Ann", 0.5)
    (hit,) = store.recall("Ann: a red cat", mode="semantic", touch=False)
    assert hit.explain().signals["vector"] == pytest.approx(1.0)


def refused(store: MemoryStore, seq: int, match: str) -> None:
    head = store.log(limit=1)[0].seq
    with pytest.raises(ValidationError, match=match):
        store.undo(seq)
    assert store.log(limit=1)[0].seq == head


def test_what_was_changed_again_is_not_undone(store: MemoryStore) -> None:
    record = store.store("one", key="k")
    store.update(record.id, content="two")
    store.update(record.id, content="three")
    store.update(record.id, value=4)
    refused(store, 2, r"entry 3 \(update\) changed content after it; undo that first")
    refused(store, 1, r"entry 4 \(update\) changed value")
    store.forget(record.id)
    refused(store, 3, "its record is forgotten; restore it first")
    refused(store, 1, r"entry 5 \(forget\) changed state")


def test_what_was_changed_again_and_back_is_not_undone(store: MemoryStore) -> None:
    id = store.store("red cat").id
    for importance in (0.9, 0.1, 0.9):
        store.update(id, importance=importance)
    with pytest.raises(ValidationError, match=r"entry 4 \(update\) changed importance"):
        store.undo(2)
    store.undo(4)
    store.undo(3)
    assert store.undo(2).importance == 0.5


def test_an_undo_that_a_record_is_in_no_state_for_says_what_would_help(store: MemoryStore) -> None:
    record = store.store("one")
    store.update(record.id, content="two")
    store.archive(record.id)
    refused(store, 2, "its record is archived; unarchive it first")
    store.unarchive(record.id)
    store.store("three", supersedes=record.id)
    refused(store, 2, "its record is superseded$")


def test_every_field_that_changed_again_is_named(store: MemoryStore) -> None:
    record = store.store("one")
    for n in (1, 2):
        changed: dict[str, Any] = {
            "source": f"s{n}",
            "author": f"a{n}",
            "thread": f"t{n}",
            "category": f"c{n}",
        }
        store.update(record.id, **changed)
    refused(store, 2, "changed author, category, source, thread after it")


def test_undoing_gives_back_the_vector_of_right_before(store: MemoryStore) -> None:
    record = store.store("one", vectors={"v": [1.0, 0.0]})
    for vector in ([0.0, 1.0], [1.0, 1.0]):
        store.update(record.id, vectors={"v": vector})
    store.undo(3)
    (hit,) = store.recall(None, vector=("v", [0.0, 1.0]))
    assert hit.explain().signals["vector"] == pytest.approx(1.0)


def test_what_would_break_a_key_is_not_undone(store: MemoryStore) -> None:
    record = store.store("one", key="k")
    store.update(record.id, key=None)
    other = store.store("other", key="k")
    refused(store, 2, f"key 'k' is held by record '{other.id}'")
    store.store("third", key="k")
    refused(store, 4, "key 'k' is held")


def test_what_cannot_be_undone_says_so(store: MemoryStore) -> None:
    record = store.store("one")
    store.touch(record.id)
    store.snapshot("written")
    refused(store, 2, r"entry 2 \(touch\) cannot be undone")
    refused(store, 3, r"entry 3 \(snapshot\) cannot be undone")
    store.update(record.id, importance=0.5)
    refused(store, 4, "changed nothing")
    store.update(record.id, vectors={"v": [1.0]})
    refused(store, 5, "gave vectors 'v' first")
    with pytest.raises(NotFoundError, match="journal entry '9'"):
        store.undo(9)


def test_what_was_erased_is_not_undone(store: MemoryStore) -> None:
    secret = store.store("a secret cat")
    store.update(secret.id, importance=0.9)
    store.erase(secret.id)
    for seq in (1, 2, 3):
        refused(store, seq, "erased")


def test_only_what_gets_another_text_is_embedded_when_it_is_undone() -> None:
    with MemoryStore(embedder=(embedder := Counting())) as store:
        record = store.store("one")
        store.update(record.id, importance=0.9)
        store.update(record.id, content="two")
        embedder.given.clear()
        store.undo(3)
        store.undo(2)
    assert embedder.given == ["one"]


def test_an_entry_is_undone_itself_or_by_its_number(store: MemoryStore) -> None:
    store.store("one")
    store.undo(store.log()[0])
    assert store.count() == 0
    store.undo(store.log()[0].seq)
    assert store.count() == 1
