"""Hooks, document store and retriever against Haystack itself, with a scripted generator."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"
pytest.importorskip("haystack.hooks")

from haystack import Document, component
from haystack.components.agents import Agent
from haystack.components.agents.state import State
from haystack.core.serialization import allow_deserialization_module
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.tools.tool import Tool

from bethink import MemoryStore, StoreClosedError, Subtree, ValidationError
from bethink.features.packing.layout import INTRODUCTION
from bethink_adapters.haystack import (
    BethinkDocumentStore,
    BethinkRetriever,
    RecallHook,
    RememberHook,
    erase_user,
    memory_hooks,
)

from .contract import (
    AdapterContract,
    GatedStore,
    cancel_at_gate,
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


def test_what_is_said_beside_a_call_is_no_turn_of_the_conversation(store: MemoryStore) -> None:
    call = ChatMessage.from_assistant("I light the oven.", tool_calls=[ToolCall("oven", {})])
    oven = Tool("oven", "Heat.", {"type": "object", "properties": {}}, lambda: "hot")
    done, named = ChatMessage.from_assistant("Done."), {"memory_thread": "monday"}
    hooks = memory_hooks(store, namespace="default")
    run(hooks, said("Bake."), call, done, tools=[oven], context=named)
    run(hooks, [*said("Bake."), done, *said("Thanks.")], context=named)
    assert [each.content for each in store.all()] == ["Bake.", "Done.", "Thanks.", "Noted."]


@pytest.mark.parametrize("named", [{"memory_thread": "monday"}, {}], ids=["named", "unnamed"])
def test_an_answer_given_anew_in_a_named_conversation_supersedes_the_answer(
    store: MemoryStore, named: Mapping[str, str]
) -> None:
    hooks = memory_hooks(store, namespace="default")
    asked = [*said("Hi."), ChatMessage.from_assistant("Hello!"), *said("Where is my order?")]
    for answer in ("In Oslo.", "In Rome."):
        run(hooks, asked, ChatMessage.from_assistant(answer), context=named)
    shown = [*([] if named else ["In Oslo."]), "In Rome."]
    assert [record.content for record in store.all()][3:] == shown
    superseded = [record.content for record in store.all(state="superseded")]
    assert superseded == (["In Oslo."] if named else [])


@pytest.mark.parametrize("thread", [None, "monday"])
@pytest.mark.parametrize("asked", [["ok"], ["ok", "ok"], ["I moved.", "Now?", "Where is it?"]])
def test_questions_without_a_history_keep_every_answer(
    store: MemoryStore, thread: str | None, asked: list[str]
) -> None:
    hooks, answers = memory_hooks(store, namespace="default"), ["It waits.", "It is there.", "So."]
    for answer in answers:
        reply = ChatMessage.from_assistant(answer)
        run(hooks, said(*asked), reply, context={"memory_thread": thread} if thread else None)
    expected = [text for answer in answers for text in (*asked, answer)]
    assert [record.content for record in store.all()] == expected


def test_agents_that_answer_one_question_keep_both_answers_and_the_question_once_in_a_row(
    store: MemoryStore,
) -> None:
    hooks, context = memory_hooks(store, namespace="default"), {"memory_thread": "monday"}
    first, _ = run(hooks, said("Who?"), ChatMessage.from_assistant("Ann."), context=context)
    run(hooks, first["messages"], ChatMessage.from_assistant("Bob."), context=context)
    assert [record.content for record in store.all()] == ["Who?", "Ann.", "Bob."]


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


@pytest.mark.parametrize("wrong", [{"memory_namespace": ""}, {"memory_thread": 4.2}])
def test_a_run_with_a_wrong_context_goes_on_and_is_remembered_nowhere(
    store: MemoryStore, caplog: pytest.LogCaptureFixture, wrong: Mapping[str, Any]
) -> None:
    result, _ = run(
        memory_hooks(store, namespace="default"), said("My code is 1234."), context=wrong
    )
    assert texts(result) == ["My code is 1234.", "Noted."]
    assert store.count() == 0
    assert "could not be remembered" in caplog.text


def test_a_whole_number_names_a_conversation(store: MemoryStore) -> None:
    run(memory_hooks(store, namespace="default"), said("I am Ann."), context={"memory_thread": 42})
    assert [record.thread for record in store.all()] == ["42", "42"]


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
