"""Records, and small writes of them, for tests of backends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...model.arrays import Vector
from ...model.port import Row, Segment, Stored
from ...model.records import MemoryRecord
from ...storage import FullBackend as Backend

NAMESPACES = ("a", "a/b", "a/b/c", "a-b", "a.b", "a0", "ab", "b", "a/é")
EVERY_FIELD = MemoryRecord(
    id="all",
    namespace="users/42",
    content='quote " and \\ and \n and 记忆 🦊 and \x00 end',
    created_at=1e9 + 1 / 3,
    occurred_at=-5.5,
    updated_at=1e9 + 2 / 3,
    key="k",
    value={"deep": [1, 2.5, None, True, "x", {"": []}]},
    thread="",
    author="Ann",
    category="fact",
    tags=("x", "y z"),
    importance=0.1,
    confidence=1 / 3,
    source="s",
    metadata={"a.b": {"c": 1e-300}, "n": 2**60},
    expires_at=4e9,
    superseded_by="other",
    last_accessed_at=2.5,
    access_count=7,
    outcome=-0.25,
    state="archived",
)


def nested(where: dict[str, Any], depth: int) -> dict[str, Any]:
    """Return *where* inside so many negations."""
    return {"$not": nested(where, depth - 1)} if depth else where


FILTERS: tuple[dict[str, Any], ...] = (
    {"category": "fact"},
    {"category": {"$ne": "fact"}},
    {"category": {"$exists": False}},
    {"category": {"$in": ["fact", "rule", 3]}},
    {"category": {"$nin": ["fact"]}},
    {"category": {"$gt": "a"}},
    {"metadata.word": 3},
    {"tags": "even"},
    {"tags": {"$nin": ["even", "none"]}},
    {"importance": {"$gte": 0.2, "$lt": 0.7}},
    {"importance": 0},
    {"tags": {"$contains": "even"}},
    {"tags": {"$contains_any": ["odd", "none"]}},
    {"tags": ["even"]},
    {"metadata.n": 2},
    {"metadata.n": {"$gt": 1}},
    {"metadata.word": "w3"},
    {"metadata.word": {"$ne": "w3"}},
    {"value.deep.n": {"$lte": 2}},
    {"value": "w1"},
    {"value": {"$exists": True}},
    {"$not": {"category": "fact"}},
    {"$not": {"metadata.word": "w3"}},
    {"$and": []},
    {"$or": []},
    {"$or": [{"metadata.n": 1}, {"importance": {"$gt": 0.8}}]},
    {"$and": [{"tags": {"$contains": "odd"}}, {"author": "Ann"}]},
    {"occurred_at": {"$gt": 103}, "expires_at": {"$exists": False}},
    {"category": None},
    {"category": {"$ne": None}},
    {"metadata.word": {"$ne": 3}},
    {"category": {"$in": [None, "rule"]}},
    {"category": {"$in": [str(n) for n in range(600)] + ["rule"]}},
    {"category": {"$contains": "ac"}},
    {"category": "fa\x00ct"},
    {"importance": {"$lt": 2**70}},
    {"access_count": {"$in": [0, 2**70]}},
    {"access_count": {"$in": [True, "0", 1]}},
    {"metadata.n": {"$in": [True, "0"]}},
    {"metadata.a'b": "x"},
    {"tags": {"$contains": "od\x00d"}},
    {"$or": [{"importance": n / 8} for n in range(30)]},
    {"$and": [{"importance": {"$ne": n}} for n in range(30)]},
    nested({"category": "fact"}, 12),
    {"category": "rule", **nested({"importance": 0}, 2)},
    nested({"category": "rule"}, 13),
)


def record(id: str, content: str = "words", **fields: Any) -> MemoryRecord:
    """Return a record of the namespace "default", made at 100, unless *fields* say otherwise."""
    times = {"created_at": 100.0, "occurred_at": 100.0, "updated_at": 100.0}
    return MemoryRecord(**{"namespace": "default", **times, **fields, "id": id, "content": content})


def vector(*numbers: float) -> Vector:
    """Return *numbers* as backends take them."""
    return np.array(numbers, dtype=np.float32)


def insert(
    backend: Backend, *records: MemoryRecord, vectors: Mapping[str, Vector] | None = None
) -> list[Row]:
    """Add *records*, each with *vectors* and a journal entry, in one transaction."""
    rows = []
    with backend.write() as writer:
        for each in records:
            rows.append(writer.insert(each, vectors or {}))
            writer.journal("store", each.created_at, each, None, rows[-1].row, {"id": each.id})
    return rows


def patch(
    backend: Backend, row: int, changed: MemoryRecord, action: str = "update", **changes: object
) -> None:
    """Let *changed* take the place of the record in *row*, with an entry that tells *changes*."""
    with backend.write() as writer:
        writer.patch(row, changed)
        writer.journal(action, changed.updated_at, changed, row, row, changes)


def move(
    backend: Backend, row: int, moved: MemoryRecord, vectors: Mapping[str, Vector] | None = None
) -> Row:
    """Let *moved* take the place of the record in *row*, in a new row."""
    with backend.write() as writer:
        new = writer.replace(row, moved, vectors or {})
        writer.journal("update", moved.updated_at, moved, row, new.row, {})
    return new


def touch(backend: Backend, accesses: Mapping[str, tuple[int, float]]) -> list[int]:
    """Add *accesses*, with a journal entry if any counted; return the rows."""
    with backend.write() as writer:
        rows = writer.touch(accesses)
        if rows:
            writer.journal("touch", 100.0, None, None, None, {"rows": rows, "accesses": accesses})
    return rows


def erase(backend: Backend, row: int, tombstone: MemoryRecord) -> frozenset[str]:
    """Erase the record in *row*, with a journal entry; return the namespaces it reached."""
    with backend.write() as writer:
        reached = writer.erase(row, tombstone)
        writer.journal("erase", 100.0, tombstone, row, row, {"left": tombstone.id})
    return reached


def outline(found: Row | Stored) -> tuple[Any, ...]:
    """Return the row, and the fields of the record that ``Writer.outlines`` reads at least."""
    told = found.record
    place = found.row, told.id, told.namespace, told.created_at
    return *place, told.key, told.source, told.expires_at, told.state


def records_of(backend: Backend, ids: Sequence[str]) -> dict[str, MemoryRecord]:
    """Return the existing records among *ids*, by id."""
    return {id: each.record for id, each in backend.find(ids).items()}


def segment(rows: list[Row], head: int, data: bytes = b"index", **fields: Any) -> Segment:
    """Return a segment of *rows*, which are neighbours, as they were at *head*."""
    namespace = rows[0].record.namespace
    return Segment(namespace, rows[0].row, rows[-1].row, len(rows), head, data, **fields)


def zoo() -> list[MemoryRecord]:
    """Return records that differ in everything that filters look at."""
    return [
        record(
            f"r{n}",
            category=(None, "fact", "rule")[n % 3],
            author=("Ann", None)[n % 2],
            tags=(("even",), ("odd", "x"))[n % 2],
            importance=n / 8,
            metadata=[{}, {"n": n}, {"word": f"w{n}"}, {"n": True}][n % 4],
            value=[None, f"w{n}", {"deep": {"n": n}}][n % 3],
            occurred_at=100.0 + n,
            expires_at=(None, 500.0)[n % 2],
        )
        for n in range(8)
    ]
