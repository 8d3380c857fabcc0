"""The policy and the middleware in agents of AG2 itself, with its scripted model."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

pytest.importorskip("ag2.assembly")

from ag2 import Agent
from ag2.assembly import AssemblyPolicy
from ag2.config import LLMClient, ModelConfig
from ag2.events import ModelMessage, ModelRequest, ModelResponse, ToolCallEvent, ToolCallsEvent
from pydantic import BaseModel

from bethink import MemoryStore, Subtree, ValidationError
from bethink_adapters.ag2 import RecallPolicy, erase_user, remembering

from ..stored import said
from .contract import FACT, QUESTION, AdapterContract, GatedStore, cancel_at_gate, place

EXAMPLE = Path(__file__).parents[2] / "examples" / "ag2_agent.py"


class Scripted(ModelConfig, LLMClient):
    """A model that gives *replies* in turn and notes the events it reads in *prompts*."""

    def __init__(self, *replies: str | ToolCallEvent) -> None:
        self.replies = list(replies)
        self.prompts: list[list[Any]] = []

    @property
    def provider(self) -> Any:
        raise NotImplementedError

    @property
    def model(self) -> str:
        return "scripted"

    def copy(self) -> Scripted:
        return self

    def create(self) -> Scripted:
        return self

    def create_files_client(self) -> Any:
        raise NotImplementedError

    async def __call__(
        self, messages: Sequence[Any], context: Any, **options: Any
    ) -> ModelResponse:
        self.prompts.append(list(messages))
        reply = self.replies.pop(0)
        if isinstance(reply, ToolCallEvent):
            return ModelResponse(tool_calls=ToolCallsEvent([reply]))
        return ModelResponse(ModelMessage(reply))


def read(events: Sequence[Any]) -> list[str]:
    """Return the texts of requests and answers as the model reads them."""
    parts = [part for event in events for part in getattr(event, "parts", [event])]
    return [part.content for part in parts if getattr(part, "content", None)]


def ask(agent: Agent, *questions: str) -> Any:
    """Ask one after the other in one conversation; return the last reply."""

    async def one_by_one() -> Any:
        reply = await agent.ask(questions[0])
        for question in questions[1:]:
            reply = await reply.ask(question)
        return reply

    return asyncio.run(one_by_one())


async def stream_of(reply: Any) -> list[Any]:
    return list(await reply.context.stream.history.get_events())


# -- what the model reads


def test_a_policy_passes_for_one_of_ag2(store: MemoryStore) -> None:
    assert isinstance(RecallPolicy(store, namespace="default"), AssemblyPolicy)


def test_the_block_stands_before_the_last_request_and_in_no_stream(store: MemoryStore) -> None:
    store.store(FACT)
    model = Scripted("Hi.", "There.")
    reply = ask(
        Agent("helper", config=model, assembly=[RecallPolicy(store, namespace="default")]),
        "Hello.",
        QUESTION,
    )
    shown = read(model.prompts[-1])
    assert [shown[0], shown[1], shown[3]] == ["Hello.", "Hi.", QUESTION]
    assert FACT in shown[2]
    assert read(asyncio.run(stream_of(reply))) == ["Hello.", "Hi.", QUESTION, "There."]


@pytest.mark.parametrize("returned", ["pralines", {"dessert": "pralines"}, ["pralines"]])
def test_what_a_tool_returned_recalls_too(store: MemoryStore, returned: Any) -> None:
    store.store("Pralines contain hazelnuts.")

    def dessert() -> Any:
        """Tell what is for dessert."""
        return returned

    model = Scripted(ToolCallEvent("dessert"), "Better not.")
    ask(
        Agent(
            "waiter",
            config=model,
            tools=[dessert],
            assembly=[RecallPolicy(store, namespace="default")],
        ),
        "May Ann eat what you serve?",
    )
    seen = [str(read(prompt)) for prompt in model.prompts]
    assert ["hazelnuts" in prompt for prompt in seen] == [False, True]


def test_what_the_model_reads_or_a_tool_returned_earlier_recalls_nothing(
    store: MemoryStore,
) -> None:
    store.store_many(["Pralines contain hazelnuts.", "Pralines, please.\n"])

    def dessert() -> str:
        """Tell what is for dessert."""
        return "pralines"

    model = Scripted(ToolCallEvent("dessert"), "Pralines.", "Bye.")
    recall = RecallPolicy(store, namespace="default", k=9)
    waiter = Agent("waiter", config=model, tools=[dessert], assembly=[recall])
    ask(waiter, "Pralines, please. ", "Thanks!")
    assert [str(read(prompt)).count("please") for prompt in model.prompts] == [1, 1, 1]
    assert "hazelnuts" not in str(read(model.prompts[-1]))


def test_without_a_request_nothing_is_recalled(store: MemoryStore) -> None:
    store.store(FACT)
    answer: list[Any] = [ModelResponse(ModelMessage(QUESTION))]
    given = ["Be brief."], answer
    assert asyncio.run(RecallPolicy(store, namespace="default").apply(*given, None)) == given


def test_a_new_agent_knows_what_an_earlier_one_heard(store: MemoryStore) -> None:
    first = Agent(
        "one", config=Scripted("Noted."), middleware=[remembering(store, namespace="default")]
    )
    ask(first, "I always take my coffee with oat milk.")
    model = Scripted("With oat milk.")
    ask(
        Agent("two", config=model, assembly=[RecallPolicy(store, namespace="default")]),
        "How do I take my coffee?",
    )
    assert "oat milk" in read(model.prompts[-1])[0]


# -- what is remembered


def test_what_is_asked_and_answered_is_remembered_with_its_stream(store: MemoryStore) -> None:
    agent = Agent(
        "helper",
        config=Scripted("Hi Ann.", "Fine."),
        middleware=[remembering(store, namespace="default")],
    )
    reply = ask(agent, "I am Ann.", "I like tea.")
    assert said(store) == [
        *(("user", "I am Ann."), ("assistant", "Hi Ann.")),
        *(("user", "I like tea."), ("assistant", "Fine.")),
    ]
    assert {each.thread for each in store.all()} == {str(reply.context.stream.id)}


def test_a_question_with_a_blank_answer_is_remembered(store: MemoryStore) -> None:
    ask(
        Agent("helper", config=Scripted(" "), middleware=[remembering(store, namespace="default")]),
        "I am Ann.",
    )
    assert said(store) == [("user", "I am Ann.")]


def test_a_turn_that_fails_keeps_the_words_of_the_user(store: MemoryStore) -> None:
    memory = remembering(store, namespace="default")
    with pytest.raises(IndexError):
        ask(Agent("helper", config=Scripted(), middleware=[memory]), QUESTION)
    assert said(store) == [("user", QUESTION)]


def test_what_is_said_again_is_remembered_again(store: MemoryStore) -> None:
    memory = remembering(store, namespace="default")
    lines = ["I live in Oslo.", "I live in Rome.", "I live in Oslo.", "Yes.", "Yes."]
    ask(Agent("helper", config=Scripted(*["Noted."] * 5), middleware=[memory]), *lines)
    pairs = [(("user", text), ("assistant", "Noted.")) for text in lines]
    assert said(store) == [turn for pair in pairs for turn in pair]


def test_an_answer_made_anew_supersedes(store: MemoryStore) -> None:
    memory = remembering(store, namespace="default")
    asked, context = ModelRequest.ensure_request([QUESTION]), SimpleNamespace()
    context.stream = SimpleNamespace(id="s")
    for reply in ("Here.", "There."):

        async def answer(event: Any, context: Any, reply: str = reply) -> ModelResponse:
            return ModelResponse(ModelMessage(reply))

        turn: Any = memory(asked, context)  # type: ignore[arg-type]
        asyncio.run(turn.on_turn(answer, asked, context))
    assert said(store) == [("user", QUESTION), ("assistant", "There.")]
    assert [each.content for each in store.all(state="superseded")] == ["Here."]


def test_what_a_user_said_in_a_cancelled_turn_is_remembered(store: MemoryStore) -> None:
    class Waiting(Scripted):
        async def __call__(self, *args: Any, **options: Any) -> ModelResponse:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError

    async def cancel() -> None:
        memory = remembering(store, namespace="default")
        agent = Agent("helper", config=Waiting(), middleware=[memory])
        turn = asyncio.ensure_future(agent.ask("I live in Rome."))
        await asked.wait()
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn

    asked = asyncio.Event()
    asyncio.run(cancel())
    assert said(store) == [("user", "I live in Rome.")]


def test_what_ag2_answers_by_itself_is_not_remembered(store: MemoryStore) -> None:
    memory = remembering(store, namespace="default")
    ask(Agent("helper", config=Scripted("HALTED: too long"), middleware=[memory]), QUESTION)
    assert said(store) == [("user", QUESTION)]


class Age(BaseModel):
    years: int


def test_what_ag2_asks_by_itself_is_not_remembered(store: MemoryStore) -> None:
    model = Scripted("Seven.", '{"years": 7}')
    memory = remembering(store, namespace="default")
    agent = Agent("helper", config=model, middleware=[memory], response_schema=Age)

    async def asked_again() -> object:
        return await (await agent.ask("How old is Tom?")).content(retries=1)

    assert asyncio.run(asked_again()) == Age(years=7)
    answers = [("assistant", "Seven."), ("assistant", '{"years": 7}')]
    assert said(store) == [("user", "How old is Tom?"), *answers]


def test_in_a_channel_the_task_recalls_beside_the_last_line(store: MemoryStore) -> None:
    store.store_many([FACT, "The bakery opens at seven."])
    lines = [f"[ann]: {QUESTION}", "[helper]: When does the bakery open?"]
    events = [ModelRequest.ensure_request([line]) for line in lines]
    policy = RecallPolicy(store, namespace="default", k=2)
    _, shown = asyncio.run(policy.apply([], list(events), None))
    block = read(shown)[1]
    assert FACT in block
    assert "The bakery opens at seven." in block


def test_a_namespace_is_required(store: MemoryStore) -> None:
    makers: list[Any] = [RecallPolicy, remembering]
    for made in makers:
        with pytest.raises(TypeError, match="namespace"):
            made(store)


def test_a_failing_store_is_logged_and_the_run_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = MemoryStore(tmp_path / "memory.db")
    parts: dict[str, Any] = {
        "assembly": [RecallPolicy(store, namespace="default")],
        "middleware": [remembering(store, namespace="default")],
    }
    store.close()
    with caplog.at_level(logging.WARNING, "bethink_adapters"):
        assert ask(Agent("helper", config=Scripted("No idea."), **parts), QUESTION).body
    ours = [record.message for record in caplog.records if "bethink" in record.name]
    assert [message.partition(" could")[0] for message in ours] == ["nothing", "the words of a run"]


def test_wrong_settings_are_refused(store: MemoryStore) -> None:
    wrongs: list[dict[str, Any]] = [{"k": 0}, {"namespace": ""}, {"budget_tokens": -1}]
    for wrong in [*wrongs, {"count_tokens": 3}]:
        with pytest.raises(ValidationError):
            RecallPolicy(store, **{"namespace": "ann", **wrong})
    with pytest.raises(ValidationError):
        remembering(store, namespace="")


class TestContract(AdapterContract):
    not_applicable: ClassVar[Mapping[str, str]] = {
        "dump": "a policy has no configuration beyond its arguments"
    }

    def made(self, store: MemoryStore, user: str) -> dict[str, Any]:
        """Return the agent of a user; with a new store, as after a restart, a new one."""
        users = self.__dict__.setdefault("users", {})
        if (id(store), user) not in users:
            model = Scripted()
            parts: dict[str, Any] = {
                "assembly": [RecallPolicy(store, namespace=Subtree(place(user)))],
                "middleware": [remembering(store, namespace=place(user))],
            }
            agent = Agent("helper", config=model, **parts)
            users[id(store), user] = {"agent": agent, "model": model, "reply": None}
        found: dict[str, Any] = users[id(store), user]
        return found

    def run(self, store: MemoryStore, user: str, text: str, reply: str) -> str:
        made = self.made(store, user)
        made["model"].replies.append(reply)
        made["reply"] = asyncio.run((made["reply"] or made["agent"]).ask(text))
        return "\n".join(read(made["model"].prompts[-1]))

    def ingest(self, store: MemoryStore, user: str) -> None:
        made = self.made(store, user)
        reply = made["reply"]

        async def again() -> None:
            *_, asked, answered = await stream_of(reply)

            async def call_next(event: Any, context: Any) -> Any:
                return answered

            middleware: Any = remembering(store, namespace=place(user))(asked, reply.context)
            await middleware.on_turn(call_next, asked, reply.context)

        asyncio.run(again())

    def erase_user(self, store: MemoryStore, user: str) -> int:
        return erase_user(store, namespace=place(user))

    def run_failing(self, store: MemoryStore, user: str, text: str) -> bool:
        made = self.made(store, user)
        with pytest.raises(IndexError):
            asyncio.run((made["reply"] or made["agent"]).ask(text))
        return True

    def remember(self, store: MemoryStore, user: str, text: str) -> None:
        store.store(text, namespace=place(user))

    def find(self, store: MemoryStore, user: str, query: str) -> list[str]:
        found = store.recall(query, k=50, namespace=place(user))
        return [hit.memory.content for hit in found]

    def framework_history(self, store: MemoryStore, user: str) -> str:
        return json.dumps(read(asyncio.run(stream_of(self.made(store, user)["reply"]))))

    def cancel_mid_recall(self, store: GatedStore, user: str, query: str) -> None:
        agent = self.made(store, user)["agent"]
        asyncio.run(cancel_at_gate(store, agent.ask(query)))

    def block_within(
        self, store: MemoryStore, user: str, query: str, budget: int, counter: Callable[[str], int]
    ) -> str:
        options: dict[str, Any] = {"budget_tokens": budget, "count_tokens": counter, "k": 40}
        policy = RecallPolicy(store, namespace=place(user), **options)
        model = Scripted("There.")
        ask(Agent("helper", config=model, assembly=[policy]), query)
        return "".join(read(model.prompts[-1])[:-1])


def test_the_example_remembers_across_conversations(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    second = done.stdout.partition("It answers: Noted.")[2]
    assert "I always take my coffee with oat milk." in second
    assert "It answers: With oat milk, as always." in second
