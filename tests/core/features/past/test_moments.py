"""What was seen of a store is what its past shows."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from bethink import (
    EVERYWHERE,
    CorruptStoreError,
    FiveSignal,
    KeyedMemory,
    LogEntry,
    MemoryStore,
    NotFoundError,
    Snapshot,
    StoreClosedError,
    Subtree,
    ValidationError,
)
from bethink.features.history import take_snapshot
from bethink.features.keys import key_range
from bethink.model.filters import Compare
from bethink.model.port import Changes, LogQuery
from bethink.storage.sqlite.connections import Connections

from ...clock import Clock
from ...inside import connections_of, engine_of, moments_of
from .conftest import contents
from .counting import Counting


def test_a_moment_is_a_snapshot_an_entry_or_a_time(store: MemoryStore, clock: Clock) -> None:
    store.store("one")
    entry = store.log()[0]
    snapshot = store.snapshot("first")
    assert snapshot == Snapshot("first", 1, 1000.0)
    clock.now = 2000.0
    store.store("two")
    entries = (1, "#1", entry)
    times = (1000.0, 1999.5, datetime.fromtimestamp(1500, UTC))
    moments = ("first", snapshot, *entries, *times)
    assert [contents(store.as_of(when).all()) for when in moments] == [["one"]] * 8
    assert [store.as_of(when).at for when in moments[:6]] == [1000] * 6
    assert [store.as_of(when).at for when in moments[6:]] == [1999.5, 1500]
    assert contents([hit.memory for hit in store.recall("one", as_of=snapshot)]) == ["one"]
    assert [store.as_of(when).count() for when in (0, 999.0, 3, 2000.0, 9e9)] == [0, 0, 2, 2, 2]


def test_a_moment_may_be_an_iso_text_unless_a_snapshot_has_the_name(
    store: MemoryStore, clock: Clock
) -> None:
    store.store("one")
    clock.now = 86_400.0
    store.store("two")
    assert contents(store.as_of("1970-01-01T12:00Z").all()) == ["one"]
    assert store.as_of("1970-01-02").count() == 2
    assert len(store.recall("one two", as_of="1970-01-02")) == 2
    store.forget(namespace="default")
    snapshot_of_an_older_version(store, "1970-01-02")
    assert store.as_of("1970-01-02").count() == 0
    with pytest.raises(NotFoundError, match=r"snapshot 'Monday' was not found; .* ISO text"):
        store.as_of("Monday")


def test_the_number_of_an_entry_is_no_time(store: MemoryStore, clock: Clock) -> None:
    store.store_many(["one", "two"])
    assert contents(store.as_of(1).all()) == ["one"]
    with pytest.raises(ValidationError, match="1 is the number of an entry"):
        store.as_of(1.0)
    assert [store.as_of(when).count() for when in (0.0, 1.5, 3.0, 1000.0)] == [0, 0, 0, 2]


@pytest.mark.parametrize("restored_first", [True, False])
def test_a_moment_holds_a_record_once_whatever_becomes_of_it_meanwhile(
    store: MemoryStore, path: Path, monkeypatch: pytest.MonkeyPatch, restored_first: bool
) -> None:
    store.store("one", id="r1")
    store.snapshot("then")
    store.forget("r1")
    connections = connections_of(store)
    with MemoryStore(path, durability="normal") as other:
        changes = cycle((other.restore, other.forget))
        if not restored_first:
            next(changes)("r1")

        @contextmanager
        def reading() -> Iterator[object]:
            with Connections.reading(connections) as connection:
                yield connection
            next(changes)("r1")

        monkeypatch.setattr(connections, "reading", reading)
        assert contents(store.as_of("then").all()) == ["one"]


def test_a_time_means_the_last_entry_made_by_then(store: MemoryStore, clock: Clock) -> None:
    times = [100.0, 200.0, 150.0, 150.0, 300.0, 50.0, 120.0]
    for clock.now in times:
        store.store(f"at {clock.now}")
    for time in (49.9, 50.0, 99.0, 119.0, 120.0, 199.0, 1e9):
        last = max((seq for seq, at in enumerate(times, 1) if at <= time), default=0)
        assert store.as_of(time).seq == last


@pytest.mark.parametrize(
    "when", [-1, 2, "#2", f"#{10**400}", True, None, "", float("nan"), datetime(2026, 1, 1), b"x"]
)
def test_what_is_no_moment_is_refused(store: MemoryStore, when: Any) -> None:
    store.store("one")
    with pytest.raises(ValidationError):
        store.as_of(when)


def test_an_unknown_snapshot_is_not_found(store: MemoryStore) -> None:
    with MemoryStore() as other, pytest.raises(NotFoundError, match="snapshot 'elsewhere'"):
        store.as_of(other.snapshot("elsewhere"))
    for name in ("none", "#", "#one", "# 1", "#-1"):
        with pytest.raises(NotFoundError, match=f"snapshot '{name}'"):
            store.recall("x", as_of=name)


def test_a_snapshot_may_have_the_name_of_an_entry(store: MemoryStore) -> None:
    store.store_many(["one", "two"])
    snapshot_of_an_older_version(store, "#1")
    assert store.as_of("#1").count() == 2


def snapshot_of_an_older_version(store: MemoryStore, name: str) -> None:
    """Name the present as versions did that refused no name."""
    with engine_of(store).writing() as transaction:
        take_snapshot(transaction, name)


@pytest.mark.parametrize("name", ["#1", "5", "1.5", "2d", "1970-01-02", "1970-01-01T12:00Z"])
def test_a_snapshot_gets_no_name_that_reads_as_a_moment(store: MemoryStore, name: str) -> None:
    with pytest.raises(ValidationError, match="reads as a moment"):
        store.snapshot(name)
    assert store.snapshots() == []
    assert store.snapshot(f"before {name}").name == f"before {name}"


def test_snapshots_keep_their_names_and_order(store: MemoryStore, path: Path) -> None:
    names = ["before", "a", "after\0all"]
    for name in names:
        store.snapshot(name)
        store.store(name)
    with pytest.raises(ValidationError, match="'a' exists"):
        store.snapshot("a")
    with MemoryStore(path) as other:
        assert [(each.name, each.seq) for each in other.snapshots()] == list(
            zip(names, (0, 2, 4), strict=True)
        )
        assert other.verify().problems == ()


def test_the_journal_tells_of_a_snapshot_right_after_the_moment_it_names(
    store: MemoryStore, clock: Clock
) -> None:
    store.store("one")
    taken = store.snapshot("then")
    entry = store.log(limit=1)[0]
    assert entry == LogEntry(2, clock.now, "snapshot", None, None, {"name": "then"})
    assert [store.entry(each.seq) for each in store.log()] == store.log()
    with pytest.raises(NotFoundError, match="journal entry"):
        store.entry(3)
    assert (taken.seq, store.as_of("then").seq) == (1, 1)
    assert not store.diff("then")


@pytest.mark.parametrize("key", [None, b"sixteen bytes or more"], ids=["plain", "keyed"])
def test_a_snapshot_from_before_the_journal_told_of_them_is_as_good(
    path: Path, key: bytes | None
) -> None:
    with MemoryStore(path, integrity_key=key) as store:
        store.store("one", id="a")
        with engine_of(store).writing() as transaction:
            transaction.writer.snapshot("old", transaction.now)
        store.update("a", content="two")
        store.undo(2)
        store.snapshot("new")
        lines = io.StringIO()
        store.export(lines)
    with MemoryStore(path, integrity_key=key) as again, MemoryStore() as copy:
        copy.import_(io.StringIO(lines.getvalue()))
        for each in (again, copy):
            assert each.verify().problems == ()
            assert [(one.name, one.seq) for one in each.snapshots()] == [("old", 1), ("new", 3)]
            assert contents(each.as_of("old").all()) == ["one"]
            assert [entry.action for entry in each.log()][:2] == ["snapshot", "undo"]


def test_a_snapshot_takes_pending_accesses_along(store: MemoryStore) -> None:
    record = store.store("a cat")
    store.recall("cat")
    store.snapshot("seen once")
    store.recall("cat")
    store.snapshot("seen twice")
    counted = [store.as_of(f"seen {times}").get(record.id) for times in ("once", "twice")]
    assert [each and each.access_count for each in counted] == [1, 2]


def test_the_past_is_asked_like_the_present(store: MemoryStore) -> None:
    first = store.store("dark", key="theme", importance=0.9)
    store.store("elsewhere", namespace="b/c")
    store.store("light", key="theme")
    past = store.as_of(2)
    assert past.get(first.id) == past.get(key="theme") == first
    assert past.get(key="none") is None
    assert past.count(namespace=EVERYWHERE) == 2
    assert contents(past.all(namespace=EVERYWHERE, order="newest", limit=1)) == ["elsewhere"]
    assert past.all(where={"importance": {"$lt": 0.5}}) == []
    assert past.namespaces(Subtree("b")) == {"b/c": 1}
    assert repr(past) == "Past(seq=2, at=1000.0)"
    with pytest.raises(ValidationError):
        past.get()


def test_a_moment_lists_its_records_in_the_order_of_then(store: MemoryStore) -> None:
    first, second, _ = store.store_many(["one", "two", "three"])
    store.update(first.id, content="uno")
    then, before = store.log()[0].seq, store.all()
    store.update(second.id, content="dos")
    store.update(first.id, content="un")
    assert contents(before) == ["uno", "two", "three"]
    assert store.as_of(then).all() == before
    assert store.as_of(then).all(order="newest") == before[::-1]
    assert store.as_of(then).all(limit=1, offset=1) == before[1:2]


def test_a_record_is_found_where_it_was(store: MemoryStore) -> None:
    moved = store.store("moved", namespace="a", key="k")
    store.update(moved.id, namespace="b", key="other")
    store.update(moved.id, key=None)
    found = [(store.as_of(seq).get(namespace=n, key=k) is not None) for seq, n, k in PLACES]
    assert found == [True, False, False, True, False]
    assert [store.as_of(seq).namespaces() for seq in (1, 2, 3)] == [{"a": 1}, {"b": 1}, {"b": 1}]


PLACES = ((1, "a", "k"), (2, "a", "k"), (1, "b", "other"), (2, "b", "other"), (3, "b", "other"))


def test_recall_asks_the_past_with_its_own_time(store: MemoryStore, clock: Clock) -> None:
    record = store.store("a red cat", expires_at=3000.0)
    answer = store.recall("red cat", touch=False)
    clock.now = 2000.0
    store.update(record.id, content="a blue dog", importance=1.0)
    clock.now = 4000.0
    assert store.recall("red cat") == []
    assert store.recall("red cat", as_of=1000.0) == answer
    assert store.recall("red cat", as_of=1, now=3500.0) == []
    assert contents(store.as_of(1).all()) == ["a red cat"]


def test_what_had_expired_by_a_moment_is_not_in_it(store: MemoryStore) -> None:
    store.store("one", namespace="b", expires_at=1500.0)
    store.store("two", namespace="b")
    store.store("three", namespace="a", expires_at=1500.0)
    store.store("four", namespace="a/b")
    early, late = store.as_of(1499.0), store.as_of(1500.0)
    assert early.namespaces() == {"a": 1, "a/b": 1, "b": 2}
    assert late.namespaces() == {"a/b": 1, "b": 1}
    assert list(early.namespaces()) == ["a", "a/b", "b"]
    assert [past.count(namespace=EVERYWHERE) for past in (early, late)] == [4, 2]


def test_accesses_stay_counted_when_something_else_changes(store: MemoryStore) -> None:
    record = store.store("one")
    store.touch(record.id)
    store.snapshot("seen")
    store.update(record.id, importance=0.9)
    store.reinforce(record.id)
    found = [store.as_of(seq).get(record.id) for seq in (1, 2, 3, 4, 5)]
    assert [each and each.access_count for each in found] == [0, 1, 1, 1, 2]


def test_what_a_merge_leaves_as_it_was_stays_counted(
    store: MemoryStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bethink.storage.sql.writer.FULL_RECORDS_IN_256", 0)
    one, other = store.store_many(["The parrot is green", "The parrot is green!"])
    for id in (other.id, one.id):
        clock.now += 1
        store.touch(id)
        store.snapshot(f"after {id}")
    store.consolidate()  # tells a higher number of accesses, but of no later one
    moment = store.log(limit=1)[0].seq
    then = store.get(one.id)
    store.update(one.id, importance=0.9)
    assert store.as_of(moment).get(one.id) == then


def test_asking_the_past_touches_nothing(store: MemoryStore) -> None:
    store.store("a cat")
    store.recall("cat", as_of=1)
    store.pack("cat", as_of=1)
    store.snapshot("now")
    assert [entry.action for entry in store.log()] == ["snapshot", "store"]


def test_everything_that_recalls_can_ask_the_past(store: MemoryStore) -> None:
    record = store.store("a cat", category="fact")
    why, packed = store.why_not(record.id, "cat"), store.pack("cat", touch=False)
    ranked = store.recall("cat", ranking=FiveSignal(), touch=False)
    store.forget(record.id)
    assert store.why_not(record.id, "cat", as_of=1) == why
    assert store.pack("cat", as_of=1).results == packed.results
    assert store.recall("cat", ranking=FiveSignal(), as_of=1) == ranked


def test_a_moment_once_asked_stays_true(store: MemoryStore, path: Path) -> None:
    first, second = store.store_many(["a red cat", "a red dog"], vectors={"v": [1.0, 0.0]})
    asked: list[dict[str, Any]] = [
        {"query": "red", "mode": "semantic"},
        {"query": None, "vector": ("v", [1.0, 1.0])},
    ]
    answers = [store.recall(**each, as_of=2) for each in asked]
    store.update(first.id, content="other", vectors={"v": [0.0, 1.0]})
    with MemoryStore(path, embedder=store.embedder) as other:
        other.update(second.id, author="Ann", vectors={"v": [0.5, 1.0], "w": [1.0]})
        other.forget(first.id)
    assert [store.recall(**each, as_of=2) for each in asked] == answers
    assert all(len(answer) == 2 for answer in answers)


@pytest.mark.parametrize("asked", [{"query": "red"}, {"query": None, "vector": ("v", [1.0, 0.0])}])
def test_one_that_moved_since_is_compared_like_one_that_did_not(
    store: MemoryStore, asked: dict[str, Any]
) -> None:
    first, _ = store.store_many(["a red cat", "a red dog"], vectors={"v": [1.0, 0.0]})
    answer = store.recall(**asked, mode="semantic", touch=False)
    store.update(first.id, content="other")
    assert len(answer) == 2
    assert store.recall(**asked, mode="semantic", as_of=2) == answer


def test_a_vector_replaced_is_there_in_the_past(store: MemoryStore) -> None:
    record = store.store("one", vectors={"v": [1.0, 0.0]})
    store.update(record.id, content="two")
    store.update(record.id, vectors={"v": [0.0, 1.0], "w": [1.0]})
    store.update(record.id, author="Ann")
    scores = [
        [hit.explain().signals["vector"] for hit in store.recall(None, vector=asked, as_of=seq)]
        for asked in (("v", [1.0, 0.0]), ("w", [1.0]))
        for seq in (1, 2, 3, 4)
    ]
    assert scores == [[1.0], [1.0], [], [], [], [], [1.0], [1.0]]


def test_words_alone_decide_before_there_was_a_vector_to_compare_with(store: MemoryStore) -> None:
    store.store("a red cat")
    asked: dict[str, Any] = {"query": "red", "vector": ("v", [1.0, 0.0])}
    then = store.recall(**asked, touch=False)
    store.store("a red dog", vectors={"v": [1.0, 0.0]})
    assert store.recall(**asked, as_of=1) == then


def test_only_a_few_moments_keep_an_index(store: MemoryStore) -> None:
    store.store_many(["a cat"] * 5)
    for seq in (1, 2, 3, 2, 4):
        assert len(store.recall("cat", as_of=seq)) == seq
    assert list(moments_of(store)._indexes) == [2, 4]


def test_a_moment_keeps_its_index_while_others_write(store: MemoryStore) -> None:
    store.store("a cat")
    moment = moments_of(store).find(1)
    index = moments_of(store).engine(moment).index
    assert index.lock is not engine_of(store).index.lock
    erased = store.store("a dog")
    assert moments_of(store).engine(moment).index is index
    store.erase(erased.id)
    assert moments_of(store).engine(moment).index is not index


def test_only_what_has_another_text_now_is_embedded_anew_and_once() -> None:
    with MemoryStore(embedder=(embedder := Counting())) as store:
        records = store.store_many(["a red cat", "a red dog", "a red house"])
        store.update(records[0].id, content="other")
        store.update(records[1].id, thread="t", importance=0.9)
        store.forget(records[2].id)
        embedder.given.clear()
        for _ in range(3):
            assert len(store.recall("red", as_of=3)) == 3
    assert sorted(embedder.given) == ["a red cat", "red", "red", "red"]


@pytest.mark.slow
def test_a_record_with_many_entries_is_not_read_from_its_start(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = KeyedMemory(store)
    for _ in range(300):
        counter.increment("n")
    (current,) = engine_of(store).backend.journal_reader.key_holders(
        "working", "n", engine_of(store).backend.head()
    )
    told = [
        len(engine_of(store).backend.journal_reader.histories([current], seq)[0].entries)
        for seq in range(1, 301)
    ]
    assert max(told) < 60
    values = [store.as_of(seq).get(namespace="working", key="n") for seq in range(1, 301)]
    assert [each and each.value for each in values] == list(range(1, 301))
    assert {*store.log(limit=1)[0].changes} == {"value"}


def test_what_is_erased_is_absent_from_the_past(store: MemoryStore) -> None:
    secret = store.store("a secret cat", key="k")
    store.update(secret.id, importance=0.9)
    store.store("another cat")
    assert len(store.recall("cat", as_of=3)) == 2
    store.erase(secret.id)
    assert contents(store.as_of(2).all()) == []
    assert contents([hit.memory for hit in store.recall("cat", as_of=3)]) == ["another cat"]
    assert store.audit("k") == []
    assert contents(list(store.diff(1).added)) == ["another cat"]
    assert not store.diff(1).removed


def test_after_closing_the_past_is_closed(store: MemoryStore) -> None:
    store.store("one")
    past = store.as_of(1)
    store.close()
    verbs: list[Callable[[], object]] = [
        past.all,
        past.count,
        past.namespaces,
        lambda: past.get("x"),
        lambda: store.as_of(1),
        lambda: store.audit("k"),
        lambda: store.diff(0),
        lambda: store.undo(1),
        lambda: store.snapshot("x"),
        store.snapshots,
    ]
    for verb in verbs:
        with pytest.raises(StoreClosedError):
            verb()


def test_a_past_spans_the_keys_that_it_had(store: MemoryStore) -> None:
    for key in ("c", "a", "b"):
        store.store("first", key=key)
    store.store("none")
    store.store("second", key="b")
    store.forget(where={"key": "c"})
    past = moments_of(store).engine(moments_of(store).find(4)).backend
    found = key_range(past, "default", "a", "d", 0.0)
    assert [(each.key, each.content) for _, each in found] == [(key, "first") for key in "abc"]
    assert key_range(past, "default", "a", "c", 0.0, last=True) == found[1:2]
    assert key_range(past, "default", "a", "d", 0.0, last=True) == found[2:]
    assert key_range(past, "default", "d", "e", 0.0, last=True) == []


def test_the_backend_of_a_past_ends_at_its_moment_and_keeps_nothing(store: MemoryStore) -> None:
    first, second = store.store_many(["one", "two"])
    store.update(first.id, content="three")
    store.forget(second.id)
    past = moments_of(store).engine(moments_of(store).find(3)).backend
    assert [entry.seq for entry in past.log(LogQuery())] == [3, 2, 1]
    assert [entry.seq for entry in past.log(LogQuery(1, first.id, "default"))] == [3]
    assert past.matching("default", Compare(("state",), "$eq", "live")).tolist() == [2, 3]
    assert contents(list(past.by_row([1, 2, 3, 4]).values())) == ["three", "two"]
    assert past.by_row([1]) == {}
    assert past.changes(0, ["default"]) == Changes(3, 3, frozenset(), ())
    assert past.save([]) == []
    assert (past.dimension(""), past.dimension("v")) == (32, None)
    assert past.setting("embedder") == store.embedder.name
    with pytest.raises(ValidationError, match="the past cannot be changed"):
        past.write()


def test_a_record_that_the_journal_does_not_tell_all_of_is_damaged(
    store: MemoryStore, path: Path
) -> None:
    record = store.store("one")
    store.update(record.id, content="two")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE journal SET changes = '{}' WHERE seq = 1")
    with pytest.raises(CorruptStoreError, match="the journal does not tell all of a record"):
        store.as_of(1).all()
