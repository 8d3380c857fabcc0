"""The speed of ``AgentMemory`` beside AutoGen's memory on ChromaDB; not part of the tests.

    python -m tests.adapters.speed_autogen [MEMORIES]

Needs ``autogen-ext[chromadb]``. Both embed with bethink's own embedder, so that the storages are
compared. Prints a table: see ``speeds``.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from autogen_core.memory import MemoryContent, MemoryMimeType
from autogen_ext.memory.chromadb import (
    ChromaDBVectorMemory,
    CustomEmbeddingFunctionConfig,
    PersistentChromaDBVectorMemoryConfig,
)

from bethink import MemoryStore
from bethink_adapters.autogen import AgentMemory

from .speeds import Measured, print_table

MEMORIES = 2_000


class Embedding:
    """An embedding function of ChromaDB's: bethink's own embedder."""

    def __init__(self) -> None:
        with MemoryStore() as store:
            self._embed = store.embedder.embed

    def __call__(self, input: list[str]) -> list[Any]:
        return [np.asarray(vector, np.float32) for vector in self._embed(input)]

    def embed_query(self, input: list[str]) -> list[Any]:
        """Embed queries, as newer releases of ChromaDB ask."""
        return self(input)

    @staticmethod
    def name() -> str:
        """Return the name that ChromaDB stores."""
        return "default"

    def get_config(self) -> dict[str, Any]:
        """Return no configuration."""
        return {}

    def is_legacy(self) -> bool:
        """Return that ChromaDB need not rebuild the function."""
        return True

    def default_space(self) -> str:
        """Return the space of distances."""
        return "cosine"

    def supported_spaces(self) -> list[str]:
        """Return the spaces of distances."""
        return ["cosine"]


def measure(size: int = MEMORIES) -> list[Measured]:
    """Return the measures of add and query on *size* memories."""
    random = np.random.default_rng(7)
    numbers = itertools.count()

    def text() -> str:
        words = " ".join(f"word{each}" for each in random.integers(0, 2000, 8))
        return f"Fact {next(numbers)}: {words}."

    def add() -> Callable[[Any], object]:
        content = MemoryContent(content=text(), mime_type=MemoryMimeType.TEXT)
        return lambda memory: loop.run_until_complete(memory.add(content))

    def query() -> Callable[[Any], object]:
        words = text()
        return lambda memory: loop.run_until_complete(memory.query(words))

    loop = asyncio.new_event_loop()
    with tempfile.TemporaryDirectory() as folder, MemoryStore(Path(folder) / "ours.db") as store:
        ours = AgentMemory(store, namespace="users/ann")
        theirs = ChromaDBVectorMemory(
            PersistentChromaDBVectorMemoryConfig(
                collection_name="memories",
                persistence_path=str(Path(folder) / "theirs"),
                k=5,
                embedding_function_config=CustomEmbeddingFunctionConfig(function=Embedding),
            )
        )
        for _ in range(size):
            call = add()
            call(ours)
            call(theirs)
        found = [
            Measured.of("add", ours, theirs, 60, add),
            Measured.of("query", ours, theirs, 60, query),
        ]
        loop.run_until_complete(theirs.close())
    loop.close()
    return found


def main() -> None:
    """Print the table."""
    found = measure(int(sys.argv[1]) if len(sys.argv) > 1 else MEMORIES)
    packages = ("autogen-ext", "chromadb")
    print_table("AgentMemory beside ChromaDBVectorMemory", packages, found)


if __name__ == "__main__":
    main()
