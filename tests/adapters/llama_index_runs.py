"""Runs of LlamaIndex with a scripted model, and messages of its conversations."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage, CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.memory import Memory
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore

from bethink_adapters.llama_index import BethinkDBChatStore, RecallBlock


class Scripted(CustomLLM):
    """A model that answers *reply* and notes the prompts it is asked with."""

    reply: str = "Noted."
    prompts: list[str]

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        self.prompts.append(prompt)
        return CompletionResponse(text=self.reply)

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        answer = self.complete(prompt)
        yield CompletionResponse(text=answer.text, delta=answer.text)


takes_any_store = pytest.mark.skipif(
    Memory.model_fields["sql_store"].annotation is not AsyncDBChatStore,
    reason="this Memory takes chat stores of SQLAlchemy only",
)


def words(text: str) -> list[str]:
    return text.split()


def memory_of(
    chats: BethinkDBChatStore, *blocks: RecallBlock, session: str = "s", **options: Any
) -> Memory:
    settings: dict[str, Any] = {"token_limit": 1000, "tokenizer_fn": words} | options
    return Memory(session_id=session, sql_store=chats, memory_blocks=list(blocks), **settings)


def turn(memory: Memory, text: str, reply: str = "Noted.") -> str:
    """Run one turn with a new chat engine; return what the model was shown."""
    model = Scripted(reply=reply, prompts=[])
    asyncio.run(SimpleChatEngine.from_defaults(llm=model, memory=memory).achat(text))
    return model.prompts[-1]


def said(*texts: str, role: str = "user") -> list[ChatMessage]:
    return [ChatMessage(role=role, content=text) for text in texts]


def texts(messages: list[ChatMessage]) -> list[str | None]:
    return [message.content for message in messages]


def kept(chats: BethinkDBChatStore, key: str = "s", *args: Any, **options: Any) -> list[str | None]:
    return texts(asyncio.run(chats.get_messages(key, *args, **options)))


def add(chats: BethinkDBChatStore, *contents: str, key: str = "s") -> None:
    asyncio.run(chats.add_messages(key, said(*contents)))
