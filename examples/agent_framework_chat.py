"""An agent of Microsoft Agent Framework that knows in a new session what an earlier one said.

    pip install ".[agent-framework]" && python examples/agent_framework_chat.py

Runs offline, with a scripted client.
"""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent_framework import Agent, ChatResponse, Message

from bethink import MemoryStore, Subtree
from bethink_adapters.agent_framework import MemoryHistory, MemoryRecall


class Scripted:
    """A chat client that prints what the model would read and answers from a script."""

    def __init__(self, answer: str) -> None:
        self.additional_properties: dict[str, Any] = {}
        self.answer = answer

    async def get_response(self, messages: Sequence[Message], **options: Any) -> ChatResponse:
        print("The model reads:", *(message.text for message in messages), sep="\n")
        return ChatResponse(messages=[Message(role="assistant", contents=[self.answer])])


async def chat(store: MemoryStore, session_id: str, said: str, scripted: str) -> None:
    """Say one thing in a session of Ann's."""
    history = MemoryHistory(store, namespace="users/ann")
    recall = MemoryRecall(store, namespace=Subtree("users/ann"))
    client: Any = Scripted(scripted)
    agent: Any = Agent(client=client, context_providers=[history, recall])
    answer = await agent.run(said, session=agent.create_session(session_id=session_id))
    print(f"It answers: {answer.text}\n")


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder, MemoryStore(Path(folder) / "m.db") as store:
        await chat(store, "monday", "I always take my coffee with oat milk.", "Noted.")
        await chat(store, "tuesday", "How do I take my coffee?", "With oat milk, as always.")


if __name__ == "__main__":
    asyncio.run(main())
