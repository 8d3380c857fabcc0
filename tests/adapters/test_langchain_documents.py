"""The retriever and the vector store, against langchain-core itself."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

pytest.importorskip("langchain_core")

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnablePassthrough
from langchain_core.vectorstores import VectorStore

from bethink import MemoryStore, StoreClosedError, Subtree, ValidationError
from bethink_adapters.langchain import BethinkVectorStore, MemoryStoreRetriever
from bethink_adapters.langchain.filtering import where_of

from .contract import SlowStore, cancel_in_write


class Letters(Embeddings):
    """A vector of how often a, b and c stand in a text."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(text.count(letter)) for letter in "abc"] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def texts(documents: list[Document]) -> list[str]:
    return [each.page_content for each in documents]


# -- retriever


def test_a_retriever_returns_what_recall_does(store: MemoryStore) -> None:
    store.store("Standup is at 9:30", author="Ann", thread="t", metadata={"page": 3})
    store.store("The parrot is green")
    (document,) = MemoryStoreRetriever(store=store).invoke("When is the standup?")
    (hit,) = store.recall("When is the standup?")
    assert (document.page_content, document.id) == (hit.memory.content, hit.memory.id)
    told = document.metadata
    assert (told["author"], told["thread"], told["page"]) == ("Ann", "t", 3)
    assert sum(told["explanation"].values()) == pytest.approx(told["score"])


def test_a_retriever_is_a_runnable(store: MemoryStore) -> None:
    store.store("Standup is at 9:30")
    retriever = MemoryStoreRetriever(store=store)
    assert isinstance(retriever, BaseRetriever)
    chain: Any = {"found": retriever, "asked": RunnablePassthrough()} | RunnablePassthrough()
    assert texts(chain.invoke("standup")["found"]) == ["Standup is at 9:30"]
    assert texts(asyncio.run(retriever.ainvoke("standup"))) == ["Standup is at 9:30"]
    assert [texts(each) for each in retriever.batch(["standup", "zebra"])] == [
        ["Standup is at 9:30"],
        [],
    ]


def test_a_retriever_takes_any_text(store: MemoryStore) -> None:
    store.store("The parrot eats seeds.")
    (found,) = MemoryStoreRetriever(store=store).invoke("parrot \udc80 " * 60_000)
    assert found.page_content == "The parrot eats seeds."


def test_a_retriever_keeps_to_its_scope(store: MemoryStore) -> None:
    for user in ("ann", "bob"):
        for number in range(4):
            store.store(f"key {number} of {user}", namespace=f"users/{user}", importance=number / 4)
    one = MemoryStoreRetriever(store=store, namespace="users/ann", k=2)
    assert [each.page_content[-3:] for each in one.invoke("key")] == ["ann"] * 2
    assert len(one.invoke("key", None, k=3)) == 3
    most = MemoryStoreRetriever(
        store=store, namespace=Subtree("users"), where={"importance": {"$gte": 0.75}}
    )
    assert sorted(texts(most.invoke("key"))) == ["key 3 of ann", "key 3 of bob"]
    store.close()
    with pytest.raises(StoreClosedError):
        one.invoke("key")


WITHOUT = """
import sys
from functools import partial
sys.modules["langchain_core"] = sys.modules["langchain"] = sys.modules["langgraph"] = None
from bethink import MemoryStore, MissingExtraError
import bethink_adapters.langchain as ours
from bethink_adapters.langgraph import BethinkSaver

store = MemoryStore()
asking = [partial(make, namespace="default") for make in (ours.MemoryMiddleware, ours.memory_tools)]
makers = [*asking, ours.BethinkVectorStore, ours.BethinkCache, ours.BethinkKeyValueStore,
          BethinkSaver, lambda store: ours.MemoryStoreRetriever]
for make in makers:
    try:
        make(store)
    except MissingExtraError as error:
        print(error)
"""


def test_what_is_missing_is_named() -> None:
    command = [sys.executable, "-c", WITHOUT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert [line.count("pip install '.[") for line in done.stdout.splitlines()] == [1] * 7


# -- vector store


@pytest.fixture(params=[None, Letters()], ids=["own", "given"])
def documents(request: pytest.FixtureRequest, store: MemoryStore) -> BethinkVectorStore:
    return BethinkVectorStore(store, request.param)


def test_documents_come_back_as_they_were(documents: BethinkVectorStore) -> None:
    given = [
        Document(
            page_content="about cab", metadata={"at": datetime(2026, 1, 2, tzinfo=UTC)}, id="1"
        ),
        Document(page_content="", metadata={"deep": {"x": [1, b"\xff"]}}, id="2"),
        Document(page_content=" \n ", metadata={}, id="3"),
        Document(page_content="lone \udc80", metadata={}, id="4"),
        Document(page_content="a" * 600_000, metadata={}, id="5"),
    ]
    assert isinstance(documents, VectorStore)
    assert documents.add_documents(given) == ["1", "2", "3", "4", "5"]
    assert documents.get_by_ids(["5", "1", "none", "2", "3", "4"]) == [given[4], *given[:4]]


@pytest.mark.parametrize("embedding", [None, Letters()], ids=["own", "given"])
def test_documents_can_be_there_from_the_start(store: MemoryStore, embedding: Any) -> None:
    given = [Document(page_content="cab", metadata={"n": 1}, id="1"), Document(page_content="abc")]
    made = BethinkVectorStore.from_documents(given, embedding, store=store)
    assert isinstance(made, VectorStore)
    assert made.get_by_ids(["1"]) == given[:1]
    assert made.store.count(namespace="documents") == 2
    assert texts(made.get_by_ids(made.add_texts(["bca"]))) == ["bca"]


@pytest.mark.parametrize("embedding", [None, Letters()], ids=["own", "given"])
def test_without_a_store_documents_have_one_of_their_own(embedding: Any) -> None:
    given = [Document(page_content="cab", metadata={"n": 1}, id="1"), Document(page_content="abc")]
    awaited = asyncio.run(BethinkVectorStore.afrom_documents(given, embedding, ids=["2", "3"]))
    alone = asyncio.run(BethinkVectorStore.afrom_texts(["cab"], embedding, [{"n": 1}], ids=["1"]))
    with awaited.store, alone.store:
        assert texts(awaited.get_by_ids(["2", "3"])) == ["cab", "abc"]
        assert alone.get_by_ids(["1"]) == given[:1]


@pytest.mark.parametrize("made", ["texts", "documents"])
def test_nothing_overtakes_a_cancelled_start_with_documents(made: str) -> None:
    async def overtaking(store: SlowStore) -> None:
        if made == "texts":
            start = BethinkVectorStore.afrom_texts(["cab"], ids=["1"], store=store)
        else:
            given = [Document(page_content="cab", id="1")]
            start = BethinkVectorStore.afrom_documents(given, store=store)
        await cancel_in_write(store, start, BethinkVectorStore(store).adelete(["1"]))

    with SlowStore() as store:
        asyncio.run(overtaking(store))
        assert store.count(namespace="documents") == 0


def test_words_and_vectors_find_a_document(documents: BethinkVectorStore) -> None:
    documents.add_texts(["The parrot eats seeds", "Invoices are due on Monday"], ids=["1", "2"])
    found = documents.similarity_search_with_score("What does the parrot eat?", k=1)
    assert [each.id for each, _ in found] == ["1"]
    assert 0 < found[0][1] <= 1
    assert documents.similarity_search_with_relevance_scores("parrot", k=1)[0][0].id == "1"
    assert documents.similarity_search("parrot", k=1, mode="keyword")[0].id == "1"
    assert asyncio.run(documents.asimilarity_search("parrot", k=1))[0].id == "1"
    assert documents.as_retriever(search_kwargs={"k": 1}).invoke("parrot")[0].id == "1"


def test_any_text_is_a_question(documents: BethinkVectorStore) -> None:
    documents.add_texts(["The parrot eats seeds"], ids=["1"])
    query = "parrot \udc80 " * 60_000
    assert [each.id for each in documents.similarity_search(query, mode="keyword")] == ["1"]
    assert [each.id for each in documents.max_marginal_relevance_search(query)] == ["1"]


def test_a_given_embedding_returns_k_the_unlike_last(store: MemoryStore) -> None:
    documents = BethinkVectorStore(store, Letters(), mode="semantic")
    documents.add_texts(["ccc", "abb", "aab", "b"])
    found = documents.similarity_search_with_score("a", k=4)
    assert [each.page_content for each, _ in found[:2]] == ["aab", "abb"]
    assert {each.page_content for each, _ in found[2:]} == {"ccc", "b"}
    assert [score for _, score in found[2:]] == [0.0, 0.0]
    assert texts(documents.similarity_search("a", k=3))[:2] == ["aab", "abb"]
    assert len(documents.similarity_search("a", k=3)) == 3
    assert texts(documents.similarity_search_by_vector([0.0, 0.0, 1.0], k=1)) == ["ccc"]
    assert texts(documents.similarity_search("a", k=4, filter={"none": 1})) == []


DIRECTIONS = {"east": [1.0, 0.0], "nearly east": [0.99, 0.141], "north-east": [0.6, 0.8]}


class Directions(Embeddings):
    """Vectors in a plane, by name."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [DIRECTIONS.get(text, [1.0, 0.0]) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def old_and_new(mode: Any) -> tuple[BethinkVectorStore, list[float]]:
    """Return a store with an old document, a newer and the newest, and the hands of its clock."""
    hands = [1.7e9]
    documents = BethinkVectorStore(
        MemoryStore(":memory:", clock=lambda: hands[0]), Directions(), mode=mode
    )
    for name in DIRECTIONS:
        documents.add_texts([name], ids=[name])
        hands[0] += 180 * 86_400
    return documents, hands


@pytest.mark.parametrize("mode", ["semantic", "hybrid", "keyword"])
def test_a_search_leaves_the_next_search_as_it_was(mode: Any) -> None:
    documents, _ = old_and_new(mode)

    def search() -> list[Any]:
        documents.max_marginal_relevance_search("east", k=1)
        documents.similarity_search_by_vector([0.6, 0.8], k=1)
        found = documents.similarity_search_with_score("east", k=3)
        return [(each.id, score) for each, score in found]

    first = search()
    assert first[0][0] == "east"
    assert [search() for _ in range(3)] == [first] * 3
    assert all(each.access_count == 0 for each in documents.store.all(namespace="documents"))
    documents.store.close()


def test_semantic_scores_are_cosines_whatever_the_age() -> None:
    documents, hands = old_and_new("semantic")
    for _ in range(2):
        found = documents.similarity_search_with_score("a question to the east", k=3)
        assert [each.id for each, _ in found] == list(DIRECTIONS)
        assert [score for _, score in found] == pytest.approx([1.0, 0.99, 0.6], abs=1e-4)
        assert [e.id for e in documents.similarity_search_by_vector([1.0, 0.0], k=1)] == ["east"]
        hands[0] += 365 * 86_400
    documents.store.close()


def test_an_equal_text_has_the_score_1_by_the_own_embedder(store: MemoryStore) -> None:
    documents = BethinkVectorStore(store, mode="semantic")
    documents.add_texts(["The parrot eats seeds"])
    ((_, score),) = documents.similarity_search_with_score("The parrot eats seeds")
    assert score == pytest.approx(1.0, abs=1e-4)
    assert score <= 1


@pytest.mark.parametrize("mode", ["semantic", "hybrid", "keyword"])
@pytest.mark.parametrize("embedding", [None, Letters()], ids=["own", "given"])
def test_relevance_is_the_cosine_in_every_mode(
    store: MemoryStore, mode: Any, embedding: Any
) -> None:
    documents = BethinkVectorStore(store, embedding, mode=mode)
    documents.add_texts(["a bat", "a cab and a bat, all day long in a bag"], ids=["1", "2"])
    found = documents.similarity_search_with_relevance_scores("a bat")
    awaited = asyncio.run(documents.asimilarity_search_with_relevance_scores("a bat"))
    assert awaited == found
    assert [each.id for each, _ in found] == ["1", "2"]
    assert found[0][1] == pytest.approx(1.0, abs=1e-4)
    assert 0 < found[1][1] < found[0][1] <= 1
    options = {"score_threshold": 0.999}
    strict = documents.as_retriever(search_type="similarity_score_threshold", search_kwargs=options)
    assert [each.id for each in strict.invoke("a bat")] == ["1"]
    with pytest.raises(ValidationError, match="mode must be one of"):
        documents.similarity_search_with_relevance_scores("a bat", mode="near")


class Awaited(Letters):
    """Embeddings that only work when awaited, and note the thread."""

    def __init__(self) -> None:
        self.threads = set[int]()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise AssertionError("the event loop waits")

    def embed_query(self, text: str) -> list[float]:
        raise AssertionError("the event loop waits")

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        self.threads.add(threading.get_ident())
        return Letters().embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        (found,) = await self.aembed_documents([text])
        return found


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_async_calls_await_the_embeddings(store: MemoryStore, mode: Any) -> None:
    async def run() -> list[list[str]]:
        given, more = [Document(page_content="ccc")], [Document(page_content="aab")]
        start = await BethinkVectorStore.afrom_texts(["cab"], embedding, store=store, mode=mode)
        await BethinkVectorStore.afrom_documents(given, embedding, store=store)
        await start.aadd_texts(["aaa"])
        await start.aadd_documents([*more, Document(page_content="b", id="1")])
        assert await start.aadd_texts([]) == []
        scored = await start.asimilarity_search_with_score("a", k=2)
        relevant = await start.asimilarity_search_with_relevance_scores("a", k=2)
        found = [
            await start.asimilarity_search("a", k=2),
            [each for each, _ in scored],
            [each for each, _ in relevant],
            await start.amax_marginal_relevance_search("a", k=2, lambda_mult=1.0),
            await start.as_retriever(search_kwargs={"k": 2}).ainvoke("a"),
        ]
        return list(map(texts, found))

    embedding = Awaited()
    assert asyncio.run(run()) == [["aaa", "aab"]] * 5
    assert embedding.threads == {threading.get_ident()}
    assert store.count(namespace="documents") == 5


def test_a_keyword_search_awaits_no_embedding(store: MemoryStore) -> None:
    class Failing(Letters):
        async def aembed_query(self, text: str) -> list[float]:
            raise AssertionError("words need no vector")

    documents = BethinkVectorStore(store, Failing(), mode="keyword")
    documents.add_texts(["The parrot eats seeds"])
    assert len(asyncio.run(documents.asimilarity_search("parrot"))) == 1


def test_embeddings_without_async_methods_do(store: MemoryStore) -> None:
    class Plain:
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return Letters().embed_documents(texts)

        def embed_query(self, text: str) -> list[float]:
            return Letters().embed_query(text)

    async def run() -> list[str]:
        await made.aadd_texts(["abc", "ccc"])
        return texts(await made.asimilarity_search("c", k=1))

    made = BethinkVectorStore(store, Plain())  # type: ignore[arg-type]
    assert asyncio.run(run()) == ["ccc"]


def test_the_own_embedder_leaves_out_what_is_unrelated(store: MemoryStore) -> None:
    documents = BethinkVectorStore.from_texts(["The parrot eats seeds"], store=store)
    assert documents.similarity_search("quarterly invoices") == []
    with pytest.raises(ValidationError, match="needs the embedding"):
        documents.similarity_search_by_vector([1.0, 0.0])


def test_filters_are_on_metadata(documents: BethinkVectorStore) -> None:
    documents.add_texts(
        ["bat one", "bat two", "bat three"],
        [{"lang": "en", "page": 1}, {"lang": "de", "page": 2}, {"lang": "de", "page": 3}],
    )

    def found(**filter: Any) -> set[str]:
        return set(texts(documents.similarity_search("bat", filter=filter)))

    assert found(lang="de") == {"bat two", "bat three"}
    assert found(lang="de", page={"$gte": 3}) == {"bat three"}
    assert found(**{"$or": [{"page": 1}, {"page": 3}]}) == {"bat one", "bat three"}
    assert found(**{"$not": {"lang": "de"}}) == {"bat one"}
    with pytest.raises(ValidationError, match="must be a mapping"):
        documents.similarity_search("bat", filter=lambda document: True)  # type: ignore[arg-type]


MORNING = datetime(2026, 5, 1, 6, tzinfo=UTC)
ODD: dict[str, Any] = {
    "when": MORNING,
    "local": datetime(2026, 5, 1, 6),
    "day": date(2026, 5, 1),
    "length": timedelta(hours=1),
    "id": UUID(int=3),
    "tags": ("x", "y"),
    "set": {"q", UUID(int=3)},
    "price": Decimal("1.5"),
    "deep": {"when": MORNING, "n": 1},
    "n": 3,
}
SAME_MOMENT = MORNING.astimezone(timezone(timedelta(hours=2)))
FINDING: list[dict[str, Any]] = [
    {"when": MORNING},
    {"when": SAME_MOMENT},
    {"when": {"$gte": SAME_MOMENT, "$lte": SAME_MOMENT}},
    {"when": {"$gt": MORNING - timedelta(microseconds=1)}},
    {"when": {"$in": [MORNING, 7]}},
    {"when": {"$ne": MORNING + timedelta(1)}},
    {"when": {"$not": {"$gt": MORNING}}},
    {"local": datetime(2026, 5, 1, 6)},
    {"local": {"$lt": datetime(2026, 5, 1, 6, 0, 1)}},
    {"day": date(2026, 5, 1)},
    {"day": {"$gte": date(2026, 5, 1), "$lt": date(2026, 5, 2)}},
    {"length": {"$gt": timedelta(minutes=59)}},
    {"id": UUID(int=3)},
    {"id": {"$in": [UUID(int=3), UUID(int=4)]}},
    {"tags": ("x", "y")},
    {"tags": {"$contains": "x"}},
    {"tags": {"$contains_any": ["z", "y"]}},
    {"set": {"$contains": UUID(int=3)}},
    {"set": {UUID(int=3), "q"}},
    {"price": Decimal("1.5")},
    {"deep": {"when": MORNING, "n": 1}},
    {"deep.when": {"$lte": SAME_MOMENT}},
    {"$or": [{"day": date(2000, 1, 1)}, {"n": {"$gt": 2}}]},
    {"$not": {"day": date(2000, 1, 1)}},
    {"missing": None},
    {"missing": {"$in": [1, None]}},
    {"n": {"$in": [MORNING, 3]}},
]
MISSING: list[dict[str, Any]] = [
    {"when": MORNING.replace(tzinfo=None)},
    {"when": {"$gt": MORNING}},
    {"when": {"$ne": SAME_MOMENT}},
    {"when": {"$nin": [SAME_MOMENT]}},
    {"local": {"$gte": MORNING - timedelta(1)}},
    {"day": {"$gt": date(2026, 5, 1)}},
    {"day": {"$gt": datetime(2026, 1, 1)}},
    {"id": UUID(int=4)},
    {"id": {"$nin": [UUID(int=3)]}},
    {"missing": {"$ne": UUID(int=4)}},
    {"missing": {"$nin": [MORNING]}},
    {"tags": {"$contains": "z"}},
    {"tags": {"$not": {"$contains": "x"}}},
    {"deep": {"$contains": 1}},
    {"n": {"$gte": MORNING}},
    {"n": {"$nin": [MORNING, 3]}},
]


@pytest.mark.parametrize("filter", FINDING, ids=repr)
def test_filters_take_the_types_of_metadata(store: MemoryStore, filter: dict[str, Any]) -> None:
    documents = BethinkVectorStore.from_texts(["a parrot"], None, [ODD], store=store)
    assert texts(documents.similarity_search("parrot", filter=filter)) == ["a parrot"]


def test_a_list_of_values_is_a_single_condition() -> None:
    (listed,) = where_of({"n": {"$in": [1, 2]}})["$and"]  # type: ignore[index]
    assert listed == {"$or": [{"metadata.n": {"$in": [1, 2]}}]}


@pytest.mark.parametrize("filter", MISSING, ids=repr)
def test_filters_on_other_values_find_nothing(store: MemoryStore, filter: dict[str, Any]) -> None:
    documents = BethinkVectorStore.from_texts(["a parrot"], None, [ODD], store=store)
    assert documents.similarity_search("parrot", filter=filter) == []


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({"$gt": UUID(int=1)}, "needs a value with an order, not a uuid"),
        ({"$lt": Decimal(1)}, "needs a value with an order, not a decimal"),
        ({"$gte": ("x",)}, "needs a value with an order, not a tuple"),
        ({"$gte": [1]}, "needs a number or a str"),
        ({"$between": [1, 2]}, "unknown operator"),
        ({"$in": "text"}, "needs a list"),
        ({"$gt": 1, "b": 2}, "operators beside names|unknown operator"),
        (Fraction(1, 2), "metadata.n holds a value of type Fraction"),
    ],
    ids=repr,
)
def test_filters_without_a_meaning_are_refused(
    documents: BethinkVectorStore, condition: Any, message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        documents.similarity_search("bat", filter={"n": condition})


def test_diverse_documents_do_not_repeat_one_another(documents: BethinkVectorStore) -> None:
    documents.add_texts(["a parrot eats", "a parrot eats", "a bat sleeps, a parrot does not"])
    found = documents.max_marginal_relevance_search("a parrot", k=2, lambda_mult=0.1)
    assert sorted(texts(found)) == ["a bat sleeps, a parrot does not", "a parrot eats"]


def test_diverse_documents_by_vector(store: MemoryStore) -> None:
    documents = BethinkVectorStore.from_texts(["aa", "aaa", "aab"], Letters(), store=store)
    found = documents.max_marginal_relevance_search_by_vector([1.0, 0.0, 0.0], 2, lambda_mult=0.2)
    assert texts(found)[1] == "aab"


@pytest.mark.parametrize("erase", [False, True])
def test_deleting_documents_forgets_or_erases(tmp_path: Path, erase: bool) -> None:
    path = tmp_path / "memory.db"
    with MemoryStore(path) as store:
        documents = BethinkVectorStore(store, erase=erase)
        documents.add_texts(["a cobalt pot", "a door"], ids=["1", "2"])
        documents.delete(["1", "none"])
        assert [each.id for each in documents.get_by_ids(["1", "2"])] == ["2"]
    assert (b"cobalt" in path.read_bytes()) == (not erase)


def test_a_new_version_supersedes_and_a_deleted_one_is_gone(
    documents: BethinkVectorStore, store: MemoryStore
) -> None:
    documents.add_texts(["a first"], ids=["1"])
    documents.add_texts(["a second", "a third"], ids=["1", "2"])
    assert sorted(texts(documents.similarity_search("a"))) == ["a second", "a third"]
    assert [each.content for each in store.audit("1", namespace="documents")][-2:] == [
        "a first",
        "a second",
    ]
    documents.delete(["1", "none"])
    documents.delete([])
    assert texts(documents.get_by_ids(["1", "2"])) == ["a third"]
    documents.delete()
    assert store.count(namespace="documents") == 0


def test_collections_have_vectors_of_their_own(store: MemoryStore) -> None:
    small = BethinkVectorStore(store, DeterministicFakeEmbedding(size=4), namespace="small")
    large = BethinkVectorStore(store, DeterministicFakeEmbedding(size=9), namespace="large")
    for each in (small, large):
        each.add_texts(["bat"])
        assert texts(each.similarity_search("bat")) == ["bat"]
    assert store.dimension("langchain/large") == 9


def test_all_texts_are_added_or_none(documents: BethinkVectorStore, store: MemoryStore) -> None:
    refused: Any = ({"ids": ["1"]}, {"metadatas": [{}]}, {"ids": ["1", "x" * 5000]})
    for wrong in refused:
        with pytest.raises(ValidationError):
            documents.add_texts(["one", "two"], **wrong)
    assert documents.add_texts([]) == []
    assert store.count(namespace="documents") == 0
    assert len(documents.add_texts(["one"], [], ids=[])) == 1


def test_a_long_text_edited_in_the_store_comes_back_as_edited(store: MemoryStore) -> None:
    documents = BethinkVectorStore(store, DeterministicFakeEmbedding(size=8))
    long = "a parrot " * 60_000
    documents.add_texts([long, "  "], ids=["a", "b"])
    (record,) = store.all(namespace=documents.namespace, where={"key": "a"})
    store.update(record.id, content="a grey parrot")
    store.update(store.all(namespace=documents.namespace, where={"key": "b"})[0].id, importance=1.0)
    found = [each.page_content for each in documents.get_by_ids(["a", "b"])]
    assert found == ["a grey parrot", "  "]
