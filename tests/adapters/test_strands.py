"""The memory store against Strands Agents itself, with a scripted model."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID

import pytest

pytest.importorskip("strands.memory")

from pydantic import BaseModel
from strands import Agent, tool
from strands.memory import AddMessagesContext, MemoryManager
from strands.models.model import Model
from strands.multiagent import GraphBuilder, Swarm
from strands.types.exceptions import StructuredOutputException

from bethink import EVERYWHERE, MemoryStore, Subtree, ValidationError
from bethink_adapters.strands import StrandsStore, erase_user

from ..stored import contents
from .contract import AdapterContract, GatedStore, SlowStore, cancel_at_gate, cancel_in_write, place

EXAMPLE = Path(__file__).parents[2] / "examples" / "strands_agent.py"


FAILURE = "raise"


class Scripted(Model):
    """A model that answers *reply*, or raises for `FAILURE`, and notes the messages."""

    def __init__(self, reply: str) -> None:
        self.reply = reply
        self.prompts: list[str] = []

    def update_config(self, **model_config: Any) -> None: ...

    def get_config(self) -> Any:
        return {}

    async def structured_output(self, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        raise NotImplementedError
        yield

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        self.prompts.append(json.dumps(messages, ensure_ascii=False))
        if self.reply == FAILURE:
            raise ConnectionError
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": self.reply}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def agent_with(memory: StrandsStore, reply: str = "Noted.") -> tuple[Agent, Scripted]:
    model = Scripted(reply)
    manager = MemoryManager(stores=[memory])
    return Agent(model=model, memory_manager=manager, callback_handler=None), model


def in_default(store: MemoryStore, **options: Any) -> StrandsStore:
    return StrandsStore(store, namespace="default", **options)


def said(*texts: str) -> list[Any]:
    return [{"role": "user", "content": [{"text": text}]} for text in texts]


def test_a_new_agent_knows_what_an_earlier_one_heard(store: MemoryStore) -> None:
    first, _ = agent_with(in_default(store))
    first("I always take my coffee with oat milk.")
    second, model = agent_with(in_default(store))
    second("How do I take my coffee?")
    assert "oat milk" in model.prompts[-1]
    assert "oat milk" not in json.dumps(second.messages)


def test_what_is_said_is_kept_with_its_author_and_conversation(store: MemoryStore) -> None:
    agent, _ = agent_with(in_default(store, thread="monday"), "Hello Ann.")
    agent("I am Ann.")
    told = [(each.content, each.author, each.thread) for each in store.all()]
    assert told == [("I am Ann.", "user", "monday"), ("Hello Ann.", "assistant", "monday")]


def test_an_agent_that_is_awaited_remembers_each_turn(store: MemoryStore) -> None:
    agent, _ = agent_with(in_default(store))
    for number in range(2):
        asyncio.run(agent.invoke_async(f"Turn {number}."))
    assert contents(store) == ["Turn 0.", "Noted.", "Turn 1.", "Noted."]


def test_a_text_that_was_said_often_takes_one_place(store: MemoryStore) -> None:
    store.store("No cheese on a pizza for me, I am allergic to milk.", author="user", thread="0")
    for number in range(12):
        store.store("I want to order a pizza.", author="user", thread=str(number))
    found = asyncio.run(in_default(store).search("Please order a pizza for me"))
    assert [entry.content[:6] for entry in found] == ["I want", "No che"]
    assert {record.access_count for record in store.all()} == {0, 1}


def test_a_conversation_recalls_its_own_words_only_when_asked_to(store: MemoryStore) -> None:
    for include_own in (False, True):
        memory = in_default(store, thread="t", include_own=include_own)
        asyncio.run(memory.add_messages(said("My parrot is called Quetzal.")))
        assert bool(asyncio.run(memory.search("parrot"))) is include_own


def test_a_batch_that_comes_again_adds_nothing(store: MemoryStore) -> None:
    memory, batch = in_default(store), said("ok", "ok", "Fine.")
    for _ in range(2):
        asyncio.run(memory.add_messages(batch, AddMessagesContext(sequence_numbers=[0, 2, 3])))
    assert contents(store) == ["ok", "ok", "Fine."]


@pytest.mark.parametrize("shared", [False, True], ids=["named", "shared"])
def test_what_a_later_agent_hears_again_is_kept_again(store: MemoryStore, shared: bool) -> None:
    memory, told = (
        in_default(store, thread="t"),
        ["In Graz.", "In Lyon.", "In Graz."],
    )
    for text in told:
        agent, _ = agent_with(memory if shared else in_default(store, thread="t"), "Noted.")
        agent(text)
    assert contents(store) == [each for text in told for each in (text, "Noted.")]


def test_agents_that_share_a_memory_lose_no_words(store: MemoryStore) -> None:
    memory = in_default(store)
    (first, _), (second, _) = agent_with(memory, "Noted."), agent_with(memory, "Fine.")
    first("I live in Graz.")
    second("I have a cat.")
    assert contents(store) == ["I live in Graz.", "Noted.", "I have a cat.", "Fine."]


def test_what_comes_without_numbers_a_conversation_says_once(store: MemoryStore) -> None:
    for thread in ("t", "t", "u"):
        memory = in_default(store, thread=thread)
        asyncio.run(memory.add_messages(said("In Graz.", "In Lyon.", "In Graz.")))
    assert contents(store) == ["In Graz.", "In Lyon.", "In Graz."] * 2


def test_thoughts_are_not_remembered(store: MemoryStore) -> None:
    thought: Any = {"reasoningContent": {"reasoningText": {"text": "Ann seems tired."}}}
    answer: Any = {"role": "assistant", "content": [thought, {"text": "Good night."}]}
    asyncio.run(in_default(store).add_messages([answer]))
    assert contents(store) == ["Good night."]


def test_a_batch_that_comes_again_does_not_bring_erased_turns_back(store: MemoryStore) -> None:
    memory, numbers = in_default(store), AddMessagesContext([0, 1])
    asyncio.run(memory.add_messages(said("My PIN is 4711.", "Bye."), numbers))
    store.erase(store.all()[0].id)
    asyncio.run(memory.add_messages(said("My PIN is 4711.", "Bye."), numbers))
    assert contents(store) == ["Bye."]


def test_messages_without_words_are_left_out(store: MemoryStore) -> None:
    called: Any = {"role": "assistant", "content": [{"toolUse": {"name": "f", "input": {}}}]}
    asyncio.run(in_default(store).add_messages([called, *said(" ", "Hello \udc80")]))
    assert contents(store) == ["Hello \N{REPLACEMENT CHARACTER}"]


class Place(BaseModel):
    name: str


def test_what_strands_itself_says_is_not_remembered(store: MemoryStore) -> None:
    @tool
    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    manager = MemoryManager(stores=[in_default(store)])
    agent = Agent(Scripted("Noted."), tools=[double], memory_manager=manager, callback_handler=None)
    with suppress(StructuredOutputException):
        agent("I live in Graz.", structured_output_model=Place)
    agent.tool.double(number=2)
    agent.tool.double(number=3, user_message_override="What is twice my age?")
    agent("Bye.")
    said = [text.strip() for text in contents(store) if text != "Noted."]
    assert said == ["I live in Graz.", "What is twice my age?", "Bye."]


@pytest.mark.parametrize("parts", [False, True], ids=["text", "parts"])
@pytest.mark.parametrize("kind", ["graph", "swarm"])
def test_agents_that_work_together_remember_the_words_of_the_user_alone(
    store: MemoryStore, kind: str, parts: bool
) -> None:
    store.store("The editor of Ann is Zoe.", namespace="default")
    agents = [agent_with(in_default(store), f"{name} is done.") for name in ("Writer", "Editor")]
    nodes = [agent for agent, _ in agents]
    for node, name in zip(nodes, ("writer", "editor"), strict=True):
        node.name = name
    task = "Who is the editor?\n\nWrite to her."
    asked: Any = [{"text": task}, {"text": "Soon."}] if parts else task
    if kind == "graph":
        builder = GraphBuilder().set_max_node_executions(2)
        writer, editor = (builder.add_node(node, node.name) for node in nodes)
        builder.add_edge(writer, editor)
        builder.build()(asked)
    else:
        Swarm(nodes, entry_point=nodes[0])(asked)
    words = f"{task}\nSoon." if parts else task
    told = [each.content for each in store.all() if each.author == "user"]
    assert told == [words] * (2 if kind == "graph" else 1)
    assert all("Zoe" in model.prompts[-1] for _, model in agents if model.prompts)


def test_what_is_said_with_citations_is_remembered(store: MemoryStore) -> None:
    cited = {"citations": [{"title": "Rules"}], "content": [{"text": "Tea is at four."}]}
    answer: Any = {"role": "assistant", "content": [{"text": "Yes:"}, {"citationsContent": cited}]}
    asyncio.run(in_default(store).add_messages([answer]))
    assert contents(store) == ["Yes:\nTea is at four."]


def test_what_a_tool_adds_is_kept_once(store: MemoryStore) -> None:
    memory = in_default(store)
    for _ in range(2):
        asyncio.run(memory.add("Ann likes tea.", {"source": "tool", "id": "theirs"}))
    store.store("Bob likes tea.")
    (entry,) = asyncio.run(memory.search("Ann tea", {"max_search_results": 1}))
    assert entry.metadata
    assert entry.metadata["source"] == "tool"
    assert entry.metadata["score"] > 0
    assert entry.metadata["id"] == store.all()[0].id
    assert entry.metadata.keys() == {"source", "id", "score", "occurred_at"}
    assert [item.action for item in store.log()] == ["store", "store"]


def test_what_was_forgotten_can_be_added_again(store: MemoryStore) -> None:
    memory = in_default(store)
    asyncio.run(memory.add("Ann likes tea."))
    store.forget(namespace="default")
    asyncio.run(memory.add("Ann likes tea."))
    assert contents(store) == ["Ann likes tea."]


def test_what_a_cancelled_call_adds_does_not_overtake_what_follows() -> None:
    async def forgetting(slow: SlowStore) -> None:
        forget = asyncio.to_thread(slow.forget, namespace="default")
        await cancel_in_write(slow, StrandsStore(slow, namespace="default").add("Old."), forget)

    with SlowStore() as slow:
        asyncio.run(forgetting(slow))
        assert contents(slow) == []


@pytest.mark.parametrize("query", ["tea \ud83e", "tea " * 140_000], ids=["broken", "long"])
def test_any_text_is_a_query(store: MemoryStore, query: str) -> None:
    store.store("Tea is at four.")
    assert [entry.content for entry in asyncio.run(in_default(store).search(query))] == [
        "Tea is at four."
    ]


def test_the_scope_may_be_wider_than_the_namespace(store: MemoryStore) -> None:
    store.store("Tea is at four.", namespace="team/rules")
    narrow = StrandsStore(store, namespace="team/ann")
    wide = StrandsStore(store, namespace="team/ann", scope=Subtree("team"))
    assert asyncio.run(narrow.search("tea")) == []
    assert [entry.content for entry in asyncio.run(wide.search("tea"))] == ["Tea is at four."]


def test_a_store_to_read_only_is_not_written(store: MemoryStore) -> None:
    agent, _ = agent_with(in_default(store, writable=False))
    agent("I am Ann.")
    assert store.count(namespace=EVERYWHERE) == 0


def test_wrong_settings_are_refused(store: MemoryStore) -> None:
    named: list[Any] = [{name: ""} for name in ("name", "namespace", "scope")]
    for wrong in [*named, {"max_search_results": 0}]:
        with pytest.raises(ValidationError):
            StrandsStore(store, **{"namespace": "default"} | wrong)


def test_a_namespace_must_be_given(store: MemoryStore) -> None:
    with pytest.raises(TypeError, match="'namespace'"):
        StrandsStore(store)  # type: ignore[call-arg]


class TestContract(AdapterContract):
    not_applicable: ClassVar[Mapping[str, str]] = {
        "dump": "a store has no configuration beyond its arguments",
        "budget": "Strands writes the block itself; max_search_results bounds it",
    }
    failure_logger = "strands"

    def agent(self, store: MemoryStore, user: str) -> tuple[Agent, Scripted]:
        """Return the agent of a user; with a new store, as after a restart, a new one."""
        agents = self.__dict__.setdefault("agents", {})
        if (id(store), user) not in agents:
            memory = StrandsStore(store, namespace=place(user), max_search_results=10)
            agents[id(store), user] = agent_with(memory)
        made: tuple[Agent, Scripted] = agents[id(store), user]
        return made

    def run(self, store: MemoryStore, user: str, text: str, reply: str) -> str:
        agent, model = self.agent(store, user)
        model.reply = reply
        agent(text)
        return model.prompts[-1]

    def ingest(self, store: MemoryStore, user: str) -> None:
        manager = self.agent(store, user)[0].memory_manager
        assert manager
        asyncio.run(manager.flush())

    def remember(self, store: MemoryStore, user: str, text: str) -> None:
        asyncio.run(StrandsStore(store, namespace=place(user)).add(text))

    def find(self, store: MemoryStore, user: str, query: str) -> list[str]:
        memory = StrandsStore(store, namespace=place(user), max_search_results=50)
        return [entry.content for entry in asyncio.run(memory.search(query))]

    def erase_user(self, store: MemoryStore, user: str) -> int:
        return erase_user(store, namespace=place(user))

    def run_failing(self, store: MemoryStore, user: str, text: str) -> bool:
        with pytest.raises(ConnectionError):
            self.run(store, user, text, FAILURE)
        return True

    def framework_history(self, store: MemoryStore, user: str) -> str:
        return json.dumps(self.agent(store, user)[0].messages)

    def cancel_mid_recall(self, store: GatedStore, user: str, query: str) -> None:
        memory = StrandsStore(store, namespace=place(user))
        asyncio.run(cancel_at_gate(store, memory.search(query)))


def test_times_and_uuids_in_metadata_become_texts(store: MemoryStore) -> None:
    at, id = datetime(2026, 3, 1, 9, tzinfo=UTC), UUID(int=7)
    memory = in_default(store)
    asyncio.run(memory.add("Ann takes oat milk.", {"at": at, "ids": [id]}))
    (found,) = asyncio.run(memory.search("milk"))
    assert found.metadata is not None
    assert (found.metadata["at"], found.metadata["ids"]) == (at.isoformat(), [str(id)])


def test_a_whole_number_names_a_conversation(store: MemoryStore) -> None:
    assert in_default(store, thread=7).thread == in_default(store, thread="7").thread


def test_the_example_remembers_across_conversations(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "oat milk.</entry>" in done.stdout
