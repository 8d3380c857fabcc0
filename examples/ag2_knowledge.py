"""An agent of AG2 that keeps notes in a store, where recall finds the very line.

    pip install ".[ag2]" && python examples/ag2_knowledge.py

Runs offline with a scripted model.
"""

import asyncio
import json
import tempfile
from pathlib import Path

from ag2 import Agent, KnowledgeConfig
from ag2.events import ToolCallEvent
from ag2.testing import TestConfig

from bethink import MemoryStore
from bethink_adapters.ag2 import BethinkKnowledgeStore

NAMESPACE = "users/ann/files"
NOTES = "# Ann\n\nTakes coffee with oat milk.\nHer parrot is called Pepe.\n"


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder, MemoryStore(Path(folder) / "m.db") as store:
        files = BethinkKnowledgeStore(store, namespace=NAMESPACE)
        note = {"action": "write", "path": "/memory/working.md", "content": NOTES}
        scripted = TestConfig(ToolCallEvent("knowledge", arguments=json.dumps(note)), "Noted.")
        agent = Agent("barista", config=scripted, knowledge=KnowledgeConfig(store=files))
        reply = await agent.ask("I take my coffee with oat milk. Pepe, my parrot, does not.")
        print(f"It answers: {reply.body}")
        print("Its notes:", await files.list("/memory"), "its logs:", await files.list("/log"))

        await files.append("/memory/working.md", "Her sister Bea is allergic to hazelnuts.\n")
        (hit,) = store.recall("What must Bea not eat?", namespace=NAMESPACE, k=1)
        print(f"Found: {hit.memory.content}", end="")


if __name__ == "__main__":
    asyncio.run(main())
