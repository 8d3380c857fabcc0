"""The code of README and docs, and a run of an extra's code where only the extra is installed.

    python -m tests.core.pages crewai

runs, with the standard library alone, each block of the pages and each example in the row of the
extra, in the table of `docs/adapters.md`. A block runs twice in a folder, as a reader may run it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from textwrap import dedent, indent

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ADAPTERS = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")
OTHERS = [(ROOT / "docs" / f"{name}.md").read_text("utf-8") for name in ("guide", "migrating")]
BLOCKS = re.findall(
    r"^```python\n(.*?)^```", "".join([README, *OTHERS, ADAPTERS]), re.DOTALL | re.MULTILINE
)
EXAMPLES = f"""
        import sys
        sys.path.insert(0, {str(ROOT / "examples")!r})
"""


def old_database(program: str) -> str:
    """Return code that makes an empty database of *program* as ``old.db``."""
    return f"""
        import sqlite3, sys
        sys.path.insert(0, {str(ROOT / "tests" / "adapters" / "formats")!r})
        from test_{program} import SCHEMA
        sqlite3.connect("old.db").executescript(SCHEMA).connection.close()
    """


# What a reader has and the README does not show: an export, a model, agents with tasks.
GIVEN = {
    "bethink_adapters.formats import import_from, read_remembrane": old_database("remembrane"),
    "bethink_adapters.formats import import_from, read_memory_layer": old_database("memory_layer"),
    "bethink_adapters.formats": f"""
        import shutil
        shutil.copy({str(ROOT / "examples" / "data" / "conversations.json")!r}, ".")
    """,
    "langchain.agents": """
        from langchain_core.language_models import FakeListChatModel
        model, tools = FakeListChatModel(responses=["Margherita."]), []
    """,
    "langchain_core": """
        from langchain_core.language_models import FakeListChatModel
        model = FakeListChatModel(responses=["Hello Ann."])
    """,
    "langgraph.graph": """
        def answer(state):
            return {}
    """,
    "crewai": EXAMPLES
    + """
        from crewai_crew import StandIn
        from crewai import Agent, Task
        agents = [Agent(role="r", goal="g", backstory="b", llm=StandIn(model="stand-in"))]
        tasks = [Task(description="d", expected_output="e", agent=agents[0])]
    """,
    "autogen_agentchat": """
        from autogen_ext.models.replay import ReplayChatCompletionClient
        model_client = ReplayChatCompletionClient(["Margherita."])
    """,
    "ag2 ": """
        from ag2.testing import TestConfig
        config = TestConfig("Margherita.")
    """,
    "agents ": """
        from agents.testing import ScriptedModel, assistant_message
        model = ScriptedModel([[assistant_message("Margherita.")]])
    """,
    "anthropic ": EXAMPLES
    + """
        from anthropic_notes import scripted
        client, model = scripted(), "scripted"
    """,
    "google.adk": EXAMPLES
    + """
        from google_adk_agent import Scripted
        model = Scripted(reply="Margherita.")
    """,
    "agent_framework ": EXAMPLES
    + """
        from agent_framework_chat import Scripted
        client = Scripted("Margherita.")
    """,
    "haystack.": EXAMPLES
    + """
        from haystack_agent import Scripted
        generator = Scripted("Margherita.")
    """,
    "pydantic_ai ": """
        from pydantic_ai.models.test import TestModel
        model = TestModel(call_tools=[])
    """,
    "agno.": EXAMPLES
    + """
        from agno_agent import InMemoryDb, Scripted
        model, db = Scripted("Margherita."), InMemoryDb()
    """,
    "strands ": EXAMPLES
    + """
        from strands_agent import Scripted
        model = Scripted("Margherita.")
    """,
}


def runnable(block: str) -> str:
    """Return *block* as a script, with what it takes for granted in front."""
    given = "".join(dedent(code) for name, code in GIVEN.items() if f"from {name}" in block)
    if "await " not in block:
        return given + block
    body = indent(given + block, "    ")
    return f"import asyncio\nasync def main():\n{body}\nasyncio.run(main())\n"


ROW = re.compile(r"^\| `([\w-]+)` \| (`bethink_adapters.+?) \| (.*?) \| ", re.MULTILINE)
"""A row: the extra, the adapters, the examples."""


def extras() -> dict[str, tuple[set[str], list[str]]]:
    """Return the packages of ``bethink_adapters`` and the examples that each extra runs."""
    return {
        extra: (
            set(re.findall(r"bethink_adapters\.([\w.]+)", adapters)),
            re.findall(r"examples/(\w+\.py)", examples),
        )
        for extra, adapters, examples in ROW.findall(ADAPTERS)
    }


def blocks_of(adapters: set[str]) -> list[str]:
    """Return the blocks that use one of the *adapters*, and no adapter besides."""
    used = [set(re.findall(r"^from bethink_adapters\.([\w.]+)", each, re.M)) for each in BLOCKS]
    return [block for block, names in zip(BLOCKS, used, strict=True) if names and names <= adapters]


def run_extra(extra: str) -> None:
    """Run what *extra* is for; a failure raises ``CalledProcessError``."""
    adapters, examples = extras()[extra]
    blocks = blocks_of(adapters)
    commands = [["-c", runnable(block)] for block in blocks]
    commands += [[str(ROOT / "examples" / name)] for name in examples]
    for command in commands:
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(2):
                subprocess.run([sys.executable, *command], cwd=folder, check=True)
    print(f"{extra}: {len(blocks)} blocks and {len(examples)} examples run twice")


if __name__ == "__main__":
    run_extra(sys.argv[1].removeprefix("extra-"))
