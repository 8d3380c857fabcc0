"""An ADK agent that knows in a new session what the user said in an earlier one.

    pip install ".[google-adk]" && python examples/google_adk_agent.py

Runs offline, with a scripted model. Set BETHINK_MODEL to a name that ADK knows to ask a real one.
"""

import asyncio
import os
import tempfile
import warnings
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.preload_memory_tool import preload_memory_tool
from google.genai.types import Content, Part

from bethink import MemoryStore
from bethink_adapters.google_adk import MemoryService

warnings.filterwarnings("ignore")  # ADK marks some of its features as experimental


class Scripted(BaseLlm):
    """A model that prints what it reads and answers from a script."""

    model: str = "scripted"
    reply: str = ""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [part for content in llm_request.contents for part in _parts(content)]
        told = llm_request.config.system_instruction or ""
        print("The model reads:", told, *(part.text for part in parts), sep="\n")
        yield LlmResponse(content=Content(role="model", parts=[Part(text=self.reply)]))


async def talk(memory: MemoryService, said: str, scripted: str) -> None:
    """Have one session of one turn, and take it into memory."""
    model = os.environ.get("BETHINK_MODEL") or Scripted(reply=scripted)
    agent = LlmAgent(name="barista", model=model, tools=[preload_memory_tool])
    sessions = InMemorySessionService()
    names: Any = {"app_name": "cafe", "user_id": "ann"}
    names["session_id"] = (await sessions.create_session(**names)).id
    runner = Runner(app_name="cafe", agent=agent, session_service=sessions, memory_service=memory)
    message = Content(role="user", parts=[Part(text=said)])
    async for event in runner.run_async(
        user_id="ann", session_id=names["session_id"], new_message=message
    ):
        print(*(f"It answers: {part.text}\n" for part in _parts(event.content)))
    if session := await sessions.get_session(**names):
        await memory.add_session_to_memory(session)


def _parts(content: Content | None) -> list[Part]:
    return list(content.parts or []) if content else []


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder, MemoryStore(Path(folder) / "m.db") as store:
        memory = MemoryService(store)
        await talk(memory, "I always take my coffee with oat milk.", "Noted.")
        await talk(memory, "How do I take my coffee?", "With oat milk, as always.")


if __name__ == "__main__":
    asyncio.run(main())
