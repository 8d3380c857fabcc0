"""A model that keeps notes with Anthropic's memory tool, and reads them in its next conversation.

    pip install ".[anthropic]" && python examples/anthropic_notes.py

Runs offline: what the model asks for comes from a script. With ANTHROPIC_API_KEY and BETHINK_MODEL
set it asks the real one.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

import httpx2
from anthropic import Anthropic

from bethink import MemoryStore
from bethink_adapters.anthropic_memory import MemoryTool


def scripted(*commands: dict[str, Any]) -> Anthropic:
    """Return a client whose model gives these commands of the memory tool, one after the other."""
    parts: list[dict[str, Any]] = [
        {"type": "tool_use", "id": f"use-{number}", "name": "memory", "input": command}
        for number, command in enumerate(commands)
    ]
    answers = iter([*parts, {"type": "text", "text": "Done."}])

    def answer(request: httpx2.Request) -> httpx2.Response:
        part = next(answers)
        told: dict[str, Any] = {"id": "m", "type": "message", "role": "assistant", "model": "m"}
        told |= {"content": [part], "usage": {"input_tokens": 1, "output_tokens": 1}}
        told |= {"stop_reason": "tool_use" if "name" in part else "end_turn"}
        return httpx2.Response(200, json=told | {"stop_sequence": None})

    transport = httpx2.MockTransport(answer)
    return Anthropic(api_key="offline", http_client=httpx2.Client(transport=transport))


def converse(location: Path, said: str, *commands: dict[str, Any]) -> None:
    """Have one conversation, and print what the memory tool answered."""
    model = os.environ.get("BETHINK_MODEL")
    client = Anthropic() if model else scripted(*commands)
    with MemoryStore(location) as store, client:
        memory = MemoryTool(store, namespace="memories")
        runner = client.beta.messages.tool_runner(
            model=model or "scripted",
            max_tokens=1024,
            messages=[{"role": "user", "content": said}],
            tools=[memory],
        )
        print(f"You: {said}")
        for message in runner:
            print(*(f"The model: {part.text}" for part in message.content if part.type == "text"))
            answer: Any = runner.generate_tool_call_response()
            if answer:
                print(*(f"The memory: {part['content']}" for part in answer["content"]))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        location = Path(folder) / "notes.db"
        note = {"command": "create", "path": "/memories/ann.md", "file_text": "Ann takes oat milk."}
        converse(location, "I am Ann, and I take oat milk.", note)
        converse(location, "What do I take?", {"command": "view", "path": "/memories/ann.md"})


if __name__ == "__main__":
    main()
