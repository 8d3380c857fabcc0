"""The learning store against Agno itself, with a scripted model."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import pytest

pytest.importorskip("agno.learn")

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.learn import LearningMachine
from agno.learn.stores.protocol import LearningStore
from agno.media import Image
from agno.models.base import Model
from agno.models.message import Message
from agno.models.response import ModelResponse
from agno.tools.function import ToolResult

from bethink import EVERYWHERE, MemoryStore, StoreClosedError, ValidationError
from bethink.features.packing.layout import INTRODUCTION
from bethink_adapters.agno import MemoryLearning

from ..stored import contents
from .contract import AdapterContract, GatedStore, SlowStore, cancel_at_gate, cancel_in_write

in_memory: Any = InMemoryDb  # it has no types
EXAMPLE = Path(__file__).parents[2] / "examples" / "agno_agent.py"


class Scripted(Model):
    """A model that gives *replies*, the last one for ever, and notes the messages it is asked."""

    def __init__(self, *replies: str | dict[str, Any]) -> None:
        super().__init__(id="scripted")
        self.replies = list(replies)
        self.prompts: list[list[tuple[str, str]]] = []

    def invoke(self, *args: Any, **kwargs: Any) -> ModelResponse:
        asked: Sequence[Message] = kwargs["messages"]
        self.prompts.append([(message.role, str(message.content)) for message in asked])
        reply = self.replies.pop(0) if self.replies[1:] else self.replies[0]
        if isinstance(reply, str):
            return ModelResponse(role="assistant", content=reply)
        if "fails" in reply:
            raise RuntimeError("no network")
        call = {"id": str(len(self.prompts)), "type": "function", "function": reply}
        return ModelResponse(role="assistant", tool_calls=[call])

    async def ainvoke(self, *args: Any, **kwargs: Any) -> ModelResponse:
        return self.invoke(*args, **kwargs)

    def invoke_stream(self, *args: Any, **kwargs: Any) -> Iterator[ModelResponse]:
        raise NotImplementedError

    def ainvoke_stream(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def _parse_provider_response(self, response: Any, **kwargs: Any) -> ModelResponse:
        raise NotImplementedError

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        raise NotImplementedError


def agent_with(memory: MemoryLearning, *replies: Any, **options: Any) -> tuple[Agent, Scripted]:
    model = Scripted(*(replies or ("Noted.",)))
    machine = LearningMachine(custom_stores={"memory": memory})
    options = {"db": in_memory(), "telemetry": False, **options}
    return Agent(model=model, learning=machine, **options), model


def prompt(memory: MemoryLearning, text: str, user: str | None = "ann") -> list[tuple[str, str]]:
    """Run one turn of a session of its own; return the messages the model was asked with."""
    agent, model = agent_with(memory)
    agent.run(text, user_id=user)
    return model.prompts[-1]


@pytest.fixture(autouse=True)
def agno_logs(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Agno's logger hands nothing on to others, so it is listened to itself."""
    logger = logging.getLogger("agno")
    logger.addHandler(caplog.handler)
    yield
    logger.removeHandler(caplog.handler)


def test_it_passes_for_the_frameworks_own(store: MemoryStore) -> None:
    assert isinstance(MemoryLearning(store), LearningStore)


def test_a_new_agent_knows_what_an_earlier_one_heard(store: MemoryStore) -> None:
    prompt(MemoryLearning(store), "I always take my coffee with oat milk.")
    (role, block), question = prompt(MemoryLearning(store), "How do I take my coffee?")
    assert role == "system"
    assert block.startswith(INTRODUCTION)
    assert "user: I always take my coffee with oat milk." in block
    assert question == ("user", "How do I take my coffee?")


def test_an_answer_is_remembered_with_the_next_turn(store: MemoryStore) -> None:
    memory = MemoryLearning(store)
    agent, _ = agent_with(memory, "Hello Ann.", "You are Ann.", add_history_to_context=True)
    agent.run("I am Ann.", user_id="ann", session_id="s")
    assert contents(store, EVERYWHERE) == ["I am Ann."]
    asyncio.run(agent.arun("Who am I?", user_id="ann", session_id="s"))
    told = [(each.content, each.author, each.thread) for each in store.all(namespace="agno/ann")]
    assert told[:3] == [
        ("I am Ann.", "user", "s"),
        ("Hello Ann.", "assistant", "s"),
        ("Who am I?", "user", "s"),
    ]


def test_what_is_not_for_the_memory_is_not_remembered(store: MemoryStore) -> None:
    unkept: list[Any] = [{"add_to_agent_memory": False}, {"temporary": True}]
    for flags in unkept:
        example = Message(role="user", content="I live in Oslo.", **flags)
        agent, model = agent_with(MemoryLearning(store), additional_input=[example])
        agent.run("I am Ann.", user_id="ann", session_id="s")
        assert ("user", "I live in Oslo.") in model.prompts[-1]
    assert contents(store, EVERYWHERE) == ["I am Ann.", "I am Ann."]


def test_the_hook_remembers_the_last_answer_once(store: MemoryStore) -> None:
    machine = LearningMachine(custom_stores={"memory": MemoryLearning(store)})
    agent = Agent(
        model=Scripted("Hello Ann.", "You are Ann."),
        db=in_memory(),
        learning=machine,
        post_hooks=[machine.capture_hook()],
        add_history_to_context=True,
        telemetry=False,
    )
    for text in ("I am Ann.", "Who am I?"):
        agent.run(text, user_id="ann", session_id="s")
    agent.background_executor.shutdown()
    said = ["Hello Ann.", "I am Ann.", "Who am I?", "You are Ann."]
    assert sorted(contents(store, EVERYWHERE)) == said


def test_a_session_recalls_its_own_words_only_when_asked_to(store: MemoryStore) -> None:
    said = [Message(role="user", content="My parrot is called Quetzal.")]
    for own in (False, True):
        memory = MemoryLearning(store, include_own=own)
        memory.process(said, user_id="ann", session_id="s")
        asked: dict[str, Any] = {"message": "parrot", "user_id": "ann"}
        assert bool(memory.recall(**asked, session_id="s")) is own
        assert memory.recall(**asked, session_id="other")
    store.store("The parrot is green.", namespace="agno/bob")
    assert MemoryLearning(store, include_own=False).recall(message="parrot", user_id="bob")


def test_a_question_does_not_recall_itself(store: MemoryStore) -> None:
    for _ in range(2):
        assert prompt(MemoryLearning(store), "When is tea?") == [("user", "When is tea?")]


def test_what_is_said_again_adds_nothing(store: MemoryStore) -> None:
    memory, said = MemoryLearning(store), [{"role": "user", "content": "Tea is at four."}]
    updated = []
    for _ in range(2):
        asyncio.run(memory.aprocess(said, user_id="ann", session_id="s"))
        updated.append(memory.was_updated)
    store.forget(namespace="agno/ann")
    memory.process(said, user_id="ann", session_id="s")
    assert updated == [True, False]
    memory.was_updated = True
    memory.process(said, user_id=None)
    assert not memory.was_updated
    assert contents(store, EVERYWHERE) == []


def test_what_is_said_by_two_threads_at_once_is_remembered_once(store: MemoryStore) -> None:
    memory, said = MemoryLearning(store), [Message(role="user", content="It rains.")]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: memory.process(said, user_id="ann"), range(8)))
    assert [entry.action for entry in store.log()] == ["store"]


def test_a_text_said_again_later_is_a_memory_again(store: MemoryStore) -> None:
    memory = MemoryLearning(store)
    for city in ("Oslo", "Rome", "Oslo"):
        said = {"role": "user", "content": f"I live in {city} now."}
        memory.process([said], user_id="ann", session_id="s")
    assert [text.split()[3] for text in contents(store, EVERYWHERE)] == ["Oslo", "Rome", "Oslo"]


def test_an_erased_session_does_not_come_back_from_the_history(store: MemoryStore) -> None:
    memory = MemoryLearning(store)
    agent, _ = agent_with(memory, "Hello Ann.", add_history_to_context=True)
    for text in ("I am Ann.", "I have a cat."):
        agent.run(text, user_id="ann", session_id="s")
    assert memory.erase_user("ann") >= 3
    agent.run("Who am I?", user_id="ann", session_id="s")
    assert {"I am Ann.", "I have a cat."}.isdisjoint(contents(store, EVERYWHERE))


def test_an_answer_given_anew_supersedes(store: MemoryStore) -> None:
    memory, question = MemoryLearning(store), Message(role="user", content="Where is Ann?")
    for answer in ("In Oslo.", "In Rome."):
        said = [question, Message(role="assistant", content=answer)]
        memory.process(said, user_id="ann", session_id="s")
    assert contents(store, EVERYWHERE) == ["Where is Ann?", "In Rome."]


@pytest.mark.parametrize("by_tool", [False, True], ids=["turn", "tool"])
def test_what_a_cancelled_call_remembers_does_not_overtake_what_follows(by_tool: bool) -> None:
    async def forgetting(slow: SlowStore) -> None:
        memory = MemoryLearning(slow, per_user=False, tools=True)
        forget = asyncio.to_thread(slow.forget, namespace=memory.namespace)
        remember: Any = (await memory.aget_tools())[-1]
        message = {"role": "user", "content": "Old."}
        call = remember("Old.") if by_tool else memory.aprocess(messages=[message])
        await cancel_in_write(slow, call, forget)

    with SlowStore() as slow:
        asyncio.run(forgetting(slow))
        assert contents(slow, EVERYWHERE) == []


def test_only_words_of_people_and_models_are_remembered(store: MemoryStore) -> None:
    parts = [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": "x"}, "a cat"]
    said: list[Any] = [
        Message(role="system", content="Be nice."),
        Message(role="user", content=parts),
        Message(role="assistant", content=None, tool_calls=[{"id": "1"}]),
        Message(role="assistant", content="Let me look.", tool_calls=[{"id": "2"}]),
        Message(role="tool", content="42"),
        Message(role="assistant", content=" "),
        {"role": "assistant", "content": {"answer": 42}},
    ]
    MemoryLearning(store).process(said, user_id="ann")
    assert contents(store, EVERYWHERE) == ["Look:\na cat"]


def picture() -> ToolResult:
    """Return a picture of a cat."""
    return ToolResult(content="A cat.", images=[Image(content=b"x")])


@pytest.mark.parametrize(
    "options",
    [
        {"add_knowledge_to_context": True, "knowledge_retriever": lambda **_: [{"content": "Doc"}]},
        {"add_dependencies_to_context": True, "dependencies": {"tier": "gold"}},
        {"tools": [picture]},
    ],
    ids=["knowledge", "dependencies", "pictures of a tool"],
)
def test_what_agno_adds_to_the_words_of_a_user_is_not_remembered(
    store: MemoryStore, options: dict[str, Any]
) -> None:
    call = {"name": "picture", "arguments": "{}"}
    replies = (call, "Noted.") if "tools" in options else ("Noted.",)
    memory = MemoryLearning(store)
    agent, _ = agent_with(memory, *replies, **options)
    ran = agent.run("I have a cat.", user_id="ann", session_id="s")
    memory.process(ran.messages or [], user_id="ann", session_id="s")
    assert contents(store, EVERYWHERE) == ["I have a cat.", "Noted."]


def test_a_run_without_a_user_remembers_nothing_unless_all_share(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.store("Tea is at four.", namespace="agno")
    assert len(prompt(MemoryLearning(store), "When is tea?", None)) == 1
    assert caplog.text.count("without a user_id") == 1
    assert contents(store, EVERYWHERE) == ["Tea is at four."]
    assert len(prompt(MemoryLearning(store, per_user=False), "When is tea?", None)) == 2
    assert store.count(namespace="agno") == 2


@pytest.mark.parametrize("awaited", [False, True], ids=["sync", "async"])
def test_the_model_searches_and_writes_by_itself(store: MemoryStore, awaited: bool) -> None:
    agent, model = agent_with(
        MemoryLearning(store, tools=True),
        {"name": "recall", "arguments": '{"query": "pizza"}'},
        {"name": "remember", "arguments": '{"content": "Ann likes pizza."}'},
        {"name": "recall", "arguments": '{"query": "pizza"}'},
        "Done.",
    )
    if awaited:
        asyncio.run(agent.arun("Learn.", user_id="ann"))
    else:
        agent.run("Learn.", user_id="ann")
    answers = [text for role, text in model.prompts[-1] if role == "tool"]
    assert answers[:2] == ["Nothing is known about that.", "Remembered."]
    assert "Ann likes pizza." in answers[2]
    assert "`remember`" in model.prompts[0][0][1]
    assert "Ann likes pizza." in [each.content for each in store.all(namespace="agno/ann")]


@pytest.mark.parametrize("query", ["tea \ud83e", "tea " * 140_000], ids=["broken", "long"])
def test_any_text_is_a_query(store: MemoryStore, query: str) -> None:
    store.store("Tea is at four.", namespace="agno/ann")
    recall, _ = MemoryLearning(store, tools=True).get_tools(user_id="ann")
    assert "Tea is at four." in recall(query)


def test_what_recalls_nothing_shows_nothing(store: MemoryStore) -> None:
    assert MemoryLearning(store).build_context(None) == ""


def test_there_are_no_tools_unless_asked_for(store: MemoryStore) -> None:
    assert MemoryLearning(store).get_tools(user_id="ann") == []
    assert MemoryLearning(store).instructions() == ""
    assert MemoryLearning(store, tools=True).get_tools(user_id=None) == []
    assert len(asyncio.run(MemoryLearning(store, tools=True).aget_tools(user_id="ann"))) == 2


def test_a_tool_that_remembers_updates_the_memory(store: MemoryStore) -> None:
    memory = MemoryLearning(store, tools=True)
    _, remember = memory.get_tools(user_id="ann")
    remember("Ann likes tea.")
    assert memory.was_updated


def test_wrong_settings_are_refused(store: MemoryStore) -> None:
    for wrong in ({"k": 0}, {"namespace": ""}, {"budget_tokens": -1}):
        with pytest.raises(ValidationError):
            MemoryLearning(store, **wrong)


def test_asking_a_closed_store_raises(store: MemoryStore) -> None:
    memory = MemoryLearning(store)
    store.close()
    with pytest.raises(StoreClosedError):
        memory.recall(message="tea", user_id="ann")
    with pytest.raises(StoreClosedError):
        memory.process([Message(role="user", content="Tea.")], user_id="ann")


def named(user: str) -> str:
    """Return *user* as an id; Agno takes an empty one for none."""
    return f"user {user}"


class TestContract(AdapterContract):
    """Each user has a session with a history; the memory leaves out what that shows."""

    not_applicable: ClassVar[Mapping[str, str]] = {
        "dump": "Agno cannot rebuild a learning store of others from its dump"
    }
    failure_logger = "agno"

    def agent(self, store: MemoryStore, user: str) -> tuple[Agent, Scripted]:
        """Return the agent of a user; with a new store, as after a restart, a new one."""
        agents = self.__dict__.setdefault("agents", {})
        if (id(store), user) not in agents:
            memory = MemoryLearning(store, include_own=False)
            agents[id(store), user] = agent_with(memory, add_history_to_context=True)
        made: tuple[Agent, Scripted] = agents[id(store), user]
        return made

    def run(self, store: MemoryStore, user: str, text: str, reply: str) -> str:
        agent, model = self.agent(store, user)
        model.replies = [reply]
        agent.run(text, user_id=named(user), session_id="chat")
        return "\n".join(text for _, text in model.prompts[-1])

    def said(self, store: MemoryStore, user: str) -> list[Message]:
        """Return what Agno shows again of the session."""
        session: Any = self.agent(store, user)[0].get_session("chat")
        messages: list[Message] = session.get_messages(skip_roles=["system"])
        return messages

    def ingest(self, store: MemoryStore, user: str) -> None:
        machine: Any = self.agent(store, user)[0].learning
        machine.process(self.said(store, user), user_id=named(user), session_id="chat")

    def remember(self, store: MemoryStore, user: str, text: str) -> None:
        _, remember = MemoryLearning(store, tools=True).get_tools(user_id=named(user))
        remember(text)

    def find(self, store: MemoryStore, user: str, query: str) -> list[str]:
        memory = MemoryLearning(store, k=50, budget_tokens=100_000)
        packed = memory.recall(message=query, user_id=named(user))
        return [hit.memory.content for hit in packed.results] if packed else []

    def erase_user(self, store: MemoryStore, user: str) -> int:
        return asyncio.run(MemoryLearning(store).aerase_user(named(user)))

    def run_failing(self, store: MemoryStore, user: str, text: str) -> bool:
        agent, model = self.agent(store, user)
        model.replies = [{"fails": True}]
        agent.run(text, user_id=named(user), session_id="chat")
        agent.background_executor.shutdown()  # which remembers
        agent._background_executor = None
        return True

    def framework_history(self, store: MemoryStore, user: str) -> str:
        return "\n".join(str(message.content) for message in self.said(store, user))

    def cancel_mid_recall(self, store: GatedStore, user: str, query: str) -> None:
        agent, _ = self.agent(store, user)
        asyncio.run(cancel_at_gate(store, agent.arun(query, user_id=named(user))))

    def block_within(
        self, store: MemoryStore, user: str, query: str, budget: int, counter: Callable[[str], int]
    ) -> str:
        memory = MemoryLearning(store, budget_tokens=budget, count_tokens=counter)
        *added, _ = prompt(memory, query, named(user))
        return "".join(text for _, text in added)


def test_the_example_remembers_across_sessions(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "user: I always take my coffee with oat milk." in done.stdout


@pytest.mark.parametrize("id", [7, 0, 1 << 70])
def test_a_whole_number_is_an_id_by_its_digits(store: MemoryStore, id: int) -> None:
    memory = MemoryLearning(store, include_own=False)
    said = [{"role": "user", "content": "My parrot is green."}]
    memory.process(said, user_id=id, session_id=id)
    assert memory.recall(message="parrot", user_id=str(id), session_id="other")
    assert memory.recall(message="parrot", user_id=id, session_id="other")
    assert memory.recall(message="parrot", user_id=id, session_id=str(id)) is None
    assert memory.recall(message="parrot", user_id=id, session_id=id) is None
    assert memory.erase_user(id) == 1


@pytest.mark.parametrize("id", [True, 1.5, b"s", ("s",)])
@pytest.mark.parametrize("name", ["user_id", "session_id"])
def test_any_other_id_is_refused_by_name(store: MemoryStore, name: str, id: Any) -> None:
    memory, ids = MemoryLearning(store), {"user_id": "ann", "session_id": "s", name: id}
    message = f"{name} must be a str or an int, not {type(id).__name__}"
    with pytest.raises(ValidationError, match=message):
        memory.recall(message="parrot", **ids)
    with pytest.raises(ValidationError, match=message):
        memory.process([{"role": "user", "content": "Hello."}], **ids)
