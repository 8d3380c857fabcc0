"""An AutoGen agent that still knows, in a second session, what it was told in the first.

    pip install ".[autogen]" && python examples/autogen_agent.py

Runs offline with replayed answers. To ask a real model, any OpenAI-compatible one, name it in
BETHINK_MODEL; OPENAI_BASE_URL and OPENAI_API_KEY say where it is (pip install
'autogen-ext[openai]').
"""

import asyncio
import os
import tempfile
from pathlib import Path

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import MemoryQueryEvent, TextMessage
from autogen_core.models import ChatCompletionClient, ModelInfo
from autogen_ext.models.replay import ReplayChatCompletionClient

from bethink_adapters.autogen import AgentMemory


def model_client(answer: str) -> ChatCompletionClient:
    """Return the model named in BETHINK_MODEL, or one that replays *answer*."""
    model = os.environ.get("BETHINK_MODEL")
    if not model:
        return ReplayChatCompletionClient([answer])
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    plain = ModelInfo(
        vision=False,
        function_calling=False,
        json_output=False,
        structured_output=False,
        family="unknown",
    )
    return OpenAIChatCompletionClient(model=model, model_info=plain)


async def session(location: Path, task: str, answer: str) -> None:
    """Open the memory at *location*, let a new agent do *task*, and remember what was said."""
    memory = AgentMemory(location, namespace="users/ann")
    client = model_client(answer)
    agent = AssistantAgent("barista", model_client=client, memory=[memory])
    result = await agent.run(task=task)
    for message in result.messages:
        if isinstance(message, MemoryQueryEvent):
            print("  recalled:", *(found.content for found in message.content), sep="\n    ")
        elif isinstance(message, TextMessage):
            print(f"  {message.source}: {message.content}")
    await memory.record(result)
    await client.close()
    await memory.close()


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        location = Path(folder) / "memory.db"
        print("first session")
        await session(location, "I always take my coffee with oat milk.", "I will remember that.")
        print("second session")
        await session(location, "How do I take my coffee?", "With oat milk, as always.")


if __name__ == "__main__":
    asyncio.run(main())
