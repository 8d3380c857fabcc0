"""The memory block and the chat stores against LlamaIndex itself, with a scripted model."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemoryBlock, ChatMemoryBuffer, InsertMethod, Memory
from llama_index.core.storage.chat_store.base import BaseChatStore
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus
from pydantic import ValidationError

from bethink import ArgumentError, MemoryStore, StoreClosedError, Subtree
from bethink.features.packing.layout import INTRODUCTION
from bethink_adapters.llama_index import (
    BethinkChatStore,
    BethinkDBChatStore,
    RecallBlock,
    erase_user,
)

from .contract import (
    QUESTION,
    AdapterContract,
    GatedStore,
    cancel_at_gate,
    place,
)
from .llama_index_runs import (
    Scripted,
    kept,
    memory_of,
    said,
    takes_any_store,
    texts,
    turn,
    words,
)

EXAMPLE = Path(__file__).parents[2] / "examples" / "llama_index_chat.py"


def shown(block: RecallBlock, *messages: str) -> str:
    return asyncio.run(block.aget(said(*messages)))


def test_they_pass_for_llama_indexes_own(store: MemoryStore) -> None:
    assert issubclass(RecallBlock, BaseMemoryBlock)
    assert isinstance(BethinkDBChatStore(store=store), AsyncDBChatStore)
    assert isinstance(BethinkChatStore(store=store), BaseChatStore)


@takes_any_store
def test_recalled_text_is_data_within_the_system_message(store: MemoryStore) -> None:
    store.store("Ann likes pizza Margherita.", namespace="users/ann")
    memory = memory_of(
        BethinkDBChatStore(store=store), RecallBlock(store=store, namespace="users/ann")
    )
    asyncio.run(memory.aput(said("Which pizza?")[0]))
    system, question = asyncio.run(memory.aget())
    assert system.role == "system"
    assert INTRODUCTION in str(system.content)
    assert "Ann likes pizza Margherita." in str(system.content)
    assert question.content == "Which pizza?"
    assert texts(asyncio.run(memory.aget_all())) == ["Which pizza?"]


@takes_any_store
def test_recalled_text_may_go_into_the_question(store: MemoryStore) -> None:
    store.store("Ann likes pizza Margherita.")
    block = RecallBlock(store=store, namespace="default")
    memory = memory_of(BethinkDBChatStore(store=store), block, insert_method=InsertMethod.USER)
    for _ in range(2):
        assert turn(memory, "Which pizza?").count("Margherita") == 1
    assert "Margherita" not in str(asyncio.run(memory.aget_all()))


@takes_any_store
def test_a_conversation_recalls_what_another_one_said(store: MemoryStore) -> None:
    chats = BethinkDBChatStore(store=store, namespace="users/ann/chats")
    block = RecallBlock(store=store, namespace="default", scope=Subtree("users/ann"))
    turn(memory_of(chats, block, session="monday"), "I take my coffee with oat milk.")
    assert "oat milk" in turn(memory_of(chats, block, session="tuesday"), "How do I take coffee?")


@takes_any_store
def test_what_a_chat_store_archived_is_recalled_once(store: MemoryStore) -> None:
    chats = BethinkDBChatStore(store=store, namespace="users/ann/chats")
    block = RecallBlock(
        store=store,
        namespace="users/ann",
        scope=Subtree("users/ann"),
        accept_short_term_memory=False,
        tokenizer_fn=words,
    )
    monday = memory_of(chats, block, session="monday", token_limit=30, token_flush_size=5)
    for text in (
        "I take my coffee with oat milk.",
        *(f"It is {hour} o'clock." for hour in "123456"),
    ):
        turn(monday, text)
    assert asyncio.run(chats.count_messages("monday", MessageStatus.ARCHIVED)) > 1
    tuesday = memory_of(chats, block, session="tuesday")
    assert turn(tuesday, "How do I take coffee?").count("oat milk") == 1
    assert store.all(namespace="users/ann") == []


def test_the_block_serves_a_memory_with_another_chat_store(store: MemoryStore) -> None:
    store.store("Ann likes pizza Margherita.")

    async def ask() -> str:
        block = RecallBlock(store=store, namespace="default")
        memory = Memory.from_defaults(memory_blocks=[block], tokenizer_fn=words)
        await memory.aput(said("Which pizza?")[0])
        prompt = str(await memory.aget())
        await memory.sql_store._async_engine.dispose()  # type: ignore[attr-defined]
        return prompt

    assert asyncio.run(ask()).count("Margherita") == 1


def test_the_last_user_message_is_what_is_asked(store: MemoryStore) -> None:
    store.store_many(["The cat is called Tom.", "The dog is called Rex."])
    block = RecallBlock(store=store, namespace="default", k=1)
    assert "Tom" in shown(block, "What is the dog called?", "What is the cat called?")
    assert asyncio.run(block.aget(said("The cat?", role="assistant"))) == ""
    assert asyncio.run(block.aget()) == ""


def test_what_the_conversation_holds_is_not_shown(store: MemoryStore) -> None:
    store.store("The cat is called Tom.")
    block = RecallBlock(store=store, namespace="default")
    assert shown(block, "The cat is called Tom. ", "What is the cat called?") == ""


@takes_any_store
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_agent_is_shown_what_its_question_recalls(store: MemoryStore) -> None:
    store.store("Ann likes pizza Margherita.")
    block, chats = RecallBlock(store=store, namespace="default"), BethinkDBChatStore(store=store)
    memory = memory_of(chats, block, insert_method=InsertMethod.USER)
    model = Scripted(reply="Thought: I can answer.\nAnswer: Margherita", prompts=[])

    async def ask() -> str:
        return str(await ReActAgent(llm=model, tools=[]).run("Which pizza?", memory=memory))

    assert asyncio.run(ask()) == "Margherita"
    assert model.prompts[0].count("Ann likes pizza") == 1
    assert kept(chats)[0] == "Which pizza?"


@takes_any_store
def test_what_leaves_the_conversation_is_remembered(store: MemoryStore) -> None:
    chats, block = BethinkDBChatStore(store=store), RecallBlock(store=store, namespace="default")
    memory = memory_of(
        chats, block, session="monday", token_flush_size=9, chat_history_token_ratio=0.04
    )
    turn(memory, "My parrot is called Quetzal, and it speaks three languages.", "A fine name.")
    turn(memory, "one two three four five six seven eight nine ten " * 3)
    told = [(each.content, each.author, each.thread) for each in store.all()]
    assert told == [
        ("My parrot is called Quetzal, and it speaks three languages.", "user", "monday"),
        ("A fine name.", "assistant", "monday"),
    ]
    assert "Quetzal" in turn(memory, "What is my parrot called?")


def test_what_is_handed_over_again_is_not_added_again(store: MemoryStore) -> None:
    block = RecallBlock(store=store, namespace="default")
    for _ in range(2):
        asyncio.run(block.aput(said("ok", "Fine.", " ", "Hello \udc80"), session_id="monday"))
    asyncio.run(block.aput(said("ok"), session_id="tuesday"))
    assert [(each.content, each.thread) for each in store.all()] == [
        ("ok", "monday"),
        ("Fine.", "monday"),
        ("Hello \N{REPLACEMENT CHARACTER}", "monday"),
        ("ok", "tuesday"),
    ]


def test_instructions_and_tools_are_no_speech(store: MemoryStore) -> None:
    call = {"tool_calls": [{"id": "c", "function": {"name": "weather", "arguments": "{}"}}]}
    messages = [
        *said("Be brief.", role="system"),
        *said("Always be brief.", role="developer"),
        *said("Is it raining?"),
        ChatMessage(role="assistant", content=None, additional_kwargs=call),
        *said("rain", role="tool"),
        *said("rain", role="function"),
        *said("Yes.", role="assistant"),
    ]
    block = RecallBlock(store=store, namespace="default")
    asyncio.run(block.aput(messages, session_id="monday"))
    assert [record.content for record in store.all()] == ["Is it raining?", "Yes."]
    asyncio.run(BethinkDBChatStore(store=store, namespace="chats").add_messages("s", messages))
    found = store.all(namespace=Subtree("chats"))
    assert len(found) == len(messages)
    assert [record.content for record in found if record.content] == ["Is it raining?", "Yes."]


def test_an_answer_given_anew_supersedes_the_answer(store: MemoryStore) -> None:
    block = RecallBlock(store=store, namespace="default")
    asked = [*said("Hi."), *said("Hello!", role="assistant"), *said("Where do I live?")]
    for answer in ("In Oslo.", "In Rome."):
        asyncio.run(block.aput([*asked, *said(answer, role="assistant")], session_id="monday"))
    assert [record.content for record in store.all()][2:] == ["Where do I live?", "In Rome."]
    assert [record.content for record in store.all(state="superseded")] == ["In Oslo."]


@pytest.mark.parametrize("session_id", [None, "monday"])
def test_a_question_without_a_history_keeps_every_answer(
    store: MemoryStore, session_id: str | None
) -> None:
    block = RecallBlock(store=store, namespace="default")
    for answer in ("It waits.", "It is there."):
        told = [*said("Where is my order?"), *said(answer, role="assistant")]
        asyncio.run(block.aput(told, session_id=session_id))
    assert [record.content for record in store.all()][1::2] == ["It waits.", "It is there."]


def test_a_text_said_again_in_another_batch_is_remembered_again(store: MemoryStore) -> None:
    block = RecallBlock(store=store, namespace="default")
    cities = ("Oslo", "Rome", "Oslo", "Oslo")
    for city in cities:
        told = [*said(f"I live in {city}."), *said("Noted.", role="assistant")]
        asyncio.run(block.aput(told, from_short_term_memory=True, session_id="monday"))
    homes = [record.content for record in store.all() if record.author == "user"]
    assert homes == [f"I live in {city}." for city in cities]


def test_a_block_asks_for_a_namespace(store: MemoryStore) -> None:
    with pytest.raises(ValidationError, match="namespace"):
        RecallBlock(store=store)  # type: ignore[call-arg]


def test_what_was_forgotten_stays_forgotten(store: MemoryStore) -> None:
    block = RecallBlock(store=store, namespace="default")
    asyncio.run(block.aput(said("My code is 1234.")))
    store.forget(namespace="default")
    asyncio.run(block.aput(said("My code is 1234.")))
    assert store.count() == 0


def test_a_block_may_leave_remembering_to_others(store: MemoryStore) -> None:
    block = RecallBlock(store=store, namespace="default", accept_short_term_memory=False)
    asyncio.run(block.aput(said("Hi."), from_short_term_memory=True, session_id="s"))
    assert store.count() == 0
    asyncio.run(block.aput(said("Hi.")))
    assert store.count() == 1


@pytest.mark.parametrize("less", [0, 1, 20, 40])
def test_a_block_that_is_too_large_keeps_its_best(store: MemoryStore, less: int) -> None:
    store.store_many(
        f"The spare key {number} lies under flowerpot {number}." for number in range(9)
    )
    block = RecallBlock(store=store, namespace="default", tokenizer_fn=words, k=9)
    whole = asyncio.run(block.aget(said(QUESTION)))
    rest = asyncio.run(block.atruncate(whole, less))
    assert rest is not None
    assert len(words(rest)) <= len(words(whole)) - less
    assert ("flowerpot" in rest, rest.startswith(INTRODUCTION)) == (True, True)
    best = store.recall(QUESTION, k=1)[0].memory.content
    assert best in rest


def test_a_block_that_cannot_be_smaller_is_left_out(store: MemoryStore) -> None:
    store.store("The spare key lies under the flowerpot.")
    block = RecallBlock(store=store, namespace="default", tokenizer_fn=words)
    whole = asyncio.run(block.aget(said(QUESTION)))
    assert asyncio.run(block.atruncate(whole, len(words(whole)) - 3)) is None
    assert asyncio.run(block.atruncate(whole, 5000)) is None
    assert asyncio.run(block.atruncate("of another block", 1)) is None


@takes_any_store
def test_a_memory_short_of_room_shows_the_best(store: MemoryStore) -> None:
    store.store_many(
        f"The spare key {number} lies under flowerpot {number}." for number in range(9)
    )
    block = RecallBlock(store=store, namespace="default", tokenizer_fn=words, k=9)
    prompts = [
        turn(memory_of(BethinkDBChatStore(store=store), block, token_limit=limit), QUESTION)
        for limit in (1000, 60)
    ]
    many, few = (prompt.count("flowerpot") for prompt in prompts)
    assert many == 9
    assert 0 < few < many


@takes_any_store
def test_a_failing_store_is_logged_and_the_run_goes_on(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    broken = MemoryStore()
    block = RecallBlock(store=broken, namespace="default")
    broken.close()
    memory = memory_of(BethinkDBChatStore(store=store), block, token_limit=30, token_flush_size=10)
    with caplog.at_level(logging.ERROR, "bethink_adapters"):
        turn(memory, "one two three four five six seven eight nine ten")
        turn(memory, "one two three four five six seven eight nine ten eleven")
    assert {record.name.rpartition(".")[2] for record in caplog.records} == {"recalling", "block"}
    with pytest.raises(StoreClosedError):
        asyncio.run(block.aput(said("Hi.")))


@pytest.mark.parametrize("wrong", [{"k": 0}, {"namespace": "", "scope": "s"}, {"scope": ""}])
def test_wrong_settings_are_refused(store: MemoryStore, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RecallBlock(store=store, **({"namespace": "default"} | wrong))
    with pytest.raises(ValidationError):
        RecallBlock(store=5, namespace="default")
    for chats in (BethinkChatStore, BethinkDBChatStore):
        with pytest.raises(ValidationError):
            chats(store=store, namespace="")


@pytest.mark.parametrize("kind", [RecallBlock, BethinkChatStore, BethinkDBChatStore])
def test_an_argument_without_a_name_is_refused_in_words(kind: type[Any]) -> None:
    with pytest.raises(ArgumentError, match=f"{kind.__name__} takes arguments by name only"):
        kind(5)


@takes_any_store
def test_no_dump_holds_the_store(store: MemoryStore) -> None:
    block = RecallBlock(store=store, namespace="default")
    assert "store" not in block.model_dump()
    assert "MemoryStore" not in repr(block)
    memory = memory_of(BethinkDBChatStore(store=store), block)
    assert json.loads(memory.model_dump_json())["session_id"] == "s"
    buffer = ChatMemoryBuffer.from_defaults(chat_store=BethinkChatStore(store=store))
    assert "MemoryStore" not in buffer.to_string()


@takes_any_store
class TestContract(AdapterContract):
    """Each user has a running conversation and an earlier one; the block recalls from both."""

    not_applicable: ClassVar[Mapping[str, str]] = {
        "failed run": "the framework hands nothing over after a run that failed",
        "erased turn": "a turn without id that comes alone may be said again",
        "order": "a conversation that goes on hands nothing over before it is long",
        "dump": "a block and a chat store have no configuration beyond their arguments",
    }
    failure_is_loud = "the chat store is the conversation: an answer without it would be beside it"

    def chats(self, store: MemoryStore, user: str) -> BethinkDBChatStore:
        return BethinkDBChatStore(store=store, namespace=f"{place(user)}/chats")

    def block(self, store: MemoryStore, user: str, **options: Any) -> RecallBlock:
        return RecallBlock(
            store=store, namespace=place(user), scope=Subtree(place(user)), **options
        )

    def run(self, store: MemoryStore, user: str, text: str, reply: str) -> str:
        memory = memory_of(self.chats(store, user), self.block(store, user), session="chat")
        return turn(memory, text, reply)

    def ingest(self, store: MemoryStore, user: str) -> None:
        messages = asyncio.run(self.chats(store, user).get_messages("chat"))
        asyncio.run(self.block(store, user).aput(messages, session_id="chat"))

    def remember(self, store: MemoryStore, user: str, text: str) -> None:
        asyncio.run(self.chats(store, user).add_messages("earlier", said(text)))

    def erase_user(self, store: MemoryStore, user: str) -> int:
        return erase_user(store, namespace=place(user))

    def find(self, store: MemoryStore, user: str, query: str) -> list[str]:
        chats = self.chats(store, user)
        return [str(text) for key in ("earlier", "chat") for text in kept(chats, key)]

    def framework_history(self, store: MemoryStore, user: str) -> str:
        messages = asyncio.run(self.chats(store, user).get_messages("chat", status=None))
        return json.dumps([message.model_dump(mode="json") for message in messages])

    def cancel_mid_recall(self, store: GatedStore, user: str, query: str) -> None:
        asyncio.run(cancel_at_gate(store, self.block(store, user).aget(said(query))))

    def block_within(
        self, store: MemoryStore, user: str, query: str, budget: int, counter: Callable[[str], int]
    ) -> str:
        block = self.block(
            store,
            user,
            budget_tokens=budget,
            tokenizer_fn=lambda text: range(counter(text)),
        )
        return shown(block, query)


@takes_any_store
def test_the_example_remembers_across_conversations(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "- user: I always take my coffee with oat milk." in done.stdout
