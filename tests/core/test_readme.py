"""README and docs keep their word: the code runs, table and commands are the real ones."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent, indent

import pytest

from .installed import is_installed

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = [
    (ROOT / "docs" / f"{name}.md").read_text("utf-8") for name in ("guide", "adapters", "migrating")
]
BLOCKS = re.findall(r"^```python\n(.*?)^```", "".join([README, *DOCS]), re.DOTALL | re.MULTILINE)
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
    "crewai": f"""
        import sys
        sys.path.insert(0, {str(ROOT / "tests" / "adapters")!r})
        from crewai_offline import OfflineLLM
        from crewai import Agent, Task
        agents = [Agent(role="r", goal="g", backstory="b", llm=OfflineLLM())]
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

TOX = (ROOT / "tox.ini").read_text(encoding="utf-8")
PINS = re.findall(r"^ +([a-z]+\d+): ([\w-]+)==(\S+)$", TOX, re.MULTILINE)


def runnable(block: str) -> str:
    """Return *block* as a script, with what it takes for granted in front."""
    given = "".join(dedent(code) for name, code in GIVEN.items() if f"from {name}" in block)
    if "await " not in block:
        return given + block
    body = indent(given + block, "    ")
    return f"import asyncio\nasync def main():\n{body}\nasyncio.run(main())\n"


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.splitlines()[-1][:40])
def test_code_runs(block: str, tmp_path: Path) -> None:
    missing = [
        name for name in re.findall(r"^from ([\w.]+)", block, re.M) if not is_installed(name)
    ]
    if missing:
        pytest.skip(f"{missing} not installed")
    command = [sys.executable, "-c", runnable(block)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_first_code_is_the_quickstart() -> None:
    assert BLOCKS[0] in (ROOT / "examples" / "quickstart.py").read_text(encoding="utf-8")


def test_table_names_the_versions_that_are_tested() -> None:
    row = r"^\| `bethink_adapters\.[\w.]+` \| (\S+) \| (.+?) \|$"
    table: dict[str, set[str]] = {}
    for package, versions in re.findall(row, README, re.MULTILINE):
        table.setdefault(package, set()).update(versions.split(", "))
    tested = {
        package: {version for _, name, version in PINS if name == package} for package in table
    }
    assert table == tested
    assert table.keys() == {
        *("langchain-core", "langchain", "langchain-classic", "langgraph", "crewai"),
        *("autogen-agentchat", "pyautogen", "ag2"),
        *("openai-agents", "anthropic", "google-adk", "agent-framework-core", "strands-agents"),
        *("llama-index-core", "haystack-ai", "pydantic-ai-slim", "agno"),
    }


def test_environments_named_are_there() -> None:
    named = {
        name for names in re.findall(r"tox run -e (\S+?)[`\n]", README) for name in names.split(",")
    }
    known = {factor for factor, _, _ in PINS} | {"py"}
    known |= set(re.findall(r"^\[testenv:([a-z-]+)\]", TOX, re.MULTILINE))
    families = re.findall(r"^\[testenv:([a-z-]*)\{([a-z,]+)\}([a-z-]*)\]", TOX, re.MULTILINE)
    known |= {before + each + end for before, names, end in families for each in names.split(",")}
    assert named <= known


def test_integration_runs_the_test_command_of_the_readme() -> None:
    commands = re.findall(r"^```console\n(.*?)\n```", README, re.DOTALL | re.MULTILINE)
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (readme_test,) = re.findall(r"^readme_test='(.*)'$", script, re.MULTILINE)
    assert readme_test in commands


def heading_ids(text: str) -> set[str]:
    """Return what a link to a heading of *text* may name, as GitHub makes it of the words."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings}


@pytest.mark.parametrize(
    "name", ["README.md", "docs/guide.md", "docs/adapters.md", "docs/migrating.md"]
)
def test_links_lead_somewhere(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!http)([^)#]*)(?:#([^)]+))?\)", text)
    assert links
    for link, heading in links:
        target = (ROOT / name).parent / link if link else ROOT / name
        assert target.exists(), link
        assert not heading or heading in heading_ids(target.read_text(encoding="utf-8")), heading
