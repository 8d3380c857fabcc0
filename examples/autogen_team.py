"""An AutoGen team that goes on from a saved state, with a memory that outlives the team.

    pip install ".[autogen]" && python examples/autogen_team.py

It runs offline with replayed answers. A real model client takes the place of `Replay`.
"""

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_ext.models.replay import ReplayChatCompletionClient as Replay

from bethink_adapters.autogen import AgentMemory, erase_user


async def session(folder: Path, task: str, plan: str, review: str) -> None:
    """Go on with the team saved in *folder*, let it do *task*, and save it again."""
    memory = AgentMemory(folder / "team.db", namespace="teams/travel")
    planner = AssistantAgent("planner", model_client=Replay([plan]), memory=[memory])
    critic = AssistantAgent("critic", model_client=Replay([review]), memory=[memory])
    team = RoundRobinGroupChat([planner, critic], termination_condition=MaxMessageTermination(3))
    saved = folder / "team.json"
    if saved.exists():
        await team.load_state(json.loads(saved.read_text()))
    result = await team.run(task=task)
    answer: Any = result.messages[-1]
    await memory.record(result)
    saved.write_text(json.dumps(await team.save_state()))
    for found in (await memory.query("How does Ann travel?", k=1)).results:
        print(answer.content, "Known:", found.content)
    await memory.close()


async def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        await session(folder, "Ann travels by train only.", "So trains it is.", "Agreed.")
        await session(folder, "Plan her way to Graz.", "The night train.", "A good plan.")
        memory = AgentMemory(folder / "team.db", namespace="teams/travel")
        print(erase_user(memory.store, namespace="teams/travel"), "memories erased")
        await memory.close()


asyncio.run(main())
