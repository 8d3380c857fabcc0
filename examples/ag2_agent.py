"""An agent of AG2 that knows in a new conversation what it heard in an earlier one.

    pip install ".[ag2]" && python examples/ag2_agent.py

Runs offline with a scripted model.
"""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from ag2 import Agent
from ag2.testing import TestConfig

from bethink import MemoryStore, Subtree
from bethink_adapters.ag2 import RecallPolicy, remembering


class Shown(RecallPolicy):
    """A `RecallPolicy` that prints what the model is to read."""

    async def apply(self, prompts: list[str], events: list[Any], context: Any) -> Any:
        prompts, events = await super().apply(prompts, events, context)
        texts = [part.content for event in events for part in getattr(event, "parts", [event])]
        print("The model reads:", *texts, sep="\n")
        return prompts, events


async def chat(store: MemoryStore, said: str, scripted: str) -> None:
    """Say one thing in a conversation of Ann's, and print what the model read and answered."""
    agent = Agent(
        "barista",
        config=TestConfig(scripted),
        assembly=[Shown(store, namespace=Subtree("users/ann"))],
        middleware=[remembering(store, namespace="users/ann")],
    )
    reply = await agent.ask(said)
    print(f"It answers: {reply.body}\n")


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder, MemoryStore(Path(folder) / "m.db") as store:
        await chat(store, "I always take my coffee with oat milk.", "Noted.")
        await chat(store, "How do I take my coffee?", "With oat milk, as always.")


if __name__ == "__main__":
    asyncio.run(main())
