"""A Pydantic AI agent that knows in a new conversation what an earlier one said.

    pip install ".[pydantic-ai]" && python examples/pydantic_ai_agent.py

Runs offline, with a scripted model. Set BETHINK_MODEL to a model's name to ask a real one.
"""

import os
import tempfile
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from bethink import MemoryStore
from bethink_adapters.pydantic_ai import MemoryRecall


def scripted(answer: str) -> FunctionModel:
    """Return a model that prints what it reads and answers from a script."""

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        parts = [part for message in messages for part in message.parts]
        print("The model reads:", *(getattr(part, "content", "") for part in parts), sep="\n")
        return ModelResponse(parts=[TextPart(answer)])

    return FunctionModel(respond)


def converse(store: MemoryStore, said: str, answer: str) -> None:
    """Have a conversation of one turn with a new agent."""
    recall = MemoryRecall(store, namespace="users/ann", remember="users/ann")
    agent = Agent(os.environ.get("BETHINK_MODEL") or scripted(answer), capabilities=[recall])
    print(f"It answers: {agent.run_sync(said).output}\n")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, MemoryStore(Path(folder) / "memory.db") as store:
        converse(store, "I always take my coffee with oat milk.", "Noted.")
        converse(store, "How do I take my coffee?", "With oat milk, as always.")


if __name__ == "__main__":
    main()
