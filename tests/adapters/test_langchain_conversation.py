"""The memory of chains, against the messages of langchain-core."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("langchain_core")

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from bethink import MemoryStore, ValidationError
from bethink_adapters.langchain import ChatMessageHistory, ConversationMemory

CALL = {"name": "find", "args": {}, "id": "c1"}


def test_memory_is_the_conversation_as_text(store: MemoryStore) -> None:
    memory = ConversationMemory(store, "s1")
    assert memory.memory_variables == ["history"]
    assert memory.load_memory_variables({}) == {"history": ""}
    memory.save_context({"input": "hi"}, {"output": "hello"})
    memory.save_context({"input": "how \ud83d?", "history": "…", "stop": None}, {"output": "fine"})
    text = "Human: hi\nAI: hello\nHuman: how \ud83d?\nAI: fine"
    assert memory.load_memory_variables({}) == {"history": text}
    assert str(memory.chat_memory) == text


def test_memory_shows_the_last_exchanges(store: MemoryStore) -> None:
    for said in ("a", "b", "c"):
        ConversationMemory(store, "s1").save_context({"q": said}, {"a": said.upper()})
    shown = [ConversationMemory(store, "s1", k=k, memory_key="past") for k in (0, 1, 2)]
    assert [memory.load_memory_variables()["past"] for memory in shown] == [
        "",
        "Human: c\nAI: C",
        "Human: b\nAI: B\nHuman: c\nAI: C",
    ]


def test_memory_keeps_the_values_it_is_told_to(store: MemoryStore) -> None:
    memory = ConversationMemory(store, "s1", input_key="q", output_key="a")
    memory.save_context({"q": "hi", "lang": "en"}, {"a": "hello", "cost": 1})
    assert memory.load_memory_variables()["history"] == "Human: hi\nAI: hello"


@pytest.mark.parametrize(
    ("inputs", "outputs", "problem"),
    [
        pytest.param({"a": "1", "b": "2"}, {"o": "x"}, "input_key", id="two-inputs"),
        pytest.param({"a": "1"}, {}, "output_key", id="no-output"),
        pytest.param({"a": 1}, {"o": "x"}, "'a' must be a str", id="no-text"),
    ],
)
def test_memory_must_know_what_was_said(
    store: MemoryStore, inputs: dict[str, Any], outputs: dict[str, Any], problem: str
) -> None:
    memory = ConversationMemory(store, "s1")
    with pytest.raises(ValidationError, match=problem):
        memory.save_context(inputs, outputs)
    assert memory.chat_memory.messages == []


def test_memory_returns_messages_of_a_history(store: MemoryStore) -> None:
    history = ChatMessageHistory(store, "s1")
    history.add_messages([HumanMessage("hi", id="1"), AIMessage("", tool_calls=[CALL])])
    memory = ConversationMemory(store, "s1", return_messages=True)
    memory.save_context({"input": "more"}, {"output": "sure"})
    expected = [*history.messages[:2], HumanMessage("more"), AIMessage("sure")]
    assert memory.load_memory_variables()["history"] == history.messages == expected


def test_memory_has_asynchronous_twins(store: MemoryStore) -> None:
    async def main() -> list[str]:
        memory = ConversationMemory(store, "s1")
        await memory.asave_context({"input": "hi"}, {"output": "hello"})
        before = await memory.aload_memory_variables({})
        await memory.aclear()
        return [before["history"], (await memory.aload_memory_variables())["history"]]

    assert asyncio.run(main()) == ["Human: hi\nAI: hello", ""]


def talked(store: MemoryStore, **options: Any) -> ConversationMemory:
    """Return a memory of a code, a call of a tool, and two more exchanges."""
    memory = ConversationMemory(store, "s1", k=1, **options)
    memory.save_context({"input": "My locker code is 4711."}, {"output": "Noted."})
    called = AIMessage("What is the locker code?", tool_calls=[CALL])
    memory.chat_memory.add_messages([called, SystemMessage("What is my locker code?")])
    memory.save_context({"input": "How is the weather?"}, {"output": "Sunny."})
    memory.save_context({"input": "Sing!"}, {"output": "La la."})
    return memory


def test_memory_recalls_by_meaning_what_the_window_does_not_hold(store: MemoryStore) -> None:
    memory = talked(store, recalled=1)
    question = {"input": "What is my locker code?", "history": "…"}
    expected = "Human: My locker code is 4711.\nAI: Noted.\nHuman: Sing!\nAI: La la."
    assert memory.load_memory_variables(question) == {"history": expected}
    assert memory.load_memory_variables() == {"history": "Human: Sing!\nAI: La la."}
    singing = memory.load_memory_variables({"input": "Sing!"})["history"]
    assert singing.count("Sing!") == 1


def test_memory_recalls_messages_in_their_order(store: MemoryStore) -> None:
    memory = talked(store, recalled=4, return_messages=True)
    found = memory.load_memory_variables({"input": "the weather, or my locker code?"})["history"]
    said = ["My locker code is 4711.", "Noted.", "How is the weather?", "Sunny."]
    assert [message.content for message in found] == [*said, "Sing!", "La la."]
    assert found[0] == HumanMessage("My locker code is 4711.")
    memory.chat_memory.add_messages([HumanMessage("I am Ann.", id="h1"), AIMessage("Hi!", id="a1")])
    memory.save_context({"input": "Sing!"}, {"output": "La la."})
    found = memory.load_memory_variables({"input": "Who is Ann?"})["history"]
    assert [message.id for message in found][-4:] == ["h1", "a1", None, None]


def test_memory_recalls_from_its_session_alone_and_not_unless_told(store: MemoryStore) -> None:
    memory = talked(store)
    question = {"input": "What is my locker code?"}
    assert "4711" not in memory.load_memory_variables(question)["history"]
    other = ConversationMemory(store, "s2", k=1, recalled=3)
    assert other.load_memory_variables(question) == {"history": ""}
    with pytest.raises(ValidationError, match="recalled needs k"):
        ConversationMemory(store, "s1", recalled=1)
