"""The shape of the project, checked."""

from __future__ import annotations

import ast
import pydoc
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from importlib.resources import files
from inspect import isclass, isfunction
from pathlib import Path

import pytest

import bethink

ROOT = Path(__file__).parents[2]
CORE = sorted(ROOT.glob("core/bethink/**/*.py"))
ADAPTERS = sorted(ROOT.glob("adapters/bethink_adapters/**/*.py"))
EXAMPLES = sorted(ROOT.glob("examples/*.py"))
TESTS = sorted(path for path in ROOT.glob("tests/**/*.py") if "upstream" not in path.parts)
SERVER = {"fastapi", "pydantic", "pydantic_core", "starlette", "uvicorn"}
FRAMEWORKS = {
    "langchain",
    "langchain_core",
    "langgraph",
    "crewai",
    "ag2",
    "autogen",
    "autogen_core",
    "autogen_agentchat",
    "autogen_ext",
    "agents",
    "anthropic",
    "google",
    "agent_framework",
    "strands",
    "llama_index",
    "haystack",
    "pydantic_ai",
    "agno",
    "pydantic",
    "redis",
}
# What only pytest itself or a test imports.
FOR_PYTEST = {
    "bethink.testing.contracts",
    "bethink.testing.contracts.backends",
    "bethink.testing.contracts.journals",
    "bethink.testing.contracts.memories",
    "bethink.testing.contracts.messages",
    "bethink_adapters.langgraph.conformance.expiry",
    "bethink_adapters.langgraph.conformance.opening",
    "bethink_adapters.langgraph.conformance.search",
    "bethink_adapters.langgraph.conformance.store",
    "bethink_adapters.pytest_plugin",
}

# A file imports from its own floor or from a floor below, never from above.
FLOORS = (
    ("errors", "calls", "model"),
    ("text",),
    ("embedders", "index", "storage"),
    ("memory",),
    ("features",),
    ("store",),
    ("aio",),
    ("adapting", "testing"),
    ("",),
    ("bench", "__main__"),
)
FLOOR = {name: floor for floor, names in enumerate(FLOORS) for name in names}

# The files of a box by which others come in; a feature's only door is its entry file.
DOORS = {
    "text": {"bethink.text"},
    "embedders": {"bethink.embedders"},
    "index": {"bethink.index", "bethink.index.scope"},
    "storage": {"bethink.storage"},
}


def module_name(path: Path) -> str:
    """Name the module that *path* holds, as it is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in [*CORE, *ADAPTERS]}


def place(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def is_for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def import_nodes(
    node: ast.AST, *, eager: bool, types: bool
) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports below *node*.

    *eager* leaves out imports inside functions, and without *types* those for type checkers alone.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif (eager and isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)) or (
            not types and is_for_types_only(child)
        ):
            continue
        else:
            yield from import_nodes(child, eager=eager, types=types)


def absolute(node: ast.ImportFrom, path: Path) -> str:
    """Spell out the module that a relative import in *path* names."""
    package = path.relative_to(ROOT).parent.parts[1:]
    above = package[: len(package) + 1 - node.level] if node.level else ()
    return ".".join([*above, *([node.module] if node.module else [])])


@cache
def imported(path: Path, *, eager: bool, types: bool = False) -> set[str]:
    """Return the dotted names that *path* imports, down to the module where there is one."""
    found = set()
    for node in import_nodes(parsed(path), eager=eager, types=types):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
            continue
        base = absolute(node, path)
        names = {f"{base}.{alias.name}" for alias in node.names}
        found |= {name if name in MODULES else base for name in names}
    return found


def room(module: str) -> str:
    """Return the folder or file at the top of the core that holds *module*."""
    return module.split(".")[1] if "." in module else ""


def floor(module: str) -> int:
    return len(FLOORS) if module.startswith("bethink_adapters") else FLOOR[room(module)]


def feature(module: str) -> str | None:
    """Return the feature that *module* belongs to, None if it is no feature's."""
    parts = module.split(".")
    return parts[2] if parts[:2] == ["bethink", "features"] and len(parts) > 2 else None


def outside(module: str) -> set[str]:
    """Return what is no part of the standard library and yet imported with *module*."""
    if module.startswith("bethink_adapters.rest."):
        return {"numpy", *SERVER}  # a server is nothing without its framework
    if module.startswith("bethink.storage.postgres"):
        return {"numpy", "psycopg"}  # imported once a store on a server is opened
    return {"numpy", "pytest"} if module in FOR_PYTEST else {"numpy"}


def statements_without_docstring(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function, its docstring aside."""
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    first = node.body[0]
    if ast.get_docstring(node) is not None:
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def modules_after(statement: str) -> set[str]:
    """Return the modules that a fresh interpreter holds after *statement*."""
    code = f"{statement}; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def loaded_by(statement: str) -> set[str]:
    """Return the top-level modules that a fresh interpreter holds after *statement*."""
    return {name.partition(".")[0] for name in modules_after(statement)}


@pytest.mark.parametrize("path", CORE, ids=module_name)
def test_core_imports_the_standard_library_and_numpy(path: Path) -> None:
    allowed = sys.stdlib_module_names | {"bethink"} | outside(module_name(path))
    assert {name.partition(".")[0] for name in imported(path, eager=True)} <= allowed


@pytest.mark.parametrize("path", CORE, ids=module_name)
def test_core_knows_no_adapter_and_no_framework(path: Path) -> None:
    used = {name.partition(".")[0] for name in imported(path, eager=False, types=True)}
    assert not used & (FRAMEWORKS | {"bethink_adapters"})


@pytest.mark.parametrize("path", ADAPTERS, ids=module_name)
def test_an_adapter_imports_its_framework_only_where_it_needs_it(path: Path) -> None:
    own = {"bethink", "bethink_adapters"}
    allowed = sys.stdlib_module_names | own | outside(module_name(path))
    assert {name.partition(".")[0] for name in imported(path, eager=True)} <= allowed


@pytest.mark.slow
def test_importing_the_adapters_loads_no_framework() -> None:
    names = [name for name in map(module_name, ADAPTERS) if ".rest." not in name]
    assert "bethink_adapters.rest" in names
    assert not loaded_by(f"import {', '.join(names)}") & (FRAMEWORKS | SERVER)


@pytest.mark.slow
def test_all_public_names_load_numpy_and_nothing_else() -> None:
    more = loaded_by("from bethink import *") - loaded_by("import numpy")
    unlisted = more - sys.stdlib_module_names
    # Python 3.15 has private modules that it does not list.
    assert {name for name in unlisted if not name.startswith("_")} == {"bethink"}
    assert more.isdisjoint({"asyncio", "socket", "ssl"})


def test_type_checkers_read_the_public_names_and_where_each_comes_from() -> None:
    stub = ast.parse((ROOT / "core/bethink/__init__.pyi").read_text(encoding="utf-8"))
    listed = {
        alias.name: f"bethink.{node.module}"
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(listed) == bethink.__all__
    for name, module in listed.items():
        assert getattr(import_module(module), name) is getattr(bethink, name)


def test_importing_the_core_loads_no_other_module_of_the_core_and_no_numpy() -> None:
    more = modules_after("import bethink") - modules_after("import importlib")
    assert more == {"bethink"}


@pytest.mark.parametrize(
    ("name", "unused"),
    [
        ("MemoryRecord", ("numpy.linalg.lapack_lite", "bethink.store", "bethink.features")),
        ("HashEmbedder", ("bethink.store", "bethink.storage", "bethink.features")),
        ("MemoryStore", ("bethink.aio", "bethink.features.working", "bethink.features.messages")),
    ],
)
def test_a_public_name_loads_only_the_modules_it_needs(name: str, unused: tuple[str, ...]) -> None:
    assert modules_after(f"from bethink import {name}").isdisjoint(unused)


def test_a_first_store_and_recall_load_nothing_that_only_further_verbs_need() -> None:
    use = "from bethink import MemoryStore; m = MemoryStore(); m.store('a'); m.recall('a')"
    unused = {
        *("asyncio", "hypothesis", "secrets", "tempfile", "unittest"),
        *("bethink.aio", "bethink.bench", "bethink.testing"),
        *("bethink.features.statements", "bethink.features.conflicts.candidates"),
        *("bethink.features.duplicates.similarity", "bethink.features.duplicates.repetition"),
        *("bethink.features.transfer.merge", "bethink.features.transfer.importer"),
        *("bethink.features.models.openai", "bethink.features.rankings"),
    }
    assert (modules_after(use) - modules_after("import numpy")).isdisjoint(unused)
    assert all(name in MODULES for name in unused if name.startswith("bethink"))


def test_importing_every_public_name_compiles_no_expression_of_the_languages() -> None:
    """Count the expressions compiled in the modules whose tables are large."""
    code = (
        "import re, sys, bethink\n"
        "compiled, original = [], re.compile\n"
        "def counted(*args):\n"
        "    compiled.append(sys._getframe(1).f_globals['__name__'])\n"
        "    return original(*args)\n"
        "re.compile = counted\n"
        "from bethink import *\n"
        "print(*{name for name in compiled if name.startswith('bethink')})\n"
        "MemoryStore().store('I live in Rome')\n"
        "print(*{name for name in compiled if name.startswith('bethink')})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded, used = (set(line.split()) for line in done.stdout.splitlines())
    lazy = "bethink.model.patterns"
    assert not {name for name in loaded if name.startswith("bethink.text")}
    assert lazy in used


@pytest.mark.parametrize("path", [*CORE, *ADAPTERS], ids=module_name)
def test_a_file_imports_from_its_own_floor_or_below(path: Path) -> None:
    own = floor(module_name(path))
    used = imported(path, eager=False) & MODULES.keys()
    assert {name: floor(name) for name in used if floor(name) > own} == {}


@pytest.mark.parametrize("path", CORE, ids=module_name)
def test_nothing_below_the_store_imports_a_feature(path: Path) -> None:
    if floor(module_name(path)) < FLOOR["features"]:
        assert not any(map(feature, imported(path, eager=False, types=True)))


@pytest.mark.parametrize("path", CORE, ids=module_name)
def test_a_feature_is_known_by_its_entry_file(path: Path) -> None:
    others = {
        name
        for name in imported(path, eager=False) & MODULES.keys()
        if feature(name) and feature(name) != feature(module_name(path))
    }
    assert {name for name in others if name.count(".") > 2} == set()


@pytest.mark.parametrize("path", CORE, ids=module_name)
def test_a_closed_box_is_entered_by_its_doors(path: Path) -> None:
    own = room(module_name(path))
    if own in ("bench", "testing"):
        return
    used = imported(path, eager=False) & MODULES.keys()
    entered = {name for name in used if room(name) in DOORS and room(name) != own}
    assert {name for name in entered if name not in DOORS[room(name)]} == set()


@pytest.mark.parametrize("path", ADAPTERS, ids=module_name)
def test_adapters_import_public_names_and_adapting(path: Path) -> None:
    allowed = {"bethink", "bethink.adapting", "bethink.testing"}
    used = {name for name in imported(path, eager=False) if name.partition(".")[0] == "bethink"}
    names = {name.removeprefix("bethink.") for name in used - allowed}
    assert names <= set(bethink.__all__) | {"__version__"}


def test_imports_have_no_circle() -> None:
    graph = {name: imported(path, eager=True) & MODULES.keys() for name, path in MODULES.items()}
    TopologicalSorter(graph).prepare()


def test_public_names_are_sorted_and_there() -> None:
    assert bethink.__all__ == sorted(bethink.__all__)
    assert all(hasattr(bethink, name) for name in bethink.__all__)


def test_dir_lists_the_public_names() -> None:
    assert set(dir(bethink)) == {*bethink.__all__, "__version__"}
    assert not hasattr(bethink, "MemoryStores")


def test_help_describes_the_public_names() -> None:
    text = pydoc.plain(pydoc.render_doc(bethink))
    assert all(name in text for name in bethink.__all__)


def test_submodules_are_there_after_the_import() -> None:
    code = "import bethink; print(bethink.errors.__name__, bethink.store.MemoryStore.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["bethink.errors", "MemoryStore"]


def test_threads_that_use_public_names_first_at_once_get_equal_objects() -> None:
    code = (
        "import bethink, threading\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "names, gate = bethink.__all__ * 2, threading.Barrier(8)\n"
        "def found(shift):\n"
        "    gate.wait()\n"
        "    order = names[shift * 9 % len(bethink.__all__) :][: len(bethink.__all__)]\n"
        "    return {name: id(getattr(bethink, name)) for name in order}\n"
        "with ThreadPoolExecutor(8) as pool:\n"
        "    results = list(pool.map(found, range(8)))\n"
        "assert all(result == results[0] for result in results)\n"
        "assert len(results[0]) == len(bethink.__all__)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", bethink.__all__)
def test_every_public_name_has_a_docstring(name: str) -> None:
    thing = getattr(bethink, name)
    if not (isclass(thing) or isfunction(thing)):
        return
    assert thing.__doc__
    methods = {key: value for key, value in vars(thing).items() if isfunction(value)}
    assert [key for key, value in methods.items() if key[0] != "_" and not value.__doc__] == []


@pytest.mark.parametrize("path", [*CORE, *ADAPTERS, *EXAMPLES], ids=place)
def test_no_function_is_longer_than_fifty_lines(path: Path) -> None:
    functions = [
        node
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert [node.name for node in functions if statements_without_docstring(node) > 50] == []


@pytest.mark.parametrize("path", [*CORE, *ADAPTERS, *EXAMPLES, *TESTS], ids=place)
def test_no_file_is_too_long(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").count("\n")
    assert lines <= (300 if path in ADAPTERS else 600)


@pytest.mark.parametrize("package", ["bethink", "bethink_adapters"])
def test_types_are_shipped(package: str) -> None:
    assert (files(package) / "py.typed").is_file()


def test_every_adapter_test_has_an_environment_that_runs_it() -> None:
    named = set((ROOT / "tox.ini").read_text(encoding="utf-8").split())
    tests = ROOT.glob("tests/adapters/**/test_*.py")
    assert [
        place(path) for path in tests if named.isdisjoint(map(place, (path, path.parent)))
    ] == []
