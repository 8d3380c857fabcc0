"""README and docs keep their word: the code runs, table and commands are the real ones."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from .pages import (
    ADAPTERS,
    BLOCKS,
    BLOCKS_OF,
    PAGES,
    README,
    ROOT,
    blocks_in,
    extras,
    needs_framework,
    run_scripts,
    runnable,
)

TOX = (ROOT / "tox.ini").read_text(encoding="utf-8")
PINS = re.findall(r"^ +([a-z]+\d+): ([\w-]+)==(\S+)$", TOX, re.MULTILINE)


OWN = [block for block in BLOCKS if not needs_framework(block)]


@pytest.mark.slow
@pytest.mark.parametrize("block", OWN, ids=lambda block: block.splitlines()[-1][:40])
def test_code_runs_twice_and_gives_the_results_stated(block: str, tmp_path: Path) -> None:
    run_scripts([runnable(block)] * 2, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_page_runs_from_top_to_bottom(page: str, tmp_path: Path) -> None:
    run_scripts([runnable(each) for each in BLOCKS_OF[page] if each in OWN], tmp_path)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.splitlines()[-1][:40])
def test_comment_beside_a_print_states_a_result_that_is_checked(block: str) -> None:
    beside = [line for line in block.splitlines() if re.search(r"\bprint\(.*\)  # (?!→ )", line)]
    assert not beside


@pytest.mark.parametrize(
    ("block", "right"),
    [
        ("print(1 + 1)  # → 2", True),
        ("print(1 + 1)  # → 3", False),
        ("[1, 'a']  # → [1, 'a']", True),
        ("[1, 'a']  # → [1, 'b']", False),
        ("for _ in range(2):\n    print(\n        'a', 'b'\n    )  # → a b", True),
        ("print('a 0.54 b')  # → a … b", True),
        ("print('a 0.54 c')  # → a … b", False),
        ("```python\nprint('a')\nprint('b')\n```\n\n```text\na\nb\n```\n", True),
        ("```python\nprint('a')\nprint('b')\n```\n\n```text\na\nc\n```\n", False),
    ],
)
def test_stated_result_is_compared(block: str, right: bool) -> None:
    (block,) = blocks_in(block) or [block]
    if right:
        exec(runnable(block), {})
    else:
        with pytest.raises(AssertionError, match="is stated, not"):
            exec(runnable(block), {})


def test_first_code_is_the_quickstart() -> None:
    code = BLOCKS[0].partition("# prints")[0]
    assert code in (ROOT / "examples" / "quickstart.py").read_text(encoding="utf-8")


def test_table_names_the_versions_that_are_tested() -> None:
    row = r"^\| `bethink_adapters\.[\w.]+` \| (\S+) \| (.+?) \|$"
    table: dict[str, set[str]] = {}
    for package, versions in re.findall(row, ADAPTERS, re.MULTILINE):
        table.setdefault(package, set()).update(versions.split(", "))
    tested = {
        package: {version for _, name, version in PINS if name == package} for package in table
    }
    assert table == tested
    assert table.keys() == {
        *("langchain-core", "langchain", "langchain-classic", "langgraph", "crewai"),
        *("autogen-agentchat", "pyautogen", "ag2"),
        *("openai-agents", "anthropic", "google-adk", "agent-framework-core", "strands-agents"),
        *("llama-index-core", "haystack-ai", "pydantic-ai-slim", "agno", "redis"),
    }


def test_each_extra_that_the_table_names_is_installed_and_run_alone() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    known = project["project"]["optional-dependencies"].keys()
    (named,) = re.findall(r"^\[testenv:extra-\{(.+?)\}\]", TOX, re.MULTILINE)
    assert set(named.split(",")) == extras().keys() <= known
    examples = {name for _, names in extras().values() for name in names}
    others = {path.stem for path in (ROOT / "examples").glob("*.py")}
    others -= {Path(name).stem for name in examples}
    assert others == {"long_conversation", "move_in", "quickstart", "screen_secrets", "support_bot"}


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


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!http)([^)#]*)(?:#([^)]+))?\)", text)
    assert links
    for link, heading in links:
        target = (ROOT / name).parent / link if link else ROOT / name
        assert target.exists(), link
        assert not heading or heading in heading_ids(target.read_text(encoding="utf-8")), heading


@pytest.mark.parametrize("name", PAGES)
def test_modules_and_names_of_bethink_on_a_page_are_there(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    dotted = set(re.findall(r"`(bethink(?:_adapters)?(?:\.\w+)+)\b(?!\.?\w*/)", text))
    missing = {each for each in dotted - {"bethink.backends"} if not resolves(each)}
    assert not missing


def resolves(dotted: str) -> bool:
    """Tell whether *dotted* is a module, or a name in a module."""
    module, _, name = dotted.rpartition(".")
    try:
        import_module(dotted)
    except ModuleNotFoundError:
        return bool(module) and hasattr(import_module(module), name)
    return True
