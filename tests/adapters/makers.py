"""Every class and function of the adapters that takes a store, and how a test makes an object."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any

from bethink import MissingExtraError

ANN = {"namespace": "users/ann"}
MAKERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "ag2:BethinkKnowledgeStore": ("ag2", "ag2.knowledge", {}),
    "ag2:RecallPolicy": ("ag2", "ag2.events", ANN),
    "ag2:remembering": ("ag2", "ag2.middleware", ANN),
    "agent_framework:MemoryHistory": ("agent-framework", "agent_framework", {}),
    "agent_framework:MemoryRecall": ("agent-framework", "agent_framework", ANN),
    "agno:MemoryLearning": ("agno", "agno", {}),
    "anthropic_memory:AsyncMemoryTool": ("anthropic", "anthropic", ANN),
    "anthropic_memory:MemoryTool": ("anthropic", "anthropic", ANN),
    "autogen.classic:MemoryCapability": ("autogen-classic", "autogen", ANN),
    "autogen:AgentMemory": ("autogen", "autogen_core", ANN),
    "autogen:MemoryModelContext": ("autogen", "autogen_core", ANN),
    "crewai:CrewExternalStorage": ("crewai", "crewai", {}),
    "crewai:CrewStorage": ("crewai", "crewai", {}),
    "crewai:crew_memory": ("crewai", "crewai", {}),
    "google_adk:MemoryService": ("google-adk", "google.adk", {}),
    "haystack:BethinkDocumentStore": ("haystack", "haystack", {}),
    "haystack:memory_hooks": ("haystack", "haystack", ANN),
    "langchain:BethinkCache": ("langchain", "langchain_core", {}),
    "langchain:BethinkKeyValueStore": ("langchain", "langchain_core", {}),
    "langchain:BethinkVectorStore": ("langchain", "langchain_core", {}),
    "langchain:ChatMessageHistory": ("langchain", "langchain_core", {"session_id": "monday"}),
    "langchain:MemoryMiddleware": ("langchain", "langchain", ANN),
    "langchain:MemoryStoreRetriever": ("langchain", "langchain_core", {}),
    "langchain:memory_tools": ("langchain", "langchain_core", ANN),
    "langchain:message_history_factory": ("langchain", "langchain_core", {}),
    "langgraph:BethinkSaver": ("langgraph", "langgraph", {}),
    "langgraph:BethinkStore": ("langgraph", "langgraph", {}),
    "llama_index:BethinkChatStore": ("llama-index", "llama_index", {}),
    "llama_index:BethinkDBChatStore": ("llama-index", "llama_index", {}),
    "llama_index:RecallBlock": ("llama-index", "llama_index", ANN),
    "openai_agents:MemorySession": ("openai-agents", "agents", {"session_id": "monday"}),
    "openai_agents:recall_filter": ("openai-agents", "agents", ANN),
    "pydantic_ai:MemoryConversations": ("pydantic-ai", "pydantic_ai", {}),
    "pydantic_ai:MemoryRecall": ("pydantic-ai", "pydantic_ai", ANN),
    "pydantic_ai:memory_tools": ("pydantic-ai", "pydantic_ai", ANN),
    "strands:StrandsStore": ("strands", "strands", ANN),
}
"""Extra, module of the framework, and arguments by ``module:name``."""


def named(place: str) -> Any:
    module, name = place.split(":")
    return getattr(import_module(f"bethink_adapters.{module}"), name)


def make(place: str, store: Any, **more: Any) -> Any:
    """Make the object *place* on *store*, which is a store or a path."""
    parameter = "storage" if place == "crewai:crew_memory" else "store"
    return named(place)(**{parameter: store}, **MAKERS[place][2], **more)


def is_importable(module: str) -> bool:
    try:
        import_module(module)
    except ImportError:
        return False
    return True


def makeable(store: Any) -> Iterator[str]:
    """Yield the names of ``MAKERS`` whose framework is installed, and is new enough."""
    for place, (_, module, _) in MAKERS.items():
        if is_importable(module):
            with suppress(MissingExtraError):  # the framework is older than a part of the adapter
                make(place, store)
                yield place
