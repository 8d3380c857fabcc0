"""crewAI without a network or a model; import it before crewAI, whose import it prepares."""

from __future__ import annotations

import hashlib
import importlib
import math
import os
import re
import socket
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import pytest

for name in ("OPENAI_API_KEY", "OPENAI_MODEL_NAME", "MODEL"):
    os.environ.pop(name, None)
os.environ.update(
    CREWAI_DISABLE_TELEMETRY="true",
    CREWAI_DISABLE_VERSION_CHECK="true",
    CREWAI_STORAGE_DIR=tempfile.mkdtemp(prefix="crewai-"),
    CREWAI_TESTING="true",
    CREWAI_TRACING_ENABLED="false",
    OTEL_SDK_DISABLED="true",
)

pytest.importorskip("crewai")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import crewai
    from crewai.llms.base_llm import BaseLLM

RELEASE = tuple(int(part) for part in version("crewai").split(".")[:2])
UNIFIED = RELEASE >= (1, 10)

unified = pytest.mark.skipif(not UNIFIED, reason="crewAI has a unified memory since 1.10")
rooted = pytest.mark.skipif(RELEASE < (1, 12), reason="root_scope came with crewAI 1.12")
external = pytest.mark.skipif(UNIFIED, reason="crewAI 1.10 dropped its external memory")

X, Y = [1.0, 0.0], [0.0, 1.0]


def record(content: str = "a fact", scope: str = "/", **fields: Any) -> Any:
    """Make a record of crewAI's; its embedding points along x unless *fields* say otherwise."""
    from crewai.memory.types import MemoryRecord

    return MemoryRecord(content=content, scope=scope, **{"embedding": X, **fields})


def contents(records: Any) -> list[str]:
    return [r.content for r in records]


def found(storage: Any, **options: Any) -> list[str]:
    return [r.content for r, _ in storage.search(X, **options)]


def get(storage: Any, id: str) -> Any:
    return storage.get_record(id)


def fields(record: Any) -> dict[str, Any]:
    """Return all of a record; crewAI leaves the embedding out of its own dumps."""
    return {**record.model_dump(), "embedding": record.embedding}


@dataclass
class Script:
    """What the model will say, and what it was asked: pairs of (kind, prompt)."""

    answer: str = "Done."
    scopes: tuple[str, ...] = ()
    plan: Callable[[str], dict[str, Any]] | None = None
    asked: list[tuple[str, str]] = field(default_factory=list)

    def prompts(self, kind: str = "agent") -> list[str]:
        """Return the prompts of one kind, oldest first."""
        return [prompt for asked, prompt in self.asked if asked == kind]

    def memories(self, prompt: str) -> dict[str, Any]:
        """Remember the task and its result, unless they ask something."""
        said = re.search(r"Task: (.*)\nAgent: .*\nResult: (.*?)\n\nExtract", prompt, re.DOTALL)
        return {"memories": [text for text in said.groups() if "?" not in text] if said else []}

    def consolidation(self, prompt: str) -> dict[str, Any]:
        """Follow the plan; without one keep what is there, and add what is not."""
        if self.plan:
            return self.plan(prompt)
        new = re.search(r"storing:\n(.*)\n\nExisting", prompt, re.DOTALL)
        return {"actions": [], "insert_new": not new or f"content: {new[1]}" not in prompt}

    def reply(self, kind: str, prompt: str) -> dict[str, Any]:
        """Answer a question that crewAI's memory asks."""
        if kind == "ExtractedMemories":
            return self.memories(prompt)
        if kind == "ConsolidationPlan":
            return self.consolidation(prompt)
        if kind == "MemoryAnalysis":
            return {"suggested_scope": "/facts", "categories": ["fact"], "importance": 0.8}
        query = re.search(r"Query: (.*)\n\nAvailable", prompt, re.DOTALL)
        return {"recall_queries": [query[1] if query else prompt], "suggested_scopes": self.scopes}


class OfflineLLM(BaseLLM):
    """A model that follows its script."""

    def __init__(self, answer: str = "Done.", **options: Any) -> None:
        super().__init__(model="offline", **options)
        object.__setattr__(self, "script", Script(answer))

    script: Any = None

    def supports_function_calling(self) -> bool:
        return True

    def supports_stop_words(self) -> bool:
        return False

    def get_context_window_size(self) -> int:
        return 100_000

    def call(self, messages: Any, tools: Any = None, *args: Any, **options: Any) -> Any:
        texts = [{"content": messages}] if isinstance(messages, str) else messages
        prompt = "\n".join(str(message.get("content")) for message in texts)
        model = options.get("response_model")
        self.script.asked.append((model.__name__ if model else "agent", prompt))
        if model:
            return model(**self.script.reply(model.__name__, prompt))
        thought = "Thought: I now can give a great answer\nFinal Answer: "
        return self.script.answer if tools else thought + self.script.answer

    async def acall(self, *args: Any, **options: Any) -> Any:
        return self.call(*args, **options)


def embed(texts: list[str], dimension: int = 128) -> list[list[float]]:
    """Embed by words: texts that share words are near each other."""
    rows = []
    for text in texts:
        row = [0.0] * dimension
        for word in re.findall(r"\w+", text.lower()):
            row[int(hashlib.md5(word.encode()).hexdigest(), 16) % dimension] += 1.0
        length = math.sqrt(sum(x * x for x in row)) or 1.0
        rows.append([x / length for x in row])
    return rows


def memory_on(storage: Any, **options: Any) -> Any:
    """Return crewAI's memory on *storage*."""
    return crewai.Memory(storage=storage, **options)


def external_memory_on(storage: Any) -> Any:
    """Return the external memory of crewAI before 1.10 on *storage*."""
    module = importlib.import_module("crewai.memory.external.external_memory")
    return module.ExternalMemory(storage=storage)


def crew(llm: OfflineLLM, task: str, **options: Any) -> Any:
    """Return a crew of one agent with one task."""
    agent = crewai.Agent(
        role="Planner", goal="plan", backstory="plans", llm=llm, allow_delegation=False
    )
    job = crewai.Task(description=task, expected_output="an answer", agent=agent)
    return crewai.Crew(name="acme", agents=[agent], tasks=[job], **options)


@contextmanager
def no_network() -> Iterator[list[Any]]:
    """Refuse and note every attempt to connect to an internet address."""
    attempts: list[Any] = []
    connect = socket.socket.connect

    def refuse(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            attempts.append(address)
            raise OSError("no network here")
        connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", refuse)
        yield attempts
