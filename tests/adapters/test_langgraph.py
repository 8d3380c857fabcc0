"""The LangGraph store, held to the contract of such stores and to what it promises beyond."""

from __future__ import annotations

import asyncio
import math
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langgraph.store.base")

from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import BaseStore, GetOp, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from bethink import EVERYWHERE, DimensionError, MemoryStore, StoreClosedError, ValidationError
from bethink.testing import FrozenClock
from bethink_adapters.langgraph import BethinkStore
from bethink_adapters.langgraph.conformance import ExpiryContract, SearchContract, StoreContract

from .contract import SlowStore, cancel_in_write

NS = ("users", "ann")
MEMORIES = {
    "theme": {"theme": "dark mode in every editor"},
    "pizza": {"food": "a Margherita from the wood oven"},
    "key": {"text": "The spare key lies under the flowerpot."},
}


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def memory(clock: FrozenClock) -> Iterator[BethinkStore]:
    with MemoryStore(clock=clock) as store, BethinkStore(store) as memory:
        yield memory


def fill(memory: BethinkStore) -> BethinkStore:
    for key, value in MEMORIES.items():
        memory.put(NS, key, value)
    return memory


def keys(found: Any) -> list[str]:
    return [item.key for item in found]


def letters(texts: list[str]) -> list[list[float]]:
    """Count a, b and c."""
    return [[float(text.count(letter)) for letter in "abc"] for text in texts]


def index(embed: Any = letters, **more: Any) -> Any:
    return {"dims": 3, "embed": embed, "fields": ["text"], **more}


class TestConformance(StoreContract, SearchContract, ExpiryContract):
    """Every test there is for a LangGraph store."""

    @contextmanager
    def open(self, **config: Any) -> Iterator[BethinkStore]:
        self.clock = FrozenClock()
        with MemoryStore(clock=self.clock) as store, BethinkStore(store, **config) as memory:
            yield memory

    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)


def test_a_store_passes_for_one_of_langgraph(memory: BethinkStore) -> None:
    class Mine(BethinkStore):
        """A class of one's own."""

    assert isinstance(memory, BaseStore)
    assert isinstance(memory, BethinkStore)
    assert type(memory).__name__ == "BethinkStore"
    assert isinstance(Mine(memory.store), Mine)
    assert isinstance(Mine(memory.store), BaseStore)


def test_importing_it_loads_no_framework() -> None:
    code = "import bethink_adapters.langgraph, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"langgraph", "langchain_core"} & set(done.stdout.split())


# -- the store behind it


def test_a_file_is_opened_and_closed_with_it(tmp_path: Path) -> None:
    with BethinkStore(tmp_path / "memory.db") as memory:
        fill(memory)
    with pytest.raises(StoreClosedError):
        memory.get(NS, "key")

    async def again() -> list[str]:
        async with BethinkStore(tmp_path / "memory.db") as memory:
            return keys(await memory.asearch(NS, query="flowerpot", limit=1))

    assert asyncio.run(again()) == ["key"]


def test_who_cancels_the_closing_waits_until_it_is_closed(tmp_path: Path) -> None:
    reached, go = threading.Event(), threading.Event()

    class Slow(BethinkStore):
        def close(self) -> None:
            reached.set()
            assert go.wait(30)
            super().close()

    async def live() -> None:
        memory = Slow(tmp_path / "memory.db")
        closing = asyncio.ensure_future(memory.__aexit__())
        assert await asyncio.to_thread(reached.wait, 30)
        closing.cancel()
        asyncio.get_running_loop().call_later(0.1, go.set)
        with pytest.raises(asyncio.CancelledError):
            await closing
        with pytest.raises(StoreClosedError):
            memory.get(NS, "key")

    asyncio.run(live())


def test_a_store_that_was_given_stays_open(store: MemoryStore) -> None:
    with BethinkStore(store) as memory:
        fill(memory)
    assert store.count(namespace="langgraph/users/ann") == 3


def test_what_an_item_ever_was_is_in_the_log(memory: BethinkStore, clock: FrozenClock) -> None:
    memory.put(NS, "office", {"city": "Lyon"})
    clock.advance(10)
    moment = clock()
    clock.advance(10)
    memory.put(NS, "office", {"city": "Graz"})
    past = memory.store.as_of(moment).get(namespace="langgraph/users/ann", key="office")
    assert past is not None
    assert past.value == {"city": "Lyon"}
    versions = memory.store.audit("office", namespace="langgraph/users/ann")
    assert [version.value["city"] for version in versions] == ["Lyon", "Graz"]


def test_times_are_those_of_the_first_and_the_last_put(
    memory: BethinkStore, clock: FrozenClock
) -> None:
    began = clock()
    for number in range(3):
        memory.put(NS, "k", {"n": number})
        clock.advance(60)
    item = memory.get(NS, "k")
    assert item is not None
    assert item.created_at.timestamp() == began
    assert item.updated_at.timestamp() == began + 120
    memory.delete(NS, "k")
    memory.put(NS, "k", {"n": 3})
    item = memory.get(NS, "k")
    assert item is not None
    assert item.created_at.timestamp() == began + 180


def test_a_batch_is_one_transaction(memory: BethinkStore) -> None:
    fill(memory)
    before = memory.store.all(namespace=EVERYWHERE)
    with pytest.raises(ValidationError, match="set"):
        memory.batch([PutOp(NS, "key", None), PutOp(NS, "a", {}), PutOp(NS, "b", {"x": {1}})])
    with pytest.raises(ValidationError, match="unknown operation"):
        memory.batch([PutOp(NS, "key", None), "get"])  # type: ignore[list-item]
    with pytest.raises(ValidationError, match="limit"):
        memory.batch([PutOp(NS, "key", None), SearchOp(NS, limit=-1)])
    assert memory.store.all(namespace=EVERYWHERE) == before


@pytest.mark.parametrize(
    "put",
    [
        {"value": []},
        {"value": {"when": object()}},
        {"value": {"n": float("nan")}},
        {"value": {1: 2}},
        {"value": {}, "ttl": -1},
        {"value": {}, "ttl": "soon"},
        {"value": {}, "index": "text"},
        {"value": {}, "index": [3]},
        {"value": {}, "key": "k" * 2000},
        {"value": {}, "namespace": ("n" * 2000,)},
        {"value": {}, "namespace": ("langgraph", "x")},
    ],
)
def test_a_wrong_put_is_refused(memory: BethinkStore, put: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        memory.batch([PutOp(NS, "fine", {}), PutOp(**{"namespace": NS, "key": "k", **put})])
    assert memory.store.log() == []


def test_a_text_is_no_namespace(memory: BethinkStore) -> None:
    text: Any = "ab"
    for op in (PutOp(text, "k", {}), GetOp(text, "k"), SearchOp(text)):
        with pytest.raises(ValueError, match="tuple of labels"):
            memory.batch([op])


@pytest.mark.parametrize("erase", [False, True])
def test_deleting_forgets_or_erases_all_values_of_an_item(tmp_path: Path, erase: bool) -> None:
    path = tmp_path / "memory.db"
    with MemoryStore(path) as store:
        memory = BethinkStore(store, erase=erase)
        for place in ("cobalt-pot", "door"):
            memory.put(NS, "key", {"text": place})
        memory.put(NS, "other", {"text": "stays"})
        memory.batch([PutOp(NS, "key", None), PutOp(("a",), "new", {"text": "stays, too"})])
        assert keys(memory.search(())) == ["new", "other"]
        assert memory.get(NS, "key") is None
        assert store.verify().ok
    assert (b"cobalt-pot" in path.read_bytes()) == (not erase)


def test_nothing_is_deleted_where_nothing_can_be(memory: BethinkStore) -> None:
    assert memory.batch([PutOp((), "k", None), PutOp(("langgraph",), "k", None)]) == [None, None]
    assert memory.store.log() == []


def test_an_operation_may_have_a_list_and_a_number(memory: BethinkStore) -> None:
    memory.batch([PutOp(["users", "ann"], 7, {"n": 1})])  # type: ignore[arg-type]
    (item,) = memory.batch([GetOp(NS, "7")])
    assert item is not None


# -- filters beyond LangGraph's


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ({"n": {"$in": [1, 3]}}, {"one"}),
        ({"n": {"$nin": [1]}}, {"two"}),
        ({"tags": {"$contains": "x"}}, {"one"}),
        ({"tags": {"$contains_any": ["y", "z"]}}, {"one", "two"}),
        ({"deep": {"$exists": True}}, {"two"}),
        ({"$or": [{"n": 1}, {"deep.n": {"$gt": 4}}]}, {"one", "two"}),
        ({"$and": [{"n": 1}, {"tags": ["x", "y"]}]}, {"one"}),
        ({"$not": {"n": 1}}, {"two", "three"}),
        ({"n": {"$not": {"$gt": 1}}}, {"one", "three"}),
        ({"n": {"$lt": float("inf")}}, {"one", "two"}),
        ({"n": {"$gt": float("-inf"), "$ne": float("nan")}}, {"one", "two"}),
        ({"n": float("nan")}, set()),
        ({"it's": 'a "quoted" one'}, {"three"}),
        ({"deep": None}, {"one", "three"}),
        ({"deep": {"$ne": None}}, {"two"}),
    ],
    ids=lambda given: str(sorted(given) if isinstance(given, set) else given),
)
def test_more_filters(memory: BethinkStore, filter: dict[str, Any], expected: set[str]) -> None:
    memory.put(NS, "one", {"n": 1, "tags": ["x", "y"]})
    memory.put(NS, "two", {"n": 2, "tags": ["z"], "deep": {"n": 5}})
    memory.put(NS, "three", {"it's": 'a "quoted" one'})
    assert set(keys(memory.search(NS, filter=filter))) == expected


def nested(depth: int) -> dict[str, Any]:
    filter: dict[str, Any] = {"n": 1}
    for _ in range(depth):
        filter = {"$not": filter}
    return filter


@pytest.mark.parametrize(
    "filter",
    [
        *({"n": {"$gt": 1, "x": 2}}, {"$or": {"n": 1}}, {"$and": "n"}, {"$near": 1}, {"a..b": 1}),
        *({"": 1}, {3: 1}, {"n\ud800": 1}, {"n": {"$gt": [1]}}, {"n": {"$in": 3}}, [("n", 1)]),
        *({"n": {"a": {"": 1}}}, {"n": {3: 1}}, {"n": object()}, nested(100_000)),
    ],
    ids=range(15),
)
def test_a_wrong_filter_is_refused(memory: BethinkStore, filter: Any) -> None:
    memory.put(NS, "k", {"n": 1})
    with pytest.raises(ValidationError):
        memory.search(NS, filter=filter)


# -- searching with the store's own embedder


def test_without_an_index_words_and_meaning_are_found(memory: BethinkStore) -> None:
    found = fill(memory).search(NS, query="Where does the spare key lie?")
    assert keys(found) == ["key", "pizza", "theme"]
    assert found[0].score is not None
    assert [item.score for item in found[1:]] == [None, None]
    assert keys(memory.search(NS, query="an automobile", limit=3)) == ["key", "pizza", "theme"]
    memory.put(NS, "car", {"owns": "a car"})
    assert keys(memory.search(NS, query="automobile", limit=1)) == ["car"]


def test_a_least_score_leaves_the_rest_out(store: MemoryStore) -> None:
    memory = fill(BethinkStore(store, min_score=0.2))
    assert keys(memory.search(NS, query="Where does the spare key lie?")) == ["key"]
    assert memory.search(NS, query="the stock market crash of 1929") == []
    assert len(memory.search(NS)) == 3
    assert BethinkStore(store, min_score=2).search(NS, query="spare key") == []


def test_only_the_fields_that_a_put_names_are_searched(memory: BethinkStore) -> None:
    value = {"title": "parrots", "text": "flowerpots", "deep": [{"note": "bakeries"}]}
    memory.put(NS, "title", value, index=["title"])
    memory.put(NS, "note", value, index=["deep[*].note"])
    memory.put(NS, "none", value, index=False)

    def scored(query: str) -> list[str]:
        return keys(item for item in memory.search(NS, query=query) if item.score is not None)

    assert [scored(query) for query in ("parrots", "bakeries", "flowerpots")] == [
        *(["title"], ["note"], [])
    ]


def test_pages_of_a_ranking_and_its_rest_continue_each_other(memory: BethinkStore) -> None:
    for number in range(12):
        memory.put(NS, str(number), {"text": "a parrot" if number % 3 else "the stock market"})
    whole = keys(memory.search(NS, query="parrot", limit=100))
    pages = [memory.search(NS, query="parrot", limit=5, offset=5 * n) for n in range(4)]
    assert [key for page in pages for key in keys(page)] == whole
    assert sorted(whole) == sorted(map(str, range(12)))


def test_why_an_item_ranks_where_it_does(memory: BethinkStore) -> None:
    why = fill(memory).why(NS, "key", "Where does the spare key lie?")
    (best, *_) = memory.search(NS, query="Where does the spare key lie?")
    assert (why.reason, why.rank, why.score) == ("returned", 1, best.score)
    assert why.explanation is not None
    assert sum(why.explanation.contributions.values()) == pytest.approx(why.score)
    assert memory.why(NS, "pizza", "Where does the spare key lie?").reason == "no likeness"
    assert memory.why(NS, "nobody", "Where?").reason == "unknown"


def test_a_text_longer_than_any_content_is_kept(memory: BethinkStore) -> None:
    value = {"text": "parrot " * 100_000 + "\ud800"}
    memory.put(NS, "k", value)
    (item,) = memory.search(NS, query="parrot")
    assert item.value == value


def test_any_text_is_a_question(memory: BethinkStore) -> None:
    memory.put(NS, "k", {"text": "The parrot eats seeds."})
    (item,) = memory.search(NS, query="parrot \ud800 " * 60_000)
    assert item.key == "k"
    assert item.score is not None


# -- searching with an index configuration


def test_words_can_count_beside_the_vectors(memory: BethinkStore) -> None:
    memory = BethinkStore(memory.store, index=index(), mode="hybrid")
    memory.put(NS, "near", {"text": "aab"})
    memory.put(NS, "named", {"text": "aab parrot"})
    memory.put(NS, "far", {"text": "ccc"})
    found = memory.search(NS, query="parrot aab")
    assert keys(found) == ["named", "near", "far"]
    why = memory.why(NS, "named", "parrot aab")
    assert why.score == found[0].score
    assert why.explanation is not None
    assert {"keyword", "vector"} <= why.explanation.signals.keys()


def test_words_alone_can_count(store: MemoryStore) -> None:
    memory = BethinkStore(store, index=index(), mode="keyword")
    memory.put(NS, "near", {"text": "aab"})
    memory.put(NS, "named", {"text": "a parrot"})
    found = memory.search(NS, query="parrot")
    assert [(item.key, item.score is None) for item in found] == [("named", False), ("near", True)]


def test_what_is_unlike_comes_after_what_is_alike(store: MemoryStore) -> None:
    def signed(texts: list[str]) -> list[list[float]]:
        return [[float(number) for number in text.split()] for text in texts]

    memory = BethinkStore(store, index=index(signed))
    for key, vector in {
        "back": "-1 0 0",
        "left": "-1 1 0",
        "there": "1 0 0",
        "up": "0 0 1",
    }.items():
        memory.put(NS, key, {"text": vector})
    memory.put(NS, "none", {"text": "1 0 0"}, index=False)
    found = memory.search(NS, query="1 0 0")
    assert keys(found) == ["there", "up", "left", "back", "none"]
    assert [item.score for item in found] == [1, 0, pytest.approx(-(0.5**0.5)), -1, None]
    pages = [memory.search(NS, query="1 0 0", limit=2, offset=offset) for offset in (0, 2, 4)]
    assert [key for page in pages for key in keys(page)] == keys(found)
    for least, most in ((0.1, 1), (0, 2), (-0.8, 3), (-1, 4)):
        cut = BethinkStore(store, index=index(signed), min_score=least)
        assert keys(cut.search(NS, query="1 0 0")) == keys(found)[:most]
        assert keys(cut.search(NS, query="1 0 0", offset=1, limit=1)) == keys(found)[1:most][:1]


VECTORS = st.tuples(*[st.integers(-2, 2)] * 3)


def nearest(query: tuple[int, ...], parts: list[tuple[int, ...]]) -> float | None:
    """Return the best cosine, 0 where there is no direction; None without parts."""
    lengths = [math.hypot(*part) * math.hypot(*query) for part in parts]
    products = [sum(a * b for a, b in zip(part, query, strict=True)) for part in parts]
    pairs = zip(products, lengths, strict=True)
    return max((product / length if length else 0.0 for product, length in pairs), default=None)


@given(st.lists(st.lists(VECTORS, max_size=3), max_size=9), VECTORS, st.integers(1, 4))
def test_every_page_is_exact(
    items: list[list[tuple[int, ...]]], query: tuple[int, ...], limit: int
) -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        return [[float(number) for number in text.split()] for text in texts]

    def text(vector: tuple[int, ...]) -> str:
        return " ".join(map(str, vector))

    with BethinkStore(index=index(embed, fields=["parts[*]"])) as memory:
        for number, parts in enumerate(items):
            memory.put(NS, str(number), {"parts": [text(part) for part in parts]})
        pages = [
            memory.search(NS, query=text(query), limit=limit, offset=offset)
            for offset in range(0, len(items) + limit, limit)
        ]
    found = [item for page in pages for item in page]
    expected = {str(number): nearest(query, parts) for number, parts in enumerate(items)}
    assert sorted(keys(found)) == sorted(expected)
    assert [item.score for item in found] == [
        None if expected[item.key] is None else pytest.approx(expected[item.key]) for item in found
    ]
    ranks = [-2.0 if item.score is None else item.score for item in found]
    assert ranks == sorted(ranks, reverse=True)


def test_each_text_is_embedded_once(store: MemoryStore) -> None:
    asked: list[list[str]] = []

    def embed(texts: list[str]) -> list[list[float]]:
        asked.append(texts)
        return letters(texts)

    memory = BethinkStore(store, index=index(embed, fields=["text", "more"]))
    same = {"text": "aa", "more": "aa"}
    memory.batch([PutOp(NS, "a", same), PutOp(NS, "b", same), PutOp(NS, "c", {"text": "b"})])
    assert asked == [["aa", "b"]]
    memory.get(NS, "a")
    memory.put(NS, "a", {"other": 1})
    memory.delete(NS, "b")
    assert asked == [["aa", "b"]]


def test_a_coroutine_may_embed(store: MemoryStore) -> None:
    async def embed(texts: list[str]) -> list[list[float]]:
        await asyncio.sleep(0)
        return letters(texts)

    memory = BethinkStore(store, index=index(embed))

    async def live() -> list[str]:
        await asyncio.gather(*(memory.aput(NS, key, {"text": key}) for key in ("aab", "ccc")))
        return keys(await memory.asearch(NS, query="ab", limit=1))

    assert asyncio.run(live()) == ["aab"]


@pytest.mark.parametrize(
    "embed",
    [
        lambda texts: [[1.0, 2.0]] * len(texts),
        lambda texts: [[1.0, 2.0, 3.0]],
        lambda texts: [["x", "y", "z"]] * len(texts),
        lambda texts: [[float("nan"), 0.0, 0.0]] * len(texts),
    ],
    ids=["short", "few", "text", "nan"],
)
def test_wrong_vectors_are_refused(store: MemoryStore, embed: Any) -> None:
    memory = BethinkStore(store, index=index(embed, fields=["text", "more"]))
    with pytest.raises(ValidationError):
        memory.batch([PutOp(NS, "fine", {"n": 1}), PutOp(NS, "k", {"text": "a", "more": "b"})])
    assert store.log() == []


def test_another_dimension_is_refused_at_once(tmp_path: Path) -> None:
    with BethinkStore(tmp_path / "memory.db", index=index()) as memory:
        memory.put(NS, "k", {"text": "a"})
        with pytest.raises(DimensionError, match="index dims"):
            BethinkStore(memory.store, index=index(dims=4))
        assert memory.get(NS, "k") is not None
    with pytest.raises(DimensionError, match="index dims"):
        BethinkStore(tmp_path / "memory.db", index=index(dims=4))


@pytest.mark.parametrize(
    "options",
    [{"mode": "?"}, {"min_score": "high"}, {"namespace": "a//b"}, {"index": {}}, {"k": 3}],
)
def test_wrong_options_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        BethinkStore(tmp_path / "memory.db", **options)
    assert list(tmp_path.iterdir()) == []


# -- expiry


def test_a_read_writes_only_when_it_wins_time(clock: FrozenClock) -> None:
    with MemoryStore(clock=clock) as store:
        memory = BethinkStore(store, ttl={"default_ttl": 100})
        memory.put(NS, "k", {"n": 1})
        clock.advance(59)
        memory.get(NS, "k")
        memory.search(NS)
        assert len(store.log()) == 1
        clock.advance(2)
        memory.search(NS, refresh_ttl=False)
        assert len(store.log()) == 1
        memory.search(NS)
        memory.get(NS, "k")
        assert [entry.action for entry in store.log()] == ["update", "store"]


def test_the_sweeper_goes_on_after_an_error(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    swept, count = threading.Event(), iter(range(1000))

    def expire() -> int:
        if next(count) == 0:
            raise OSError("on purpose")
        swept.set()
        return 0

    monkeypatch.setattr(store, "expire", expire)
    with BethinkStore(store) as memory:
        done = memory.start_ttl_sweeper(1e-5)
        assert memory.start_ttl_sweeper(1e-5) is done
        assert swept.wait(30)
        assert memory.stop_ttl_sweeper(30)
    assert done.result(30) is None
    assert "on purpose" in caplog.text


def test_the_sweeper_ends_with_its_store(store: MemoryStore) -> None:
    memory = BethinkStore(store)
    store.close()
    assert memory.start_ttl_sweeper(1e-5).result(30) is None
    assert memory.stop_ttl_sweeper(30)


# -- against LangGraph's store in memory

LABELS = st.sampled_from(["a", "b", "ab", "a/b", "ä"])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
VALUES = st.none() | st.fixed_dictionaries({"n": st.integers(0, 3), "t": st.text("ab")})
PUTS = st.tuples(NAMESPACES, st.sampled_from("xyz"), VALUES).map(lambda parts: PutOp(*parts))


@given(st.lists(st.lists(PUTS, max_size=4), max_size=8), NAMESPACES, st.integers(0, 3))
def test_the_same_puts_leave_the_same_items(
    batches: list[list[PutOp]], prefix: tuple[str, ...], number: int
) -> None:
    theirs = InMemoryStore()
    with BethinkStore() as ours:
        for batch in batches:
            assert ours.batch(batch) == theirs.batch(batch)
        for part in ((), prefix[:1], prefix):
            for filter in (None, {"n": number}, {"t": "a"}, {"n": {"$eq": number}}):
                assert held(ours, part, filter) == held(theirs, part, filter)
        spaces = {item.namespace for item in theirs.search((), limit=100)}
        assert ours.list_namespaces(limit=100) == sorted(spaces)


def held(store: BaseStore, prefix: tuple[str, ...], filter: Any) -> dict[Any, Any]:
    found = store.search(prefix, filter=filter, limit=100)
    return {(item.namespace, item.key): item.value for item in found}


def test_nothing_overtakes_a_put_that_is_cancelled() -> None:
    async def overtaking(slow: SlowStore) -> Any:
        memory = BethinkStore(slow)
        await cancel_in_write(slow, memory.aput(NS, "k", {"n": 1}), memory.aput(NS, "k", {"n": 2}))
        return await memory.aget(NS, "k")

    with SlowStore() as slow:
        assert asyncio.run(overtaking(slow)).value == {"n": 2}
