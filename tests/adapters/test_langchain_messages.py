"""LangChain messages of every kind, there and back."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("langchain_core")

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    message_chunk_to_message,
    message_to_dict,
)
from pydantic import BaseModel

from bethink import CallableEmbedder, MemoryStore, Subtree
from bethink.model.fields import MAX_CONTENT
from bethink_adapters.langchain import ChatMessageHistory, ConversationMemory
from bethink_adapters.langchain.encoding import decode, encode

from .contract import SlowStore, cancel_in_write

pytestmark = pytest.mark.filterwarnings("ignore:The class `RemoveMessage` is in beta")


class Place(BaseModel):
    """A pydantic object."""

    name: str
    at: datetime


@dataclass(frozen=True)
class Point:
    """A plain object."""

    x: int
    seen: date


CALL = {
    "name": "find",
    "args": {"text": "é", "deep": [1, {"a": None}]},
    "id": "c1",
    "type": "tool_call",
}
USAGE: Any = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
WHEN = datetime(2026, 5, 4, 3, 2, 1, 7, tzinfo=UTC)

KINDS: dict[str, BaseMessage] = {
    "human": HumanMessage("hi", id="m1", name="Ann"),
    "blank": HumanMessage(" \n"),
    "blank block": AIMessage([{"type": "text", "text": "\n\n"}, IMAGE], tool_calls=[CALL]),
    "blocks": HumanMessage(content=["so", {"type": "text", "text": "this"}, IMAGE]),
    "system": SystemMessage("be kind", additional_kwargs={"cache": {"ttl": 60}}),
    "ai": AIMessage("yes", id="run-1", response_metadata={"model": "m", "logprobs": [-0.5]}),
    "usage": AIMessage("", usage_metadata={**USAGE, "input_token_details": {"cache_read": 1}}),
    "call": AIMessage("", tool_calls=[CALL, {**CALL, "id": "c2"}]),
    "bad-call": AIMessage(
        "", invalid_tool_calls=[{"name": "f", "args": "{", "id": "c3", "error": "no JSON"}]
    ),
    "reasoning": AIMessage(
        content=[{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "so"}]
    ),
    "tool": ToolMessage(
        "42", tool_call_id="c1", name="find", status="error", artifact={"rows": [1]}
    ),
    "function": FunctionMessage(content="42", name="find"),
    "chat": ChatMessage(content="order!", role="chair"),
    "extra": HumanMessage("hi", mood="good"),
    "odd-text": HumanMessage("nul \x00 half \ud83d end \u2028"),
    "empty": HumanMessage(""),
    "ai-chunk": AIMessageChunk(
        content="yes",
        id="run-2",
        usage_metadata=USAGE,
        tool_call_chunks=[{"name": "f", "args": '{"a": 1}', "id": "c4", "index": 0}],
    ),
    "human-chunk": HumanMessageChunk(content="hi", id="m2"),
    "bytes": ToolMessage(
        "b", tool_call_id="c1", artifact={"raw": b"\x00\xff", "more": bytearray(b"1")}
    ),
    "dates": ToolMessage(
        "d", tool_call_id="c1", artifact=[WHEN, WHEN.date(), WHEN.time(), timedelta(9, 1, 3)]
    ),
    "sets": ToolMessage("s", tool_call_id="c1", artifact=({1, 2}, frozenset("ab"), (1, (2,)))),
    "numbers": ToolMessage(
        "n", tool_call_id="c1", artifact=[Decimal("0.10"), float("-inf"), UUID(int=5), 1 << 80]
    ),
    "objects": ToolMessage(
        "o", tool_call_id="c1", artifact={"p": Place(name="x", at=WHEN), "q": Point(1, WHEN.date())}
    ),
    "keys": AIMessage(
        "k", additional_kwargs={"a": {1: "one", (2, 3): "pair"}, "b": {"__bethink__": "bytes"}}
    ),
}
JSON_KINDS = list(KINDS)[: list(KINDS).index("ai-chunk")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_comes_back_as_it_was(tmp_path: Path, kind: str) -> None:
    with MemoryStore(tmp_path / "memory.db") as store:
        ChatMessageHistory(store, "s1").add_message(KINDS[kind])
    with MemoryStore(tmp_path / "memory.db") as store:
        (message,) = ChatMessageHistory(store, "s1").messages
    whole = message_chunk_to_message(KINDS[kind])  # type: ignore[arg-type, unused-ignore]
    assert type(message) is type(whole)
    assert message == whole
    assert vars(message) == vars(whole)


@pytest.mark.parametrize("kind", JSON_KINDS)
def test_a_record_holds_what_langchain_writes(store: MemoryStore, kind: str) -> None:
    history = ChatMessageHistory(store, "s1")
    history.add_message(KINDS[kind])
    (record,) = history.log.messages()
    assert record.value == json.loads(json.dumps(message_to_dict(KINDS[kind])))


LEAVES: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
)
LEAVES |= st.datetimes() | st.dates() | st.times() | st.timedeltas() | st.decimals(allow_nan=False)
KEY_TEXTS = st.text() | st.sampled_from(["__bethink__", "value", "bytes", "dict"])
VALUES = st.recursive(
    LEAVES | st.frozensets(LEAVES),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(KEY_TEXTS, inner)
        | st.dictionaries(LEAVES, inner)
    ),
    max_leaves=8,
)


@given(VALUES)
def test_encoding_is_json_and_decoding_undoes_it(value: Any) -> None:
    back = decode(json.loads(json.dumps(encode(value, "value"), allow_nan=False)))
    assert back == value
    assert type(back) is type(value)


def test_numbers_of_numpy_come_back_as_numbers(store: MemoryStore) -> None:
    numbers = {"page": np.int64(3), "shown": np.bool_(True), "mean": np.float32(0.5)}
    numbers |= {"least": np.float64("-inf"), "whole": np.longdouble(2)}
    history = ChatMessageHistory(store, "s1")
    history.add_message(ToolMessage("x", tool_call_id="c1", artifact=numbers))
    (message,) = history.messages
    plain = {"page": 3, "shown": True, "mean": 0.5, "least": -math.inf, "whole": 2.0}
    assert getattr(message, "artifact", None) == plain


def test_an_unknown_object_is_kept_as_its_repr(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    history = ChatMessageHistory(store, "s1")
    history.add_message(ToolMessage("x", tool_call_id="c1", artifact={"f": len}))
    assert history.messages[0].artifact["f"]["value"] == repr(len)  # type: ignore[attr-defined]
    assert "Of artifact['f'], a builtin_function_or_method, only the repr is kept" in caplog.text


class Unspeakable:
    def __repr__(self) -> str:
        raise ValueError("no words")


def within_itself() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


def deep(levels: int) -> list[Any]:
    return [deep(levels - 1)] if levels else []


ODD: dict[str, Any] = {
    "without-repr": Unspeakable(),
    "within-itself": within_itself(),
    "deep": deep(500),
    "endless-number": [10**5000],
    "array": np.arange(3),
    "generator": (each for each in "ab"),
    "failure": ValueError("x"),
}


@pytest.mark.parametrize("field", ["artifact", "additional_kwargs", "response_metadata"])
@pytest.mark.parametrize("kind", ODD)
def test_an_odd_object_costs_no_message(
    store: MemoryStore, caplog: pytest.LogCaptureFixture, kind: str, field: str
) -> None:
    given: dict[str, Any] = {"tool_call_id": "c1", field: {"odd": ODD[kind], "plain": 1}}
    history = ChatMessageHistory(store, "s1")
    history.add_messages([HumanMessage("Draw."), ToolMessage("Done.", **given), AIMessage("So.")])
    assert [each.content for each in history.messages] == ["Draw.", "Done.", "So."]
    assert f"Of {field}" in caplog.text


def test_an_object_of_a_class_not_loaded_comes_back_as_its_fields() -> None:
    assert decode({"__bethink__": "object", "name": "no.such:Thing", "value": {"x": 1}}) == {"x": 1}


def test_a_record_is_searchable_and_says_who_spoke(store: MemoryStore) -> None:
    history = ChatMessageHistory(store, "s1")
    kinds = ("human", "blocks", "call", "chat", "odd-text")
    history.add_messages([KINDS[kind] for kind in kinds])
    assert [(record.author, record.content) for record in history.log.messages()] == [
        ("Ann", "hi"),
        ("human", "so\nthis"),
        ("ai", ""),
        ("chair", "order!"),
        ("human", "nul \x00 half \ufffd end \u2028"),
    ]
    assert store.recall("order!", namespace=Subtree("messages"))[0].memory.author == "chair"


def test_a_huge_message_is_whole_though_its_searchable_text_is_cut(store: MemoryStore) -> None:
    history = ChatMessageHistory(store, "s1")
    huge = "word " * (MAX_CONTENT // 4)
    history.add_user_message(huge)
    assert history.messages == [HumanMessage(huge)]
    assert len(history.log.messages()[0].content) == MAX_CONTENT


def test_a_record_that_is_no_message_breaks_nothing(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    history = ChatMessageHistory(store, "s1")
    history.add_user_message("before")
    for value in (
        {"type": "hologram", "data": {}},
        {"type": "human", "data": {}},
        {"a": 1},
        [2],
        "x",
    ):
        store.store("beep", value=value, namespace=history.log.namespace)
    store.store("hello", author="assistant", namespace=history.log.namespace)
    store.store("bye", namespace=history.log.namespace)
    history.add_ai_message("after")
    assert [message.content for message in history.messages] == [
        *("before", "beep", "beep", "beep", "beep", "beep", "hello", "bye", "after")
    ]
    roles = [getattr(message, "role", message.type) for message in history.messages]
    assert roles == ["human", "hologram", "human", *["unknown"] * 3, "ai", "unknown", "ai"]
    assert caplog.text.count("shown as its text") == 5 * 2


def test_a_retried_write_adds_nothing_though_it_removes_again(store: MemoryStore) -> None:
    history = ChatMessageHistory(store, "s")
    turn = [HumanMessage("a", id="1"), AIMessage("b", id="2")]
    history.add_messages([*turn, HumanMessage("late", id="3")])
    history.add_messages([RemoveMessage(id="3"), *turn])
    assert history.messages == turn


def test_what_is_erased_meanwhile_stops_no_write(store: MemoryStore) -> None:
    history = ChatMessageHistory(store, "s")
    history.add_message(HumanMessage("old", id="1"))
    append = history.log.append

    def late(*args: Any, **more: Any) -> Any:
        store.erase(namespace=history.log.namespace)
        return append(*args, **more)

    history.log.append = late  # type: ignore[method-assign]
    history.add_messages([RemoveMessage(id="1"), HumanMessage("new", id="2")])
    assert [message.content for message in history.messages] == ["new"]


def test_nothing_overtakes_a_write_that_is_cancelled() -> None:
    async def overtaking(store: SlowStore) -> list[Any]:
        history = ChatMessageHistory(store, "s")
        first, second = (history.aadd_messages([HumanMessage(text)]) for text in "ab")
        await cancel_in_write(store, first, second)
        return [message.content for message in await history.aget_messages()]

    async def clearing(store: SlowStore) -> list[Any]:
        history = ConversationMemory(store, "s")
        first = history.asave_context({"input": "a"}, {"output": "b"})
        await cancel_in_write(store, first, history.aclear())
        return store.all(namespace="messages/s")

    with SlowStore() as store, SlowStore() as other:
        assert asyncio.run(overtaking(store)) == ["a", "b"]
        assert asyncio.run(clearing(other)) == []


@pytest.mark.parametrize(
    ("said", "edited"),
    [
        (HumanMessage("I live in Graz", name="Ann"), HumanMessage("I live in Lyon", name="Ann")),
        (
            HumanMessage(["I live", {"type": "text", "text": "in Graz"}, IMAGE]),
            HumanMessage([{"type": "text", "text": "I live in Lyon"}, IMAGE]),
        ),
        (AIMessage("In Graz", tool_calls=[CALL]), AIMessage("I live in Lyon", tool_calls=[CALL])),
        (
            ChatMessage(content="In Graz", role="clerk"),
            ChatMessage(content="I live in Lyon", role="clerk"),
        ),
    ],
)
def test_an_edited_message_comes_back_as_edited(
    store: MemoryStore, said: BaseMessage, edited: BaseMessage
) -> None:
    history = ChatMessageHistory(store, "ann-1")
    history.add_messages([said, AIMessage("Noted")])
    first = store.all(namespace="messages/ann-1", order="oldest")[0]
    store.update(first.id, content="I live in Lyon")
    assert history.messages == [edited, AIMessage("Noted")]
    memory = ConversationMemory(store, "ann-1")
    assert "I live in Lyon" in str(memory.load_memory_variables({"input": "Where?"}))
    store.undo(store.log(limit=1)[0])
    assert history.messages == [said, AIMessage("Noted")]


def test_a_screened_message_comes_back_as_screened() -> None:
    with MemoryStore(
        screen=lambda record: record.content.replace("hunter2", "[redacted]")
    ) as store:
        history = ChatMessageHistory(store, "ann-1")
        history.add_messages([HumanMessage("The password is hunter2")])
        assert history.messages == [HumanMessage("The password is [redacted]")]


def test_saves_of_a_session_at_once_are_embedded_at_once() -> None:
    together = threading.Barrier(2, timeout=10)

    def embed(texts: Sequence[str]) -> list[list[float]]:
        together.wait()
        return [[1.0, 0.0] for _ in texts]

    embedder = CallableEmbedder(embed, dimension=2, name="meeting")
    with MemoryStore(embedder=embedder) as store, ThreadPoolExecutor(2) as pool:
        saves = [HumanMessage("Hello."), AIMessage("Good day.", id="1")], [HumanMessage("Hi.")]
        list(pool.map(ChatMessageHistory(store, "s").add_messages, saves))
        assert len(ChatMessageHistory(store, "s").messages) == 3
