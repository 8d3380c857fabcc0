"""How well recall finds real evidence, held to what it reached before.

The turns and questions are a slice of LongMemEval; see tests/data/README.md.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from bethink import MemoryStore

SLICE = Path(__file__).parents[1] / "data" / "longmemeval_evidence.jsonl.gz"


def lines(kind: str) -> list[dict[str, Any]]:
    with gzip.open(SLICE, "rt", encoding="utf-8") as file:
        return [line for line in map(json.loads, file) if line["kind"] == kind]


@pytest.fixture(scope="module")
def ranks() -> list[list[int]]:
    """For every question the ranks (from 0) of its evidence among the ten memories recalled."""
    with MemoryStore() as store:
        store.store_many(
            {
                "id": turn["id"],
                "content": turn["text"],
                "author": turn["speaker"],
                "occurred_at": turn["time"],
            }
            for turn in lines("doc")
        )
        found = []
        for question in lines("query"):
            hits = store.recall(question["query"], k=10, now=question["time"], touch=False)
            ids = [hit.memory.id for hit in hits]
            found.append([ids.index(id) if id in ids else -1 for id in question["gold"]])
    return found


@pytest.mark.slow
def test_ten_memories_hold_the_evidence(ranks: list[list[int]]) -> None:
    shares = [sum(rank >= 0 for rank in golds) / len(golds) for golds in ranks]
    assert sum(shares) / len(shares) >= 0.92


def test_evidence_comes_early(ranks: list[list[int]]) -> None:
    first = [min((rank for rank in golds if rank >= 0), default=-1) for golds in ranks]
    assert sum(1 / (rank + 1) for rank in first if rank >= 0) / len(first) >= 0.89
