"""A Strands agent that knows in a new conversation what an earlier one said.

    pip install ".[strands]" && python examples/strands_agent.py

Runs offline, with a scripted model. Set BETHINK_MODEL to a Bedrock model id to ask a real one.
"""

import os
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from strands import Agent
from strands.memory import MemoryManager
from strands.models.model import Model

from bethink import MemoryStore
from bethink_adapters.strands import StrandsStore


class Scripted(Model):
    """A model that prints what it reads and answers from a script."""

    def __init__(self, answer: str) -> None:
        self.answer = answer

    def update_config(self, **model_config: Any) -> None: ...

    def get_config(self) -> Any:
        return {}

    async def structured_output(self, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        raise NotImplementedError
        yield

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        print("The model reads:", *(part["text"] for part in messages[-1]["content"]), sep="\n")
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": self.answer}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def converse(store: MemoryStore, said: str, scripted: str) -> None:
    """Have a conversation of one turn with a new agent."""
    memory = StrandsStore(store, namespace="users/ann")
    model: Any = os.environ.get("BETHINK_MODEL") or Scripted(scripted)
    manager = MemoryManager(stores=[memory])
    agent = Agent(model=model, memory_manager=manager, callback_handler=None)
    print(f"It answers: {agent(said)}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, MemoryStore(Path(folder) / "memory.db") as store:
        converse(store, "I always take my coffee with oat milk.", "Noted.")
        converse(store, "How do I take my coffee?", "With oat milk, as always.")


if __name__ == "__main__":
    main()
