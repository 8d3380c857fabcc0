"""The memory of chains, against the messages of langchain-core."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("langchain_core")

from langchain_core.messages import AIMessage, HumanMessage

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
