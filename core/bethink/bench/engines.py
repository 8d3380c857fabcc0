"""The engines under test: bethink, the peers, and bare tools as the floor of the costs."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Protocol

from bethink import MemoryStore
from bethink.bench.embedding import SharedEmbedder
from bethink.bench.peers import HITS, PEERS, ROOM

Durability = Literal["full", "normal"]

_TURNS: Final = 20
_SPEAKERS: Final = ("Ann", "Bob")


class Engine(Protocol):
    """An engine that recalls texts. *needs* names the modules that must be installed.

    The engines in ``MEMORIES`` have all verbs of ``Bethink``.
    """

    needs: ClassVar[tuple[str, ...]]

    def fill(self, texts: Sequence[str]) -> None:
        """Store *texts* the quickest way."""

    def store(self, text: str) -> None:
        """Store *text* durably."""

    def recall(self, query: str) -> Sequence[str]:
        """Return the best texts, and record the access if the engine does so."""

    def close(self) -> None:
        """Let go of the files."""


class Bethink:
    """The library under test."""

    needs: ClassVar[tuple[str, ...]] = ("bethink.storage.sqlite",)

    def __init__(
        self, folder: Path, embedder: SharedEmbedder | None, *, durability: Durability = "full"
    ) -> None:
        self.memory = MemoryStore(folder / "bethink.db", embedder=embedder, durability=durability)

    def fill(self, texts: Sequence[str]) -> None:
        """Store *texts* in one transaction."""
        self.memory.store_many(texts)

    def converse(self, texts: Sequence[str]) -> None:
        """Store *texts* as turns of two speakers, a fixed number to a conversation."""
        turns = (
            {"content": text, "thread": str(place // _TURNS), "author": _SPEAKERS[place % 2]}
            for place, text in enumerate(texts)
        )
        self.memory.store_many(turns)

    def recall(self, query: str) -> list[str]:
        """Return the best texts."""
        return [hit.memory.content for hit in self.memory.recall(query, k=HITS)]

    def conflicts(self) -> int:
        """Return how many pairs of texts are in conflict."""
        return len(self.memory.conflicts())

    def consolidate(self) -> int:
        """Merge texts that repeat each other; return the number of removed texts."""
        return sum(len(merged.others) for merged in self.memory.consolidate())

    def pack(self, query: str) -> int:
        """Return how many of the best texts fit into the room of a prompt."""
        return len(self.memory.pack(query, budget_tokens=ROOM, touch=False).results)

    def mark(self) -> None:
        """Give the present a name."""
        self.first = self.memory.all(limit=1)[0].id
        self.memory.snapshot("mark")

    def as_of(self) -> object:
        """Return the first text at the marked moment."""
        return self.memory.as_of("mark").get(self.first)

    def as_of_all(self) -> int:
        """Read all texts of the marked moment; return the number of texts."""
        return len(self.memory.as_of("mark").all())

    def diff(self) -> int:
        """Return how many texts came since then."""
        return len(self.memory.diff("mark").added)

    def merge(self, folder: Path) -> int:
        """Merge the store in *folder*; return the number of new texts."""
        return self.memory.merge_from(folder / "bethink.db").added

    def survivors(self, query: str) -> int:
        """Return how many vectors are read in full to answer *query*."""
        hits = self.memory.recall(query, k=HITS, touch=False)
        return hits[0].explain().survivors if hits else 0

    def store(self, text: str) -> None:
        """Store one text."""
        self.memory.store(text)

    def close(self) -> None:
        """Close the file."""
        self.memory.close()


class BareSqlite:
    """A SQLite table of id, text and float32 vector: the least that a durable write can cost."""

    def __init__(self, folder: Path, embedder: SharedEmbedder, durability: Durability) -> None:
        self.embedder = embedder
        path = folder / f"bare-{durability}.db"
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute(f"PRAGMA synchronous={durability}")
        self.db.execute(
            "CREATE TABLE IF NOT EXISTS memories"
            "(seq INTEGER PRIMARY KEY, id TEXT, content TEXT, vector BLOB)"
        )

    def fill(self, texts: Sequence[str]) -> None:
        """Insert *texts* with one executemany in one transaction."""
        vectors = self.embedder.embed(texts)
        rows = [
            (uuid.uuid4().hex, text, vector.tobytes())
            for text, vector in zip(texts, vectors, strict=True)
        ]
        self.db.execute("BEGIN IMMEDIATE")
        self.db.executemany("INSERT INTO memories(id, content, vector) VALUES (?, ?, ?)", rows)
        self.db.execute("COMMIT")

    def store(self, text: str) -> None:
        """Insert one row in a single transaction."""
        self.fill([text])

    def close(self) -> None:
        """Close the file."""
        self.db.close()


ENGINES: dict[str, type[Any]] = {"bethink": Bethink, **PEERS}
MEMORIES = ("bethink", "remembrane")


def open_engine(
    name: str, folder: Path, embedder: SharedEmbedder | None, **options: Durability
) -> Engine:
    """Open the engine *name* in *folder*, where the engine keeps files between openings."""
    engine: Engine = ENGINES[name](folder, embedder, **options)
    return engine


def import_engine(name: str) -> str | None:
    """Import the modules of the engine; return the reason of a failure, or None."""
    try:
        for module in ENGINES[name].needs:
            import_module(module)
    except ImportError as error:
        return str(error)
    return None
