"""A Haystack agent that knows in a new conversation what an earlier one said.

    pip install ".[haystack]" && python examples/haystack_agent.py

Runs offline, with a scripted generator.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "false")

from haystack import component
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage

from bethink import MemoryStore
from bethink_adapters.haystack import memory_hooks


@component
class Scripted:
    """A chat generator that prints what the model would read and answers from a script."""

    def __init__(self, *answers: str) -> None:
        self.answers = iter(answers)

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None) -> dict[str, list[ChatMessage]]:
        print("The model reads:", *(message.text for message in messages), sep="\n")
        return {"replies": [ChatMessage.from_assistant(next(self.answers))]}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, MemoryStore(Path(folder) / "memory.db") as store:
        generator = Scripted("Noted.", "With oat milk, as always.")
        agent = Agent(chat_generator=generator, hooks=memory_hooks(store, namespace="users/ann"))
        for day, said in (
            ("monday", "I always take my coffee with oat milk."),
            ("tuesday", "How do I take my coffee?"),
        ):
            messages = [ChatMessage.from_user(said)]
            result = agent.run(messages, hook_context={"memory_thread": day})
            print(f"It answers: {result['last_message'].text}\n")


if __name__ == "__main__":
    main()
