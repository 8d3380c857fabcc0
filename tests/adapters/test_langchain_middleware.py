"""The memory of an agent of LangChain 1, against ``create_agent`` itself with a fake model."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

pytest.importorskip("langchain.agents.middleware")

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
)
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
)
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from bethink import MemoryStore, ValidationError, segment
from bethink_adapters.langchain import (
    BethinkVectorStore,
    MemoryMiddleware,
    MemoryStoreRetriever,
    erase_user,
    memory_tools,
)
from bethink_adapters.langgraph import BethinkSaver

from .contract import FACT, QUESTION, AdapterContract, GatedStore, cancel_at_gate
from .langchain_agents import CALLS, CONFIG, Model, asked, calling

# LangChain silences itself by ``catch_warnings``, which threads undo for one another.
pytestmark = pytest.mark.filterwarnings("ignore:Direct attribute assignment to ModelRequest")


@pytest.fixture
def known(store: MemoryStore) -> MemoryStore:
    store.store(FACT)
    return store


# -- what the model is shown


@pytest.mark.parametrize("call", CALLS)
def test_a_run_recalls_and_remembers(known: MemoryStore, call: str) -> None:
    model = Model(replies=["Under the flowerpot."])
    agent: Any = create_agent(model, middleware=[MemoryMiddleware(known, namespace="default")])
    state = CALLS[call](agent, asked(QUESTION), CONFIG)
    assert "cobalt flowerpot" in model.prompt
    assert [each.content for each in state["messages"]] == [QUESTION, "Under the flowerpot."]
    assert set(state) == {"messages"}
    kept = known.all()
    assert [(each.author, each.content) for each in kept[1:]] == [
        ("human", QUESTION),
        ("ai", "Under the flowerpot."),
    ]
    assert [each.thread for each in kept[1:]] == ["t1", "t1"]


def test_it_passes_for_one_of_langchain(store: MemoryStore) -> None:
    assert isinstance(MemoryMiddleware(store, namespace="default"), AgentMiddleware)


@pytest.mark.parametrize(
    "prompt", [None, "Be brief.", SystemMessage([{"type": "text", "text": "Be brief."}])]
)
def test_the_block_may_end_the_system_message(known: MemoryStore, prompt: Any) -> None:
    model = Model(replies=["There."])
    memory = MemoryMiddleware(known, namespace="default", inject_as="system")
    try:
        agent: Any = create_agent(model, system_prompt=prompt, middleware=[memory])
        agent.invoke(asked(QUESTION))
    except Exception:
        if isinstance(prompt, SystemMessage) and not _takes_system_messages():
            pytest.skip("this LangChain takes no system message")
        raise
    system, human = model._seen[-1]
    assert "cobalt flowerpot" in str(system.content)
    assert ("Be brief." in str(system.content)) == (prompt is not None)
    assert human.content == QUESTION


def test_the_blocks_of_a_system_message_stay_what_they_are(known: MemoryStore) -> None:
    if not _takes_system_messages():
        pytest.skip("this LangChain takes no system message")
    told: dict[str, Any] = {"type": "text", "text": "Be brief."}
    told["cache_control"] = {"type": "ephemeral"}
    model, memory = (
        Model(replies=["There."]),
        MemoryMiddleware(known, namespace="default", inject_as="system"),
    )
    prompt = SystemMessage([told], name="rules")
    agent: Any = create_agent(model, system_prompt=prompt, middleware=[memory])
    agent.invoke(asked(QUESTION))
    system = model._seen[-1][0]
    first, added = list(system.content)
    assert (first, system.name) == (told, "rules")
    assert isinstance(added, dict)
    assert added.keys() == {"type", "text"}
    assert "cobalt flowerpot" in added["text"]


def _takes_system_messages() -> bool:
    from langchain.agents.middleware import ModelRequest

    return hasattr(ModelRequest, "system_prompt")


def test_the_block_stands_in_front_of_the_last_human_message(known: MemoryStore) -> None:
    model = Model(replies=["There."])
    agent: Any = create_agent(
        model, system_prompt="Be brief.", middleware=[MemoryMiddleware(known, namespace="default")]
    )
    agent.invoke({"messages": [HumanMessage("Hi."), AIMessage("Hello."), HumanMessage(QUESTION)]})
    kinds = [message.type for message in model._seen[-1]]
    assert kinds == ["system", "human", "ai", "human", "human"]
    assert "cobalt flowerpot" in str(model._seen[-1][3].content)


def test_nothing_related_shows_nothing(known: MemoryStore) -> None:
    model = Model(replies=["Fine."])
    agent: Any = create_agent(model, middleware=[MemoryMiddleware(known, namespace="default")])
    agent.invoke(asked("zebra"))
    assert model.prompt == "human: zebra"


def test_a_run_recalls_once_though_it_recalls_nothing(known: MemoryStore) -> None:
    @tool
    def learn() -> str:
        """Learn something."""
        known.store("A zebra has stripes.")
        return "Learnt."

    model = Model(replies=[calling("learn"), "Fine."])
    agent: Any = create_agent(
        model, [learn], middleware=[MemoryMiddleware(known, namespace="default")]
    )
    agent.invoke(asked("zebra"))
    assert "stripes" not in model.prompt


@pytest.mark.parametrize("call", CALLS)
def test_a_run_with_tools_recalls_once(known: MemoryStore, call: str) -> None:
    @tool
    def look(place: str) -> str:
        """Look somewhere."""
        return "Nothing here."

    model = Model(replies=[calling("look", place="door"), calling("look", place="pot"), "Found."])
    agent: Any = create_agent(
        model, [look], middleware=[MemoryMiddleware(known, namespace="default")]
    )
    CALLS[call](agent, asked(QUESTION), {})
    blocks = {
        each.content for seen in model._seen for each in seen if "cobalt" in str(each.content)
    }
    assert len(model._seen) == 3
    assert len(blocks) == 1
    assert [each.content for each in known.all()] == [FACT, QUESTION, "Found."]


@pytest.mark.parametrize("call", CALLS)
def test_a_resumed_run_recalls_again(known: MemoryStore, call: str) -> None:
    @tool
    def look(place: str) -> str:
        """Look somewhere."""
        return "Nothing here."

    model = Model(replies=[calling("look", place="door"), "Found."])
    ask = HumanInTheLoopMiddleware(interrupt_on={"look": True})
    agent: Any = create_agent(
        model,
        [look],
        middleware=[MemoryMiddleware(known, namespace="default"), ask],
        checkpointer=InMemorySaver(),
    )
    CALLS[call](agent, asked(QUESTION), CONFIG)
    CALLS[call](agent, Command(resume={"decisions": [{"type": "approve"}]}), CONFIG)
    assert "cobalt" in model.prompt
    assert known.all()[-1].content == "Found."


def test_no_checkpoint_holds_what_was_recalled(known: MemoryStore, tmp_path: Path) -> None:
    class Plain:
        def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
            written.append(repr(obj))
            return saver_serde.dumps_typed(obj)

        def loads_typed(self, data: tuple[str, bytes]) -> Any:
            return saver_serde.loads_typed(data)

    written: list[str] = []
    saver_serde = InMemorySaver().serde
    with MemoryStore(tmp_path / "threads.db") as threads:
        saver = BethinkSaver(threads, serde=Plain())
        model = Model(replies=["There."])
        agent: Any = create_agent(
            model, middleware=[MemoryMiddleware(known, namespace="default")], checkpointer=saver
        )
        agent.invoke(asked(QUESTION), CONFIG)
    assert "cobalt" in model.prompt
    assert any(QUESTION in each for each in written)
    assert not any("cobalt" in each for each in written)


def test_a_namespace_may_depend_on_the_run(store: MemoryStore) -> None:
    for user in ("ann", "bob"):
        store.store(f"The spare key of {user} is blue", namespace=f"users/{user}")
    memory = MemoryMiddleware(
        store, namespace=lambda runtime: f"users/{segment(runtime.context['user'])}"
    )
    model = Model(replies=["There."])
    agent: Any = create_agent(model, middleware=[memory], context_schema=dict)
    agent.invoke(asked(QUESTION), context={"user": "bob"})
    assert "bob" in model.prompt
    assert "ann" not in model.prompt
    assert store.count(namespace="users/bob") == 3
    with pytest.raises(KeyError):
        agent.invoke(asked(QUESTION), context={"other": "bob"})


def test_two_memories_have_different_names(known: MemoryStore) -> None:
    known.store("Keys are made at the station", namespace="shop")
    one = MemoryMiddleware(known, namespace="default")
    two = MemoryMiddleware(known, namespace="shop", name="shop", remember=False)
    model = Model(replies=["There."])
    agent: Any = create_agent(model, middleware=[one, two])
    agent.invoke(asked("Where are spare keys made, and where do they lie?"))
    assert "cobalt" in model.prompt
    assert "station" in model.prompt
    assert known.count(namespace="shop") == 1


def test_the_block_stands_before_the_last_human_message(known: MemoryStore) -> None:
    @tool
    def look(at: str) -> str:
        """Look at something."""
        return "seen"

    model = Model(replies=[calling("look", at="a"), "Done."])
    said = [HumanMessage("Hi."), AIMessage("Hello."), HumanMessage(QUESTION)]
    agent: Any = create_agent(
        model, [look], middleware=[MemoryMiddleware(known, namespace="default")]
    )
    agent.invoke({"messages": said}, CONFIG)
    shown = model._seen[-1]  # of the test's own model
    assert [each.type for each in shown] == ["human", "ai", "human", "human", "ai", "tool"]
    assert "cobalt flowerpot" in str(shown[2].content)


class Trimming(AgentMiddleware):
    """Show the model the last two messages only."""

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return handler(request.override(messages=request.messages[-2:]))


def test_the_block_stands_first_where_no_human_message_is_left(known: MemoryStore) -> None:
    @tool
    def look(at: str) -> str:
        """Look at something."""
        return "seen"

    model = Model(replies=[calling("look", at="a"), "Done."])
    both: Any = [Trimming(), MemoryMiddleware(known, namespace="default")]
    agent: Any = create_agent(model, [look], middleware=both)
    agent.invoke(asked(QUESTION))
    block, *rest = model._seen[-1]
    assert "cobalt flowerpot" in str(block.content)
    assert [each.type for each in rest] == ["ai", "tool"]


def test_wrong_arguments_are_refused(store: MemoryStore) -> None:
    refused: Any = ({"k": 0}, {"inject_as": "tool"}, {"namespace": "a//b"}, {"budget_tokens": -1})
    for wrong in (*refused, {"k": "5"}, {"min_score": "0"}, {"min_score": math.nan}):
        with pytest.raises(ValidationError):
            MemoryMiddleware(store, **{"namespace": "default", **wrong})


def test_a_namespace_must_be_named(store: MemoryStore) -> None:
    making: Any
    for making in (MemoryMiddleware, memory_tools):
        with pytest.raises(TypeError, match="namespace"):
            making(store)


def test_a_store_that_fails_while_writing_is_logged(
    known: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    memory = MemoryMiddleware(known, namespace="default")
    known.close()
    with caplog.at_level(logging.ERROR):
        memory.after_agent({"messages": [HumanMessage("Hi.", id="1")]}, None)
    assert [record.name for record in caplog.records] == ["bethink_adapters.langchain.middleware"]


def test_the_example_knows_on_tuesday_what_it_was_told_on_monday(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "examples" / "langchain_agent.py"
    command = [sys.executable, str(example)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    monday, _, tuesday = done.stdout.partition("And he likes seeds.\nIt answers")
    assert "The model reads 3 message(s)" in monday
    assert "human: My parrot is called Quetzal." in tuesday


# -- tools


@pytest.mark.parametrize("call", CALLS)
def test_the_model_may_search_and_write(known: MemoryStore, call: str) -> None:
    model = Model(
        replies=[
            calling("remember", content="Bob has a key"),
            calling("recall", query="key"),
            "Ok.",
        ]
    )
    memory = MemoryMiddleware(known, namespace="default", remember=False, offer_tools=True)
    agent: Any = create_agent(model, middleware=[memory])
    state = CALLS[call](agent, asked("Keep that."), {})
    answers = [each.content for each in state["messages"] if each.type == "tool"]
    assert sorted(model.offered) == ["recall", "remember"]
    assert answers[0] == "Remembered."
    assert "Bob has a key" in answers[1]
    assert [each.content for each in known.all()] == [FACT, "Bob has a key"]


@pytest.mark.parametrize("call", CALLS)
def test_tools_keep_to_the_namespace_of_the_run(store: MemoryStore, call: str) -> None:
    memory = MemoryMiddleware(
        store, namespace=lambda runtime: runtime.context["user"], remember=False, offer_tools=True
    )
    model = Model(replies=[calling("remember", content="A key"), "Ok."])
    agent: Any = create_agent(model, middleware=[memory], context_schema=dict)
    if call == "invoke":
        agent.invoke(asked("Keep that."), context={"user": "bob"})
    else:
        asyncio.run(agent.ainvoke(asked("Keep that."), context={"user": "bob"}))
    assert store.namespaces() == {"bob": 1}


def test_tools_without_a_namespace_of_the_run_find_nothing(known: MemoryStore) -> None:
    nowhere: Any = lambda runtime: None  # noqa: E731
    model = Model(replies=[calling("recall", query=QUESTION), "Ok."])
    agent: Any = create_agent(model, memory_tools(known, namespace=nowhere))
    found = agent.invoke(asked("Search."))["messages"][-2].content
    assert found.startswith("The memory failed")


def test_the_tool_tells_what_is_said_often_once(store: MemoryStore) -> None:
    store.store(FACT)
    for _ in range(6):
        store.store(QUESTION, author="human")
    found = memory_tools(store, namespace="default")[0].invoke({"query": QUESTION})
    assert (found.count(FACT), found.count(QUESTION)) == (1, 1)


def test_a_failing_store_is_the_tools_answer(store: MemoryStore) -> None:
    recall, remember = memory_tools(store, namespace="default")
    assert recall.invoke({"query": "anything"}) == "Nothing is known about that."
    store.close()
    assert "memory failed" in recall.invoke({"query": "anything"})
    assert "memory failed" in asyncio.run(remember.ainvoke({"content": "something"}))


# -- the contract


class TestContract(AdapterContract):
    not_applicable: ClassVar = {
        "dump": "a middleware is made in code, LangChain serialises none",
    }

    def _place(self, user: str) -> str:
        return f"users/{segment(user)}"

    def _memory(self, store: MemoryStore, user: str, **options: Any) -> MemoryMiddleware:
        return MemoryMiddleware(store, namespace=self._place(user), **options)

    def _agent(self, store: MemoryStore, user: str) -> tuple[Any, Model, MemoryMiddleware]:
        agents = self.__dict__.setdefault("agents", {})
        if (id(store), user) not in agents:
            model, memory = Model(replies=[""]), self._memory(store, user)
            made: Any = create_agent(model, middleware=[memory], checkpointer=InMemorySaver())
            agents[id(store), user] = made, model, memory
        found: tuple[Any, Model, MemoryMiddleware] = agents[id(store), user]
        return found

    def run(self, store: MemoryStore, user: str, text: str, reply: str) -> str:
        agent, model, _ = self._agent(store, user)
        model.replies[:] = [reply]
        asyncio.run(agent.ainvoke(asked(text), CONFIG))
        return model.prompt

    def ingest(self, store: MemoryStore, user: str) -> None:
        agent, _, memory = self._agent(store, user)
        state = agent.get_state(CONFIG).values
        again: Any = RunnableLambda(lambda _: memory.after_agent(state, None))
        again.invoke(None, CONFIG)

    def remember(self, store: MemoryStore, user: str, text: str) -> None:
        BethinkVectorStore(store, namespace=self._place(user)).add_texts([text])

    def find(self, store: MemoryStore, user: str, query: str) -> list[str]:
        retriever = MemoryStoreRetriever(store=store, namespace=self._place(user))
        return [each.page_content for each in retriever.invoke(query)]

    def erase_user(self, store: MemoryStore, user: str) -> int:
        return erase_user(store, namespaces=[self._place(user)])

    def run_failing(self, store: MemoryStore, user: str, text: str) -> bool:
        agent, model, _ = self._agent(store, user)
        model.replies[:] = [ZeroDivisionError()]
        with pytest.raises(ZeroDivisionError):
            asyncio.run(agent.ainvoke(asked(text), CONFIG))
        return True

    def framework_history(self, store: MemoryStore, user: str) -> str:
        agent, _, _ = self._agent(store, user)
        return json.dumps([str(each) for each in agent.get_state_history(CONFIG)])

    def cancel_mid_recall(self, store: GatedStore, user: str, query: str) -> None:
        agent, _, _ = self._agent(store, user)
        asyncio.run(cancel_at_gate(store, agent.ainvoke(asked(query), CONFIG)))

    def block_within(
        self, store: MemoryStore, user: str, query: str, budget: int, counter: Callable[[str], int]
    ) -> str:
        model = Model(replies=["Ok."])
        memory = self._memory(store, user, budget_tokens=budget, count_tokens=counter)
        agent: Any = create_agent(model, middleware=[memory])
        agent.invoke(asked(query))
        return "".join(str(each.content) for each in model._seen[-1] if each.content != query)
