"""Postgres beside SQLite: the same calls get the same answers, to the last digit."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from bethink import EVERYWHERE, BethinkError, HashEmbedder, KeyedMemory, MemoryStore
from bethink.index import keyword, scope
from bethink.storage.sql import writer

from ...pair import ASKED, SPACES, START, Pair
from ...test_states import RecordTrace, fields, items, picks, scopes, several, spaces, steps
from .server import fresh_location


@pytest.fixture(autouse=True)
def _everything_comes_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a few records pass every way of indexing, and every entry tell the whole record."""
    for module, name, small in (
        (keyword, "BLOCK_DOCUMENTS", 4),
        (scope, "MIN_DEAD", 1),
        (writer, "FULL_RECORDS_IN_256", 256),
    ):
        monkeypatch.setattr(module, name, small)


class BothEngines(RuleBasedStateMachine):
    """A store on each engine, with the same clock and the same ids."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.given = START, ["unknown"]
        self.stores = [self.opened(place) for place in (":memory:", fresh_location())]

    def opened(self, location: str) -> MemoryStore:
        numbers = count(1)
        return MemoryStore(
            location,
            embedder=HashEmbedder(16),
            clock=lambda: self.now,
            new_id=lambda: f"{next(numbers) * 7919 % 10_007:05d}",
            durability="normal",
        )

    def teardown(self) -> None:
        for store in self.stores:
            store.close()

    def both(self, ask: Callable[[MemoryStore], Any]) -> Any:
        """Return what both stores answer; the error's text if both refuse."""
        answers = [told(ask, store) for store in self.stores]
        assert answers[0] == answers[1]
        return answers[0]

    def id(self, pick: int) -> str:
        return self.given[-1 - pick % len(self.given)]

    @initialize(batch=st.lists(items, min_size=3, max_size=8))
    def begin(self, batch: list[dict[str, Any]]) -> None:
        self.store_many(batch)

    @rule(seconds=steps)
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(batch=st.lists(items, min_size=1, max_size=4))
    def store_many(self, batch: list[dict[str, Any]]) -> None:
        stored = self.both(lambda store: store.store_many(batch))
        if isinstance(stored, list):
            self.given += [record.id for record in stored]

    @rule(pick=picks, changes=fields | items)
    def update(self, pick: int, changes: dict[str, Any]) -> None:
        self.both(lambda store: store.update(self.id(pick), **changes))

    @rule(
        chosen=several,
        verb=st.sampled_from(["forget", "restore", "archive", "unarchive", "touch", "erase"]),
    )
    def move(self, chosen: list[int], verb: str) -> None:
        self.both(lambda store: getattr(store, verb)(*map(self.id, chosen)))

    @rule(pick=picks, verdict=st.sampled_from(["worked", "partial", "failed"]))
    def judge(self, pick: int, verdict: Any) -> None:
        self.both(lambda store: store.record_outcome(self.id(pick), verdict))

    @rule(one=picks, other=picks, verb=st.sampled_from(["relate", "unrelate"]))
    def relate(self, one: int, other: int, verb: str) -> None:
        self.both(lambda store: getattr(store, verb)(self.id(one), self.id(other), "supports"))

    @rule(space=spaces, key=st.sampled_from(["n", "k"]))
    def increment(self, space: str, key: str) -> None:
        self.both(lambda store: KeyedMemory(store, namespace=space).increment(key))

    @rule(name=st.integers(1, 9).map("moment {}".format))
    def snapshot(self, name: str) -> None:
        self.both(lambda store: store.snapshot(name))

    @rule(back=st.integers(0, 4))
    def undo(self, back: int) -> None:
        self.both(lambda store: store.undo(len(store.log()) - back))

    @rule(share=st.floats(0, 1), scope=scopes, asked=st.sampled_from(ASKED))
    def look_back(self, share: float, scope: Any, asked: Any) -> None:
        seq = int(share * len(self.stores[0].log()))
        self.both(lambda store: store.diff(seq, namespace=scope))
        if asked.query:
            self.both(lambda store: store.recall(asked.query, namespace=scope, as_of=seq))

    @rule(seconds=st.floats(0, 100))
    def compact(self, seconds: float) -> None:
        self.both(lambda store: replace(store.compact(before=self.now - seconds), freed=0))

    @invariant()
    def agree(self) -> None:
        self.both(log)
        self.both(lambda store: store.stats(namespace=EVERYWHERE).states)
        self.both(lambda store: store.recall("red cat", namespace=EVERYWHERE, k=8, touch=False))
        self.both(lambda store: store.recall("the dog sleeps", k=3, namespace="a"))
        self.both(lambda store: [store.all(namespace=space) for space in SPACES])

    @rule()
    def export(self) -> None:
        self.both(exported)

    @rule()
    def verify(self) -> None:
        assert self.both(lambda store: store.verify().problems) == ()


def told(ask: Callable[[MemoryStore], Any], store: MemoryStore) -> Any:
    try:
        return ask(store)
    except BethinkError as error:
        return type(error), str(error)


def log(store: MemoryStore) -> list[Any]:
    """Return the journal, without the hashes of a cut: these cover random salts."""
    return [replace(each, changes={}) if each.action == "compact" else each for each in store.log()]


def exported(store: MemoryStore) -> str:
    file = io.StringIO()
    store.export(file)
    return file.getvalue()


BothEngines.TestCase.settings = settings(
    max_examples=8,
    stateful_step_count=25,
    deadline=None,
    phases=[Phase.reuse, Phase.generate],  # to shrink would take minutes
    suppress_health_check=list(HealthCheck),
)
TestBothEngines = BothEngines.TestCase


@pytest.mark.parametrize("seed", range(2))
def test_every_moment_of_a_history_is_as_it_was(seed: int) -> None:
    pair = Pair(fresh_location())
    RecordTrace(pair, seed).live(60)
    for seq in range(len(pair.model.entries)):
        pair.as_of(seq % 2, seq, ASKED[seq % len(ASKED)])
    pair.agree(0)
    for store in pair.stores:
        assert store.verify().problems == ()
        store.close()
