"""An Agno agent that knows in a new session what an earlier one said.

    pip install ".[agno]" && python examples/agno_agent.py

Runs offline, with a scripted model.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

os.environ["AGNO_TELEMETRY"] = "false"

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.learn import LearningMachine
from agno.models.base import Model
from agno.models.response import ModelResponse

from bethink import MemoryStore
from bethink_adapters.agno import MemoryLearning

in_memory: Any = InMemoryDb  # it has no types


class Scripted(Model):
    """A model that prints what it reads and answers from a script."""

    def __init__(self, answer: str) -> None:
        super().__init__(id="scripted")
        self.answer = answer

    def invoke(self, *args: Any, **kwargs: Any) -> ModelResponse:
        print("The model reads:", *(message.content for message in kwargs["messages"]), sep="\n")
        return ModelResponse(role="assistant", content=self.answer)

    async def ainvoke(self, *args: Any, **kwargs: Any) -> ModelResponse:
        return self.invoke(*args, **kwargs)

    def invoke_stream(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def ainvoke_stream(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def _parse_provider_response(self, response: Any, **kwargs: Any) -> ModelResponse:
        raise NotImplementedError

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        raise NotImplementedError


def converse(store: MemoryStore, said: str, answer: str) -> None:
    """Have a session of one turn with a new agent."""
    machine = LearningMachine(custom_stores={"memory": MemoryLearning(store)})
    agent = Agent(model=Scripted(answer), db=in_memory(), learning=machine)
    print(f"It answers: {agent.run(said, user_id='ann').content}\n")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, MemoryStore(Path(folder) / "memory.db") as store:
        converse(store, "I always take my coffee with oat milk.", "Noted.")
        converse(store, "How do I take my coffee?", "With oat milk, as always.")


if __name__ == "__main__":
    main()
