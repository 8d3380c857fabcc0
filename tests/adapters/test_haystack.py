"""Hooks, document store and retriever against Haystack itself, with a scripted generator."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"
pytest.importorskip("haystack.hooks")

from haystack import Document, Pipeline, component
from haystack.components.agents import Agent
from haystack.components.agents.state import State
from haystack.components.retrievers import TextEmbeddingRetriever
from haystack.core.serialization import allow_deserialization_module
from haystack.dataclasses import ByteStream, ChatMessage, SparseEmbedding, ToolCall
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from haystack.tools.tool import Tool
from haystack.utils.filters import document_matches_filter

from bethink import EVERYWHERE, MemoryStore, StoreClosedError, Subtree, ValidationError
from bethink.features.packing.layout import INTRODUCTION
from bethink_adapters.haystack import (
    BethinkDocumentStore,
    BethinkRetriever,
    RecallHook,
    RememberHook,
    erase_user,
    memory_hooks,
)
from bethink_adapters.haystack.documents import narrowed

from .contract import (
    AdapterContract,
    GatedStore,
    MeetingStore,
    SlowStore,
    cancel_at_gate,
    cancel_in_write,
    place,
)

EXAMPLE = Path(__file__).parents[2] / "examples" / "haystack_agent.py"

allow_deserialization_module("bethink_adapters.*")
allow_deserialization_module("tests.*")


@component
class Scripted:
    """A chat generator that gives *replies*, the last one for ever, and notes what it is shown."""

    def __init__(self, *replies: ChatMessage) -> None:
        self.replies = list(replies) or [ChatMessage.from_assistant("Noted.")]
        self.prompts: list[list[str]] = []

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None) -> dict[str, list[ChatMessage]]:
        self.prompts.append(["\n".join(message.texts) for message in messages])
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return {"replies": [reply]}


@component
class Pointing:
    """A text embedder whose every embedding is the same."""

    def __init__(self, embedding: list[float]) -> None:
        self.embedding = embedding

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        return {"embedding": self.embedding}


def said(*texts: str) -> list[ChatMessage]:
    return [ChatMessage.from_user(text) for text in texts]


def run(
    hooks: Mapping[Any, Any],
    messages: list[ChatMessage],
    *replies: ChatMessage,
    context: Mapping[str, Any] | None = None,
    tools: list[Tool] | None = None,
) -> tuple[dict[str, Any], list[list[str]]]:
    """Run an agent; return its result and what the model was shown in each call."""
    generator = Scripted(*replies)
    agent = Agent(chat_generator=generator, hooks=dict(hooks), tools=tools)
    return agent.run(messages, hook_context=dict(context or {})), generator.prompts


def texts(result: Mapping[str, Any]) -> list[str]:
    return ["\n".join(message.texts) for message in result["messages"]]


def test_recalled_text_is_data_in_front_of_the_question(store: MemoryStore) -> None:
    store.store("Ann likes pizza Margherita.")
    result, prompts = run(memory_hooks(store, namespace="default"), said("Hello.", "Which pizza?"))
    greeting, block, question = prompts[0]
    assert (greeting, question) == ("Hello.", "Which pizza?")
    assert block.startswith(INTRODUCTION)
    assert "Ann likes pizza Margherita." in block
    assert texts(result) == ["Hello.", "Which pizza?", "Noted."]
    assert result["last_message"].text == "Noted."


def test_it_is_shown_once_in_a_run_of_many_calls(store: MemoryStore) -> None:
    kept = store.store("Ann likes pizza Margherita.")
    call = ChatMessage.from_assistant(tool_calls=[ToolCall("oven", {})])
    oven = Tool("oven", "Heat.", {"type": "object", "properties": {}}, lambda: "hot")
    reply = ChatMessage.from_assistant("Done.")
    result, prompts = run(
        memory_hooks(store, namespace="default"), said("Which pizza?"), call, reply, tools=[oven]
    )
    assert [str(prompt).count("Margherita") for prompt in prompts] == [1, 1]
    assert texts(result) == ["Which pizza?", "", "", "Done."]
    after = store.get(kept.id)
    assert after is not None
    assert after.access_count == 1


def test_a_new_question_within_a_run_recalls_anew(store: MemoryStore) -> None:
    store.store_many(["The cat is called Tom.", "The dog is called Rex."])
    recall, asked = (
        RecallHook(store, namespace="default", k=1),
        state_of(*said("What is the cat called?")),
    )
    recall.run(asked)
    asked.set("messages", said("What is the dog called?"))
    recall.run(asked)
    shown = [str(message.text) for message in asked.data["messages"]]
    assert ["Tom" in text for text in shown] == [False, False, False]
    assert ["Rex" in text for text in shown] == [False, True, False]


def test_what_the_conversation_holds_is_not_shown(store: MemoryStore) -> None:
    store.store("The cat is called Tom.")
    messages = said("The cat is called Tom. ", "What is the cat called?")
    assert run(memory_hooks(store, namespace="default"), messages)[1] == [
        [str(message.text) for message in messages]
    ]


def test_what_the_conversation_holds_in_parts_is_not_shown(store: MemoryStore) -> None:
    told = ChatMessage.from_user(content_parts=["My key is hidden.", "It is under a mat."])
    run(memory_hooks(store, namespace="default"), [told])
    _, prompts = run(memory_hooks(store, namespace="default"), [told, *said("Where is my key?")])
    assert prompts == [["My key is hidden.\nIt is under a mat.", "Where is my key?"]]


def test_what_haystack_puts_for_what_it_took_out_is_no_question(store: MemoryStore) -> None:
    store.store("Ann likes pizza Margherita.")
    note = ChatMessage.from_user(
        "[3 earlier messages were removed.]",
        meta={"context_compaction": {"strategy": "sliding_window"}},
    )
    _, prompts = run(memory_hooks(store, namespace="default"), [*said("Which pizza?"), note])
    block, *rest = prompts[0]
    assert "Margherita" in block
    assert rest == ["Which pizza?", note.text]
    assert [each.content for each in store.all()][1:] == ["Which pizza?", "Noted."]


def test_what_is_said_is_remembered_once(store: MemoryStore) -> None:
    messages = [ChatMessage.from_system("Be kind."), *said("I am Ann.", " ")]
    for _ in range(2):
        run(memory_hooks(store, namespace="default"), messages, context={"memory_thread": "monday"})
    told = [(each.content, each.author, each.thread) for each in store.all()]
    assert told == [("I am Ann.", "user", "monday"), ("Noted.", "assistant", "monday")]


def test_who_has_a_name_is_remembered_by_it(store: MemoryStore) -> None:
    run(
        memory_hooks(store, namespace="default"), [ChatMessage.from_user("I like tea.", name="Ann")]
    )
    assert store.all()[0].author == "Ann"


def test_what_was_forgotten_stays_forgotten(store: MemoryStore) -> None:
    run(memory_hooks(store, namespace="default"), said("My code is 1234."))
    store.forget(namespace="default")
    run(memory_hooks(store, namespace="default"), said("My code is 1234."))
    assert store.count() == 0


def test_erased_turns_of_the_history_stay_away(store: MemoryStore) -> None:
    hooks = memory_hooks(store, namespace="default")
    first, _ = run(hooks, said("My code is 1234."))
    assert erase_user(store, namespace="default") == 2
    run(hooks, [*first["messages"], *said("Good morning.")], ChatMessage.from_assistant("Hello."))
    assert [record.content for record in store.all()] == ["Good morning.", "Hello."]


def test_an_answer_given_anew_supersedes_the_answer(store: MemoryStore) -> None:
    hooks = memory_hooks(store, namespace="default")
    for answer in ("In Oslo.", "In Rome."):
        run(hooks, said("Where do I live?"), ChatMessage.from_assistant(answer))
    live = store.all()
    assert [record.content for record in live] == ["Where do I live?", "In Rome."]
    assert "In Oslo." in str(store.audit(live[1].key or "", namespace="default"))


def test_notices_of_haystacks_hooks_are_no_speech(store: MemoryStore) -> None:
    asking = pytest.importorskip("haystack.hooks.human_in_the_loop.strategies")
    budgets = pytest.importorskip("haystack.hooks.budget.hooks")
    store.store("Ann likes pizza Margherita.")
    changed = asking.MODIFICATION_FEEDBACK_TEMPLATE.format(
        tool_name="oven", final_tool_params={"heat": 200}
    )
    hooks = memory_hooks(store, namespace="default")
    messages = [*said("Which pizza?", changed)]
    stopped = ChatMessage.from_assistant(budgets._FINAL_MESSAGE_TEXT)
    _, prompts = run(hooks, messages, stopped)
    assert "Margherita" in prompts[0][0]
    assert [record.content for record in store.all()][1:] == ["Which pizza?"]


def test_the_words_of_a_failed_run_are_remembered_with_the_next_run(store: MemoryStore) -> None:
    class Failing(Scripted):
        def run(self, messages: list[ChatMessage], tools: Any = None) -> Any:
            raise ConnectionError("no model")

    hooks = memory_hooks(store, namespace="default")
    with pytest.raises(Exception, match="no model"):
        Agent(chat_generator=component(Failing)(), hooks=hooks).run(said("I am Ann."))
    assert store.count() == 0
    run(hooks, said("I am Ann.", "Are you there?"))
    assert [each.content for each in store.all()] == ["I am Ann.", "Are you there?", "Noted."]


def test_hooks_ask_for_a_namespace(store: MemoryStore) -> None:
    for make in (memory_hooks, RecallHook, RememberHook):
        with pytest.raises(TypeError, match="namespace"):
            make(store)  # type: ignore[call-arg]


def test_a_run_may_have_its_own_namespace(store: MemoryStore) -> None:
    hooks = memory_hooks(store, namespace="nobody")
    for user in ("ann", "bob"):
        mine = {"memory_namespace": f"users/{user}"}
        run(hooks, said(f"I am called {user}."), context=mine)
        _, prompts = run(hooks, said("What am I called?"), context=mine)
        assert f"I am called {user}." in prompts[0][0]
        assert ("ann" in prompts[0][0]) == (user == "ann")
    assert store.count(namespace="nobody") == 0


@pytest.mark.parametrize("wrong", [{"memory_namespace": ""}, {"memory_thread": 42}])
def test_a_run_with_a_wrong_context_goes_on_and_is_remembered_nowhere(
    store: MemoryStore, caplog: pytest.LogCaptureFixture, wrong: Mapping[str, Any]
) -> None:
    result, _ = run(
        memory_hooks(store, namespace="default"), said("My code is 1234."), context=wrong
    )
    assert texts(result) == ["My code is 1234.", "Noted."]
    assert store.count() == 0
    assert "could not be remembered" in caplog.text


def test_remembering_may_be_left_out(store: MemoryStore) -> None:
    store.store("Ann likes pizza Margherita.")
    result, prompts = run(
        memory_hooks(store, namespace="default", remember=False), said("Which pizza?")
    )
    assert "Margherita" in prompts[0][0]
    assert "Margherita" not in str(result)
    assert store.count() == 1


def test_an_agent_may_run_asynchronously(store: MemoryStore) -> None:
    store.store("Ann likes pizza Margherita.")
    generator = Scripted()
    agent = Agent(chat_generator=generator, hooks=memory_hooks(store, namespace="default"))
    result = asyncio.run(agent.run_async(said("Which pizza?")))
    assert "Margherita" in generator.prompts[0][0]
    assert texts(result) == ["Which pizza?", "Noted."]
    assert store.count() == 3


def test_a_failing_store_is_logged_and_the_run_goes_on(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    hooks = memory_hooks(store, namespace="default")
    store.close()
    with caplog.at_level(logging.ERROR, "bethink_adapters"):
        result, _ = run(hooks, said("Which pizza?"))
    assert texts(result) == ["Which pizza?", "Noted."]
    loggers = [record.name.rpartition(".")[2] for record in caplog.records]
    assert [name for name in loggers if name in ("recalling", "hooks")] == ["recalling", "hooks"]


def test_an_agent_closes_the_file_it_opened(tmp_path: Path, store: MemoryStore) -> None:
    of_file = memory_hooks(tmp_path / "memory.db", namespace="default")
    for hooks in (of_file, memory_hooks(store, namespace="default")):
        agent = Agent(chat_generator=Scripted(), hooks=hooks)
        agent.run(said("I am Ann."))
        agent.close()
    with pytest.raises(StoreClosedError):
        of_file["before_llm"][0].store.count()
    with MemoryStore(tmp_path / "memory.db") as reopened:
        assert (reopened.count(), store.count()) == (2, 2)


def test_a_hook_stands_where_it_works(store: MemoryStore) -> None:
    with pytest.raises(ValueError, match="before_llm"):
        run({"after_run": [RecallHook(store, namespace="default")]}, said("Hi."))


def test_wrong_settings_are_refused(store: MemoryStore) -> None:
    for wrong in ({"k": 0}, {"namespace": ""}, {"budget_tokens": -1}):
        with pytest.raises(ValidationError):
            memory_hooks(store, **({"namespace": "default"} | wrong))
    with pytest.raises(ValidationError):
        BethinkDocumentStore(store, namespace="")
    with pytest.raises(ValidationError):
        BethinkRetriever(BethinkDocumentStore(store), top_k=0)


def words(text: str) -> int:
    return len(text.split())


def test_hooks_can_be_dumped_and_made_again(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "memory.db") as store:
        hooks = memory_hooks(store, namespace="users/ann", k=3, count_tokens=words)
        dumped = json.dumps([hooks["before_llm"][0].to_dict(), hooks["after_run"][0].to_dict()])
    recall, remember = json.loads(dumped)
    again = RecallHook.from_dict(recall), RememberHook.from_dict(remember)
    assert json.dumps([hook.to_dict() for hook in again]) == dumped
    for hook in again:
        hook.close()


def test_what_no_other_process_can_open_is_not_dumped(store: MemoryStore, tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="in a file"):
        BethinkDocumentStore(store).to_dict()
    with MemoryStore(tmp_path / "memory.db") as kept, pytest.raises(ValidationError, match="plain"):
        RecallHook(kept, namespace=Subtree("users")).to_dict()


# -- documents


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


def test_memories_are_documents_too(store: MemoryStore) -> None:
    run(memory_hooks(store, namespace="ann"), said("My parrot is called Quetzal."))
    memories = BethinkDocumentStore(store, namespace="ann")
    by_users = {"field": "meta.author", "operator": "==", "value": "user"}
    (found,) = memories.search("parrot", filters=by_users)
    assert (found.content, found.meta["author"]) == ("My parrot is called Quetzal.", "user")
    memories.delete_documents([found.id])
    store.store("Without a key.", namespace="ann", category="user")
    memories.delete_documents([document.id for document in memories.filter_documents()])
    assert memories.count_documents() == 0


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


def test_what_cannot_pass_a_filter_is_not_even_read(store: MemoryStore) -> None:
    documents = BethinkDocumentStore(store)
    metas: list[dict[str, Any]] = [{"a": "x", "b": "y"}, {"a": "x"}, {"b": "y"}]
    documents.write_documents([Document(content="x", meta=meta) for meta in metas])
    one = {"field": "meta.a", "operator": "==", "value": "x"}
    two = {"field": "meta.b", "operator": "in", "value": ["y", "z"]}
    both = {"operator": "AND", "conditions": [one, two]}
    numbers = [
        store.count(namespace="documents", where=narrowed(each)) for each in (one, two, both)
    ]
    assert numbers == [2, 2, 1]


def state_of(*messages: ChatMessage, **context: Any) -> State:
    """Return the state of an agent's run, as a hook is given it."""
    state = State({"hook_context": {"type": dict[str, Any]}})
    state.set("messages", list(messages))
    state.set("hook_context", context)
    return state


class TestContract(AdapterContract):
    """Each user has a conversation, which Haystack leaves to its caller to keep."""

    not_applicable: ClassVar[Mapping[str, str]] = {
        "failed run": "the framework hands nothing over after a run that failed",
        "erased turn": "a turn without id that comes alone may be said again",
    }
    reload_code = (
        "import json, sys\n"
        "from bethink_adapters.haystack import BethinkDocumentStore\n"
        "documents = BethinkDocumentStore.from_dict(json.load(sys.stdin))\n"
        "print(*(found.content for found in documents.search(sys.argv[1])), sep='\\n')\n"
        "documents.store.close()\n"
    )

    def messages(self, store: MemoryStore, user: str) -> list[ChatMessage]:
        """Return the conversation of a user; with a new store, as after a restart, a new one."""
        kept: list[ChatMessage] = self.__dict__.setdefault("kept", {}).setdefault(
            (id(store), user), []
        )
        return kept

    def hooks(self, store: MemoryStore, user: str, **options: Any) -> dict[Any, list[Any]]:
        return memory_hooks(store, namespace=place(user), **options)

    def run(self, store: MemoryStore, user: str, text: str, reply: str) -> str:
        kept = self.messages(store, user)
        result, prompts = run(
            self.hooks(store, user), [*kept, *said(text)], ChatMessage.from_assistant(reply)
        )
        kept[:] = result["messages"]
        return "\n".join(prompts[-1])

    def ingest(self, store: MemoryStore, user: str) -> None:
        for hook in self.hooks(store, user)["after_run"]:
            hook.run(state_of(*self.messages(store, user)))

    def documents(self, store: MemoryStore, user: str) -> BethinkDocumentStore:
        return BethinkDocumentStore(store, namespace=place(user))

    def remember(self, store: MemoryStore, user: str, text: str) -> None:
        self.documents(store, user).write_documents([Document(content=text)])

    def erase_user(self, store: MemoryStore, user: str) -> int:
        return erase_user(store, namespace=place(user))

    def find(self, store: MemoryStore, user: str, query: str) -> list[str]:
        found = BethinkRetriever(self.documents(store, user), top_k=50).run(query)["documents"]
        return [str(document.content) for document in found]

    def framework_history(self, store: MemoryStore, user: str) -> str:
        return json.dumps([message.to_dict() for message in self.messages(store, user)])

    def cancel_mid_recall(self, store: GatedStore, user: str, query: str) -> None:
        agent = Agent(chat_generator=Scripted(), hooks=self.hooks(store, user))
        asyncio.run(cancel_at_gate(store, agent.run_async(said(query))))

    def dump(self, store: MemoryStore, user: str) -> str:
        return json.dumps(self.documents(store, user).to_dict())

    def block_within(
        self, store: MemoryStore, user: str, query: str, budget: int, counter: Callable[[str], int]
    ) -> str:
        hooks = self.hooks(store, user, budget_tokens=budget, count_tokens=counter)
        *added, _ = run(hooks, said(query))[1][0]
        return "".join(added)


def test_the_example_remembers_across_conversations(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "user: I always take my coffee with oat milk." in done.stdout


def test_writing_a_document_reads_no_other(store: MemoryStore) -> None:
    steps, documents = [0], BethinkDocumentStore(store)

    def step() -> int:
        steps[-1] += 1
        return 0

    for beside in (100, 1000):
        documents.write_documents([Document(id=f"{beside}/{n}") for n in range(beside)])
        with store._engine.backend._connections.reading() as connection:  # type: ignore[attr-defined]
            connection.set_progress_handler(step, 1)
            documents.write_documents([Document(id=f"new {beside}", content="x")])
            connection.set_progress_handler(None, 0)
        steps.append(0)
    assert steps[1] < steps[0] + 100
