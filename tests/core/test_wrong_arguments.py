"""Whatever is passed wherever: a clear error before anything is written, or it works."""

from __future__ import annotations

import inspect
import math
import pickle
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bethink import (
    EVERYWHERE,
    BethinkError,
    Files,
    HashEmbedder,
    KeyedMemory,
    LongTermMemory,
    MemoryStore,
    MessageLog,
    Past,
    ShortTermMemory,
    Subtree,
    ValidationError,
)

from .clock import Clock

NAN, INF = float("nan"), float("inf")
RIGHT: dict[str, Any] = {
    "embedder": HashEmbedder(8),
    "namespace": "default",
    **{"id": "r1", "ids": ["r1"], "source": "r1", "target": "r2", "keep": "r1", "drop": "r2"},
    **{"content": "a whale", "items": ["a whale"], "query": "whale", "key": "k", "name": "v"},
    **{
        "other": "none.db",
        "outcome": "worked",
        "kind": "about",
        "when": 1,
        "since": 1,
        "until": 1,
        "entry": 1,
        "seq": 1,
    },
    **{"path": "/a.txt", "text": "x", "old": "x", "new": "y", "line": 1, "value": 1},
    **{"expected": 1, "vector": [1.0, 2.0], "messages": [{"content": "x"}], "start": 0, "limit": 1},
    **{"fn": lambda _: 1, "older_than": 1.0},
}
"""What is right for every argument that some verb needs."""

NUMBERS = (
    *("importance", "confidence", "occurred_at", "expires_at", "amount", "k", "min_score"),
    *("min_similarity", "min_share", "now", "limit", "offset", "budget_tokens", "entry", "seq"),
    *("retention", "floor", "rate", "older_than"),
)
OPTIONAL = ("occurred_at", "expires_at", "now", "limit", "retention", "floor")
SIGNED = ("occurred_at", "expires_at", "min_score", "now")
NO_NUMBERS: tuple[Any, ...] = (
    NAN,
    INF,
    -INF,
    True,
    "5",
    b"5",
    1j,
    [5],
    {},
    Decimal(5),
    object(),
    10**400,
)
ANYTHING: tuple[Any, ...] = (
    *(*NO_NUMBERS, None, 0, -1, 0.5, 1e308, -(2**70), np.float32("nan"), np.arange(3)),
    *("", " ", "\0", "\ud800", "x" * 2_000, "a//b", b"\xff", (), ("v", [NAN]), ("v", "abc")),
    *([], [[]], [None], ["r1", 3], {"$or": 3}, {"tags": {"$gt": [NAN]}}, {3: 4}, {"v": [INF]}),
    *(datetime(2020, 1, 1), EVERYWHERE, Subtree("a")),
)
UNTRIED = {"close", "sessions", "before_fork", "after_fork"}


def arguments(verb: str, kind: type = MemoryStore) -> tuple[list[str], list[str]]:
    """Return the names of the arguments that *verb* needs, and of all."""
    needed, known = [], []
    for name, each in list(inspect.signature(getattr(kind, verb)).parameters.items())[1:]:
        known.append(name)
        needed += [name] if each.default is each.empty else []
    return needed, known


def verbs(kind: type) -> list[str]:
    """Return the names of the verbs that are tried."""
    found = inspect.getmembers(kind, inspect.isfunction)
    return [name for name, _ in found if not name.startswith("_") and name not in UNTRIED]


VERBS = verbs(MemoryStore)
FACES: dict[type, Callable[[MemoryStore], Any]] = {
    Past: lambda store: store.as_of(1),
    KeyedMemory: KeyedMemory,
    Files: Files,
    MessageLog: lambda store: MessageLog(store, "s1"),
    ShortTermMemory: lambda _: ShortTermMemory(),
    LongTermMemory: lambda _: LongTermMemory(),
}
WITH_NUMBERS = [(verb, name) for verb in VERBS for name in arguments(verb)[1] if name in NUMBERS]


@pytest.fixture
def store(path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryStore]:
    monkeypatch.chdir(path.parent)
    with MemoryStore(path, embedder=HashEmbedder(8), clock=clock, durability="normal") as store:
        store.store("a red whale", id="r1", key="k", vectors={"v": [1.0, 2.0]})
        store.store("a blue whale", id="r2")
        yield store
        assert_usable(store, path)


def assert_usable(store: MemoryStore, path: Path) -> None:
    """Check that another program can write at once, and that the store still answers."""
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
    new = store.store("a green whale")
    hits = store.recall("green whale", k=10**6, namespace=EVERYWHERE, touch=False)
    assert new.id in [hit.memory.id for hit in hits]
    assert all(math.isfinite(hit.score) for hit in hits)


def call(whom: Any, verb: str, name: str, value: Any) -> Any:
    """Call *verb* with everything right but *name*."""
    right = {each: RIGHT[each] for each in arguments(verb, type(whom))[0]}
    return getattr(whom, verb)(**{**right, name: value})


def shown(store: MemoryStore) -> tuple[object, ...]:
    """Return what a verb that writes anything would change: the journal, at its end, or a record.

    To read all of both before and after each of thousands of calls would take a minute.
    """
    named = {id: store.get(id) for id in ("r1", "r2")}
    return store.log(limit=2), store.count(namespace=EVERYWHERE), named


def refuses(
    store: MemoryStore,
    verb: str,
    name: str,
    value: Any,
    whom: Any = None,
    only: type[BethinkError] = BethinkError,
) -> bool:
    """Tell whether *verb* refuses, as every verb has to: clearly, and before it writes."""
    before = shown(store)
    try:
        call(store if whom is None else whom, verb, name, value)
    except only as error:
        said = str(error)
    else:
        return False
    assert 0 < len(said) < 3_000
    assert shown(store) == before
    return True


@pytest.mark.parametrize(("verb", "name"), WITH_NUMBERS)
def test_what_is_no_number_is_refused(store: MemoryStore, verb: str, name: str) -> None:
    below = () if name in SIGNED else (-1, -0.5, -1e308, -(2**70))
    none = () if name in OPTIONAL else (None,)
    counted = ("k", "limit", "offset", "budget_tokens", "entry", "seq")  # these are cut down
    for value in (*NO_NUMBERS, *below, *none):
        if not (name in counted and value == 10**400):
            assert refuses(store, verb, name, value, only=ValidationError)


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_anything_is_taken_or_refused(store: MemoryStore, verb: str) -> None:
    tried = [refuses(store, verb, name, value) for name in arguments(verb)[1] for value in ANYTHING]
    assert any(tried) or not tried


SAID: list[tuple[Callable[[Any], object], str]] = [
    (lambda store: store.store("x", tags=[5]), "tag must be a str, not int"),
    (
        lambda store: store.store("x", occurred_at="yesterday"),
        "occurred_at must be Unix seconds, an aware datetime, a date or an ISO text; 'yesterday' "
        "is no text such as '2026-11-24T10:00Z'",
    ),
    (
        lambda store: store.store("x", expires_at=1_763_000_000_000),
        "expires_at must be in seconds, not milliseconds: 1763000000000",
    ),
    (
        lambda store: store.store("x", metadata={"a": {1: 2}}),
        "metadata has a key of type int, not str",
    ),
    (
        lambda store: store.store_many(["fine", {"content": "x", "importance": 2}, "fine"]),
        "item 1: importance must lie in [0, 1], not 2",
    ),
    (
        lambda store: store.store_many([{"content": "x", "importance": 2}]),
        "importance must lie in [0, 1], not 2",
    ),
    (
        lambda store: store.recall("x", mode=None),
        "mode must be one of 'hybrid', 'keyword', 'semantic', not None",
    ),
    (
        lambda store: store.recall("x", namespace={"a": "b"}),
        "namespace must be a str, a Subtree, EVERYWHERE or a list of namespaces, not dict",
    ),
    (
        lambda store: store.as_of([1]),
        "a moment must be a snapshot's name, the number of a journal entry or a time "
        "(a float, an aware datetime, a date or an ISO text), not list",
    ),
    (
        lambda store: store.store("x") and store.as_of(1.0),
        "1.0 is a time before the first entry; 1 is the number of an entry",
    ),
    (lambda store: store.all(where={"$or": 5}), "$or needs a list of filters, not int"),
    (
        lambda store: store.all(where={"tags": {"$gt": "a"}}),
        "$gt does not apply to 'tags'",
    ),
    (
        lambda store: store.all(where={"importance": {"$contains": 1}}),
        "$contains does not apply to 'importance'",
    ),
    (
        lambda store: store.all(where={"tags": {"$contains": 1}}),
        "$contains on 'tags' needs a str, not int",
    ),
    (lambda store: MessageLog(store, "s").messages(-1), "last must be at least 0, not -1"),
    (
        lambda store: MessageLog(store, "s").append("x"),  # type: ignore[arg-type]
        "messages must be a list of mappings, not str",
    ),
    (
        lambda store: store.merge_from(5),
        "merge_from needs a store or the path of one, not int",
    ),
    (
        lambda store: store.why_not("r1", "x", touch=True),
        "unknown argument 'touch'; known: id, query, k, ranking, as_of, namespace, mode, where, "
        "min_score, min_similarity, min_share, trusted, now, vector",
    ),
    (lambda store: type(store)(5), "location must be a path, a URL or ':memory:', not int"),
]


@pytest.mark.parametrize(("verb", "said"), SAID, ids=[said for _, said in SAID])
def test_an_error_says_which_argument_what_was_given_and_what_may_be(
    store: MemoryStore, verb: Callable[[MemoryStore], object], said: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        verb(store)
    assert str(caught.value) == said


def test_an_error_has_the_place_of_the_wrong_item(store: MemoryStore) -> None:
    wrong = {"importance": 2}
    for before, place in (["x"], 1), ([], None):
        with pytest.raises(ValidationError) as caught:
            store.store_many([*before, wrong])
        assert pickle.loads(pickle.dumps(caught.value)).item == caught.value.item == place


@pytest.mark.parametrize(("kind", "verb"), [(kind, verb) for kind in FACES for verb in verbs(kind)])
def test_every_face_takes_anything_or_refuses(store: MemoryStore, kind: type, verb: str) -> None:
    Files(store).create("/a.txt", "x")
    for name in arguments(verb, kind)[1]:
        for value in ANYTHING:
            refuses(store, verb, name, value, FACES[kind](store))


@pytest.mark.parametrize("verb", ["increment", "recent"])
def test_a_keyed_memory_counts_in_numbers(store: MemoryStore, verb: str) -> None:
    memory = KeyedMemory(store)
    given = ["n"] if verb == "increment" else []
    for value in NO_NUMBERS[:-1]:
        with pytest.raises(ValidationError):
            getattr(memory, verb)(*given, value)
    assert memory.keys() == []


@pytest.mark.slow
def test_hundreds_of_failures_leave_a_store_that_works(store: MemoryStore, clock: Clock) -> None:
    refused = 0
    for number in range(300):
        try:
            store.record_outcome("r1", "failed", session=f"s{number % 50}")
        except BethinkError:
            refused += 1
        store.mark_useless(["r1", "r2"])
    assert refused == 300 - 50 * 3
    outcomes = {record.id: record.outcome for record in map(store.get, ("r1", "r2")) if record}
    assert outcomes == {"r1": -1.0, "r2": -0.5}
    assert [hit.memory.id for hit in store.recall("whale")] == ["r2"]


@pytest.mark.parametrize("vector", [[NAN, 1.0], [INF, 0.0], [1e300, 1.0], [], [[1.0, 2.0]], ["a"]])
def test_a_vector_that_is_none_is_refused(store: MemoryStore, vector: Any) -> None:
    for verb in ("store", "update"):
        assert refuses(store, verb, "vectors", {"v": vector})
    assert refuses(store, "recall", "vector", ("v", vector))


@pytest.mark.parametrize("vector", [[1e18, -1e18], [1e-40, 0.0], [0.0, 0.0], [-0.0, 5e-324]])
def test_an_extreme_vector_is_stored_and_compared(store: MemoryStore, vector: list[float]) -> None:
    store.update("r1", vectors={"v": vector})
    for query in (vector, [1.0, 1.0]):
        hits = store.recall(None, vector=("v", query))
        assert all(0 <= hit.score <= 1 for hit in hits)
