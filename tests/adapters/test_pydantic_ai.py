"""The capability and the tools against Pydantic AI itself, with a scripted model."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Literal

import pytest

pytest.importorskip("pydantic_ai.capabilities")

from pydantic_ai import (
    Agent,
    BinaryContent,
    DeferredToolResults,
    ModelRetry,
    ToolReturn,
    capture_run_messages,
    messages,
)
from pydantic_ai.capabilities import AbstractCapability, ProcessHistory
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from bethink import MemoryStore, MissingExtraError, Subtree, ValidationError
from bethink.features.packing.layout import INTRODUCTION
from bethink_adapters.pydantic_ai import (
    MemoryConversations,
    MemoryRecall,
    erase_user,
    memory_tools,
)

from .contract import AdapterContract, GatedStore, SlowStore, cancel_at_gate, cancel_in_write, place

EXAMPLE = Path(__file__).parents[2] / "examples" / "pydantic_ai_agent.py"


class Scripted:
    """A model that gives *replies*, the last one for ever, and notes the prompts it is asked."""

    def __init__(self, *replies: str | ToolCallPart) -> None:
        self.replies = list(replies)
        self.prompts: list[list[str]] = []
        self.model = FunctionModel(self.answer, stream_function=self.stream)

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.prompts.append(prompts_in(messages))
        reply = self.replies.pop(0) if self.replies[1:] else self.replies[0]
        return ModelResponse(parts=[reply if isinstance(reply, ToolCallPart) else TextPart(reply)])

    async def stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        for part in self.answer(messages, info).parts:
            yield part.content if isinstance(part, TextPart) else ""


def prompts_in(messages: list[ModelMessage]) -> list[str]:
    """Return what the model is told in words, in order; a file is named by its kind."""
    told = []
    for message in messages:
        for part in message.parts:
            content = getattr(part, "content", "")
            several = [content] if isinstance(content, str) else content
            told += [each if isinstance(each, str) else type(each).__name__ for each in several]
    return [text for text in told if text]


def run(text: Any, scripted: Scripted, *capabilities: Any, **options: Any) -> Any:
    """Run one turn with a new agent in a new event loop."""
    agent = Agent(scripted.model, capabilities=capabilities, **options)
    return asyncio.run(agent.run(text))


def in_default(store: MemoryStore, **options: Any) -> MemoryRecall:
    return MemoryRecall(store, namespace="default", **options)


def shown(text: Any, *capabilities: Any) -> list[str]:
    """Run one turn and return what the model was told."""
    scripted = Scripted("Noted.")
    run(text, scripted, *capabilities)
    return scripted.prompts[-1]


def test_it_passes_for_the_frameworks_own(store: MemoryStore) -> None:
    assert isinstance(in_default(store), AbstractCapability)


def test_recalled_text_is_data_in_front_of_the_question(store: MemoryStore) -> None:
    store.store("Ann likes pizza Margherita.", namespace="users/ann")
    block, question = shown("Which pizza?", MemoryRecall(store, namespace="users/ann"))
    assert block.startswith(INTRODUCTION)
    assert "Ann likes pizza Margherita." in block
    assert question == "Which pizza?"


def test_a_question_may_hold_pictures(store: MemoryStore) -> None:
    store.store("Ann likes pizza Margherita.")
    asked = ["Which pizza is it?", BinaryContent(b"\x89PNG", media_type="image/png")]
    block, *rest = shown(asked, in_default(store))
    assert "Margherita" in block
    assert rest == ["Which pizza is it?", "BinaryContent"]


def test_all_requests_of_a_run_show_the_same_block(store: MemoryStore) -> None:
    store.store("Ann likes pizza Margherita.")
    calling = Scripted(ToolCallPart("price", {}), "Nine.")

    def price() -> str:
        store.store("A pizza Margherita costs nine.")
        return "Nine."

    result = run("What is the pizza?", calling, in_default(store), tools=[price])
    first, second = (prompt[0] for prompt in calling.prompts)
    assert first == second
    assert "Margherita" not in str(result.all_messages())


def test_what_a_tool_shows_is_neither_asked_nor_said_by_the_user(store: MemoryStore) -> None:
    store.store("Ann likes pizza Margherita.", namespace="users/ann")

    def look() -> ToolReturn:
        return ToolReturn(return_value="done", content="Ann hates pizza Margherita, says a page.")

    scripted = Scripted(ToolCallPart("look", {}), "Noted.")
    recall = MemoryRecall(store, namespace="users/ann", remember="said")
    run("Which pizza?", scripted, recall, tools=[look])
    first, second = scripted.prompts
    assert second[: len(first)] == first
    assert "Ann likes pizza Margherita." in first[0]
    assert [record.content for record in store.all(namespace="said")] == ["Which pizza?", "Noted."]


def test_of_several_prompts_the_last_is_asked(store: MemoryStore) -> None:
    store.store("Margherita is the best pizza.")
    parts = [UserPromptPart("I am Ann."), UserPromptPart("Which pizza?")]
    told: list[ModelMessage] = [messages.ModelRequest(parts=parts)]
    scripted = Scripted("Margherita!")
    agent = Agent(scripted.model, capabilities=[in_default(store)])
    asyncio.run(agent.run(message_history=told))
    first, block, question = scripted.prompts[-1]
    assert (first, question) == ("I am Ann.", "Which pizza?")
    assert "Margherita is the best pizza." in block


def test_a_prompt_beside_what_a_tool_returned_later_is_asked(store: MemoryStore) -> None:
    store.store("Ann likes pizza Margherita.")
    told: list[ModelMessage] = [
        messages.ModelRequest(parts=[UserPromptPart("Look.")]),
        ModelResponse(parts=[ToolCallPart("look", {}, "c")]),
    ]
    scripted = Scripted("Margherita!")
    agent = Agent(scripted.model, capabilities=[in_default(store, remember="said")])
    seen = DeferredToolResults(calls={"c": "A menu."})
    asyncio.run(agent.run("Which pizza?", message_history=told, deferred_tool_results=seen))
    assert "Ann likes pizza Margherita." in scripted.prompts[-1][-2]
    assert [each.content for each in store.all(namespace="said")] == ["Which pizza?", "Margherita!"]


def test_the_next_run_recalls_anew(store: MemoryStore) -> None:
    scripted = Scripted("Noted.")
    agent = Agent(scripted.model, capabilities=[in_default(store)])
    for topping in ("basil", "olives"):
        store.store(f"The pizza has {topping}.")
        asyncio.run(agent.run("What is on the pizza?"))
    assert [str(prompt).count("olives") for prompt in scripted.prompts] == [0, 1]


def test_a_streamed_run_is_shown_it_too(store: MemoryStore) -> None:
    store.store("Ann likes pizza Margherita.")
    scripted = Scripted("Margherita!")
    agent = Agent(scripted.model, capabilities=[in_default(store, remember="said")])

    async def streamed() -> list[ModelMessage]:
        async with agent.run_stream("Which pizza?") as result:
            await result.get_output()
        return result.all_messages()

    assert "likes" not in str(asyncio.run(streamed()))
    assert "Ann likes pizza Margherita." in scripted.prompts[0][0]
    assert [each.content for each in store.all(namespace="said")] == ["Which pizza?", "Margherita!"]


@pytest.mark.parametrize("comes_first", [False, True])
def test_what_processes_the_history_does_not_see_what_was_recalled(
    store: MemoryStore, comes_first: bool
) -> None:
    store.store("Ann likes pizza Margherita.")
    seen: list[str] = []

    def process(history: list[ModelMessage]) -> list[ModelMessage]:
        seen.extend(prompts_in(history))
        return history

    recall = in_default(store, remember="said")
    both = [ProcessHistory(process), recall] if comes_first else [recall, ProcessHistory(process)]
    scripted = Scripted("Margherita!")
    result = run("Which pizza?", scripted, *both)
    assert "Ann likes pizza Margherita." in scripted.prompts[0][0]
    assert seen == ["Which pizza?"]
    assert prompts_in(result.all_messages()) == ["Which pizza?", "Margherita!"]
    assert [each.content for each in store.all(namespace="said")] == ["Which pizza?", "Margherita!"]


def test_what_is_said_is_remembered_where_asked(store: MemoryStore) -> None:
    recall = MemoryRecall(store, namespace="users/ann", remember="users/ann")
    run("I take my coffee with oat milk.", Scripted("Noted."), recall)
    assert "oat milk" in shown("How do I take my coffee?", recall)[0]
    told = store.all(namespace="users/ann")
    assert [each.author for each in told] == ["user", "assistant"] * 2
    assert told[0].thread == told[1].thread != told[2].thread


@pytest.mark.skipif(not hasattr(messages, "SpeechPart"), reason="this release knows no speech")
def test_what_is_spoken_is_asked_said_and_remembered_like_text(store: MemoryStore) -> None:
    def speech(speaker: Literal["user", "assistant"], text: str) -> Any:
        return messages.SpeechPart(speaker=speaker, transcript=text)

    store.store("Ann likes pizza Margherita.", namespace="users/ann")
    store.store("I like pizza.", namespace="users/ann")
    prompts: list[list[str]] = []

    def answer(told: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        prompts.append(prompts_in(told))
        return ModelResponse(parts=[speech("assistant", "Margherita!")])

    recall = MemoryRecall(store, namespace="users/ann", remember="said")
    asked: list[ModelMessage] = [
        messages.ModelRequest(parts=[speech("user", "I like pizza.")]),
        ModelResponse(parts=[speech("assistant", "Noted.")]),
        messages.ModelRequest(parts=[speech("user", "Which pizza?")]),
    ]
    agent = Agent(FunctionModel(answer), capabilities=[recall])
    asyncio.run(agent.run(message_history=asked))
    said, noted, block, question = prompts[0]
    assert (said, noted, question) == ("I like pizza.", "Noted.", "Which pizza?")
    assert "Ann likes pizza Margherita." in block
    assert "I like pizza." not in block
    told = [(each.author, each.content) for each in store.all(namespace="said")]
    assert told == [("user", "Which pizza?"), ("assistant", "Margherita!")]


def test_the_namespace_may_come_from_the_run(store: MemoryStore) -> None:
    for user in ("ann", "bob"):
        store.store(f"The pizza of {user}.", namespace=f"users/{user}")
    mine = MemoryRecall(
        store,
        namespace=lambda ctx: Subtree(f"users/{ctx.deps}"),
        remember=lambda ctx: f"users/{ctx.deps}",
    )
    scripted = Scripted("A good one.")
    agent = Agent(scripted.model, deps_type=str, capabilities=[mine])
    asyncio.run(agent.run("Which pizza?", deps="bob"))
    assert "The pizza of bob." in scripted.prompts[0][0]
    assert "ann" not in str(scripted.prompts)
    assert store.count(namespace="users/bob") == 3


def test_a_run_without_a_namespace_reads_no_other(store: MemoryStore) -> None:
    store.store("The pizza of everybody.")
    nowhere: Any = attrgetter("deps")
    with pytest.raises(ValidationError, match="namespace must not be None"):
        shown("Which pizza?", MemoryRecall(store, namespace=nowhere))


def test_several_may_serve_one_agent(store: MemoryStore) -> None:
    for name in ("mine", "ours"):
        store.store(f"The pizza is {name}.", namespace=name)
    two = [MemoryRecall(store, namespace=name) for name in ("mine", "ours")]
    assert len(shown("Which pizza?", *two)) == 3


def test_a_failing_store_is_logged_and_the_run_goes_on(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.store("Ann likes pizza Margherita.")
    recall = in_default(store, remember="default")
    store.close()
    with caplog.at_level(logging.ERROR, "bethink_adapters"):
        assert shown("Which pizza?", recall) == ["Which pizza?"]
    named = [record.name for record in caplog.records if record.name.startswith("bethink")]
    assert named == ["bethink_adapters.shared.recalling", "bethink_adapters.shared.turns"]


def test_wrong_settings_are_refused(store: MemoryStore) -> None:
    for made in (MemoryRecall, memory_tools):
        with pytest.raises(TypeError, match="'namespace'"):
            made(store)  # type: ignore[call-arg]
    wrongs: list[dict[str, Any]] = [{"k": 0}, {"namespace": ""}, {"budget_tokens": -1}]
    for wrong in wrongs:
        with pytest.raises(ValidationError):
            MemoryRecall(store, **{"namespace": "default"} | wrong)
    unnamed: Any
    for unnamed in ("", 5, Subtree("users/ann")):
        with pytest.raises(ValidationError):
            in_default(store, remember=unnamed)
    for unfit in ({"k": 0}, {"namespace": ""}):
        with pytest.raises(ValidationError):
            memory_tools(store, **{"namespace": "default"} | unfit)


@pytest.mark.parametrize("made", [MemoryRecall, MemoryConversations, memory_tools])
def test_what_is_missing_is_named(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, made: Callable[..., object]
) -> None:
    for name in ("pydantic_ai", "pydantic_ai.capabilities", "pydantic_ai.conversation_store"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"'\.\[pydantic-ai\]'"):
        made(store, namespace="default")


# -- the tools


def test_the_model_searches_and_writes_by_itself(store: MemoryStore) -> None:
    scripted = Scripted(
        ToolCallPart("recall", {"query": "pizza"}),
        ToolCallPart("remember", {"content": "Ann likes pizza."}),
        ToolCallPart("recall", {"query": "pizza"}),
        "Done.",
    )
    tools = memory_tools(store, namespace=lambda ctx: f"users/{ctx.deps}")
    agent = Agent(scripted.model, deps_type=str, toolsets=[tools])
    asyncio.run(agent.run("Learn.", deps="ann"))
    _, nothing, written, block, *_ = scripted.prompts[-1]
    assert (nothing, written) == ("Nothing is known about that.", "Remembered.")
    assert block.startswith(INTRODUCTION)
    assert [each.content for each in store.all(namespace="users/ann")] == ["Ann likes pizza."]


def test_tools_of_a_run_without_a_namespace_read_no_other(store: MemoryStore) -> None:
    store.store("Tea is at four.")
    recall: Any = memory_tools(store, namespace=attrgetter("deps")).tools["recall"].function
    with pytest.raises(ModelRetry, match="namespace must be"):
        recall(SimpleNamespace(deps=None), "tea")


@pytest.mark.parametrize("query", ["tea \ud83e", "tea " * 140_000], ids=["broken", "long"])
def test_any_text_is_a_query(store: MemoryStore, query: str) -> None:
    store.store("Tea is at four.")
    recall: Any = memory_tools(store, namespace="default").tools["recall"].function
    assert "Tea is at four." in recall(None, query)


def test_the_tools_tell_the_model_what_failed(store: MemoryStore) -> None:
    scripted = Scripted(
        ToolCallPart("recall", {"query": "pizza"}),
        ToolCallPart("remember", {"content": "Ann likes pizza."}),
        "I do not know.",
    )
    store.close()
    result = run("Which pizza?", scripted, toolsets=[memory_tools(store, namespace="default")])
    assert result.output == "I do not know."
    assert str(scripted.prompts[-1]).count("The memory failed") == 2


def test_what_a_cancelled_tool_writes_does_not_overtake_what_follows() -> None:
    async def forgetting(slow: SlowStore) -> None:
        remember: Any = memory_tools(slow, namespace="default").tools["remember"].function
        forget = asyncio.to_thread(slow.forget, namespace="default")
        await cancel_in_write(slow, remember(None, "Ann likes pizza."), forget)

    with SlowStore() as slow:
        asyncio.run(forgetting(slow))
        assert slow.count() == 0


def use(store: MemoryStore, user: str, tool: str, argument: str) -> str:
    """Call a tool as the framework would."""
    verb: Any = memory_tools(store, namespace=place(user), k=50).tools[tool].function
    answer = verb(None, argument)
    return str(asyncio.run(answer) if asyncio.iscoroutine(answer) else answer)


class TestContract(AdapterContract):
    """Each user has a running conversation; tools write and find what is remembered besides."""

    not_applicable: ClassVar[Mapping[str, str]] = {
        "dump": "a capability has no configuration beyond its arguments"
    }
    failure = ModelRetry

    def history(self, store: MemoryStore, user: str) -> list[ModelMessage]:
        """Return the messages of a user; with a new store, as after a restart, none."""
        histories = self.__dict__.setdefault("histories", {})
        kept: list[ModelMessage] = histories.setdefault((id(store), user), [])
        return kept

    def run(self, store: MemoryStore, user: str, text: str, reply: str) -> str:
        scripted, kept = Scripted(reply), self.history(store, user)
        recall = MemoryRecall(store, namespace=place(user), remember=place(user))
        agent = Agent(scripted.model, capabilities=[recall])
        kept[:] = asyncio.run(agent.run(text, message_history=list(kept))).all_messages()
        return "\n".join(scripted.prompts[-1])

    def ingest(self, store: MemoryStore, user: str) -> None:
        """Do nothing: the capability itself remembers a run, once."""

    def remember(self, store: MemoryStore, user: str, text: str) -> None:
        use(store, user, "remember", text)

    def find(self, store: MemoryStore, user: str, query: str) -> list[str]:
        lines = use(store, user, "recall", query).splitlines()
        return [line.split(": ", 1)[1] for line in lines if line.startswith("- ")]

    def erase_user(self, store: MemoryStore, user: str) -> int:
        return erase_user(store, user, namespace=place(user))

    def run_failing(self, store: MemoryStore, user: str, text: str) -> bool:
        def fail(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            raise ConnectionError

        recall = MemoryRecall(store, namespace=place(user), remember=place(user))
        with pytest.raises(ConnectionError):
            asyncio.run(Agent(FunctionModel(fail), capabilities=[recall]).run(text))
        return True

    def framework_history(self, store: MemoryStore, user: str) -> str:
        return ModelMessagesTypeAdapter.dump_json(self.history(store, user)).decode()

    def cancel_mid_recall(self, store: GatedStore, user: str, query: str) -> None:
        recall = MemoryRecall(store, namespace=place(user))
        agent = Agent(Scripted("No.").model, capabilities=[recall])
        asyncio.run(cancel_at_gate(store, agent.run(query)))

    def block_within(
        self, store: MemoryStore, user: str, query: str, budget: int, counter: Callable[[str], int]
    ) -> str:
        settings: dict[str, Any] = {"budget_tokens": budget, "count_tokens": counter}
        *added, _ = shown(query, MemoryRecall(store, namespace=place(user), **settings))
        return "".join(added)


def test_a_turn_said_again_in_a_conversation_is_remembered_again(store: MemoryStore) -> None:
    agent = Agent(Scripted("Noted.").model, capabilities=[in_default(store, remember="default")])
    said = ["In Oslo.", "In Rome.", "In Oslo."]
    for text in said:
        asyncio.run(agent.run(text, conversation_id="c"))
    assert [each.content for each in store.all() if each.author == "user"] == said


def asked(*contents: Any) -> list[ModelMessage]:
    return [messages.ModelRequest(parts=[UserPromptPart(content)]) for content in contents]


def remembered(store: MemoryStore) -> list[tuple[str | None, str]]:
    return [(record.author, record.content) for record in store.all()]


PICTURE = BinaryContent(b"\x89PNG", media_type="image/png")


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (asked("In Rome."), ["In Rome."]),
        (asked(["In Rome.", PICTURE]), ["In Rome."]),
        (asked(["In Rome.", "\udc80 And in Oslo."]), ["In Rome.\n\ufffd And in Oslo."]),
        (asked("In Oslo.", "No, in Rome."), ["In Oslo.", "No, in Rome."]),
        (asked([PICTURE]), []),
    ],
)
@pytest.mark.parametrize("fails", [False, True])
def test_a_prompt_at_the_end_of_a_history_is_remembered_once(
    store: MemoryStore, end: list[ModelMessage], said: list[str], fails: bool
) -> None:
    def fail(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise ConnectionError

    recall = in_default(store, remember="default")
    history = [*asked("Where do I live?"), ModelResponse(parts=[TextPart("Where?")]), *end]
    if fails:
        with pytest.raises(ConnectionError):
            asyncio.run(
                Agent(FunctionModel(fail), capabilities=[recall]).run(
                    message_history=history, conversation_id="c"
                )
            )
        assert [text for _, text in remembered(store)] == said
    agent = Agent(Scripted("Noted.").model, capabilities=[recall])
    for _ in range(2):
        again = ModelMessagesTypeAdapter.dump_python(history, mode="json")
        asyncio.run(
            agent.run(
                message_history=ModelMessagesTypeAdapter.validate_python(again),
                conversation_id="c",
            )
        )
    told = remembered(store)
    assert [text for author, text in told if author == "user"] == said
    assert [text for author, text in told if author == "assistant"] == ["Noted."] * 2


def test_a_history_that_grows_adds_its_end(store: MemoryStore) -> None:
    agent = Agent(Scripted("Noted.").model, capabilities=[in_default(store, remember="default")])
    history: list[ModelMessage] = []
    for _ in range(2):
        history = asyncio.run(agent.run(message_history=history + asked("Hello."))).all_messages()
    assert remembered(store) == [("user", "Hello."), ("assistant", "Noted.")] * 2


def test_a_failed_run_that_goes_on_remembers_the_prompt_once(store: MemoryStore) -> None:
    def fail(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise ConnectionError

    recall = in_default(store, remember="default")
    with capture_run_messages() as seen, pytest.raises(ConnectionError):
        asyncio.run(Agent(FunctionModel(fail), capabilities=[recall]).run("I live in Rome."))
    agent = Agent(Scripted("Noted.").model, capabilities=[recall])
    asyncio.run(agent.run(message_history=list(seen)))
    assert remembered(store) == [("user", "I live in Rome."), ("assistant", "Noted.")]


def test_what_a_browser_sends_is_remembered_once(store: MemoryStore) -> None:
    from pydantic_ai.ui.vercel_ai import VercelAIAdapter

    agent = Agent(Scripted("Noted.").model, capabilities=[in_default(store, remember="default")])
    said = {"id": "1", "role": "user", "parts": [{"type": "text", "text": "I live in Rome."}]}
    sent = {"trigger": "submit-message", "id": "chat", "messages": [said]}

    async def answer() -> None:
        body = json.dumps(sent).encode()
        adapter: Any = VercelAIAdapter(agent, VercelAIAdapter.build_run_input(body))
        assert [event async for event in adapter.run_stream()]

    for _ in range(2):
        asyncio.run(answer())
    assert [text for author, text in remembered(store) if author == "user"] == ["I live in Rome."]


def test_a_refused_answer_is_not_remembered(store: MemoryStore) -> None:
    recall = in_default(store, remember="default")
    agent: Any = Agent(Scripted("Rude.", "Polite.").model, capabilities=[recall])

    def polite(answer: str) -> str:
        if answer == "Rude.":
            raise ModelRetry("Be polite.")
        return answer

    agent.output_validator(polite)
    asyncio.run(agent.run("Hello."))
    assert [record.content for record in store.all()] == ["Hello.", "Polite."]


def test_the_words_of_a_user_who_leaves_the_stream_are_remembered(store: MemoryStore) -> None:
    recall = in_default(store, remember="default")
    agent: Any = Agent(Scripted("Noted.").model, capabilities=[recall])

    async def leave() -> None:
        async with agent.run_stream("I live in Rome."):
            return

    asyncio.run(leave())
    assert [record.content for record in store.all()] == ["I live in Rome."]


def test_a_run_again_is_another_run(store: MemoryStore) -> None:
    """A retried ``after_run`` adds nothing."""
    seen: list[Any] = []

    class Twice(MemoryRecall):
        async def after_run(self, ctx: Any, *, result: Any) -> Any:
            seen.append(await super().after_run(ctx, result=result))
            return await super().after_run(ctx, result=result)

    run(
        "My parrot is called Quetzal.",
        Scripted("Noted."),
        Twice(store, namespace="default", remember="default"),
    )
    assert [each.content for each in store.all()] == ["My parrot is called Quetzal.", "Noted."]
    assert isinstance(seen[0].all_messages()[0].parts[0], UserPromptPart)


def test_the_example_remembers_across_conversations(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "- user: I always take my coffee with oat milk." in done.stdout
