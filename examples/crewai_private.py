"""A crew whose agents have private scopes: each knows what it was told, and no secret of another.

    pip install ".[crewai]" && python examples/crewai_private.py

It runs offline, with a stand-in for a model. The memory is private.db.
"""

import os
import re
from typing import Any

os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")
os.environ.setdefault("CREWAI_TRACING_ENABLED", "false")

from crewai import Agent, Crew, Memory, Task
from crewai.llms.base_llm import BaseLLM

from bethink_adapters.crewai import CrewStorage, crew_memory, erase_user, offline_llm

QUESTION = "When does the contract with Acme end?"


class StandIn(BaseLLM):
    """A model that answers with the first memory in the prompt."""

    def call(self, messages: Any, *args: Any, **options: Any) -> str:
        known = re.findall(r"- \(score=[\d.]+\) (.*)", str(messages[-1]["content"]))
        return known[0] if known else "Nobody told me."


def agent_with(role: str, memory: Memory) -> Agent:
    llm = StandIn(model="stand-in")
    return Agent(role=role, goal="Help", backstory="You know your field.", llm=llm, memory=memory)


storage = CrewStorage("private.db")
memories = {
    role: crew_memory(storage.bound("/agents", role), llm=offline_llm())
    for role in ("lawyer", "cook")
}
memories["lawyer"].remember("The contract with Acme ends in May 2027.")
memories["cook"].remember("Our oven is broken.")
agents = {role: agent_with(role, memory) for role, memory in memories.items()}
for role, agent in agents.items():
    task = Task(description=QUESTION, expected_output="One sentence.", agent=agent)
    print(f"{role}: {Crew(agents=[agent], tasks=[task], verbose=False).kickoff()}")
    memories[role].drain_writes()
print(erase_user(storage.bound("/agents", "lawyer")), "memories of the lawyer erased")
storage.close()
