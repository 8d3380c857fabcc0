"""What holds for every adapter: how much is recalled, and which error names a missing package."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from bethink import MemoryStore, MissingExtraError
from bethink.adapting import MAX_CONTENT
from bethink_adapters.langchain import chain_memory
from bethink_adapters.langchain.chains import _adapter
from bethink_adapters.shared.extras import REQUIREMENTS, needs
from bethink_adapters.shared.opening import open_store
from bethink_adapters.shared.recalling import Recalling
from bethink_adapters.shared.texts import present, storable

from .makers import MAKERS, is_importable, make, makeable, named

ADAPTERS = Path(__file__).parents[2] / "adapters" / "bethink_adapters"
BLOCKS = (
    "ag2:RecallPolicy",
    "agent_framework:MemoryRecall",
    "agno:MemoryLearning",
    "autogen.classic:MemoryCapability",
    "autogen.context:MemoryModelContext",
    "autogen.memory:AgentMemory",
    "haystack:RecallHook",
    "langchain:MemoryMiddleware",
    "llama_index.block:RecallBlock",
    "openai_agents:recall_filter",
    "pydantic_ai:MemoryRecall",
    "shared.recalling:Recalling",
)
TOOLS = ("langchain:memory_tools", "pydantic_ai:memory_tools")


def defaults(made: Any) -> dict[str, object]:
    """Return the defaults of a function, of a constructor or, for a model, of the fields."""
    if inspect.isfunction(made):
        call = made
    elif "__init__" in vars(made):
        call = made.__init__
    else:
        return dict(vars(made))
    return {name: each.default for name, each in inspect.signature(call).parameters.items()}


@pytest.mark.parametrize("place", BLOCKS)
def test_a_block_is_of_five_memories_in_800_tokens(place: str) -> None:
    found = defaults(named(place))
    assert (found["k"], found["budget_tokens"]) == (5, 800)
    assert (found["min_score"], found["min_share"]) == (0.0, 0.0)


@pytest.mark.parametrize("place", TOOLS)
def test_a_tool_recalls_five_memories(place: str) -> None:
    assert defaults(named(place))["k"] == 5


def test_a_strands_store_finds_five_memories() -> None:
    assert defaults(named("strands:StrandsStore"))["max_search_results"] == 5


def test_five_memories_fill_a_block_of_no_more_than_800_tokens(store: MemoryStore) -> None:
    store.store_many(f"Ann's cat number {n} sleeps" for n in range(9))
    recalling = Recalling(store)
    assert len(recalling.block("Which cat sleeps?").results) == 5
    store.store_many(f"Bob's dog {n} barks " + "and barks " * 200 for n in range(9))
    long = recalling.block("Which dog barks?")
    assert 400 < long.tokens <= 800


@pytest.mark.parametrize("place", MAKERS)
def test_a_missing_framework_is_told_at_construction(place: str, store: MemoryStore) -> None:
    extra, module, _ = MAKERS[place]
    if is_importable(module):
        pytest.skip(f"{module} is installed")
    with pytest.raises(MissingExtraError, match=rf"pip install '\.\[{extra}\]'") as raised:
        make(place, store)
    assert (raised.value.extra, raised.value.found) == (extra, None)
    assert REQUIREMENTS[extra].startswith(raised.value.package)
    assert f"pip install {raised.value.requirement!r}" in str(raised.value)


RECALLING = (
    "agent_framework:MemoryRecall",
    "ag2:RecallPolicy",
    "agno:MemoryLearning",
    "autogen.classic:MemoryCapability",
    "autogen:AgentMemory",
    "autogen:MemoryModelContext",
    "google_adk:MemoryService",
    "haystack:memory_hooks",
    "langchain:MemoryMiddleware",
    "langchain:MemoryStoreRetriever",
    "llama_index:RecallBlock",
    "openai_agents:recall_filter",
    "pydantic_ai:MemoryRecall",
    "strands:StrandsStore",
)


@pytest.mark.parametrize("place", RECALLING)
def test_a_share_of_the_best_score_is_an_option_of_every_recall(
    place: str, store: MemoryStore
) -> None:
    if place not in makeable(store):
        pytest.skip("the framework is missing")
    options = {"store": store, **MAKERS[place][2]}
    named(place)(**options, min_share=0.5)
    with pytest.raises(ValueError, match="min_share"):
        named(place)(**options, min_share=2)


@pytest.mark.parametrize(
    "place", ["crewai:offline_llm", "crewai:register", "crewai:learn_outcomes"]
)
def test_a_missing_crewai_is_told_at_the_call(place: str, store: MemoryStore) -> None:
    if is_importable("crewai"):
        pytest.skip("crewai is installed")
    with pytest.raises(MissingExtraError):
        named(place)(*([store] if place == "crewai:learn_outcomes" else []))


@pytest.mark.parametrize(
    ("name", "given"),
    [("RedisKeyedMemory", ["client"]), ("RedisMessageLog", ["client", "session"])],
)
def test_a_missing_redis_is_told_at_construction(name: str, given: list[str]) -> None:
    if is_importable("redis"):
        pytest.skip("redis is installed")
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[redis\]'"):
        named(f"redis:{name}")(*given)


def install(folder: Path, package: str, release: str) -> None:
    """Write what tells the version of an installed *package*."""
    info = folder / f"{package.replace('-', '_')}-{release}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {release}\n")


@pytest.mark.parametrize(
    ("release", "told"),
    [
        ("0.9.12", "strands-agents>=1.46 is needed, 0.9.12 is installed, too old: in a checkout"),
        ("1.5", "1.5 is installed, too old"),
        ("1.46.0", "1.46.0 is installed (cannot load): in a checkout"),
        ("1.100", "1.100 is installed (cannot load)"),
    ],
)
def test_a_framework_that_cannot_be_used_is_told_with_the_version(
    release: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "strands-agents", release)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingExtraError) as raised, needs("strands"):
        raise ImportError("cannot load")
    assert told in str(raised.value)
    assert raised.value.found == release


def test_the_frameworks_named_are_those_of_the_extras() -> None:
    project = Path(__file__).parents[2] / "pyproject.toml"
    extras = tomllib.loads(project.read_text("utf-8"))["project"]["optional-dependencies"]
    assert [extra for extra, wanted in REQUIREMENTS.items() if wanted not in extras[extra]] == []


def test_an_error_names_an_extra_of_the_project_only() -> None:
    needed = re.compile(r"\b(?:needs|require|made_on)\(\s*\"([\w-]+)\"")
    texts = (path.read_text("utf-8") for path in ADAPTERS.rglob("*.py"))
    assert {name for text in texts for name in needed.findall(text)} <= REQUIREMENTS.keys()


def test_a_chain_without_langchain_is_told_the_package_of_older_chains(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("langchain_core")
    for module in ("langchain_core.memory", "langchain_classic", "langchain_classic.base_memory"):
        monkeypatch.setitem(sys.modules, module, None)
    _adapter.cache_clear()
    with pytest.raises(MissingExtraError) as raised:
        chain_memory(store, "ann-1")
    assert raised.value.package == raised.value.extra == "langchain-classic"


def test_adapters_share_the_store_of_a_path(tmp_path: Path) -> None:
    with open_store(tmp_path / "memory.db") as first:
        assert open_store(str(tmp_path / "." / "memory.db")) is first
        with open_store(tmp_path / "memory.db", shared=False) as own:
            assert own is not first
    with open_store(":memory:") as one, open_store(":memory:") as other:
        assert one is not other
    with open_store(tmp_path / "memory.db") as again:
        assert again is not first


@pytest.mark.parametrize("shared", [True, False])
def test_the_store_of_a_path_is_closed_when_nobody_holds_the_store(
    tmp_path: Path, shared: bool
) -> None:
    store = open_store(tmp_path / "memory.db", shared=shared)
    store.store("Ann likes tea")
    store.recall("tea")  # an access, which is written late
    handle = store.for_source("agent")
    del store
    handle.store("Bob likes coffee")
    del handle
    assert [path.name for path in tmp_path.iterdir()] == ["memory.db"]
    with MemoryStore(tmp_path / "memory.db") as again:
        assert [record.access_count for record in again.all()] == [1, 0]


def test_a_file_that_is_gone_is_let_go_in_silence(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    store = open_store(tmp_path / "memory.db")
    store.store("Ann likes tea")
    store.recall("tea")
    for path in tmp_path.iterdir():
        path.unlink()
    del store
    assert capfd.readouterr().err == ""


def test_the_store_of_a_path_is_closed_when_the_program_ends(tmp_path: Path) -> None:
    code = """
import sys
from bethink_adapters.shared.opening import open_store
store = open_store("memory.db")
store.store("Ann likes tea")
store.recall("tea")  # an access, which is written late
"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    with MemoryStore(tmp_path / "memory.db") as store:
        assert store.all()[0].access_count == 1


@pytest.mark.parametrize(
    "told",
    ["I am Ann", "", "\n", "I am \udc80", "Ann" * MAX_CONTENT, " " * MAX_CONTENT + "I am Ann"],
    ids=["text", "empty", "blank", "surrogate", "long", "blank at first"],
)
def test_a_text_that_nobody_edited_comes_back_whole(store: MemoryStore, told: str) -> None:
    record = store.store(storable(told, MAX_CONTENT), value={"text": told})
    assert present(told, store.update(record.id, tags=["name"]).content) == told
    assert present(told, store.update(record.id, content="I am Bob").content) == "I am Bob"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_child_of_a_fork_waits_for_no_thread_of_the_parent() -> None:
    code = """
import os, signal, sys, threading
from bethink_adapters.shared.turns import alone
held, over = threading.Event(), threading.Event()
def hold():
    with alone("messages/monday"), alone("messages/monday"):
        held.set()
        over.wait()
threading.Thread(target=hold).start()
held.wait()
child = os.fork()
if not child:
    signal.alarm(20)
    with alone("messages/monday"):
        os._exit(0)
status = os.waitpid(child, 0)[1]
over.set()
sys.exit(status)
"""
    run = [sys.executable, "-W", "ignore", "-c", code]
    assert subprocess.run(run, check=False, timeout=60).returncode == 0
