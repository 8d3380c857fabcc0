"""The cache of answers, the key-value store and the embeddings, against langchain-core itself."""

from __future__ import annotations

import asyncio
import enum
import pickle
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import pytest

pytest.importorskip("langchain_core")

from langchain_core.caches import BaseCache
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.globals import set_llm_cache
from langchain_core.language_models import FakeListLLM, FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, Generation
from langchain_core.stores import BaseStore

from bethink import (
    EVERYWHERE,
    HashEmbedder,
    MemoryRecord,
    MemoryStore,
    StaticEmbedder,
    ValidationError,
)
from bethink.testing import FrozenClock
from bethink_adapters.langchain import (
    BethinkCache,
    BethinkEmbeddings,
    BethinkKeyValueStore,
    BethinkVectorStore,
)

from .contract import SlowStore, cancel_in_write

CALL: Any = {"id": "1", "name": "look", "args": {"at": "door"}, "type": "tool_call"}


@pytest.fixture
def globally() -> Iterator[Any]:
    yield set_llm_cache
    set_llm_cache(None)


# -- what comes back as it was, and what is refused


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Kind(enum.StrEnum):
    BIRD = "bird"


class Plain:
    pass


class Pair(NamedTuple):
    x: int
    y: int


KEPT: dict[str, Any] = {
    "path": Path("/tmp") / "a b.txt",
    "posix": PurePosixPath("/a/b"),
    "windows": PureWindowsPath("C:/a/b"),
    "paths": {"all": [Path("a"), (Path("b"),)]},
    "time": datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
    "local-time": datetime(2026, 1, 2),
    "date": date(2026, 1, 2),
    "uuid": UUID(int=7),
    "decimal": Decimal("1.50"),
    "bytes": b"\xff",
    "tuple": (1, "a", None),
    "set": {1, 2},
    "numbers": {1: "one", "two": 2.5},
}
REFUSED: dict[str, Any] = {
    "Colour": Colour.RED,
    "Plain": Plain(),
    "Fraction": Fraction(1, 2),
    "complex": 1j,
    "deque": deque([1]),
    "range": range(3),
    "ndarray": np.arange(3),
    "ValueError": ValueError("x"),
}


@pytest.mark.parametrize("kind", KEPT)
def test_everyday_values_come_back_as_they_were(store: MemoryStore, kind: str) -> None:
    values, documents = BethinkKeyValueStore(store), BethinkVectorStore(store)
    values.mset([("a", KEPT[kind])])
    documents.add_texts(["a parrot"], [{"it": KEPT[kind]}], ids=["1"])
    for found in (values.mget(["a"])[0], documents.get_by_ids(["1"])[0].metadata["it"]):
        assert found == KEPT[kind]
        assert type(found) is type(KEPT[kind])


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_restored_is_refused_before_a_write(store: MemoryStore, kind: str) -> None:
    values, documents = BethinkKeyValueStore(store), BethinkVectorStore(store)
    told = f"holds a value of type {kind}, which cannot be restored"
    with pytest.raises(ValidationError, match=f"^b {told}"):
        values.mset([("a", 1), ("b", REFUSED[kind])])
    with pytest.raises(ValidationError, match=rf"^metadata\['it'\]\[1\] {told}"):
        documents.add_texts(["one", "two"], [{}, {"it": [0, REFUSED[kind]]}])
    assert store.count(namespace=EVERYWHERE) == 0


def test_an_object_of_a_local_class_is_refused(store: MemoryStore) -> None:
    @dataclass
    class Local:
        x: int

    with pytest.raises(ValidationError, match="Local, which cannot be restored"):
        BethinkKeyValueStore(store).mset([("a", Local(1))])


def test_members_that_equal_a_plain_value_come_back_as_the_value(store: MemoryStore) -> None:
    documents = BethinkVectorStore(store)
    documents.add_texts(["a parrot"], [{"level": Level.HIGH, "kind": Kind.BIRD}], ids=["1"])
    (found,) = documents.get_by_ids(["1"])
    assert (
        found.metadata == {"level": Level.HIGH, "kind": Kind.BIRD} == {"level": 3, "kind": "bird"}
    )
    for kind in (Kind.BIRD, "bird"):
        assert documents.similarity_search("parrot", filter={"kind": kind}) == [found]


def test_subclasses_of_collections_come_back_as_the_collections(store: MemoryStore) -> None:
    values = BethinkKeyValueStore(store)
    values.mset([("pair", Pair(1, 2)), ("counts", Counter("aab")), ("number", np.int64(3))])
    assert values.mget(["pair", "counts", "number"]) == [(1, 2), {"a": 2, "b": 1}, 3]


# -- cache


def test_a_model_is_asked_once(store: MemoryStore, globally: Any) -> None:
    cache = BethinkCache(store)
    globally(cache)
    model = FakeListLLM(responses=["one", "two"])
    assert [model.invoke("a"), model.invoke("a"), model.invoke("b")] == ["one", "one", "two"]
    assert isinstance(cache, BaseCache)
    cache.clear()
    assert store.count(namespace=EVERYWHERE) == 0


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_chat_model_has_a_cache_of_its_own(store: MemoryStore, asynchronous: bool) -> None:
    answer = AIMessage("Hello.", tool_calls=[CALL], additional_kwargs={"at": b"\xff"})
    replies: Any = [answer, AIMessage("Else.")]
    model = FakeMessagesListChatModel(responses=replies, cache=BethinkCache(store))
    for _ in range(2):
        found: Any = asyncio.run(model.ainvoke("a")) if asynchronous else model.invoke("a")
        assert (found.content, found.tool_calls) == ("Hello.", answer.tool_calls)
        assert found.additional_kwargs == {"at": b"\xff"}


def test_answers_come_back_as_they_were(store: MemoryStore) -> None:
    cache = BethinkCache(store)
    given = [
        ChatGeneration(message=AIMessage("Hi.", id="1"), generation_info={"reason": "stop"}),
        Generation(text="lone \udc80", generation_info={"at": datetime(2026, 1, 2, tzinfo=UTC)}),
    ]
    cache.update("prompt", "model", given)
    assert cache.lookup("prompt", "model") == given
    assert cache.lookup("promptm", "odel") is None


def test_an_answer_expires(tmp_path: Path) -> None:
    clock = FrozenClock()
    with MemoryStore(tmp_path / "cache.db", clock=clock) as store:
        cache = BethinkCache(store, ttl=60)
        cache.update("prompt", "model", [Generation(text="Hi.")])
        clock.advance(59)
        assert cache.lookup("prompt", "model") is not None
        clock.advance(2)
        assert cache.lookup("prompt", "model") is None
        for wrong in (-1, 1e12):
            with pytest.raises(ValidationError):
                BethinkCache(store, ttl=wrong)


def test_what_cannot_be_read_is_asked_again(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    cache = BethinkCache(store)
    cache.update("prompt", "model", [Generation(text="Hi.")])
    (record,) = store.all(namespace="llm_cache")
    store.update(record.id, value=[{"strange": 1}])
    assert cache.lookup("prompt", "model") is None
    assert "cannot be read" in caplog.text


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_failing_store_costs_no_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, asynchronous: bool
) -> None:
    with MemoryStore(tmp_path / "cache.db") as store:
        model = FakeListLLM(responses=["Hello!"], cache=BethinkCache(store))
        store.namespaces()
        for part in tmp_path.iterdir():
            part.rename(f"{part}.moved")
        answer = asyncio.run(model.ainvoke("Hi.")) if asynchronous else model.invoke("Hi.")
        assert answer == "Hello!"
        assert "cannot be cached" in caplog.text
        for part in tmp_path.iterdir():
            part.rename(str(part).removesuffix(".moved"))


def test_a_prompt_is_not_stored_and_an_answer_not_recalled(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    with MemoryStore(path) as store:
        BethinkCache(store).update("Quetzal", "model", [Generation(text="Macaw")])
        assert store.recall("Macaw", namespace=EVERYWHERE) == []
    assert b"Macaw" in path.read_bytes()
    assert b"Quetzal" not in path.read_bytes()
    with MemoryStore(path) as store:
        BethinkCache(store).clear()
    assert b"Macaw" not in path.read_bytes()


# -- key-value store


def test_values_come_back_as_they_were(store: MemoryStore) -> None:
    values = BethinkKeyValueStore(store)
    given = {
        "none": None,
        "bytes": b"\x00\xff",
        "document": Document(page_content="x", metadata={"a": 1}),
        "deep": {"a": [1, (2.5, {"x"})]},
        "": "",
    }
    with pytest.raises(ValidationError):
        values.mset(list(given.items()))
    assert values.mget(["none"]) == [None]
    del given[""]
    values.mset(list(given.items()))
    assert isinstance(values, BaseStore)
    assert dict(zip(given, values.mget(list(given)), strict=True)) == given
    assert values.mget(iter(["unknown", "bytes"])) == [None, b"\x00\xff"]


@pytest.mark.parametrize("erase", [False, True])
def test_deleting_values_forgets_or_erases(tmp_path: Path, erase: bool) -> None:
    path = tmp_path / "memory.db"
    with MemoryStore(path) as store:
        values = BethinkKeyValueStore(store, erase=erase)
        values.mset([("a", "cobalt"), ("b", "door")])
        values.mdelete(["a"])
        assert values.mget(["a", "b"]) == [None, "door"]
    assert (b"cobalt" in path.read_bytes()) == (not erase)


def test_keys_are_found_by_their_beginning(store: MemoryStore) -> None:
    values = BethinkKeyValueStore(store)
    values.mset([(key, 1) for key in ("a/1", "a/2", "b", "a%", "A/3")])
    assert list(values.yield_keys(prefix="a/")) == ["a/1", "a/2"]
    assert list(values.yield_keys(prefix="b")) == ["b"]
    assert len(list(values.yield_keys())) == 5
    values.mdelete(["a/1", "unknown"])
    assert list(values.yield_keys(prefix="a/")) == ["a/2"]
    assert list(BethinkKeyValueStore(store, namespace="else").yield_keys()) == []


def test_other_keys_are_not_even_read(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    values, read, every = BethinkKeyValueStore(store), [], store.all
    ends = ("", "z", "\ud7ff", "\ue000", "\U0010ffff")
    values.mset([(f"a{end}{after}", 1) for end in ends for after in ("", "b", "\U0010ffff")])

    def noting(**options: Any) -> list[MemoryRecord]:
        found = every(**options)
        read.append(len(found))
        return found

    monkeypatch.setattr(store, "all", noting)
    for end in ends[1:]:
        expected = [f"a{end}{after}" for after in ("", "b", "\U0010ffff")]
        assert sorted(values.yield_keys(prefix=f"a{end}")) == sorted(expected)
    assert read[0] == 3


# -- embeddings


def test_embeddings_are_those_of_the_embedder() -> None:
    embedder = HashEmbedder()
    embeddings = BethinkEmbeddings(embedder)
    assert isinstance(embeddings, Embeddings)
    expected = [[float(number) for number in row] for row in embedder.embed(["one", "two"])]
    assert embeddings.embed_documents(["one", "two"]) == expected
    assert embeddings.embed_query("two") == expected[1]
    assert embeddings(["one"]) == expected[:1]
    assert embeddings.embed_documents([]) == []
    assert isinstance(BethinkEmbeddings().embedder, StaticEmbedder)


def test_embeddings_can_be_pickled() -> None:
    embeddings = BethinkEmbeddings(HashEmbedder())
    again = pickle.loads(pickle.dumps(embeddings))
    assert type(again) is type(embeddings)
    assert again.embed_query("two") == embeddings.embed_query("two")


def test_nothing_overtakes_a_write_that_is_cancelled() -> None:
    async def overtaking(values: BethinkKeyValueStore, store: SlowStore) -> list[Any]:
        await cancel_in_write(store, values.amset([("k", 1)]), values.amset([("k", 2)]))
        return await values.amget(["k"])

    with SlowStore() as store:
        assert asyncio.run(overtaking(BethinkKeyValueStore(store), store)) == [2]
