"""A chat engine of LlamaIndex that knows in a new conversation what an earlier one said.

    pip install ".[llama-index]" && python examples/llama_index_chat.py

Runs offline, with a scripted model.
"""

import tempfile
from pathlib import Path
from typing import Any

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.memory import Memory

from bethink import MemoryStore, Subtree
from bethink_adapters.llama_index import BethinkDBChatStore, RecallBlock


class Scripted(CustomLLM):
    """A model that prints what it reads and answers from a script."""

    answer: str

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **options: Any) -> CompletionResponse:
        print("The model reads:", prompt, sep="\n")
        return CompletionResponse(text=self.answer)

    def stream_complete(self, prompt: str, formatted: bool = False, **options: Any) -> Any:
        raise NotImplementedError


def chat(store: MemoryStore, session: str, said: str, scripted: str) -> None:
    """Say one thing in a conversation of Ann's."""
    chats = BethinkDBChatStore(store=store, namespace="users/ann/chats")
    block = RecallBlock(
        store=store,
        namespace="users/ann",
        scope=Subtree("users/ann"),
        accept_short_term_memory=False,
    )
    memory = Memory(session_id=session, token_limit=4000, sql_store=chats, memory_blocks=[block])
    engine = SimpleChatEngine.from_defaults(llm=Scripted(answer=scripted), memory=memory)
    print(f"It answers: {engine.chat(said)}\n")


with tempfile.TemporaryDirectory() as folder, MemoryStore(Path(folder) / "memory.db") as store:
    chat(store, "monday", "I always take my coffee with oat milk.", "Noted.")
    chat(store, "tuesday", "How do I take my coffee?", "With oat milk, as always.")
