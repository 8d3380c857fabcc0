"""The capability in real agents of AutoGen 0.2 and AG2 before 1.0, with a scripted model."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

pytest.importorskip("autogen.agentchat")

from autogen import ConversableAgent, GroupChat, GroupChatManager

from bethink import EVERYWHERE, MemoryStore, Subtree, ValidationError
from bethink_adapters.autogen.classic import MemoryCapability, erase_user

from ..stored import said
from .contract import FACT, QUESTION, AdapterContract, GatedStore, cancel_at_gate, place

# AG2 0.9 is older than the pydantic it runs on.
pytestmark = pytest.mark.filterwarnings("ignore:The `copy` method is deprecated")

EXAMPLE = Path(__file__).parents[2] / "examples" / "autogen_classic_chat.py"


class Scripted:
    """A model client that gives *replies* in turn and notes what it is asked in *prompts*."""

    def __init__(self, config: Any, *, replies: list[Any], prompts: list[Any]) -> None:
        self.replies = replies
        self.prompts = prompts

    def create(self, params: Mapping[str, Any]) -> SimpleNamespace:
        self.prompts.append(params["messages"])
        said = SimpleNamespace(content=self.replies.pop(0), function_call=None, tool_calls=None)
        return SimpleNamespace(choices=[SimpleNamespace(message=said)], model="", cost=0)

    def message_retrieval(self, response: Any) -> list[Any]:
        return [choice.message.content for choice in response.choices]

    def cost(self, response: Any) -> float:
        return 0

    @staticmethod
    def get_usage(response: Any) -> dict[str, Any]:
        return {}


class Agent:
    """A `ConversableAgent` with a scripted model, and one who talks to it."""

    def __init__(self, *capabilities: MemoryCapability, **options: Any) -> None:
        self.replies: list[str] = []
        self.prompts: list[list[dict[str, Any]]] = []
        model = {"model": "scripted", "model_client_cls": "Scripted"}
        settings = {"config_list": [model], "cache_seed": None}
        self.agent = ConversableAgent(
            "helper", llm_config=settings, human_input_mode="NEVER", **options
        )
        self.agent.register_model_client(Scripted, replies=self.replies, prompts=self.prompts)
        self.user = ConversableAgent("ann", llm_config=False, human_input_mode="NEVER")
        for capability in capabilities:
            capability.add_to_agent(self.agent)

    def ask(
        self, message: Any, reply: str | None = "Noted.", **options: Any
    ) -> list[dict[str, Any]]:
        """Say one thing in the chat so far; return the last prompt. None for a failing model."""
        self.replies.extend([reply] if reply is not None else [])
        options = {"max_turns": 1, "clear_history": False, "silent": True, **options}
        self.user.initiate_chat(self.agent, message=message, **options)
        return self.prompts[-1] if self.prompts else []

    def history(self) -> str:
        kept = [self.agent.chat_messages[self.user], self.user.chat_messages[self.agent]]
        return json.dumps(kept[0])


# -- what the model sees


def test_the_block_stands_before_the_last_question_and_in_no_history(store: MemoryStore) -> None:
    store.store(FACT)
    agent = Agent(MemoryCapability(store, namespace="default", remember=False))
    agent.ask("Hello.", "Hi.")
    prompt = agent.ask(QUESTION, "There.")
    shown = [message["content"] for message in prompt[1:]]
    assert [shown[0], shown[1], shown[3]] == ["Hello.", "Hi.", QUESTION]
    assert "cobalt flowerpot" in shown[2]
    for kept in (agent.agent.chat_messages[agent.user], agent.user.chat_messages[agent.agent]):
        assert "cobalt" not in str(kept)
        assert len(kept) == 4


def test_a_new_agent_knows_what_an_earlier_one_heard(store: MemoryStore) -> None:
    Agent(MemoryCapability(store, namespace="default")).ask(
        "I always take my coffee with oat milk."
    )
    prompt = Agent(MemoryCapability(store, namespace="default")).ask("How do I take my coffee?")
    assert "oat milk" in prompt[-2]["content"]


def test_the_texts_of_a_question_with_pictures_are_the_query(store: MemoryStore) -> None:
    store.store(FACT)
    capability = MemoryCapability(store, namespace="default")
    parts = [{"type": "image_url", "image_url": {"url": "x"}}, {"type": "text", "text": QUESTION}]
    shown = capability.shown([{"role": "user", "content": parts}])
    assert FACT in shown[0]["content"]
    nothing: list[Any] = [[], [{"role": "assistant", "content": QUESTION}]]
    nothing += [[{"role": "user", "content": None}], [{"content": QUESTION}]]
    assert [capability.shown(messages) for messages in nothing] == nothing


def test_the_scope_may_be_wider_than_the_namespace(store: MemoryStore) -> None:
    store.store(FACT, namespace="house/rules")
    wide = MemoryCapability(store, namespace="house/ann", scope=Subtree("house"))
    assert "cobalt flowerpot" in str(Agent(wide).ask(QUESTION))
    assert "cobalt flowerpot" not in str(
        Agent(MemoryCapability(store, namespace="house/ann")).ask("Where is the spare key?")
    )


def test_remembered_code_is_not_executed(store: MemoryStore, tmp_path: Path) -> None:
    from autogen.coding import LocalCommandLineCodeExecutor

    trace = tmp_path / "trace"
    code = f"```python\nopen({str(trace)!r}, 'w').close()\n```"
    executor = LocalCommandLineCodeExecutor(work_dir=tmp_path)
    config = {"executor": executor, "last_n_messages": 3}
    store.store(f"The spare key opens by this:\n{code}")
    memory = MemoryCapability(store, namespace="default", remember=False)
    prompt = Agent(memory, code_execution_config=config).ask(QUESTION, "There.")
    assert "~~~python" in prompt[-2]["content"]
    assert not trace.exists()
    Agent(memory, code_execution_config=config).ask(code)
    assert trace.exists()


def test_the_block_takes_no_place_among_the_messages_searched_for_code(
    store: MemoryStore, tmp_path: Path
) -> None:
    from autogen.coding import LocalCommandLineCodeExecutor

    store.store(FACT)
    executor = LocalCommandLineCodeExecutor(work_dir=tmp_path)
    agent = Agent(code_execution_config={"executor": executor, "last_n_messages": 2}).agent
    for _ in range(2):
        MemoryCapability(store, namespace="default").add_to_agent(agent)
    messages = [
        {"role": "user", "content": "```python\nprint(6 * 7)\n```"},
        {"role": "user", "content": QUESTION},
    ]
    for reply in (agent.generate_reply(messages), asyncio.run(agent.a_generate_reply(messages))):
        assert "42" in reply


@pytest.mark.parametrize("with_manager", [False, True])
def test_speakers_of_a_group_share_what_is_remembered(
    store: MemoryStore, with_manager: bool
) -> None:
    store.store(FACT)
    memory = MemoryCapability(store, namespace="default", thread="group")
    one, other = Agent(memory), Agent(memory)
    other.agent._name = "other"
    one.replies.append("Under a pot.")
    other.replies.append("Which pot?")
    chat = GroupChat(
        [one.user, one.agent, other.agent], [], max_round=3, speaker_selection_method="round_robin"
    )
    manager = GroupChatManager(chat, llm_config=False)
    if with_manager:
        memory.add_to_agent(manager)
    one.user.initiate_chat(manager, message=QUESTION, silent=True)
    assert all("cobalt flowerpot" in str(agent.prompts[-1]) for agent in (one, other))
    assert said(store)[1:] == [
        ("ann", QUESTION),
        ("helper", "Under a pot."),
        ("other", "Which pot?"),
    ]


@pytest.mark.parametrize(
    "note",
    [
        "exitcode: 0 (execution succeeded)\nCode output: \n42 keys lie here\n",
        "exitcode: 1 (execution failed)\nCode output: ",
        "[Handing off to expert]",
        "LLM call blocked by safeguard",
        "TERMINATE",
    ],
)
def test_what_agents_write_by_themselves_is_no_question(store: MemoryStore, note: str) -> None:
    store.store(FACT)
    agent = Agent(MemoryCapability(store, namespace="default"))
    agent.ask(QUESTION, "```python\nlook()\n```")
    prompt = agent.ask(note, "There.")
    places = [at for at, message in enumerate(prompt) if "cobalt" in str(message["content"])]
    assert places == [1]
    assert note not in [text for _, text in said(store)]


def test_in_a_group_the_task_recalls_beside_the_last_line(store: MemoryStore) -> None:
    store.store_many([FACT, "The bakery opens at seven."])
    capability = MemoryCapability(store, namespace="default", k=2)
    messages = [
        {"role": "user", "name": "ann", "content": QUESTION},
        {"role": "user", "name": "helper", "content": "When does the bakery open?"},
    ]
    *_, block, _ = capability.shown(messages)
    assert FACT in block["content"]
    assert "The bakery opens at seven." in block["content"]


# -- what is remembered


@pytest.mark.parametrize("clear", [False, True])
def test_what_is_said_again_is_remembered_again(store: MemoryStore, clear: bool) -> None:
    agent = Agent(MemoryCapability(store, namespace="default"))
    lines = ["I live in Oslo.", "I live in Rome.", "I live in Oslo.", "Yes.", "Yes."]
    for text in lines:
        agent.ask(text, clear_history=clear)
    assert said(store) == [pair for text in lines for pair in (("ann", text), ("helper", "Noted."))]


def test_words_of_a_failed_reply_are_remembered_once(store: MemoryStore) -> None:
    agent = Agent(MemoryCapability(store, namespace="default"))
    with pytest.raises(IndexError):
        agent.ask("I am Ann.", None)
    assert said(store) == [("ann", "I am Ann.")]
    agent.ask("I am Ann.", "Hi Ann.", clear_history=True)
    assert said(store) == [("ann", "I am Ann."), ("helper", "Hi Ann.")]


def test_chats_with_two_agents_are_two_conversations(store: MemoryStore) -> None:
    agent = Agent(MemoryCapability(store, namespace="default", thread="monday"))
    ann, bob = agent.user, ConversableAgent("bob", llm_config=False, human_input_mode="NEVER")
    for number in range(3):
        for agent.user in (ann, bob):
            agent.ask(f"Question {number}.", "Yes.")
    names = [author for author, _ in said(store)]
    assert names == ["ann", "helper", "bob", "helper"] * 3


def test_results_carried_over_from_another_chat_are_not_said(store: MemoryStore) -> None:
    agent = Agent(MemoryCapability(store, namespace="default"))
    agent.ask("I am Ann.", carryover="The summary of an earlier chat.")
    assert said(store) == [("ann", "I am Ann."), ("helper", "Noted.")]


def test_a_namespace_is_required(store: MemoryStore) -> None:
    with pytest.raises(TypeError, match="namespace"):
        MemoryCapability(store)  # type: ignore[call-arg]


def test_what_is_heard_and_said_is_remembered_with_its_author(store: MemoryStore) -> None:
    agent = Agent(MemoryCapability(store, namespace="default", thread="monday"))
    agent.ask("I am Ann.", "Hello Ann.")
    agent.ask("I like tea.", "Fine.")
    assert said(store) == [
        *(("ann", "I am Ann."), ("helper", "Hello Ann.")),
        *(("ann", "I like tea."), ("helper", "Fine.")),
    ]
    assert {each.thread for each in store.all()} == {"monday"}


def test_what_was_forgotten_stays_forgotten_in_a_chat_that_goes_on(store: MemoryStore) -> None:
    agent = Agent(MemoryCapability(store, namespace="default"))
    agent.ask("I am Ann.", "Hello Ann.")
    store.forget(namespace="default")
    agent.ask("I like tea.", "Fine.")
    assert said(store) == [("ann", "I like tea."), ("helper", "Fine.")]


def test_calls_and_results_of_tools_are_not_remembered(store: MemoryStore) -> None:
    agent = Agent(memory := MemoryCapability(store, namespace="default"))
    call = {"content": None, "tool_calls": [{"id": "1", "function": {"name": "look"}}]}
    result = {"role": "tool", "content": "nothing", "tool_call_id": "1"}
    for message in (call, result, "Nothing \udc80"):
        assert memory.sent(agent.agent, message, agent.user, True) is message
    assert said(store) == [("helper", "Nothing \N{REPLACEMENT CHARACTER}")]


def test_an_agent_that_only_recalls_writes_nothing(store: MemoryStore) -> None:
    Agent(MemoryCapability(store, namespace="default", remember=False)).ask(QUESTION)
    assert store.count(namespace=EVERYWHERE) == 0


def test_a_failing_store_is_logged_and_the_chat_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = MemoryStore(tmp_path / "memory.db")
    agent = Agent(MemoryCapability(store, namespace="default"))
    store.close()
    with caplog.at_level(logging.WARNING, "bethink_adapters"):
        assert agent.ask(QUESTION, "No idea.")[-1]["content"] == QUESTION
    assert "No idea." in agent.history()
    ours = [record.message for record in caplog.records if "bethink" in record.name]
    assert {message.partition(" could")[0] for message in ours} == {"nothing", "the words of a run"}


def test_wrong_settings_are_refused(store: MemoryStore) -> None:
    wrong: list[dict[str, Any]] = [{"k": 0}, {"namespace": ""}, {"thread": ""}, {"scope": 3}]
    for each in [*wrong, {"budget_tokens": -1}, {"count_tokens": 3}]:
        with pytest.raises(ValidationError):
            MemoryCapability(store, **{"namespace": "ann", **each})


class TestContract(AdapterContract):
    not_applicable: ClassVar[Mapping[str, str]] = {
        "dump": "agents of this AutoGen have no configuration to dump"
    }

    def agent(self, store: MemoryStore, user: str) -> tuple[Agent, MemoryCapability]:
        """Return the agent of a user; with a new store, as after a restart, a new one."""
        agents = self.__dict__.setdefault("agents", {})
        if (id(store), user) not in agents:
            memory = MemoryCapability(store, namespace=place(user))
            agents[id(store), user] = Agent(memory), memory
        made: tuple[Agent, MemoryCapability] = agents[id(store), user]
        return made

    def run(self, store: MemoryStore, user: str, text: str, reply: str) -> str:
        prompt = self.agent(store, user)[0].ask(text, reply)
        return "\n".join(message["content"] for message in prompt)

    def ingest(self, store: MemoryStore, user: str) -> None:
        agent, memory = self.agent(store, user)
        chat = agent.agent.chat_messages[agent.user]
        last = chat.pop()
        memory.sent(agent.agent, last, agent.user, True)
        chat.append(last)

    def erase_user(self, store: MemoryStore, user: str) -> int:
        return erase_user(store, namespace=place(user))

    def run_failing(self, store: MemoryStore, user: str, text: str) -> bool:
        with pytest.raises(IndexError):
            self.agent(store, user)[0].ask(text, None)
        return True

    def remember(self, store: MemoryStore, user: str, text: str) -> None:
        store.store(text, namespace=place(user))

    def find(self, store: MemoryStore, user: str, query: str) -> list[str]:
        found = store.recall(query, k=50, namespace=place(user))
        return [hit.memory.content for hit in found]

    def framework_history(self, store: MemoryStore, user: str) -> str:
        return self.agent(store, user)[0].history()

    def cancel_mid_recall(self, store: GatedStore, user: str, query: str) -> None:
        # The thread goes on with the chat: one that remembers would write what is said.
        agent = Agent(MemoryCapability(store, namespace=place(user), remember=False))
        asyncio.run(cancel_at_gate(store, asyncio.to_thread(agent.ask, query)))

    def block_within(
        self, store: MemoryStore, user: str, query: str, budget: int, counter: Callable[[str], int]
    ) -> str:
        options: dict[str, Any] = {"budget_tokens": budget, "count_tokens": counter, "k": 40}
        prompt = Agent(MemoryCapability(store, namespace=place(user), **options)).ask(query)
        return "".join(message["content"] for message in prompt[1:-1])


def test_the_example_remembers_across_chats(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    second = done.stdout.partition("second chat")[2]
    assert "I always take my coffee with oat milk." in second
    assert "With oat milk, as always." in second
