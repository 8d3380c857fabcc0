"""The systems that bethink is measured against, each behind the verbs of an engine.

A peer is imported when opened. Every peer gets the shared vectors; with *embedder* None, a
peer that has an embedder uses its own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from bethink.bench.embedding import ListEmbedder, SharedEmbedder

HITS = 10
ROOM = 800  # tokens of a packed prompt
# sqlite-vec is an extension, which not every Python's sqlite3 can load.
_SQLITE = "sqlite3" if hasattr(sqlite3.Connection, "enable_load_extension") else "pysqlite3"


class _Remembrane:
    """remembrane: exact hybrid recall, SQLite file."""

    needs = ("remembrane",)

    def __init__(self, folder: Path, embedder: SharedEmbedder | None) -> None:
        lists = None if embedder is None else ListEmbedder(embedder)
        self.memory: Any = import_module("remembrane").MemoryStore(
            folder / "remembrane.db", embedder=lists
        )

    def fill(self, texts: Sequence[str]) -> None:
        self.memory.store_many(texts)

    def recall(self, query: str) -> list[str]:
        return [hit.memory.content for hit in self.memory.recall(query, k=HITS)]

    def pack(self, query: str) -> int:
        return len(self.memory.pack(query, budget_tokens=ROOM, touch=False))

    def mark(self) -> None:
        self.first = self.memory.all()[0].id
        self.memory.snapshot("mark")

    def as_of(self) -> object:
        return next(row for row in self.memory.as_of("mark") if row["id"] == self.first)

    def as_of_all(self) -> int:
        return len(self.memory.as_of("mark"))

    def diff(self) -> int:
        return len(self.memory.diff("mark")["added"])

    def merge(self, folder: Path) -> int:
        return int(self.memory.merge_from(folder / "remembrane.db")["added"])

    def conflicts(self) -> int:
        return len(self.memory.conflicts())

    def consolidate(self) -> int:
        return int(self.memory.consolidate())

    def store(self, text: str) -> None:
        self.memory.store(text)

    def close(self) -> None:
        self.memory.close()


class _Vectors:
    """A peer that stores a text as it stores many."""

    fill: Callable[..., None]

    def store(self, text: str) -> None:
        self.fill([text])


class _SqliteVec(_Vectors):
    """sqlite-vec: exact vectors only, no text score, no journal."""

    needs = (_SQLITE, "sqlite_vec")

    def __init__(self, folder: Path, embedder: SharedEmbedder) -> None:
        self.embedder = embedder
        path, width = folder / "vec.db", embedder.dimension
        self.db: Any = import_module(_SQLITE).connect(path, isolation_level=None)
        self.db.enable_load_extension(True)
        self.db.load_extension(import_module("sqlite_vec").loadable_path())
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=FULL")
        self.db.execute("CREATE TABLE IF NOT EXISTS texts(id INTEGER PRIMARY KEY, content TEXT)")
        self.db.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS near USING vec0(v float[{width}])")
        self.count = next(iter(self.db.execute("SELECT count(*) FROM texts")))[0]

    def fill(self, texts: Sequence[str]) -> None:
        vectors = [vector.tobytes() for vector in self.embedder.embed(texts)]
        rows = range(self.count, self.count + len(texts))
        self.db.execute("BEGIN IMMEDIATE")
        self.db.executemany("INSERT INTO texts VALUES (?, ?)", zip(rows, texts, strict=True))
        self.db.executemany(
            "INSERT INTO near(rowid, v) VALUES (?, ?)", zip(rows, vectors, strict=True)
        )
        self.db.execute("COMMIT")
        self.count += len(texts)

    def recall(self, query: str) -> list[str]:
        vector = self.embedder.embed([query]).tobytes()
        sql = "SELECT content FROM near JOIN texts ON id = near.rowid WHERE v MATCH ? AND k = ?"
        return [row[0] for row in self.db.execute(sql, (vector, HITS))]

    def close(self) -> None:
        self.db.close()


class _Chroma(_Vectors):
    """chromadb, persistent: approximate vectors."""

    needs = ("chromadb",)

    def __init__(self, folder: Path, embedder: SharedEmbedder) -> None:
        self.embedder = embedder
        chroma = import_module("chromadb")
        quiet = chroma.Settings(anonymized_telemetry=False)
        client = chroma.PersistentClient(str(folder / "chroma"), settings=quiet)
        self.rows: Any = client.get_or_create_collection("memories", embedding_function=None)
        self.count: int = self.rows.count()

    def fill(self, texts: Sequence[str]) -> None:
        ids = [str(self.count + offset) for offset in range(len(texts))]
        self.rows.add(ids=ids, documents=list(texts), embeddings=self.embedder.embed(texts))
        self.count += len(texts)

    def recall(self, query: str) -> list[str]:
        found = self.rows.query(query_embeddings=self.embedder.embed([query]), n_results=HITS)
        return list(found["documents"][0])

    def close(self) -> None:
        del self.rows


class _Lance(_Vectors):
    """lancedb, flat: exact vectors only."""

    needs = ("lancedb",)

    def __init__(self, folder: Path, embedder: SharedEmbedder) -> None:
        self.embedder = embedder
        self.db: Any = import_module("lancedb").connect(str(folder / "lance"))
        known = (folder / "lance" / "memories.lance").exists()
        self.table: Any = self.db.open_table("memories") if known else None

    def fill(self, texts: Sequence[str]) -> None:
        vectors = self.embedder.embed(texts)
        rows = [{"vector": v, "content": t} for v, t in zip(vectors, texts, strict=True)]
        if self.table is None:
            self.table = self.db.create_table("memories", rows)
        else:
            self.table.add(rows)

    def recall(self, query: str) -> list[str]:
        found = self.table.search(self.embedder.embed([query])[0]).limit(HITS).to_list()
        return [row["content"] for row in found]

    def close(self) -> None:
        del self.table, self.db


class _Langgraph(_Vectors):
    """langgraph's SqliteStore with a vector index: exact vectors only."""

    needs = (_SQLITE, "langgraph.store.sqlite", "sqlite_vec")

    def __init__(self, folder: Path, embedder: SharedEmbedder) -> None:
        path = folder / "langgraph.db"
        self.connection: Any = import_module(_SQLITE).connect(path, isolation_level=None)
        lists = ListEmbedder(embedder)
        index = {"dims": embedder.dimension, "embed": lists.embed, "fields": ["content"]}
        sqlite = import_module("langgraph.store.sqlite")
        self.memory: Any = sqlite.SqliteStore(self.connection, index=index)
        self.memory.setup()
        self.put: Any = import_module("langgraph.store.base").PutOp
        self.count = self.connection.execute("SELECT count(*) FROM store").fetchone()[0]

    def fill(self, texts: Sequence[str]) -> None:
        puts = [
            self.put(("memories",), str(self.count + offset), {"content": text})
            for offset, text in enumerate(texts)
        ]
        self.memory.batch(puts)
        self.count += len(texts)

    def recall(self, query: str) -> list[str]:
        found = self.memory.search(("memories",), query=query, limit=HITS)
        return [item.value["content"] for item in found]

    def close(self) -> None:
        self.connection.close()


PEERS: dict[str, type[Any]] = {
    "remembrane": _Remembrane,
    "sqlite-vec": _SqliteVec,
    "chromadb": _Chroma,
    "lancedb": _Lance,
    "langgraph": _Langgraph,
}
