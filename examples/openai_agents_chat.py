"""An agent of the OpenAI Agents SDK that knows in a new conversation what an earlier one said.

    pip install ".[openai-agents]" && python examples/openai_agents_chat.py

Runs offline, with a scripted model. Set BETHINK_MODEL to a model's name to ask a real one.
"""

import asyncio
import os
import tempfile
from pathlib import Path

from agents import Agent, RunConfig, Runner
from agents.testing import ScriptedModel, assistant_message

from bethink import MemoryStore, Subtree
from bethink_adapters.openai_agents import MemorySession, recall_filter


async def chat(store: MemoryStore, session_id: str, said: str, scripted: str) -> None:
    """Say one thing in a conversation of Ann's, and print what the model read and answered."""
    session = MemorySession(store, session_id, namespace="users/ann")
    recall = recall_filter(store, namespace=Subtree("users/ann"))
    model = ScriptedModel([[assistant_message(scripted)]])
    agent = Agent(name="barista", model=os.environ.get("BETHINK_MODEL") or model)
    config = RunConfig(call_model_input_filter=recall, tracing_disabled=True)
    result = await Runner.run(agent, said, session=session, run_config=config)
    for call in model.calls:
        print("The model reads:", *(item["content"] for item in call.input), sep="\n")
    print(f"It answers: {result.final_output}\n")


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder, MemoryStore(Path(folder) / "m.db") as store:
        await chat(store, "monday", "I always take my coffee with oat milk.", "Noted.")
        await chat(store, "tuesday", "How do I take my coffee?", "With oat milk, as always.")


if __name__ == "__main__":
    asyncio.run(main())
