"""A crew that remembers from one run to the next, and learns which memories are of use.

    pip install ".[crewai]" && python examples/crewai_crew.py
    python examples/crewai_crew.py "Our launch is on 4 March 2027."

Without an argument the crew is told the day of a launch, and asked for the day.

The example runs offline, with a stand-in for a model. Set BETHINK_MODEL to the name of a real
model, such as openai/gpt-5.4-mini (and the model's key as crewAI expects the key). The memory is
crew.db, or BETHINK_FILE.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Any

os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")
os.environ.setdefault("CREWAI_TRACING_ENABLED", "false")

from crewai import LLM, Agent, Crew, Memory, Task
from crewai.llms.base_llm import BaseLLM

from bethink import MemoryStore
from bethink_adapters.crewai import CrewStorage, learn_outcomes


class StandIn(BaseLLM):
    """Notes what it is told, and answers questions with what the crew remembers."""

    def supports_function_calling(self) -> bool:
        return True

    def call(self, messages: Any, *args: Any, **options: Any) -> Any:
        prompt = messages if isinstance(messages, str) else str(messages[-1]["content"])
        reply_as = options.get("response_model")
        if reply_as is not None:
            return reply_as(**self.fields(reply_as.__name__, prompt))
        task = re.findall(r"Current Task: (.*)", prompt)
        known = re.findall(r"- \(score=[\d.]+\) (.*)", prompt)
        if task and not task[0].endswith("?"):
            return task[0]
        return known[0] if known else "Nobody told me."

    def fields(self, kind: str, prompt: str) -> dict[str, Any]:
        """Answer what the memory asks about a text: what to keep of it, and where."""
        if kind == "ExtractedMemories":
            tasks = re.findall(r"Task: (.*)", prompt)
            return {"memories": [task for task in tasks if not task.endswith("?")]}
        if kind == "MemoryAnalysis":
            return {"suggested_scope": "/facts", "categories": ["fact"], "importance": 0.7}
        if kind == "ConsolidationPlan":
            return {"actions": [], "insert_new": False}
        return {"recall_queries": [prompt]}


def main(text: str) -> str:
    """Let a crew of one work on *text*, and return its answer."""
    model = os.environ.get("BETHINK_MODEL")
    llm = LLM(model=model) if model else StandIn(model="stand-in")
    with MemoryStore(os.environ.get("BETHINK_FILE", "crew.db")) as store:
        storage = CrewStorage(store)
        memory = Memory(storage=storage, embedder=storage.embedder, llm=llm)
        assistant = Agent(role="Assistant", goal="Help", backstory="You know the team.", llm=llm)
        task = Task(description=text, expected_output="One sentence.", agent=assistant)
        with learn_outcomes(storage):
            answer = Crew(agents=[assistant], tasks=[task], memory=memory).kickoff()
        memory.drain_writes()
        return str(answer)


if __name__ == "__main__":
    given = " ".join(sys.argv[1:])
    for text in [given] if given else ["Our launch is on 3 March 2027.", "When is our launch?"]:
        print(f"{text} → {main(text)}")
