"""`MemoryModelContext` in real AutoGen agents, with folded answers."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("autogen_agentchat")

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import Handoff
from autogen_core.model_context import (
    BufferedChatCompletionContext,
    ChatCompletionContext,
    HeadAndTailChatCompletionContext,
    UnboundedChatCompletionContext,
)
from autogen_core.models import AssistantMessage, LLMMessage, UserMessage

from bethink import MemoryStore, StoreClosedError, ValidationError
from bethink_adapters.autogen import AgentMemory, MemoryModelContext

from .autogen_runs import (
    AgentContract,
    Talk,
    add,
    ask,
    assistant,
    call_look,
    look,
    prompts,
    sources,
)
from .contract import FACT, QUESTION

EXAMPLE = Path(__file__).parents[2] / "examples" / "autogen_context.py"


@pytest.fixture(autouse=True)
def _trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOGEN_ALLOWED_PROVIDER_NAMESPACES", "bethink_adapters")


def shown(context: ChatCompletionContext, *messages: LLMMessage) -> list[LLMMessage]:
    """Add *messages* to *context*; return what a model is shown then."""

    async def one_by_one() -> list[LLMMessage]:
        for message in messages:
            await context.add_message(message)
        return await context.get_messages()

    return asyncio.run(one_by_one())


def user(text: str) -> UserMessage:
    return UserMessage(content=text, source="user")


class TestContract(AgentContract):
    """The contract of every adapter, kept by `MemoryModelContext`."""

    reload_code = """
import asyncio, json, sys
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import UserMessage

async def main():
    context = ChatCompletionContext.load_component(json.load(sys.stdin))
    await context.add_message(UserMessage(content=sys.argv[1], source="user"))
    for line in (await context.get_messages())[0].content.splitlines()[2:-1]:
        print(line.partition(": ")[2])
    await context.close()

asyncio.run(main())
"""

    def context(self, store: MemoryStore, user: str, **options: Any) -> MemoryModelContext:
        namespace = self.memory(store, user).namespace
        return MemoryModelContext(store, namespace=namespace, **options)

    def talk(self, store: MemoryStore, user: str) -> Talk:
        key = (id(store), user)
        if key not in self.talks:
            agent, client = assistant(memory=[], model_context=self.context(store, user))
            self.talks[key] = Talk(agent, client, self.memory(store, user))
        return self.talks[key]

    def dump(self, store: MemoryStore, user: str) -> str:
        return self.context(store, user).dump_component().model_dump_json()

    def block_within(
        self, store: MemoryStore, user: str, query: str, budget: int, counter: Callable[[str], int]
    ) -> str:
        options = {"k": 40, "budget_tokens": budget, "count_tokens": counter}
        context = self.context(store, user, **options)
        message = UserMessage(content=query, source="user")
        return "".join(str(each.content) for each in shown(context, message)[:-1])


# -- what the model sees


def test_every_call_of_a_tool_loop_recalls_anew(store: MemoryStore) -> None:
    store.store(FACT)
    store.store("Whoever finds nothing in the drawer asks the porter.")
    options: dict[str, Any] = {"tools": [look], "reflect_on_tool_use": True}
    options["model_context"] = MemoryModelContext(store, namespace="default")
    agent, client = assistant(call_look("the drawer"), "There.", memory=[], **options)
    ask(agent, QUESTION)
    seen = [str(prompt) for prompt in prompts(client)]
    assert [prompt.count("cobalt flowerpot") for prompt in seen] == [1, 1]
    assert [prompt.count("asks the porter") for prompt in seen] == [0, 1]


def test_the_block_stands_before_the_last_user_message(store: MemoryStore) -> None:
    store.store(FACT)
    agent, client = assistant(
        "Hi.", "There.", memory=[], model_context=MemoryModelContext(store, namespace="default")
    )
    ask(agent, "Hello.", QUESTION)
    assert sources(prompts(client)[-1]) == ["system", "user", "helper", "memory", "user"]


def test_a_system_block_goes_to_the_top(store: MemoryStore) -> None:
    store.store(FACT)
    context = MemoryModelContext(store, namespace="default", inject_as="system")
    messages = shown(context, user("Hi."), user(QUESTION))
    assert [message.type for message in messages] == ["SystemMessage", "UserMessage", "UserMessage"]


def test_the_context_it_has_decides_what_is_kept(store: MemoryStore) -> None:
    store.store(FACT)
    context = MemoryModelContext(
        store, namespace="default", context=BufferedChatCompletionContext(buffer_size=2)
    )
    answer = AssistantMessage(content="Hello.", source="helper")
    messages = shown(context, user("Hi."), answer, user(QUESTION))
    assert [message.content for message in messages[::2]] == ["Hello.", QUESTION]
    assert "cobalt flowerpot" in str(messages[1].content)


def test_a_note_that_messages_were_skipped_is_no_question(store: MemoryStore) -> None:
    store.store(FACT)
    inner = HeadAndTailChatCompletionContext(head_size=1, tail_size=1)
    answers = [AssistantMessage(content=text, source="helper") for text in ("Hm.", "Well.")]
    messages = shown(
        MemoryModelContext(store, namespace="default", context=inner), user(QUESTION), *answers
    )
    assert sources(messages) == ["memory", "user", "System", "helper"]
    asyncio.run(AgentMemory(store, namespace="default").update_context(inner))
    assert sources(asyncio.run(inner.get_messages())) == sources(messages)


def test_the_same_words_of_a_user_are_a_question(store: MemoryStore) -> None:
    store.store("The report says: skipped 3 messages.")
    messages = shown(MemoryModelContext(store, namespace="default"), user("Skipped 3 messages."))
    assert sources(messages) == ["memory", "user"]


def test_who_takes_over_is_asked_what_was_asked_before(store: MemoryStore) -> None:
    store.store(FACT)
    handed = UserMessage(content=Handoff(target="expert").message, source="helper")
    messages = shown(MemoryModelContext(store, namespace="default", k=1), user(QUESTION), handed)
    assert sources(messages) == ["memory", "user", "helper"]
    assert "cobalt flowerpot" in str(messages[0].content)


def test_nothing_is_recalled_for_nobody(store: MemoryStore) -> None:
    store.store(FACT)
    context = MemoryModelContext(store, namespace="default")
    assert shown(context) == []
    assert len(shown(context, user(QUESTION))) == 2
    asyncio.run(context.clear())
    assert shown(context) == []
    assert store.count() == 1


# -- states, configurations, stores


def test_a_namespace_is_required(store: MemoryStore) -> None:
    makers: list[Any] = [AgentMemory, MemoryModelContext]
    for made in makers:
        with pytest.raises(TypeError, match="namespace"):
            made(store)


def test_in_a_team_the_task_recalls_beside_a_colleagues_line(store: MemoryStore) -> None:
    memory = AgentMemory(store, namespace="default")
    add(memory, FACT, "The bakery opens at seven.")
    lines = [("user", QUESTION), ("planner", "When does the bakery open?")]
    said: list[Any] = [UserMessage(content=text, source=source) for source, text in lines]
    context = UnboundedChatCompletionContext(said)
    found = asyncio.run(memory.update_context(context)).memories.results
    assert {content.content for content in found} == {FACT, "The bakery opens at seven."}


def test_a_saved_state_is_that_of_the_conversation(store: MemoryStore) -> None:
    store.store(FACT)
    context, plain = (
        MemoryModelContext(store, namespace="default"),
        UnboundedChatCompletionContext(),
    )
    for each in (context, plain):
        shown(each, user(QUESTION))
    state = asyncio.run(context.save_state())
    assert state == asyncio.run(plain.save_state())
    again = MemoryModelContext(store, namespace="default")
    asyncio.run(again.load_state(json.loads(json.dumps(state))))
    assert [message.content for message in shown(again)][1:] == [QUESTION]


def test_a_dumped_agent_recalls_and_keeps_its_buffer(tmp_path: Path) -> None:
    inner = BufferedChatCompletionContext(buffer_size=1)
    context = MemoryModelContext(tmp_path / "memory.db", namespace="default", context=inner, k=3)
    context.store.store(FACT)
    agent, _ = assistant("There.", memory=[], model_context=context)
    dumped = json.loads(agent.dump_component().model_dump_json())
    restored = AssistantAgent.load_component(dumped)
    assert isinstance(restored, AssistantAgent)
    if isinstance(restored._model_context, MemoryModelContext):  # AutoGen 0.4 gives it a new one
        asyncio.run(restored._model_context.close())
    loaded = ChatCompletionContext.load_component(dumped["config"]["model_context"])
    assert isinstance(loaded, MemoryModelContext)
    assert loaded.k == 3
    messages = shown(loaded, user("Hi."), user(QUESTION))
    assert [FACT in str(message.content) for message in messages] == [True, False]
    asyncio.run(loaded.close())
    asyncio.run(context.close())


def test_only_a_store_of_its_own_is_closed(tmp_path: Path) -> None:
    context = MemoryModelContext(tmp_path / "memory.db", namespace="default")
    asyncio.run(context.close())
    with pytest.raises(StoreClosedError):
        add(AgentMemory(context.store, namespace="default"), FACT)
    with MemoryStore(tmp_path / "memory.db") as store:
        asyncio.run(MemoryModelContext(store, namespace="default").close())
        assert store.count() == 0


@pytest.mark.parametrize(
    "options", [{"k": 0}, {"min_score": "0"}, {"budget_tokens": -1}, {"count_tokens": 3}]
)
def test_wrong_arguments_are_refused_before_a_file_is_made(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    with pytest.raises(ValidationError):
        MemoryModelContext(tmp_path / "memory.db", **{"namespace": "default", **options})
    assert list(tmp_path.iterdir()) == []


def test_the_example_shows_what_each_call_recalls(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    first, second = done.stdout.split("call 2")
    assert ("Ann is allergic to nuts." in first, "Pralines" in first) == (True, False)
    assert "Pralines contain hazelnuts." in second
    assert "0 recalled lines in the saved state" in second
