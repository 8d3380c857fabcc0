"""The LangGraph store in real graphs, sync and async."""

from __future__ import annotations

import asyncio
import runpy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, TypedDict

import pytest

pytest.importorskip("langgraph.graph")

from langchain_core.language_models import FakeListChatModel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_store
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

from bethink import MemoryStore
from bethink_adapters.langgraph import BethinkStore, erase_user

from .contract import AdapterContract, GatedStore, cancel_at_gate

NS = ("users", "ann")
EXAMPLE = Path(__file__).parents[2] / "examples" / "langgraph_memory.py"


@pytest.fixture
def memory(store: MemoryStore) -> BethinkStore:
    memory = BethinkStore(store)
    memory.put(NS, "theme", {"theme": "dark mode in every editor"})
    memory.put(NS, "pizza", {"food": "a Margherita from the wood oven"})
    memory.put(NS, "key", {"text": "The spare key lies under the flowerpot."})
    return memory


class State(TypedDict):
    said: str
    reply: str


def graph_of(memory: BaseStore, node: Callable[..., Any], **compiled: Any) -> Any:
    builder: Any = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder.compile(store=memory, **compiled)


def by_runtime(state: State, runtime: Runtime[Any]) -> dict[str, Any]:
    assert runtime.store is not None
    return remembered(state, runtime.store)


def by_argument(state: State, *, store: BaseStore) -> dict[str, Any]:
    return remembered(state, store)


def by_call(state: State) -> dict[str, Any]:
    return remembered(state, get_store())


def remembered(state: State, memory: BaseStore) -> dict[str, Any]:
    found = memory.search(NS, query=state["said"], limit=1)
    memory.put(NS, "last", {"said": state["said"]})
    return {"reply": str(found[0].value)}


async def awaited(state: State, runtime: Runtime[Any]) -> dict[str, Any]:
    memory = runtime.store
    assert memory is not None
    found, _ = await asyncio.gather(
        memory.asearch(NS, query=state["said"], limit=1),
        memory.aput(NS, "last", {"said": state["said"]}),
    )
    return {"reply": str(found[0].value)}


@pytest.mark.parametrize("node", [by_runtime, by_argument, by_call])
def test_a_node_finds_and_writes(memory: BethinkStore, node: Callable[..., Any]) -> None:
    graph = graph_of(memory, node)
    assert "flowerpot" in graph.invoke({"said": "Where is the spare key?"})["reply"]
    last = memory.get(NS, "last")
    assert last is not None
    assert last.value == {"said": "Where is the spare key?"}


@pytest.mark.parametrize("node", [by_runtime, awaited])
def test_an_asynchronous_graph_does_so_too(memory: BethinkStore, node: Callable[..., Any]) -> None:
    graph = graph_of(memory, node)
    result = asyncio.run(graph.ainvoke({"said": "Which theme is in the editor?"}))
    assert "dark mode" in result["reply"]
    assert memory.get(NS, "last") is not None


def test_the_example_remembers_in_another_thread(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    tuesday, friday, *_ = capsys.readouterr().out.splitlines()
    assert "known: []" in tuesday
    assert "known: ['I live in Graz.']" in friday


# -- the twelve points


def label(user: str) -> str:
    """Return a label for any user: LangGraph refuses some."""
    refused = not user or "." in user or "\x00" in user or user.startswith("hex ")
    return f"hex {user.encode('utf-8', 'surrogatepass').hex()}" if refused else user


def thread(user: str) -> Any:
    return {"configurable": {"thread_id": label(user)}}


class TestContract(AdapterContract):
    """A graph with one node that looks into its store and asks a fake model."""

    not_applicable: ClassVar[Mapping[str, str]] = {
        "dump": "a graph is code; the store has no configuration to save",
        "budget": "what a prompt shows is up to the node",
        "failed run": "what is put when is up to the node",
        "answers": "what is put is up to the node, and the node puts the words of users",
    }
    failure_is_loud = "a node asks the store and gets its errors"

    @pytest.fixture(autouse=True)
    def new_conversations(self) -> None:
        self.threads = InMemorySaver()
        self.said: dict[str, list[str]] = {}
        self.taken_in = set[tuple[str, int]]()
        self.prompts: dict[str, str] = {}

    def graph(self, store: MemoryStore, user: str, reply: str) -> Any:
        model: Any = FakeListChatModel(responses=[reply])

        async def node(state: State, runtime: Runtime[Any]) -> dict[str, Any]:
            assert runtime.store is not None
            found = await runtime.store.asearch(("users", label(user)), query=state["said"])
            known = [item.value["text"] for item in found if item.score is not None]
            self.prompts[user] = "\n".join([*known, state["said"]])
            return {"reply": (await model.ainvoke(self.prompts[user])).content}

        return graph_of(BethinkStore(store), node, checkpointer=self.threads)

    def run(self, store: MemoryStore, user: str, text: str, reply: str) -> str:
        self.said.setdefault(user, []).append(text)
        result = asyncio.run(self.graph(store, user, reply).ainvoke({"said": text}, thread(user)))
        assert result["reply"] == reply
        return self.prompts[user]

    def ingest(self, store: MemoryStore, user: str) -> None:
        number = len(self.said[user])
        if (user, number) not in self.taken_in:
            self.taken_in.add((user, number))
            said = {"text": self.said[user][-1]}
            place, key = ("users", label(user)), f"turn {number}"
            BethinkStore(store).put(place, key, said, index=["text"])

    def erase_user(self, store: MemoryStore, user: str) -> int:
        return erase_user(store, items=[("users", label(user))])

    def remember(self, store: MemoryStore, user: str, text: str) -> None:
        BethinkStore(store).put(("users", label(user)), text, {"text": text})

    def find(self, store: MemoryStore, user: str, query: str) -> list[str]:
        found = BethinkStore(store).search(("users", label(user)), query=query)
        return [item.value["text"] for item in found if item.score is not None]

    def framework_history(self, store: MemoryStore, user: str) -> str:
        return str([kept.checkpoint["channel_values"] for kept in self.threads.list(thread(user))])

    def cancel_mid_recall(self, store: GatedStore, user: str, query: str) -> None:
        run = self.graph(store, user, "").ainvoke({"said": query}, thread(user))
        asyncio.run(cancel_at_gate(store, run))
