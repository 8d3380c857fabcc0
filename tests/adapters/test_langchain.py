"""The LangChain history against langchain-core itself, with fake models."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

import pytest

pytest.importorskip("langchain_core")

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.language_models import BaseChatModel, FakeListChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
    get_buffer_string,
)
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import ConfigurableFieldSpec, Runnable, RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory

from bethink import (
    EVERYWHERE,
    MemoryStore,
    StoreClosedError,
    Subtree,
    ValidationError,
    segment,
)
from bethink_adapters.langchain import (
    ChatMessageHistory,
    ConversationMemory,
    erase_user,
    message_history_factory,
)

from .contract import LOOKALIKES, AdapterContract, GatedStore, cancel_at_gate

pytestmark = [
    pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is deprecated"),
    pytest.mark.filterwarnings("ignore:The class `RemoveMessage` is in beta"),
]

CONFIG: Any = {"configurable": {"session_id": "s1"}}
PAIR = ("user_id", "conversation_id")


def spoken(history: ChatMessageHistory) -> list[tuple[str, Any]]:
    return [(type(message).__name__, message.content) for message in history.messages]


def heard(messages: list[BaseMessage]) -> str:
    texts = (str(message.content) for message in messages if isinstance(message, HumanMessage))
    return "heard " + ", ".join(texts)


def run_python(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


# -- runs of RunnableWithMessageHistory


class Echo(BaseChatModel):
    """Answer with all that the user was heard to say, streamed word by word."""

    @property
    def _llm_type(self) -> str:
        return "echo"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=heard(messages)))])

    def _stream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        for word in heard(messages).replace(" ", " \n").split("\n"):
            yield ChatGenerationChunk(message=AIMessageChunk(content=word))


PROMPT = ChatPromptTemplate.from_messages([MessagesPlaceholder("past"), ("human", "{question}")])
KEYS = {"input_messages_key": "question", "history_messages_key": "past"}


def answer(shown: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "answer": AIMessage(heard([*shown["past"], HumanMessage(shown["question"])])),
        "cost": 1,
    }


# name: (what is wrapped, how it is wrapped, its input for one thing said)
SHAPES: dict[str, tuple[Runnable[Any, Any], dict[str, str], Callable[[str], Any]]] = {
    "messages": (RunnableLambda(lambda it: AIMessage(heard(it))), {}, lambda s: [HumanMessage(s)]),
    "text": (RunnableLambda(heard), {}, lambda said: [HumanMessage(said)]),
    "model": (Echo(), {}, lambda said: [HumanMessage(said)]),
    "input-key": (
        RunnableLambda(lambda shown: AIMessage(heard(shown["chat"]))),
        {"input_messages_key": "chat"},
        lambda said: {"chat": [HumanMessage(said)]},
    ),
    "history-key": (PROMPT | Echo(), KEYS, lambda said: {"question": said}),
    "parser": (PROMPT | Echo() | StrOutputParser(), KEYS, lambda said: {"question": said}),
    "output-key": (
        RunnableLambda(answer),
        {**KEYS, "output_messages_key": "answer"},
        lambda said: {"question": said},
    ),
}


async def drain(stream: AsyncIterator[Any]) -> None:
    async for _ in stream:
        pass


CALLS: dict[str, Callable[[Runnable[Any, Any], Any, Any], object]] = {
    "invoke": lambda chain, said, config: chain.invoke(said, config),
    "stream": lambda chain, said, config: list(chain.stream(said, config)),
    "batch": lambda chain, said, config: chain.batch([said], [config]),
    "ainvoke": lambda chain, said, config: asyncio.run(chain.ainvoke(said, config)),
    "astream": lambda chain, said, config: asyncio.run(drain(chain.astream(said, config))),
    "abatch": lambda chain, said, config: asyncio.run(chain.abatch([said], [config])),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_second_turn_sees_the_first(store: MemoryStore, shape: str, call: str) -> None:
    runnable, wrapping, as_input = SHAPES[shape]
    chain = RunnableWithMessageHistory(runnable, message_history_factory(store), **wrapping)  # type: ignore[arg-type]
    CALLS[call](chain, as_input("one"), CONFIG)
    CALLS[call](chain, as_input("two"), CONFIG)
    assert spoken(ChatMessageHistory(store, "s1")) == [
        ("HumanMessage", "one"),
        ("AIMessage", "heard one"),
        ("HumanMessage", "two"),
        ("AIMessage", "heard one, two"),
    ]


@pytest.mark.parametrize("call", CALLS)
def test_a_session_may_be_named_by_two_keys(store: MemoryStore, call: str) -> None:
    chain = RunnableWithMessageHistory(
        Echo(),
        message_history_factory(store, keys=PAIR),
        history_factory_config=[ConfigurableFieldSpec(id=key, annotation=str) for key in PAIR],
    )
    for user, conversation in (("ann", "1"), ("bob", "1"), ("ann", "2"), ("ann", "1")):
        config = {"configurable": {"user_id": user, "conversation_id": conversation}}
        CALLS[call](chain, [HumanMessage(f"{user}{conversation}")], config)
    assert sorted(r.content for r in store.all(namespace=Subtree("messages/ann"))) == [
        *("ann1", "ann1", "ann2"),
        *("heard ann1", "heard ann1, ann1", "heard ann2"),
    ]


def test_a_factory_asks_for_exactly_its_keys(store: MemoryStore) -> None:
    factory = message_history_factory(store, keys=PAIR)
    assert list(inspect.signature(factory).parameters) == list(PAIR)
    with pytest.raises(TypeError):
        factory(user_id="ann")
    with pytest.raises(ValidationError):
        message_history_factory(store, keys=())


def test_owners_and_sessions_never_run_together(store: MemoryStore) -> None:
    factory = message_history_factory(store, keys=PAIR)
    pairs = [(user, conversation) for user in LOOKALIKES for conversation in ("b/c", "", "a")]
    pairs += [("a/b", "c"), ("a", "b/c"), ("", "a/b/c")]
    for number, (user, conversation) in enumerate(pairs):
        factory(user_id=user, conversation_id=conversation).add_user_message(str(number))
    found = [str(factory(*pair)) for pair in pairs]
    assert found == [f"Human: {number}" for number in range(len(pairs))]


def test_turn_after_turn_may_share_one_instance(store: MemoryStore) -> None:
    history = ChatMessageHistory(store, "s1")
    chain = RunnableWithMessageHistory(Echo(), lambda: history)
    for said in ("one", "two", "three"):
        chain.invoke([HumanMessage(said)])
    assert spoken(history)[-1] == ("AIMessage", "heard one, two, three")


def test_a_failed_run_stores_nothing(store: MemoryStore) -> None:
    def broken(messages: list[BaseMessage]) -> str:
        raise ZeroDivisionError

    chain = RunnableWithMessageHistory(RunnableLambda(broken), message_history_factory(store))
    with pytest.raises(ZeroDivisionError):
        chain.invoke([HumanMessage("one")], CONFIG)
    assert store.namespaces() == {}


# -- parallel runs of one session

TURNS = range(40)


def assert_every_turn_is_there_once(store: MemoryStore) -> None:
    said = [str(message.content) for message in ChatMessageHistory(store, "s1").messages]
    assert Counter(said) == Counter(f"{who} {turn}" for who in ("ask", "answer") for turn in TURNS)
    assert all(said[at + 1] == f"answer {said[at].removeprefix('ask ')}" for at in range(0, 80, 2))


def test_parallel_threads_lose_no_turn(tmp_path: Path) -> None:
    together = threading.Barrier(8, timeout=60)

    def model(messages: list[BaseMessage]) -> str:
        together.wait()
        return str(messages[-1].content).replace("ask", "answer")

    with MemoryStore(tmp_path / "memory.db") as store, ThreadPoolExecutor(8) as pool:
        chain = RunnableWithMessageHistory(RunnableLambda(model), message_history_factory(store))
        list(pool.map(lambda turn: chain.invoke([HumanMessage(f"ask {turn}")], CONFIG), TURNS))
        assert_every_turn_is_there_once(store)


def test_parallel_tasks_lose_no_turn(tmp_path: Path) -> None:
    async def main(store: MemoryStore) -> None:
        together = asyncio.Barrier(8)

        async def model(messages: list[BaseMessage]) -> str:
            await together.wait()
            return str(messages[-1].content).replace("ask", "answer")

        chain = RunnableWithMessageHistory(RunnableLambda(model), message_history_factory(store))
        await asyncio.gather(*(chain.ainvoke([HumanMessage(f"ask {n}")], CONFIG) for n in TURNS))

    with MemoryStore(tmp_path / "memory.db") as store:
        asyncio.run(main(store))
        assert_every_turn_is_there_once(store)


ONE_OF_MANY = """
import sys, warnings
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory
from bethink import MemoryStore
from bethink_adapters.langchain import message_history_factory

warnings.simplefilter("ignore")
path, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

def model(messages):
    print("asked", flush=True)
    sys.stdin.readline()
    return messages[-1].content.replace("ask", "answer")

with MemoryStore(path) as store:
    chain = RunnableWithMessageHistory(RunnableLambda(model), message_history_factory(store))
    for turn in range(first, last):
        chain.invoke([HumanMessage(f"ask {turn}")], {"configurable": {"session_id": "s1"}})
"""


def test_parallel_processes_lose_no_turn(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    MemoryStore(path).close()
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", ONE_OF_MANY, path, str(first), str(first + 10)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for first in range(0, 40, 10)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "asked\n"
    for process in processes:
        process.communicate("\n" * 10, timeout=120)
        assert process.returncode == 0
    with MemoryStore(path) as store:
        assert_every_turn_is_there_once(store)


def test_instances_see_each_others_messages(store: MemoryStore) -> None:
    one, two = ChatMessageHistory(store, "s1"), ChatMessageHistory(store, "s1")
    assert one.messages == two.messages == []
    one.add_user_message("hello")
    two.add_ai_message("hi")
    assert spoken(one) == spoken(two) == [("HumanMessage", "hello"), ("AIMessage", "hi")]


# -- adding and removing


def test_what_is_added_may_be_text_or_pairs(store: MemoryStore) -> None:
    history = ChatMessageHistory(store, "s1")
    history.add_messages(["Human: hi", "there", ("ai", "yes")])  # type: ignore[list-item]
    history.add_user_message("Human: kept")
    history.add_ai_message(AIMessage("sure"))
    assert str(history) == "Human: hi\nHuman: there\nAI: yes\nHuman: Human: kept\nAI: sure"


def test_remove_message_removes_it(store: MemoryStore) -> None:
    history = ChatMessageHistory(store, "s1")
    history.add_messages(
        [HumanMessage("a", id="1"), AIMessage("b", id="2"), HumanMessage("c", id="3")]
    )
    history.add_messages([AIMessage("d", id="4"), *map(RemoveMessage, ["2", "4", "never"])])
    assert [message.content for message in history.messages] == ["a", "c"]


def test_remove_all_keeps_what_follows(store: MemoryStore) -> None:
    history = ChatMessageHistory(store, "s1")
    history.add_user_message("old")
    everything = RemoveMessage(id="__remove_all__")
    history.add_messages([HumanMessage("gone"), everything, HumanMessage("new")])
    assert spoken(history) == [("HumanMessage", "new")]


@pytest.mark.parametrize("id", [7, 0, -3, 1 << 70])
def test_a_whole_number_is_an_id_by_its_digits(store: MemoryStore, id: int) -> None:
    ChatMessageHistory(store, id).add_user_message("one")
    assert ChatMessageHistory(store, str(id)).messages == ChatMessageHistory(store, id).messages
    made = message_history_factory(store, ("user", "session"))
    made(id, session=id).add_user_message("two")
    assert [each.content for each in made(str(id), str(id)).messages] == ["two"]
    assert ChatMessageHistory(store, id).session_id == str(id)


@pytest.mark.parametrize("id", [None, True, 1.5, b"s", ("s",)])
def test_any_other_id_is_refused_by_name(store: MemoryStore, id: Any) -> None:
    kind = type(id).__name__
    with pytest.raises(ValidationError, match=f"session_id must be a str or an int, not {kind}"):
        ChatMessageHistory(store, id)
    made = message_history_factory(store, ("user", "session"))
    for name in ("user", "session"):
        with pytest.raises(ValidationError, match=f"^{name} must be a str or an int, not {kind}"):
            made(**{"user": "ann", "session": "s", name: id})


def test_what_cannot_be_added_removes_nothing(store: MemoryStore) -> None:
    history = ChatMessageHistory(store, "s1")
    history.add_user_message("old")
    deep: list[Any] = []
    for _ in range(200):
        deep = [deep]
    wrong = HumanMessage([{"type": "text", "text": "new", "deep": deep}])
    with pytest.raises(ValidationError):
        history.add_messages([RemoveMessage(id="__remove_all__"), wrong])
    assert spoken(history) == [("HumanMessage", "old")]


def test_a_retried_write_adds_nothing(store: MemoryStore) -> None:
    history = ChatMessageHistory(store, "s1")
    turn = [HumanMessage("a", id="1"), AIMessage("b", id="2")]
    history.add_messages(turn)
    history.add_messages(turn)
    assert history.messages == turn


def test_messages_without_ids_are_never_taken_for_a_retry(store: MemoryStore) -> None:
    history = ChatMessageHistory(store, "s1")
    for _ in range(2):
        history.add_messages([HumanMessage("again"), AIMessage("ok", id="same")])
    assert len(history.messages) == 4


def test_adding_is_all_or_nothing(store: MemoryStore) -> None:
    history = ChatMessageHistory(store, "s1")
    with pytest.raises(NotImplementedError):
        history.add_messages([HumanMessage("a"), 7])  # type: ignore[list-item]
    assert history.messages == []


def test_clear_and_the_asynchronous_twins(store: MemoryStore) -> None:
    async def main() -> list[int]:
        history = ChatMessageHistory(store, "s1")
        await history.aadd_messages([HumanMessage("a"), AIMessage("b")])
        before = await history.aget_messages()
        await history.aclear()
        return [len(before), len(await history.aget_messages())]

    assert asyncio.run(main()) == [2, 0]


CALL = {"name": "find", "args": {}, "id": "c1"}


# -- the window


def test_a_window_begins_with_a_human_message(store: MemoryStore) -> None:
    called = AIMessage("", tool_calls=[CALL, {**CALL, "id": "c2"}])
    results = [ToolMessage("1", tool_call_id="c1"), ToolMessage("2", tool_call_id="c2")]
    ChatMessageHistory(store, "s1").add_messages(
        [HumanMessage("q"), called, *results, AIMessage("a")]
    )
    windows = [ChatMessageHistory(store, "s1", last=last).messages for last in range(7)]
    assert [len(window) for window in windows] == [0, 0, 0, 0, 0, 5, 5]
    ChatMessageHistory(store, "s1").add_messages([HumanMessage("more"), AIMessage("b")])
    windows = [ChatMessageHistory(store, "s1", last=last).messages for last in range(8)]
    assert [len(window) for window in windows] == [0, 0, 2, 2, 2, 2, 2, 7]
    assert ConversationMemory(store, "s1", k=2).load_memory_variables() == {
        "history": "Human: more\nAI: b"
    }


def test_clearing_forgets_or_erases(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    for erase in (False, True):
        with MemoryStore(path) as store:
            history = ChatMessageHistory(store, "s1", erase=erase)
            history.add_user_message("The cobalt flowerpot.")
            history.clear()
            assert history.messages == []
            memory = ConversationMemory(store, "s2", erase=erase)
            memory.save_context({"input": "A cobalt flowerpot."}, {"output": "Nice."})
            memory.clear()
            assert memory.chat_memory.messages == []
        assert (b"cobalt" in path.read_bytes()) == (not erase)


def test_erasing_a_user_reaches_all_that_is_named(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with MemoryStore(path) as store:
        for user in ("ann", "ann/b", "annb", "bob"):
            ChatMessageHistory(store, user).add_user_message(f"{user} said Quetzal.")
            message_history_factory(store, PAIR)(user, "s").add_user_message(
                f"{user} has a Hoatzin."
            )
            store.store(f"The parrot of {user}.", namespace=f"users/{segment(user)}")
        for items in ([()], ["users"]):
            with pytest.raises(ValidationError):
                erase_user(store, items=items)
        with pytest.raises(ValidationError, match="needs namespaces, sessions"):
            erase_user(store)
        with pytest.raises(ValidationError, match="must be a list"):
            erase_user(store, sessions="ann")
        places = ["users/ann", "messages/ann", "users/ann%2Fb"]
        assert erase_user(store, namespaces=places, sessions=["annb"]) == 4 + 1
        left = sorted(each.content for each in store.all(namespace=EVERYWHERE))
    assert b"parrot of ann." not in path.read_bytes()
    assert b"annb said" not in path.read_bytes()
    assert len(left) == 12 - 5


@pytest.mark.parametrize("last", [-1, 1.5, "3"])
def test_a_window_is_a_count(store: MemoryStore, last: Any) -> None:
    with pytest.raises(ValidationError):
        ChatMessageHistory(store, "s1", last=last)


def test_a_run_with_a_window_keeps_its_turns(store: MemoryStore) -> None:
    chain = RunnableWithMessageHistory(Echo(), message_history_factory(store, last=2))
    for said in ("one", "two", "three"):
        chain.invoke([HumanMessage(said)], CONFIG)
    assert [m.content for m in ChatMessageHistory(store, "s1").messages] == [
        *("one", "heard one", "two", "heard one, two", "three", "heard two, three")
    ]


# -- standing without the framework


UNUSED = """
from langchain_core.chat_history import BaseChatMessageHistory
from bethink import MemoryStore
from bethink_adapters.langchain import ChatMessageHistory

print(isinstance(ChatMessageHistory(MemoryStore(), "s1"), BaseChatMessageHistory))
"""


def test_a_history_passes_for_langchains_own(store: MemoryStore) -> None:
    assert isinstance(ChatMessageHistory(store, "s1"), BaseChatMessageHistory)
    assert issubclass(ChatMessageHistory, BaseChatMessageHistory)
    assert run_python(UNUSED) == "True\n"


WITHOUT = """
import sys
sys.modules["langchain_core"] = None
from bethink import MemoryStore, MissingExtraError
from bethink_adapters.langchain import ConversationMemory

with MemoryStore() as store:
    memory = ConversationMemory(store, "s1")
    memory.save_context({"input": "hi"}, {"output": "hello"})
    print(memory.load_memory_variables({})["history"])
    try:
        ConversationMemory(store, "s1", return_messages=True)
    except MissingExtraError as error:
        print(error.extra)
"""


def test_memory_works_and_history_says_what_to_install_without_langchain() -> None:
    assert run_python(WITHOUT) == "Human: hi\nAI: hello\nlangchain\n"


def test_making_a_history_does_no_io(store: MemoryStore) -> None:
    store.close()
    history = message_history_factory(store)("s1")
    with pytest.raises(StoreClosedError):
        _ = history.messages


# -- what every adapter promises


class TestContract(AdapterContract):
    not_applicable: ClassVar[Mapping[str, str]] = {
        "dump": "a history has no configuration beyond its arguments",
        "budget": "a window counts messages; the chain trims tokens",
        "failed run": "a history replays no question that was not answered",
    }
    failure_is_loud = "a chat that forgot what was said would answer wrongly"
    remembered_in_history = 1

    def run(self, store: MemoryStore, user: str, text: str, reply: str) -> str:
        prompts: list[str] = []

        def note(messages: list[BaseMessage]) -> list[BaseMessage]:
            prompts.append(get_buffer_string(messages))
            return messages

        model = RunnableLambda(note) | FakeListChatModel(responses=[reply])
        chain = RunnableWithMessageHistory(model, message_history_factory(store))
        said = HumanMessage(text, id=str(uuid4()))
        chain.invoke([said], {"configurable": {"session_id": user}})
        return prompts[-1]

    def chat(self, store: MemoryStore, user: str, text: str, reply: str) -> str:
        return self.run(store, user, text, reply)

    def ingest(self, store: MemoryStore, user: str) -> None:
        history = ChatMessageHistory(store, user)
        history.add_messages(history.messages[-2:])

    def remember(self, store: MemoryStore, user: str, text: str) -> None:
        ChatMessageHistory(store, user).add_user_message(text)

    def find(self, store: MemoryStore, user: str, query: str) -> list[str]:
        return [str(message.content) for message in ChatMessageHistory(store, user).messages]

    def erase_user(self, store: MemoryStore, user: str) -> int:
        return erase_user(store, sessions=[user])

    def framework_history(self, store: MemoryStore, user: str) -> str:
        return str(ChatMessageHistory(store, user))

    def cancel_mid_recall(self, store: GatedStore, user: str, query: str) -> None:
        history = ChatMessageHistory(store, user)
        asyncio.run(cancel_at_gate(store, history.aget_messages()))


# -- the example

EXAMPLE = Path(__file__).parents[2] / "examples" / "langchain_chat.py"


def test_the_example_goes_on_in_a_new_process(tmp_path: Path) -> None:
    environment = {name: text for name, text in os.environ.items() if name != "BETHINK_MODEL"}
    shown = [
        subprocess.run(
            [sys.executable, str(EXAMPLE)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    assert [len(re.findall("parrot is called Quetzal", text)) for text in shown] == [2, 4]
    assert "The model reads 3 message(s):" in shown[0]
    assert "The model reads 7 message(s):" in shown[1]
