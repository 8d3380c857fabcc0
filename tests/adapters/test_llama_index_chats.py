"""The chat stores against LlamaIndex itself, with a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.base.llms.types import ImageBlock, TextBlock
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.storage.chat_store.base_db import MessageStatus

from bethink import EVERYWHERE, MemoryRecord, MemoryStore, segment
from bethink_adapters.llama_index import (
    BethinkChatStore,
    BethinkDBChatStore,
)

from .contract import (
    MeetingStore,
    SlowStore,
    cancel_in_write,
)
from .llama_index_runs import Scripted, add, kept, memory_of, said, takes_any_store, texts, words


@pytest.fixture
def chats(store: MemoryStore) -> BethinkDBChatStore:
    return BethinkDBChatStore(store=store)


def test_messages_come_back_as_they_went_in(chats: BethinkDBChatStore, store: MemoryStore) -> None:
    blocks = [
        TextBlock(text="Wetter?"),
        ImageBlock(url="https://example.org/a.png"),
        TextBlock(text="Ja"),
    ]
    calls = {"tool_calls": [{"id": "c", "function": {"name": "weather", "arguments": "{}"}}]}
    given = [
        ChatMessage(role="user", blocks=blocks),
        ChatMessage(role="assistant", content=None, additional_kwargs=calls),
        ChatMessage(role="tool", content="rain \udc80", additional_kwargs={"tool_call_id": "c"}),
    ]
    asyncio.run(chats.add_messages("s", given))
    back = asyncio.run(chats.get_messages("s"))
    assert [each.model_dump() for each in back] == [each.model_dump() for each in given]
    told = [(each.content, each.author) for each in store.all(namespace=f"messages/{segment('s')}")]
    assert told[:2] == [("Wetter?\nJa", "user"), ("", "assistant")]


def test_an_edited_message_comes_back_as_edited(
    chats: BethinkDBChatStore, store: MemoryStore
) -> None:
    image = ImageBlock(url="https://example.org/graz.png")
    parts = [TextBlock(text="In"), image, TextBlock(text="Graz")]
    given = [
        ChatMessage(role="user", blocks=parts, additional_kwargs={"n": 1}),
        ChatMessage(role="system", content="Be brief."),
        ChatMessage(role="assistant", content="Noted"),
    ]
    asyncio.run(chats.add_messages("ann", given))
    first, instructions, _ = store.all(namespace="messages/ann")
    store.update(first.id, content="In Lyon")
    store.update(instructions.id, importance=0.9)
    blocks = [TextBlock(text="In Lyon"), image]
    edited = ChatMessage(role="user", blocks=blocks, additional_kwargs={"n": 1})
    older = BethinkChatStore(store=store)
    assert asyncio.run(chats.get_messages("ann")) == [edited, *given[1:]]
    assert older.get_messages("ann") == [edited, *given[1:]]
    assert asyncio.run(chats.archive_oldest_messages("ann", 2)) == [edited, given[1]]
    store.update(first.id, content=first.content)
    assert older.get_messages("ann") == given


def test_archived_messages_are_kept_apart(chats: BethinkDBChatStore) -> None:
    add(chats, "a", "b", "c", "d")
    assert texts(asyncio.run(chats.archive_oldest_messages("s", 2))) == ["a", "b"]
    assert kept(chats) == ["c", "d"]
    assert kept(chats, status=MessageStatus.ARCHIVED) == ["a", "b"]
    assert kept(chats, status=None) == ["a", "b", "c", "d"]
    assert kept(chats, status=None, limit=2, offset=1) == ["b", "c"]
    for status, number in ((MessageStatus.ACTIVE, 2), (MessageStatus.ARCHIVED, 2), (None, 4)):
        assert asyncio.run(chats.count_messages("s", status)) == number


def test_messages_can_be_deleted(chats: BethinkDBChatStore) -> None:
    add(chats, "a", "b", "c", "d", "e")
    asyncio.run(chats.archive_oldest_messages("s", 1))
    assert texts(asyncio.run(chats.delete_oldest_messages("s", 1))) == ["b"]
    removed = asyncio.run(chats.delete_message("s", 1))
    assert removed is not None
    assert removed.content == "d"
    assert asyncio.run(chats.delete_message("s", 9)) is None
    assert asyncio.run(chats.delete_message("s", -1)) is None
    assert kept(chats, status=None) == ["a", "c", "e"]
    asyncio.run(chats.delete_messages("s", MessageStatus.ARCHIVED))
    assert kept(chats, status=None) == ["c", "e"]
    asyncio.run(chats.delete_messages("s"))
    assert asyncio.run(chats.delete_oldest_messages("s", 3)) == []


def test_setting_messages_replaces_all(chats: BethinkDBChatStore) -> None:
    add(chats, "a", "b")
    asyncio.run(chats.archive_oldest_messages("s", 1))
    asyncio.run(chats.set_messages("s", said("x", "y")))
    assert kept(chats, status=None) == ["x", "y"]


def test_of_messages_set_at_once_one_set_stays() -> None:
    with MeetingStore() as store, ThreadPoolExecutor(2) as pool:
        chats = BethinkChatStore(store=store)
        list(pool.map(lambda text: chats.set_messages("s", said(text, text)), "ab"))
        assert texts(chats.get_messages("s")) in (["a", "a"], ["b", "b"])


@pytest.mark.parametrize(
    "take",
    [
        lambda chats: [chats.delete_last_message("s")],
        lambda chats: [chats.delete_message("s", 0)],
        lambda chats: chats.delete_messages("s") or [],
    ],
    ids=["last", "at", "all"],
)
def test_of_takers_at_once_each_gets_other_messages(
    take: Callable[[BethinkChatStore], list[ChatMessage | None]],
) -> None:
    with MeetingStore() as store, ThreadPoolExecutor(2) as pool:
        chats = BethinkChatStore(store=store)
        for message in said("a", "b"):
            chats.add_message("s", message)
        taken = [
            str(message.content)
            for got in pool.map(take, [chats, chats])
            for message in got
            if message is not None
        ]
    assert sorted(taken) == ["a", "b"]


@pytest.mark.parametrize("erase", [False, True])
def test_deleting_erases_on_request(tmp_path: Path, erase: bool) -> None:
    path = tmp_path / "memory.db"
    with MemoryStore(path) as store:
        chats = BethinkDBChatStore(store=store, erase=erase)
        old = BethinkChatStore(store=store, erase=erase)
        add(chats, "Quetzal one", "Quetzal two", "Quetzal three", "Quetzal four")
        asyncio.run(chats.delete_oldest_messages("s", 1))
        old.delete_last_message("s")
        old.set_messages("s", said("Quetzal five"))
        asyncio.run(chats.delete_messages("s"))
        assert store.count(namespace=EVERYWHERE) == 0
    assert (b"Quetzal" in path.read_bytes()) is not erase


def test_any_text_is_a_key(chats: BethinkDBChatStore) -> None:
    keys = ["", "/", "a/b", "Ä", "\x00", "用户"]
    for key in keys:
        add(chats, f"of {key}", key=key)
    assert asyncio.run(chats.get_keys()) == sorted(keys)
    assert [kept(chats, key) for key in keys] == [[f"of {key}"] for key in keys]


@takes_any_store
def test_a_memory_can_begin_with_a_history(chats: BethinkDBChatStore) -> None:
    memory = memory_of(chats)
    asyncio.run(memory.aset(said("Seeded")))
    assert texts(asyncio.run(memory.aget())) == ["Seeded"]
    asyncio.run(memory.areset())
    assert asyncio.run(memory.aget_all()) == []


def test_archiving_passes_over_what_was_forgotten_meanwhile() -> None:
    class Meanwhile(MemoryStore):
        def all(self, **given: Any) -> list[MemoryRecord]:
            found = super().all(**given)
            if given.get("limit") == 2:
                self.forget(found[0].id)
            return found

    with Meanwhile() as store:
        chats = BethinkDBChatStore(store=store)
        asyncio.run(chats.set_messages("s", said("a", "b", "c")))
        assert texts(asyncio.run(chats.archive_oldest_messages("s", 2))) == ["b"]
        assert kept(chats) == ["c"]


@takes_any_store
def test_a_memory_archives_what_grows_too_long(chats: BethinkDBChatStore) -> None:
    memory = memory_of(chats, token_flush_size=700, chat_history_token_ratio=0.9)
    contents = ["x " * 500, "y " * 500, "z " * 500]
    messages = [*said(contents[0]), *said(contents[1], role="assistant"), *said(contents[2])]
    asyncio.run(memory.aput_messages(messages))
    assert kept(chats) == contents[2:]
    assert kept(chats, status=MessageStatus.ARCHIVED) == contents[:2]


# -- the chat store of `ChatMemoryBuffer`


def test_a_buffer_keeps_its_messages(store: MemoryStore) -> None:
    def buffer() -> ChatMemoryBuffer:
        return ChatMemoryBuffer.from_defaults(
            chat_store=BethinkChatStore(store=store), chat_store_key="s", tokenizer_fn=words
        )

    SimpleChatEngine.from_defaults(llm=Scripted(prompts=[]), memory=buffer()).chat("I am Ann.")
    assert texts(buffer().get()) == ["I am Ann.", "Noted."]
    buffer().reset()
    assert buffer().get() == []


def test_a_dumped_buffer_goes_on_with_its_messages(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "memory.db") as store:
        chats = BethinkChatStore(store=store, namespace="users/ann", erase=True)
        buffer = ChatMemoryBuffer.from_defaults(chat_store=chats, chat_store_key="s")
        buffer.put(said("I am Ann.")[0])
        dumped = buffer.to_string()
        loaded: Any = ChatMemoryBuffer.from_string(dumped)
        assert texts(loaded.get_all()) == ["I am Ann."]
        assert (loaded.chat_store.namespace, loaded.chat_store.erase) == ("users/ann", True)
        loaded.chat_store.store.close()


def test_a_dump_without_a_file_is_refused(store: MemoryStore) -> None:
    buffer = ChatMemoryBuffer.from_defaults(chat_store=BethinkChatStore(store=store))
    with pytest.raises(ValueError, match="store must be a MemoryStore"):
        ChatMemoryBuffer.from_string(buffer.to_string())


def test_the_older_chat_store_keeps_its_promises(store: MemoryStore) -> None:
    old = BethinkChatStore(store=store)
    assert old.delete_messages("s") is None
    assert old.delete_last_message("s") is None
    old.set_messages("s", said("a", "b", "c", "d"))
    old.add_message("s", said("e")[0])
    removed = [old.delete_message("s", place) for place in (1, 9, -1)]
    last = old.delete_last_message("s")
    assert [each and each.content for each in [*removed, last]] == ["b", None, None, "e"]
    assert old.get_keys() == ["s"]
    assert texts(asyncio.run(old.aget_messages("s"))) == ["a", "c", "d"]
    assert texts(old.delete_messages("s") or []) == ["a", "c", "d"]
    assert store.count(namespace=EVERYWHERE) == 0


def test_both_chat_stores_read_the_same_messages(chats: BethinkDBChatStore) -> None:
    add(chats, "a", "b")
    asyncio.run(chats.archive_oldest_messages("s", 1))
    old = BethinkChatStore(store=chats.store)
    old.add_message("s", said("c")[0])
    assert texts(old.get_messages("s")) == ["a", "b", "c"]
    assert kept(chats) == ["b", "c"]


def test_nothing_overtakes_a_message_whose_adding_is_cancelled() -> None:
    async def overtaking(slow: SlowStore) -> list[str | None]:
        chats = BethinkDBChatStore(store=slow)
        first, second = (chats.add_messages("s", said(text)) for text in "ab")
        await cancel_in_write(slow, first, second)
        return texts(await chats.get_messages("s"))

    with SlowStore() as slow:
        assert asyncio.run(overtaking(slow)) == ["a", "b"]
