"""A compacted store: moments from the cut on are as before, and everything earlier is gone."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from bethink import (
    EVERYWHERE,
    CompactedError,
    Compaction,
    HashEmbedder,
    MemoryStore,
    NotFoundError,
    ValidationError,
)
from bethink.features import compaction

from ..clock import Clock
from ..inside import engine_of

PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
EMBEDDER = HashEmbedder(16)
KEY = b"sixteen bytes or more"
DAY = 86_400.0
VERBS = (
    *("store", "keyed", "keyed", "update", "move", "rekey", "forget", "restore", "archive"),
    *("touch", "relate", "unrelate", "vector", "erase", "snapshot", "undo", "back"),
)
Step = tuple[str, int, int]


@pytest.fixture(params=[None, KEY], ids=["plain", "keyed"])
def key(request: pytest.FixtureRequest) -> bytes | None:
    return request.param  # type: ignore[no-any-return]


def opened(location: str | Path = ":memory:", key: bytes | None = None) -> MemoryStore:
    ids = count(1)
    return MemoryStore(
        location,
        clock=Clock(),
        embedder=EMBEDDER,
        integrity_key=key,
        new_id=lambda: f"r{next(ids)}",
        durability="normal",
    )


@pytest.fixture
def store(key: bytes | None) -> Iterator[MemoryStore]:
    with opened(key=key) as store:
        yield store


def clock_of(store: MemoryStore) -> Clock:
    clock: Any = engine_of(store).clock
    return clock.args[0]  # type: ignore[no-any-return]


def do(store: MemoryStore, step: Step) -> None:
    """Take a step that depends on the state; a step that the state refuses changes nothing."""
    verb, one, two = step
    known = sorted(
        record.id
        for state in ("live", "forgotten", "superseded", "archived")
        for record in store.all(namespace=EVERYWHERE, state=state)
    )
    if verb == "back":
        clock_of(store).now -= 30
    clock_of(store).now += 100 * one
    a, b = (known[each % len(known)] if known else "none" for each in (one, two))
    verbs: dict[str, Callable[[], Any]] = {
        "store": lambda: store.store(f"note {one} {two}", tags=[str(one)], namespace=f"n{two % 2}"),
        "keyed": lambda: store.store(f"fact {one}", key=f"k{two % 2}", vectors={"v": [one, 1.0]}),
        "update": lambda: store.update(a, content=f"changed {two}"),
        "move": lambda: store.update(a, namespace=f"n{two % 3}"),
        "rekey": lambda: store.update(a, key=f"k{two % 3}", importance=two / 9),
        "forget": lambda: store.forget(a),
        "restore": lambda: store.restore(a),
        "archive": lambda: store.archive(a),
        "touch": lambda: store.recall("note fact", k=2, namespace=EVERYWHERE),
        "relate": lambda: store.relate(a, b, "about"),
        "unrelate": lambda: store.unrelate(a, b, "about"),
        "vector": lambda: store.update(a, vectors={"v": [two, 2.0]}),
        "erase": lambda: store.erase(a),
        "snapshot": lambda: store.snapshot(f"s{one}"),
        "undo": lambda: store.undo(engine_of(store).backend.head() - one % 3),
        "back": lambda: None,
    }
    try:
        verbs[verb]()
    except (ValidationError, NotFoundError):
        pass


def seen(store: MemoryStore, cut: int, head: int) -> list[Any]:
    """Return all that the moments from *cut* to *head* show."""
    found: list[Any] = []
    for seq in range(cut, head + 1):
        past = store.as_of(seq)
        records = past.all(namespace=EVERYWHERE)
        found.append(records)
        found.append([past.related(record.id) for record in records])
        found.append(store.diff(seq, head, namespace=EVERYWHERE))
        query = {"k": 9, "as_of": seq, "namespace": EVERYWHERE, "touch": False}
        found.append([hit.id for hit in store.recall("note 3", **query)])
        found.append([hit.id for hit in store.recall(None, vector=("v", [1.0, 1.0]), **query)])
    found.append([each for each in store.snapshots() if each.seq >= cut])
    found += [store.log(limit=None, since=cut)]
    return found


def whole(store: MemoryStore) -> None:
    assert store.verify().problems == ()
    copied = io.StringIO()
    store.export(copied)
    copied.seek(0)
    with MemoryStore(embedder=EMBEDDER) as other:
        other.import_(copied)
        assert other.verify().problems == ()
        assert other.all(namespace=EVERYWHERE) == store.all(namespace=EVERYWHERE)


steps = st.lists(
    st.tuples(st.sampled_from(VERBS), st.integers(0, 9), st.integers(0, 9)), max_size=25
)


@given(steps, steps, st.integers(0, 40), st.integers(0, 40), st.booleans())
@settings(max_examples=60, phases=PHASES)
def test_every_moment_from_the_cut_on_is_as_before(
    before: list[Step], after: list[Step], first: int, second: int, is_keyed: bool
) -> None:
    with opened(key=KEY if is_keyed else None) as store:
        for step in before:
            do(store, step)
        engine_of(store).flush()
        for until in sorted((first, second)):
            head = engine_of(store).backend.head()
            until = min(until, head)
            known = seen(store, until, head)
            done = store.compact(before=until)
            assert done.cut <= until
            assert seen(store, until, head)[:-1] == known[:-1]
            whole(store)
        for step in after:
            do(store, step)
        whole(store)
        store.compact(keep=0)
        whole(store)
