from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bethink import (
    EVERYWHERE,
    BethinkError,
    DimensionError,
    EmbedderMismatchError,
    Files,
    HashEmbedder,
    KeyedMemory,
    MemoryStore,
    MessageLog,
    StoreClosedError,
    Subtree,
    ValidationError,
    WeightedSum,
)
from bethink.model.fields import MAX_CONTENT

Verb = Callable[[MemoryStore], Any]


def test_a_store_tells_whether_it_is_closed() -> None:
    with MemoryStore() as store:
        assert not store.closed
    assert store.closed


def test_a_store_says_where_and_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with MemoryStore(path) as store:
        assert store.location == str(path)
        assert repr(store) == f"MemoryStore({str(path)!r})"
        assert store.ranking == WeightedSum()
    with MemoryStore(clock=lambda: 7) as store:
        assert store.location == ":memory:"
        assert store.clock() == 7.0


def test_leaving_the_block_closes(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="on purpose"), MemoryStore(tmp_path / "m.db") as store:
        raise OSError("on purpose")
    with pytest.raises(StoreClosedError):
        store.count()


VERBS: dict[str, Verb] = {
    "store": lambda store: store.store("x"),
    "store_many": lambda store: store.store_many(["x"]),
    "get": lambda store: store.get("x"),
    "get by key": lambda store: store.get(key="x"),
    "all": lambda store: store.all(),
    "update": lambda store: store.update("x", content="y"),
    "forget": lambda store: store.forget("x"),
    "restore": lambda store: store.restore("x"),
    "count": lambda store: store.count(),
    "namespaces": lambda store: store.namespaces(),
    "recall": lambda store: store.recall("x"),
    "touch": lambda store: store.touch("x"),
    "vectors": lambda store: store.vectors("x", "v"),
    "dimension": lambda store: store.dimension("v"),
    "log": lambda store: store.log(),
    "entry": lambda store: store.entry(1),
}


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_a_closed_store_refuses_every_verb(tmp_path: Path, verb: Verb) -> None:
    store = MemoryStore(tmp_path / "m.db")
    store.close()
    store.close()
    with pytest.raises(StoreClosedError):
        verb(store)


NAN, INF = float("nan"), float("inf")
RECALLS: list[dict[str, Any]] = [
    *({"query": query} for query in (3, b"x", "\ud800", "x" * (MAX_CONTENT + 1), None)),
    *({"k": k} for k in (-1, True, 1.0, "5", None, np.float64(3))),
    *({"namespace": name} for name in (None, "", "a//b", 3, [], ["a", 3], "\x00")),
    *({"mode": mode} for mode in ("fuzzy", None, 3, ["hybrid"])),
    {"where": []},
    {"where": "x"},
    {"where": {"colour": 1}},
    {"where": {"tags": {"$like": 1}}},
    *({"min_score": score} for score in (NAN, INF, "1", None, True, 1e10)),
    *({"min_similarity": score} for score in (NAN, -0.1, 1.1, "1", None)),
    *({"min_share": share} for share in (NAN, -0.1, 1.1, "1", None)),
    *({"now": now} for now in (NAN, INF, "now", 1e13, datetime(2020, 1, 1))),
    *({"vector": vector} for vector in (3, [1.0], ("v",), ("v", 3), ("", [1]), (3, [1]))),
    *({"vector": ("v", numbers)} for numbers in ([], [NAN], [INF], ["a"], [[1]], [1, 2, 3])),
]


@pytest.mark.parametrize("given", RECALLS, ids=map(str, range(len(RECALLS))))
def test_a_wrong_recall_is_one_clear_error(store: MemoryStore, given: dict[str, Any]) -> None:
    store.store("x", vectors={"v": [1, 2]})
    with pytest.raises(ValidationError) as caught:
        store.recall(**{"query": "x", **given})
    assert len(str(caught.value)) < 500
    assert store.all()[0].access_count == 0


WRONG: dict[str, Verb] = {
    "get of nothing": lambda store: store.get(),
    "get of both": lambda store: store.get("x", key="y"),
    "get of a number": lambda store: store.get(3),  # type: ignore[arg-type]
    "get of an empty id": lambda store: store.get(""),
    "get of an empty key": lambda store: store.get(key=" "),
    "get from a subtree": lambda store: store.get(key="k", namespace=Subtree("a")),  # type: ignore[arg-type]
    "all of None": lambda store: store.all(namespace=None),  # type: ignore[arg-type]
    "all below zero": lambda store: store.all(limit=-1),
    "all from below zero": lambda store: store.all(offset=-1),
    "all but True": lambda store: store.all(limit=True),
    "all by chance": lambda store: store.all(order="random"),  # type: ignore[arg-type]
    "all erased": lambda store: store.all(state="erased"),  # type: ignore[arg-type]
    "a huge limit": lambda store: store.all(limit=-(2**70)),
    "store into a subtree": lambda store: store.store("x", namespace=Subtree("a")),  # type: ignore[arg-type]
    "count of None": lambda store: store.count(namespace=None),  # type: ignore[arg-type]
    "namespaces of None": lambda store: store.namespaces(None),  # type: ignore[arg-type]
    "forget a number": lambda store: store.forget(3),  # type: ignore[arg-type]
    "forget numbers": lambda store: store.forget([3]),  # type: ignore[list-item]
    "restore None": lambda store: store.restore(None),  # type: ignore[arg-type]
    "touch a number": lambda store: store.touch(3),  # type: ignore[arg-type]
    "vectors of no name": lambda store: store.vectors("x", ""),
    "log below zero": lambda store: store.log(limit=-1),
    "log since below zero": lambda store: store.log(since=-1),
    "log of a fraction": lambda store: store.log(since=0.5),  # type: ignore[arg-type]
    "log of a wrong name": lambda store: store.log(namespace="a//b"),
}


@pytest.mark.parametrize("verb", WRONG.values(), ids=WRONG)
def test_a_wrong_argument_is_one_clear_error(store: MemoryStore, verb: Verb) -> None:
    store.store("x")
    with pytest.raises(ValidationError):
        verb(store)
    assert len(store.log()) == store.count() == 1


HUGE: dict[str, Verb] = {
    "all": lambda store: store.all(limit=2**70),
    "filtered": lambda store: store.all(limit=2**70, where={"tags": []}),
    "log": lambda store: store.log(limit=2**70),
    "recall": lambda store: store.recall("x", k=2**70),
}


@pytest.mark.parametrize("verb", HUGE.values(), ids=HUGE)
def test_a_limit_may_be_as_large_as_one_likes(store: MemoryStore, verb: Verb) -> None:
    store.store("x")
    assert len(verb(store)) == 1
    assert not store.all(offset=2**70)
    assert not store.log(since=2**70)


def test_pages_follow_insertion(store: MemoryStore) -> None:
    stored = store.store_many({"content": str(n), "occurred_at": -n} for n in range(7))
    assert store.all() == stored
    assert store.all(limit=3) == stored[:3]
    assert store.all(limit=3, offset=2) == stored[2:5]
    assert store.all(limit=0) == store.all(offset=7) == []
    assert store.all(order="newest") == stored[::-1]
    assert store.all(order="newest", limit=2, offset=1) == [stored[5], stored[4]]
    assert store.all(where={"occurred_at": {"$gt": -4}}, offset=3) == [stored[3]]


def test_a_field_sorts_a_list_the_greatest_value_first(store: MemoryStore) -> None:
    for text, importance in (("a", 0.2), ("b", 0.9), ("c", 0.2)):
        store.store(f"cat {text}", importance=importance, occurred_at=-importance)
    hit = store.recall("a", k=1, mode="keyword")[0].memory

    def listed(order: Any, **options: Any) -> str:
        return "".join(record.content[-1] for record in store.all(order=order, **options))

    assert (listed("importance"), listed("occurred_at")) == ("bca", "cab")
    assert listed("importance", limit=1, offset=1) == "c"
    assert listed("access_count", limit=1) == listed("last_accessed_at")[:1] == hit.content[-1]


def test_a_page_is_whole_where_few_records_pass(store: MemoryStore) -> None:
    kinds = ["b", "b", "b"] + ["a"] * 200
    store.store_many({"content": str(n), "metadata": {"kind": k}} for n, k in enumerate(kinds))
    where = {"$not": {"metadata.kind": "a"}}  # SQL does not know the filter
    found = store.all(where=where, order="newest", limit=2, offset=1)
    assert [record.content for record in found] == ["1", "0"]
    found = store.all(where={"$not": where}, order="newest", limit=2, offset=150)
    assert [record.content for record in found] == ["52", "51"]


def test_namespaces_are_told_with_their_counts(store: MemoryStore) -> None:
    for namespace in ("b", "a/b", "ab", "a", "a"):
        store.store("x", namespace=namespace)
    gone = store.store("x", namespace="gone")
    store.forget(gone.id)
    assert list(store.namespaces().items()) == [("a", 2), ("a/b", 1), ("ab", 1), ("b", 1)]
    assert store.namespaces(Subtree("a")) == {"a": 2, "a/b": 1}
    assert store.namespaces("a") == {"a": 2}
    assert store.namespaces("none") == {}
    assert store.count(namespace=EVERYWHERE) == 5
    assert store.count(namespace=Subtree("a")) == 3
    assert store.count() == 0
    assert [record.namespace for record in store.all(namespace=Subtree("a"))] == ["a/b", "a", "a"]


def test_a_subtree_never_sees_its_namesake(store: MemoryStore) -> None:
    store.store("a cat", namespace="ab")
    scope = Subtree("a")
    assert store.recall("cat", namespace=scope) == []
    assert store.all(namespace=scope) == []
    assert store.log(namespace=scope) == []
    assert store.forget(namespace=scope) == store.count(namespace=scope) == 0


def test_the_log_is_told_newest_first_and_narrowed(store: MemoryStore) -> None:
    first = store.store("x", namespace="a")
    second = store.store("y", namespace="a/b")
    store.update(first.id, content="z")
    assert [(entry.seq, entry.action, entry.id) for entry in store.log()] == [
        (3, "update", first.id),
        (2, "store", second.id),
        (1, "store", first.id),
    ]
    assert [entry.seq for entry in store.log(limit=1)] == [3]
    assert [entry.seq for entry in store.log(since=1)] == [3, 2]
    assert [entry.seq for entry in store.log(id=first.id)] == [3, 1]
    assert [entry.seq for entry in store.log(namespace="a/b")] == [2]
    assert len(store.log(namespace=Subtree("a"), limit=None)) == 3
    assert store.log()[2].changes["content"] == "x"
    assert store.log(id="unknown") == []


def test_a_time_may_be_an_aware_datetime(store: MemoryStore) -> None:
    noon, late = (datetime(year, 5, 1, 12, tzinfo=UTC) for year in (2024, 2999))
    record = store.store("we met", occurred_at=noon, expires_at=late)
    assert (record.occurred_at, record.expires_at) == (noon.timestamp(), late.timestamp())
    assert store.count(where={"occurred_at": {"$lte": noon}}) == 1
    assert len(store.recall("met", now=late.timestamp() - 1)) == 1
    assert store.recall("met", now=late.timestamp()) == []


def test_the_embedder_of_a_file_is_found_again(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "m.db", embedder=HashEmbedder(64)) as store:
        store.store("a red cat")
    with MemoryStore(tmp_path / "m.db") as store:
        assert store.embedder.name == "hash-64"
        assert len(store.recall("red cats", mode="semantic")) == 1


def test_another_embedder_is_refused_and_the_file_stays_whole(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with MemoryStore(path, embedder=HashEmbedder(64)) as store:
        store.store("a red cat")
    with pytest.raises(EmbedderMismatchError) as caught:
        MemoryStore(path, embedder=HashEmbedder(32))
    assert (caught.value.stored, caught.value.given) == ("hash-64", "hash-32")
    with MemoryStore(path) as store:
        assert store.count() == 1


def test_of_two_embedders_on_a_new_file_the_first_to_write_stays(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    one = MemoryStore(path, embedder=HashEmbedder(64))
    other = MemoryStore(path, embedder=HashEmbedder(32))
    one.store("a red cat")
    with pytest.raises(EmbedderMismatchError):
        other.store("a blue cat")
    assert one.count() == 1
    one.close()
    other.close()


class Named:
    """An embedder of any dimension under one name."""

    name = "named"

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension

    def embed(self, texts: Any) -> Any:
        return np.eye(len(texts), self.dimension, dtype=np.float32)


def test_the_same_embedder_of_another_dimension_is_refused(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "m.db", embedder=Named(4)) as store:
        store.store("a red cat")
    refused = pytest.raises((EmbedderMismatchError, DimensionError))
    with refused, MemoryStore(tmp_path / "m.db", embedder=Named(6)) as store:
        store.store("a blue cat")


def test_vectors_of_one_name_have_one_dimension(store: MemoryStore) -> None:
    store.store("x", vectors={"v": [1, 2]})
    for verb in (
        lambda: store.store("y", vectors={"v": [1, 2, 3]}),
        lambda: store.recall("x", vector=("v", [1, 2, 3])),
    ):
        with pytest.raises(DimensionError) as caught:
            verb()
        assert (caught.value.name, caught.value.expected, caught.value.found) == ("v", 2, 3)
    assert store.count() == 1


def test_every_error_is_of_one_family() -> None:
    with pytest.raises(BethinkError), MemoryStore() as store:
        store.recall("x", k=-1)


@pytest.mark.parametrize("bound", [-1, 1.5, "1 GiB", True])
def test_a_bound_that_is_none_is_refused_before_the_file_is_made(
    tmp_path: Path, bound: Any
) -> None:
    with pytest.raises(ValidationError, match="max_resident"):
        MemoryStore(tmp_path / "m.db", max_resident=bound)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bound", [0, 1, 2**80, None])
def test_any_other_bound_is_taken(bound: int | None) -> None:
    with MemoryStore(max_resident=bound) as store:
        store.store("a red cat")
        assert len(store.recall("red cat")) == len(store.recall("cat", namespace=EVERYWHERE)) == 1


@pytest.mark.parametrize(
    "given",
    [
        *({"embedder": wrong} for wrong in ("hash-8", 8, HashEmbedder, len)),
        *({"clock": wrong} for wrong in (None, 1_000.0, "now")),
        *({"new_id": wrong} for wrong in ("id", 7)),
    ],
    ids=repr,
)
def test_a_wrong_part_is_refused_before_the_file_is_made(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    (name,) = given
    with pytest.raises(ValidationError, match=name):
        MemoryStore(tmp_path / "m.db", **given)
    assert list(tmp_path.iterdir()) == []


def test_an_embedder_without_a_name_and_a_clock_without_numbers_are_refused() -> None:
    class Nameless:
        dimension = 1
        embed = staticmethod(HashEmbedder(1).embed)

    with pytest.raises(ValidationError, match="the embedder's name must be a str"):
        MemoryStore(embedder=Nameless())  # type: ignore[arg-type]
    now: Any = partial(datetime.now, UTC)
    with MemoryStore(clock=now) as store, pytest.raises(ValidationError, match="Unix seconds"):
        store.store("a red cat")


@pytest.mark.parametrize("dimension", [None, "3", 3.0, 0, True])
def test_an_embedder_with_a_wrong_dimension_is_refused(dimension: Any) -> None:
    class Wrong:
        name = "wrong"
        embed = staticmethod(HashEmbedder(3).embed)

        def __init__(self) -> None:
            self.dimension = dimension

    with MemoryStore(embedder=Wrong()) as store:
        with pytest.raises(ValidationError, match="the embedder's dimension"):
            store.store("a red cat")
        assert store.count() == 0


@pytest.mark.parametrize("given", [{"floor": 1}, {"zero": 1.0}, {"share": 2}, {"floor": "low"}])
def test_an_embedder_with_a_wrong_calibration_is_refused(given: dict[str, Any]) -> None:
    embedder = HashEmbedder()
    vars(embedder).update(given)
    with pytest.raises(ValidationError, match="embedder's"):
        MemoryStore(embedder=embedder)


def test_a_wrong_ranking_is_refused_before_the_file_is_made(tmp_path: Path) -> None:
    with pytest.raises(ValidationError):
        MemoryStore(tmp_path / "m.db", ranking="best first")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("taking", [Files, KeyedMemory, partial(MessageLog, session="s")])
def test_the_path_of_a_store_is_no_store(taking: Callable[[Any], object]) -> None:
    with pytest.raises(ValidationError, match="must be a MemoryStore, not str"):
        taking("agent.db")
