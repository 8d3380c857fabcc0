"""An agent of AutoGen 0.2, or AG2 before 1.0, that knows in a second chat what it heard in a first.

    pip install ".[autogen-classic]" && python examples/autogen_classic_chat.py

Runs offline with a scripted model.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from autogen import ConversableAgent

from bethink import MemoryStore, Subtree
from bethink_adapters.autogen.classic import MemoryCapability


class Scripted:
    """A model client that prints what it reads, and always answers the same."""

    def __init__(self, config: Mapping[str, Any], *, answer: str) -> None:
        self.answer = answer

    def create(self, params: Mapping[str, Any]) -> SimpleNamespace:
        print("The model reads:", *(message["content"] for message in params["messages"]), sep="\n")
        message = SimpleNamespace(content=self.answer, function_call=None, tool_calls=None)
        return SimpleNamespace(choices=[SimpleNamespace(message=message)], model="", cost=0)

    def message_retrieval(self, response: SimpleNamespace) -> list[str]:
        return [choice.message.content for choice in response.choices]

    def cost(self, response: SimpleNamespace) -> float:
        return 0

    @staticmethod
    def get_usage(response: SimpleNamespace) -> dict[str, Any]:
        return {}


def chat(store: MemoryStore, said: str, answer: str) -> None:
    """Let Ann say one thing to a new agent, and print the answer."""
    memory = MemoryCapability(store, namespace="users/ann", scope=Subtree("users/ann"))
    model = {"model": "scripted", "model_client_cls": "Scripted"}
    llm_config = {"config_list": [model], "cache_seed": None}
    agent = ConversableAgent("barista", llm_config=llm_config, human_input_mode="NEVER")
    agent.register_model_client(Scripted, answer=answer)
    memory.add_to_agent(agent)
    ann = ConversableAgent("ann", llm_config=False, human_input_mode="NEVER")
    result = ann.initiate_chat(agent, message=said, max_turns=1, silent=True)
    print("It answers:", result.summary)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, MemoryStore(Path(folder) / "m.db") as store:
        print("first chat")
        chat(store, "I always take my coffee with oat milk.", "Noted.")
        print("second chat")
        chat(store, "How do I take my coffee?", "With oat milk, as always.")


if __name__ == "__main__":
    main()
