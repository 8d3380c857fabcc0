"""Document store and retriever against Haystack itself."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"
pytest.importorskip("haystack.hooks")

from haystack import Document, Pipeline, component
from haystack.components.retrievers import TextEmbeddingRetriever
from haystack.core.serialization import allow_deserialization_module
from haystack.dataclasses import ByteStream, SparseEmbedding
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from haystack.utils.filters import document_matches_filter

from bethink import EVERYWHERE, MemoryRecord, MemoryStore
from bethink_adapters.haystack import (
    BethinkDocumentStore,
    BethinkRetriever,
)
from bethink_adapters.haystack.documents import narrowed, to_document

from .contract import (
    MeetingStore,
    SlowStore,
    cancel_in_write,
)

allow_deserialization_module("bethink_adapters.*")
allow_deserialization_module("tests.*")


@component
class Pointing:
    """A text embedder whose every embedding is the same."""

    def __init__(self, embedding: list[float]) -> None:
        self.embedding = embedding

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        return {"embedding": self.embedding}


@pytest.fixture
def documents(store: MemoryStore) -> BethinkDocumentStore:
    return BethinkDocumentStore(store)


@pytest.mark.parametrize(
    "document",
    [
        Document(content="Tea.", meta={"lang": "en", "parts": {"a": [1, None]}}),
        Document(content="Tea.", embedding=[0.1, 1 / 3, -2.0]),
        Document(content=" "),
        Document(content=""),
        Document(content=None, meta={"lang": "en"}),
        Document(content="x" * 600_000),
        Document(blob=ByteStream(b"\x00\xff", meta={"a": 1}, mime_type="image/png")),
        Document(content="Tea.", sparse_embedding=SparseEmbedding([1, 5], [0.5, 0.25])),
        Document(id="own / id", content="Tea.", score=0.3),
    ],
)
def test_documents_come_back_as_they_went_in(
    documents: BethinkDocumentStore, document: Document
) -> None:
    documents.write_documents([document])
    assert documents.filter_documents() == [document]


def test_times_and_uuids_in_meta_become_texts(documents: BethinkDocumentStore) -> None:
    at, id = datetime(2026, 3, 1, 9, tzinfo=UTC), UUID(int=7)
    documents.write_documents([Document(content="x", meta={"at": at, "ids": [id]})])
    one: dict[str, Any] = {"field": "meta.at", "operator": ">=", "value": at.isoformat()}
    documents.update_by_filter(one, {"day": at.date()})
    (kept,) = documents.filter_documents(one)
    assert kept.meta == {"at": at.isoformat(), "ids": [str(id)], "day": "2026-03-01"}


def test_documents_are_written_all_or_none(documents: BethinkDocumentStore) -> None:
    one, two = Document(id="1", content="one"), Document(id="2", content="two")
    documents.write_documents([one])
    with pytest.raises(DuplicateDocumentError):
        documents.write_documents([two, one])
    with pytest.raises(DuplicateDocumentError):
        documents.write_documents([two, two])
    assert documents.filter_documents() == [one]
    assert documents.write_documents([two, one, two], DuplicatePolicy.SKIP) == 1
    new = Document(id="1", content="new")
    assert documents.write_documents([one, new], DuplicatePolicy.OVERWRITE) == 2
    assert documents.filter_documents() == [two, new]


@pytest.mark.parametrize("erase", [False, True])
def test_deleting_documents_erases_on_request(tmp_path: Path, erase: bool) -> None:
    path = tmp_path / "memory.db"
    with MemoryStore(path) as store:
        documents = BethinkDocumentStore(store, erase=erase)
        for text in ("Quetzal old", "Quetzal new"):
            document = Document(id="1", content=text, meta={"of": "ann"})
            documents.write_documents([document], DuplicatePolicy.OVERWRITE)
        documents.write_documents([Document(id="2", content="Quetzal by id")])
        of_ann = {"field": "meta.of", "operator": "==", "value": "ann"}
        assert documents.delete_by_filter(of_ann) == 1
        documents.delete_documents(["2"])
        assert documents.count_documents() == 0
    assert (b"Quetzal" in path.read_bytes()) is not erase


@pytest.mark.parametrize("nothing", [{}, None])
def test_filters_that_say_nothing_change_nothing(
    documents: BethinkDocumentStore, nothing: Any
) -> None:
    document = Document(content="Tea.")
    documents.write_documents([document])
    with pytest.raises(FilterError):
        documents.delete_by_filter(nothing)
    with pytest.raises(FilterError):
        documents.update_by_filter(nothing, {"lang": "en"})
    assert documents.filter_documents() == [document]


def test_an_update_leaves_other_fields(documents: BethinkDocumentStore) -> None:
    documents.write_documents([Document(content="x", embedding=[], meta={"a": "1", "b": 2})])
    chosen = {"field": "meta.a", "operator": "==", "value": "1"}
    assert documents.update_by_filter(chosen, {"a": 3}) == 1
    assert documents.filter_documents()[0].meta == {"a": 3, "b": 2}


def test_of_documents_written_at_once_one_is_new() -> None:
    with MeetingStore() as store, ThreadPoolExecutor(2) as pool:
        documents = BethinkDocumentStore(store)
        skip = DuplicatePolicy.SKIP
        pair = [[Document(id="1", content=text)] for text in "ab"]
        written = list(pool.map(lambda each: documents.write_documents(each, skip), pair))
        assert sorted(written) == [0, 1]


def test_a_cancelled_write_does_not_overtake_a_deletion() -> None:
    async def deleting(slow: SlowStore) -> None:
        documents = BethinkDocumentStore(slow)
        write = documents.write_documents_async([Document(content="Old.")])
        await cancel_in_write(slow, write, documents.delete_all_documents_async())

    with SlowStore() as slow:
        asyncio.run(deleting(slow))
        assert not slow.count(namespace=EVERYWHERE)


def test_a_retriever_keeps_its_filters_when_a_run_gives_empty_ones(
    documents: BethinkDocumentStore,
) -> None:
    documents.write_documents([Document(content="Tea.", meta={"of": user}) for user in "ab"])
    mine = {"field": "meta.of", "operator": "==", "value": "a"}
    (found,) = BethinkRetriever(documents, filters=mine).run("tea", filters={})["documents"]
    assert found.meta == {"of": "a"}


def test_documents_are_found_by_words_and_by_vectors(documents: BethinkDocumentStore) -> None:
    tea = Document(content="Tea is at four.", embedding=[1.0, 0.0], meta={"lang": "en"})
    tee = Document(content="Tee gibt es um vier.", embedding=[0.0, 1.0], meta={"lang": "de"})
    documents.write_documents([tea, tee])
    retriever = BethinkRetriever(documents)
    german = {"field": "meta.lang", "operator": "==", "value": "de"}
    for asked, expected in (
        ({"query": "When is tea?"}, tea),
        ({"query_embedding": [0.1, 1.0]}, tee),
        ({"query": "tea tee", "filters": german}, tee),
        ({"query": "Tea", "query_embedding": [1.0, 0.0], "top_k": 1}, tea),
    ):
        best = retriever.run(**asked)["documents"][0]
        assert (best.id, best.embedding) == (expected.id, expected.embedding)
        assert best.score
    nothing = {"field": "meta.lang", "operator": "==", "value": "fr"}
    assert retriever.run("tea", filters=nothing) == {"documents": []}


def test_components_that_embed_the_query_take_the_retriever(
    documents: BethinkDocumentStore,
) -> None:
    tea = Document(content="Tea is at four.", embedding=[1.0, 0.0])
    documents.write_documents([tea, Document(content="Tee um vier.", embedding=[0.0, 1.0])])
    inner: Any = BethinkRetriever(documents)
    retriever = TextEmbeddingRetriever(retriever=inner, text_embedder=Pointing([1.0, 0.1]))
    assert [found.id for found in retriever.run("Heißes?", top_k=1)["documents"]] == [tea.id]


@pytest.mark.parametrize("query", ["tea \ud83e", "tea " * 140_000], ids=["broken", "long"])
def test_any_text_is_a_query(store: MemoryStore, query: str) -> None:
    documents = BethinkDocumentStore(store)
    documents.write_documents([Document(content="Tea is at four.")])
    assert [found.content for found in documents.search(query)] == ["Tea is at four."]


def test_a_memory_written_back_is_there_once(store: MemoryStore) -> None:
    store.store("Without a key.", namespace="ann")
    memories = BethinkDocumentStore(store, namespace="ann")
    (found,) = memories.filter_documents()
    with pytest.raises(DuplicateDocumentError):
        memories.write_documents([found])
    assert memories.write_documents([found], DuplicatePolicy.SKIP) == 0
    assert memories.write_documents([found], DuplicatePolicy.OVERWRITE) == 1
    assert [each.id for each in memories.filter_documents()] == [found.id]


def test_a_memory_about_a_document_is_not_taken_for_one(store: MemoryStore) -> None:
    store.store("Ann signed it.", value={"document": "contract.pdf"}, author="ann")
    (found,) = BethinkDocumentStore(store, namespace="default").filter_documents()
    assert (found.content, found.meta["author"]) == ("Ann signed it.", "ann")


def test_a_pipeline_can_be_dumped_and_loaded(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "memory.db") as store:
        pipeline = Pipeline()
        pipeline.add_component("retriever", BethinkRetriever(BethinkDocumentStore(store), top_k=3))
        BethinkDocumentStore(store).write_documents([Document(content="Tea is at four.")])
        dumped = pipeline.dumps()
    loaded = Pipeline.loads(dumped)
    (found,) = loaded.run({"retriever": {"query": "tea"}})["retriever"]["documents"]
    assert found.content == "Tea is at four."
    retriever: Any = loaded.get_component("retriever")
    retriever.document_store.store.close()


DAYS = ("2020-01-01", "2020-01-01T00:00:00")
VALUES = (None, True, 1, 1.0, 2, "", "x", "1", *DAYS, [1], {"c": "x"})
COMPARISONS: list[dict[str, Any]] = [
    {"field": field, "operator": operator, "value": [value, "x"] if "in" in operator else value}
    for field in ("meta.a", "meta.b", "meta.b.c", "meta.author", "content", "a")
    for operator in ("==", "!=", "in", "not in")
    for value in VALUES
]


def test_filters_mean_what_haystack_means(documents: BethinkDocumentStore) -> None:
    metas: list[dict[str, Any]] = [{name: value} for name in "ab" for value in VALUES]
    written = [Document(id=str(at), content="x", meta=meta) for at, meta in enumerate(metas)]
    documents.write_documents(written)
    for one, other in pairwise(COMPARISONS):
        nested: dict[str, Any] = {"operator": "NOT", "conditions": [one]}
        wholes: list[dict[str, Any]] = [
            {"operator": operator, "conditions": [part, other]}
            for operator in ("AND", "OR", "NOT")
            for part in (one, nested)
        ]
        for filters in (one, nested, *wholes):
            passing = [each.id for each in written if document_matches_filter(filters, each)]
            found = [each.id for each in documents.filter_documents(filters)]
            assert found == passing, filters


def test_the_least_and_greatest_values_are_those_of_haystack(
    documents: BethinkDocumentStore,
) -> None:
    theirs: Any = InMemoryDocumentStore()
    metas: list[dict[str, Any]] = [{name: value} for name in "abc" for value in VALUES]
    metas += [{"d": 2.5}, {"d": [1]}, {"d": 1}, {"e": "y"}, {"e": {"c": 1}}, {"e": "x"}, {"f": [1]}]
    written = [Document(id=str(at), content="x", meta=meta) for at, meta in enumerate(metas)]
    for kept in (documents, theirs):
        kept.write_documents(written)
    for field in "abcdefg":
        found = documents.get_metadata_field_min_max(field)
        assert found == theirs.get_metadata_field_min_max(field), field


def test_values_of_a_field_are_told_without_the_documents(
    documents: BethinkDocumentStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    metas: list[dict[str, Any]] = [{"n": n, "a.b": n, "of": "xy"[n % 2]} for n in range(6)]
    documents.write_documents([Document(content="Tea.", meta=meta) for meta in metas])
    monkeypatch.delattr("bethink_adapters.haystack.document_store.to_document")
    few = {"field": "meta.of", "operator": "==", "value": "y"}
    for name in ("n", "meta.a.b"):
        assert documents.get_metadata_field_unique_values(name, filters=few) == ([1, 3, 5], 3)
        assert documents.get_metadata_field_min_max(name) == {"min": 0, "max": 5}
    assert documents.count_unique_metadata_by_filter(few, ["n", "of"]) == {"n": 3, "of": 1}


def test_an_authors_name_is_a_field(store: MemoryStore) -> None:
    store.store("Ann signed it.", author="ann", metadata={"author": "nobody"})
    memories = BethinkDocumentStore(store, namespace="default")
    assert memories.get_metadata_field_unique_values("author") == (["ann"], 1)


def test_what_cannot_pass_a_filter_is_not_even_read(store: MemoryStore) -> None:
    documents = BethinkDocumentStore(store)
    metas: list[dict[str, Any]] = [{"a": "x", "b": "y"}, {"a": "x"}, {"b": "y"}]
    documents.write_documents([Document(content="x", meta=meta) for meta in metas])
    one = {"field": "meta.a", "operator": "==", "value": "x"}
    two = {"field": "meta.b", "operator": "in", "value": ["y", "z"]}
    both = {"operator": "AND", "conditions": [one, two]}
    either = {"operator": "OR", "conditions": [one, {**two, "value": ["z"]}]}
    digits, dashed = ({**one, "value": value} for value in ("42", "user-42"))
    numbers = [
        store.count(namespace="documents", where=narrowed(each)[0])
        for each in (one, two, both, either, digits, dashed)
    ]
    assert numbers == [2, 2, 1, 2, 0, 0]


LESS: dict[str, Any] = {"field": "meta.n", "operator": "<", "value": 4}
NOT_TWO: dict[str, Any] = {
    "operator": "NOT",
    "conditions": [{"field": "meta.n", "operator": "==", "value": 2}],
}
EARLY: dict[str, Any] = {"field": "meta.day", "operator": "<=", "value": "2024-05-04"}


@pytest.mark.parametrize("conditions", [[LESS, NOT_TWO], [EARLY, NOT_TWO], [NOT_TWO, LESS, EARLY]])
def test_a_filtered_search_reads_only_what_is_found(
    documents: BethinkDocumentStore, monkeypatch: pytest.MonkeyPatch, conditions: Any
) -> None:
    metas: list[dict[str, Any]] = [{"n": n, "day": f"2024-05-0{n + 1}"} for n in range(9)]
    documents.write_documents([Document(id=str(m["n"]), content="Tea.", meta=m) for m in metas])
    read = []

    def noting(record: MemoryRecord, score: float | None = None) -> Document:
        read.append(str(record.key))
        return to_document(record, score)

    monkeypatch.setattr("bethink_adapters.haystack.document_store.to_document", noting)
    documents.search("tea", filters={"operator": "AND", "conditions": conditions})
    assert sorted(read) == ["0", "1", "3"]


def test_only_a_document_that_is_compared_raises_an_error(documents: BethinkDocumentStore) -> None:
    metas = [{"day": "2024-05-01", "lang": "en"}, {"day": "some day", "lang": "de"}, {}]
    documents.write_documents([Document(content="Tea.", meta=meta) for meta in metas])
    english = {"field": "meta.lang", "operator": "==", "value": "en"}
    (found,) = documents.filter_documents({"operator": "AND", "conditions": [english, EARLY]})
    assert found.meta["day"] == "2024-05-01"
    with pytest.raises(FilterError):
        documents.filter_documents(EARLY)


def test_a_number_is_compared_with_numbers_alone(documents: BethinkDocumentStore) -> None:
    metas: list[dict[str, Any]] = [{"n": value} for value in (1, 2, 2.5, "3", None, [4], -1)]
    documents.write_documents([Document(content="Tea.", meta=meta) for meta in [*metas, {}]])
    for operator, expected in ((">", [2.5]), (">=", [2, 2.5]), ("<", [1, -1]), ("<=", [1, 2, -1])):
        filters = {"field": "meta.n", "operator": operator, "value": 2}
        assert [found.meta["n"] for found in documents.filter_documents(filters)] == expected


def steps_of(connection: sqlite3.Connection, call: Callable[[], object]) -> int:
    """Return how many steps of SQLite *call* takes on *connection*."""
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    connection.set_progress_handler(step, 1)
    call()
    connection.set_progress_handler(None, 0)
    return steps


def test_deleting_a_document_reads_no_other(store: MemoryStore) -> None:
    steps, documents = list[int](), BethinkDocumentStore(store)
    for beside in (100, 1000):
        documents.write_documents([Document(id=f"{beside}/{n}") for n in range(beside)])
        with store._engine.writing() as transaction:
            connection = transaction.writer._connection  # type: ignore[attr-defined]
        steps.append(steps_of(connection, partial(documents.delete_documents, [f"{beside}/7"])))
    assert 0 < steps[1] < steps[0] + 100


def test_writing_a_document_reads_no_other(store: MemoryStore) -> None:
    steps, documents = list[int](), BethinkDocumentStore(store)
    for beside in (100, 1000):
        documents.write_documents([Document(id=f"{beside}/{n}") for n in range(beside)])
        new = Document(id=f"new {beside}", content="x")
        with store._engine.backend._connections.reading() as connection:  # type: ignore[attr-defined]
            steps.append(steps_of(connection, partial(documents.write_documents, [new])))
    assert steps[1] < steps[0] + 100


def test_a_long_text_edited_in_the_store_comes_back_as_edited(store: MemoryStore) -> None:
    documents = BethinkDocumentStore(store)
    documents.write_documents([Document(id="a", content="a parrot " * 60_000)])
    (record,) = store.all(namespace=EVERYWHERE)
    store.update(record.id, content="a grey parrot")
    (found,) = documents.filter_documents()
    assert found.content == "a grey parrot"


@pytest.mark.parametrize("sign", [">", ">=", "<", "<="])
@pytest.mark.parametrize("number", [0, 1, 0.5, -1])
def test_a_truth_value_is_compared_with_a_number_as_in_haystack(
    store: MemoryStore, sign: str, number: float
) -> None:
    documents = BethinkDocumentStore(store)
    documents.write_documents([Document(id=str(each), meta={"p": each}) for each in (True, False)])
    asked = {"field": "meta.p", "operator": sign, "value": number}
    every = documents.filter_documents()
    wanted = [each.id for each in every if document_matches_filter(asked, each)]
    assert [each.id for each in documents.filter_documents(asked)] == wanted
