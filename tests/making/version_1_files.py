"""Write files of schema version 1, two with an integrity key, and what the whole files answer.

    python tests/making/version_1_files.py FOLDER

The files in ``tests/data`` were written by bethink 0.1, the release before the first migration. A
later bethink writes files of a later version, so the files cannot be made again: never replace one.
"""

from __future__ import annotations

import gzip
import json
import sys
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any, Final

from bethink import EVERYWHERE, HashEmbedder, MemoryStore

KEY: Final = b"the key of a file of version 1"
NOW: Final = 1_700_000_000.0
RECALLS: Final[tuple[dict[str, Any], ...]] = (
    {"query": "Where does Ann live?"},
    {"query": "river cat", "k": 3},
    {"query": "harbour", "namespace": "team/ops/port", "where": {"tags": {"$contains": "port"}}},
    {"query": "opening hours", "where": {"metadata.lang": "en"}},
    {"query": None, "vector": ["mood", [1.0, 0.5, 0.0]]},
    {"query": "song", "vector": ["mood", [0.0, 1.0, 0.0]]},
)


def fill(store: MemoryStore) -> None:
    """Write with every verb that leaves a trace in a table."""
    store.store("Ann lives in Oslo", id="oslo", key="ann/home", author="Bob", category="fact")
    store.store("Ann lives in Bergen by the harbour", id="bergen", key="ann/home", confidence=0.75)
    store.store("The cat crossed the river at night", id="cat", thread="t1", author="Ann")
    store.store("A song about rain", id="rain", vectors={"mood": [1, 0, 0]}, importance=0.25)
    store.store("A song about the sun", id="sun", vectors={"mood": [0, 1, 0]}, tags=["music"])
    store.store("Opening hours are 9 to 5", id="hours", value={"from": 9, "to": [17, None]})
    store.store("The harbour closes at noon", id="noon", namespace="team/ops", tags=["port", "é"])
    store.store("The password is swordfish", id="secret", source="chat")
    store.store("An offer until tomorrow", id="offer", expires_at=NOW + 86_400)
    store.update("hours", metadata={"lang": "en"}, occurred_at=NOW - 5_000)
    store.snapshot("before the changes")
    store.update("cat", content="The black cat crossed the river at night")
    store.update("rain", vectors={"mood": [0.5, 0.5, 0]})
    store.relate("cat", "bergen", "seen in")
    store.relate("sun", "rain", "contradicts")
    store.unrelate("sun", "rain", "contradicts")
    store.forget("offer")
    store.archive("sun")
    store.unarchive("sun")
    store.mark_useful("bergen")
    store.touch(["cat", "cat", "noon"])
    store.update("noon", namespace="team/ops/port", key="closing")
    store.erase("secret")
    store.snapshot("at the end")


def answers(store: MemoryStore) -> dict[str, Any]:
    """Return what *store* answers, made of JSON types."""
    ids = ("oslo", "bergen", "cat", "rain", "sun", "hours", "noon", "secret", "offer")
    past = store.as_of("before the changes")
    found = {
        "recalls": [[[hit.memory.id, hit.score] for hit in recall(store, **a)] for a in RECALLS],
        "records": [asdict(record) for record in map(store.get, ids) if record],
        "vectors": {id: list(map(float, own)) for id, own in store.vectors(ids, "mood").items()},
        "past": [record.content for record in map(past.get, ids) if record],
        "audit": [version.content for version in store.audit("ann/home")],
        "related": [[link.memory.id, link.kind, link.direction] for link in store.related("cat")],
        "log": [[entry.seq, entry.action, entry.id] for entry in store.log(limit=None)],
        "snapshots": [[each.name, each.seq, each.at] for each in store.snapshots()],
        "namespaces": store.namespaces(EVERYWHERE),
    }
    plain: dict[str, Any] = json.loads(json.dumps(found))
    return plain


def recall(store: MemoryStore, query: str | None, **given: Any) -> Any:
    """Return what *store* recalls, without an access."""
    if "vector" in given:
        given["vector"] = tuple(given["vector"])
    return store.recall(query, touch=False, now=NOW + 1_000, **given)


def opened(path: Path, key: bytes | None) -> MemoryStore:
    """Open the store at *path* with a clock that goes on by a second a reading."""
    seconds = count()
    return MemoryStore(
        path,
        embedder=HashEmbedder(16),
        clock=lambda: NOW + next(seconds),
        integrity_key=key,
    )


def main(folder: Path) -> None:
    """Write the files to *folder*, compressed, and the answers; ``cut`` is compacted."""
    texts = set[str]()
    for name, key in (("plain", None), ("keyed", KEY), ("cut", KEY)):
        path = folder / f"version_1_{name}.db"
        with opened(path, key) as store:
            fill(store)
            if name == "cut":
                store.compact(keep=0)
            else:
                texts.add(json.dumps(answers(store), indent=1, ensure_ascii=False, sort_keys=True))
        path.with_suffix(".db.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        path.unlink()
    (text,) = texts  # a key changes no answer
    (folder / "version_1_answers.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
