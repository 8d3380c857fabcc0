"""What holds for every adapter: how much is recalled, and which error names a missing package."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import pytest

from bethink import MemoryStore, MissingExtraError
from bethink_adapters.shared.recalling import Recalling

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

NEEDS: dict[str, tuple[str, str]] = {
    "agent_framework:MemoryHistory": ("agent_framework", "agent-framework"),
    "agent_framework:MemoryRecall": ("agent_framework", "agent-framework"),
    "anthropic_memory:AsyncMemoryTool": ("anthropic", "anthropic"),
    "anthropic_memory:MemoryTool": ("anthropic", "anthropic"),
    "autogen:AgentMemory": ("autogen_core", "autogen"),
    "autogen:MemoryModelContext": ("autogen_core", "autogen"),
    "crewai:learn_outcomes": ("crewai", "crewai"),
    "crewai:offline_llm": ("crewai", "crewai"),
    "crewai:register": ("crewai", "crewai"),
    "google_adk:MemoryService": ("google.adk", "google-adk"),
    "haystack:BethinkRetriever": ("haystack", "haystack"),
    "langchain:BethinkCache": ("langchain_core", "langchain"),
    "langchain:BethinkKeyValueStore": ("langchain_core", "langchain"),
    "langchain:BethinkVectorStore": ("langchain_core", "langchain"),
    "langchain:MemoryMiddleware": ("langchain", "langchain-agents"),
    "langchain:MemoryStoreRetriever": ("langchain_core", "langchain"),
    "langchain:memory_tools": ("langchain_core", "langchain"),
    "langgraph:BethinkSaver": ("langgraph", "langgraph"),
    "langgraph:BethinkStore": ("langgraph", "langgraph"),
    "llama_index:BethinkChatStore": ("llama_index", "llama-index"),
    "llama_index:BethinkDBChatStore": ("llama_index", "llama-index"),
    "llama_index:RecallBlock": ("llama_index", "llama-index"),
    "pydantic_ai:MemoryConversations": ("pydantic_ai", "pydantic-ai"),
    "pydantic_ai:MemoryRecall": ("pydantic_ai", "pydantic-ai"),
    "pydantic_ai:memory_tools": ("pydantic_ai", "pydantic-ai"),
    "strands:StrandsStore": ("strands", "strands"),
}


def named(place: str) -> Any:
    module, name = place.split(":")
    return getattr(import_module(f"bethink_adapters.{module}"), name)


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
    assert (found["k"], found["budget_tokens"], found["min_score"]) == (5, 800, 0.0)


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


def make(place: str, store: MemoryStore) -> object:
    made = named(place)
    if place.endswith(":memory_tools") or place == "strands:StrandsStore":
        return made(store, namespace="users/ann")
    return made() if place == "crewai:offline_llm" else made(store)


def is_installed(package: str) -> bool:
    try:
        import_module(package)
    except ImportError:
        return False
    return True


@pytest.mark.parametrize("place", NEEDS)
def test_a_missing_package_is_named_with_its_extra(place: str, store: MemoryStore) -> None:
    package, extra = NEEDS[place]
    if is_installed(package):
        pytest.skip(f"{package} is installed")
    line = rf"pip install 'bethink\[{extra}\]'"
    with pytest.raises(MissingExtraError, match=line) as raised:
        make(place, store)
    assert raised.value.extra == extra
