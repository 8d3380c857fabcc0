"""Whatever is done in whatever order, a store holds, shows and ranks what its model does."""

from __future__ import annotations

import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from bethink import index
from bethink.features.outcomes import Verdict
from bethink.index import keyword, scope, vectors
from bethink.model.namespaces import Scope
from bethink.storage.sql import writer

from .pair import ASKED, SCOPES, SPACES, START, Pair
from .twin import Asked

DAY = 86_400.0
WORDS = ("red", "blue", "cat", "dog", "house", "tree", "runs", "sleeps", "Paris", "London", "7")

sides = st.integers(0, 1)
picks = st.integers(0, 7)
several = st.lists(picks, min_size=1, max_size=3)
spaces = st.sampled_from(SPACES)
scopes = st.sampled_from(SCOPES)
asked = st.sampled_from(ASKED)
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
FIELDS: dict[str, list[Any]] = {
    "namespace": [*SPACES],
    "key": [None, "k", "theme"],
    "thread": [None, "t1", "t2"],
    "author": [None, "Ann", "Ben"],
    "tags": [(), ("x", "y")],
    "metadata": [{}, {"a": [1]}],
    "importance": [0.1, 0.5, 0.9],
    "confidence": [0.2, 1.0],
    "category": [None, "gotcha"],
    "occurred_at": [None, START - DAY, START + 40],
    "expires_at": [None, None, START + 50, START + 20 * DAY],
    "vectors": [{}, {"mine": [1.0, -0.5]}, {"mine": [0, 1], "other": [3, 2, 1]}],
}
fields = st.fixed_dictionaries(
    {}, optional={name: st.sampled_from(choices) for name, choices in FIELDS.items()}
)
items = st.builds(lambda content, given: {**given, "content": content}, texts, fields)
steps = st.sampled_from([0.0, 0.5, 7.0, 62.0, 3_500.0, 9.9 * DAY, 30 * DAY, -5.0, -4_000.0])


@pytest.fixture(autouse=True)
def _everything_comes_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a few records pass every way of indexing, saving and reading the journal."""
    for module, name, small in (
        (keyword, "BLOCK_DOCUMENTS", 4),
        (keyword, "MERGED_BLOCKS", 2),
        (index, "BLOCK_DOCUMENTS", 4),
        (index, "_BATCH_ROWS", 8),
        (index, "_MIN_SAVED_ROWS", 2),
        (scope, "RELINK_FROM", 3),
        (scope, "MIN_DEAD", 1),
        (vectors, "_MIN_EARLY_ROWS", 1),
        (writer, "FULL_RECORDS_IN_256", 60),
    ):
        monkeypatch.setattr(module, name, small)


class States(RuleBasedStateMachine):
    """Two stores on one file, and the model beside them, under every verb."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.pair = Pair(Path(self.folder.name) / "memory.db")

    def teardown(self) -> None:
        with self.folder:
            self.pair.close()

    def ids(self, chosen: list[int]) -> list[str]:
        return [self.pair.id(pick) for pick in chosen]

    @initialize(batch=st.lists(items, min_size=4, max_size=9))
    def begin(self, batch: list[dict[str, Any]]) -> None:
        self.pair.store(0, batch)

    @rule(seconds=steps)
    def wait(self, seconds: float) -> None:
        self.pair.now += seconds

    @rule(side=sides, item=items, old=picks | st.none())
    def store(self, side: int, item: dict[str, Any], old: int | None) -> None:
        self.pair.store(side, [item if old is None else {**item, "supersedes": self.pair.id(old)}])

    @rule(side=sides, batch=st.lists(items, max_size=4), known=st.booleans(), pick=picks)
    def store_many(self, side: int, batch: list[dict[str, Any]], known: bool, pick: int) -> None:
        again = [{"content": "again", "id": self.pair.id(pick)}] if known else []
        self.pair.store(side, [*batch, *again])

    @rule(
        side=sides, item=items, pick=picks, on_similar=st.sampled_from(["merge", "merge", "raise"])
    )
    def store_once(self, side: int, item: dict[str, Any], pick: int, on_similar: str) -> None:
        """Say again, mostly, what a record says."""
        known = self.pair.model.records.get(self.pair.id(pick))
        if known is not None and known.content:
            same = {"content": known.content, "namespace": known.namespace, "author": known.author}
            item = {**item, **same, "thread": None}
        self.pair.store_once(side, item, on_similar)

    @rule(side=sides, scope=scopes)
    def consolidate(self, side: int, scope: Scope) -> None:
        self.pair.consolidate(side, scope)

    @rule(side=sides)
    def conflicts(self, side: int) -> None:
        self.pair.conflicts(side)

    @rule(side=sides, pick=picks, changes=fields | items)
    def update(self, side: int, pick: int, changes: dict[str, Any]) -> None:
        self.pair.do(side, lambda it: it.update(self.pair.id(pick), **changes))

    @rule(side=sides, chosen=several)
    def forget(self, side: int, chosen: list[int]) -> None:
        self.pair.do(side, lambda it: it.forget(self.ids(chosen)))

    @rule(side=sides, space=spaces)
    def forget_all(self, side: int, space: str) -> None:
        self.pair.do(side, lambda it: it.forget(namespace=space))

    @rule(side=sides, chosen=several, name=st.sampled_from(["restore", "archive", "unarchive"]))
    def move(self, side: int, chosen: list[int], name: str) -> None:
        self.pair.do(side, lambda it: getattr(it, name)(self.ids(chosen)))

    @rule(side=sides, chosen=several)
    def erase(self, side: int, chosen: list[int]) -> None:
        self.pair.do(side, lambda it: it.erase(self.ids(chosen)))

    @rule(side=sides, pick=picks, chosen=several)
    def resolve(self, side: int, pick: int, chosen: list[int]) -> None:
        self.pair.do(side, lambda it: it.resolve(self.pair.id(pick), self.ids(chosen), "why"))

    @rule(side=sides, name=st.sampled_from(["expire", "drift"]))
    def sweep(self, side: int, name: str) -> None:
        self.pair.do(side, lambda it: getattr(it, name)())

    @rule(side=sides, pick=picks, amount=st.sampled_from([0.0, 0.1, 1.0]))
    def reinforce(self, side: int, pick: int, amount: float) -> None:
        self.pair.do(side, lambda it: it.reinforce(self.pair.id(pick), amount))

    @rule(
        side=sides,
        pick=picks,
        verdict=st.sampled_from(["worked", "failed", "failed", "partial"]),
        session=st.sampled_from([None, "s1", "s2"]),
    )
    def judge(self, side: int, pick: int, verdict: Verdict, session: str | None) -> None:
        self.pair.do(side, lambda it: it.record_outcome(self.pair.id(pick), verdict, session))

    @rule(side=sides, chosen=several, name=st.sampled_from(["mark_useful", "mark_useless"]))
    def mark(self, side: int, chosen: list[int], name: str) -> None:
        self.pair.do(side, lambda it: getattr(it, name)(self.ids(chosen)))

    @rule(side=sides, chosen=several)
    def touch(self, side: int, chosen: list[int]) -> None:
        self.pair.do(side, lambda it: it.touch(self.ids(chosen)))

    @rule(side=sides, space=spaces, key=st.sampled_from(["n", "k"]))
    def count(self, side: int, space: str, key: str) -> None:
        self.pair.increment(side, space, key)

    @rule(side=sides, name=st.integers(1, 9).map("moment {}".format))
    def snapshot(self, side: int, name: str) -> None:
        self.pair.do(side, lambda it: it.snapshot(name))

    @rule(side=sides, back=st.integers(-1, 6))
    def undo(self, side: int, back: int) -> None:
        seq = max(len(self.pair.model.entries) - 1 - back, 1)
        self.pair.do(side, lambda it: it.undo(seq))

    @rule(
        side=sides, one=picks, other=picks, name=st.sampled_from(["relate", "relate", "unrelate"])
    )
    def relate(self, side: int, one: int, other: int, name: str) -> None:
        ends = self.ids([one, other])
        self.pair.do(side, lambda it: getattr(it, name)(*ends, "about"))

    @rule(side=sides)
    def reopen(self, side: int) -> None:
        self.pair.reopen(side)

    @rule(side=sides)
    def copy(self, side: int) -> None:
        self.pair.copy(side)

    @rule(side=sides, asked=asked, touch=st.booleans())
    def recall(self, side: int, asked: Asked, touch: bool) -> None:
        self.pair.recall(side, asked, touch=touch)

    @rule(side=sides, share=st.floats(0, 1), asked=asked)
    def look_back(self, side: int, share: float, asked: Asked) -> None:
        self.pair.as_of(side, round(share * (len(self.pair.model.entries) - 1)), asked)

    @rule(side=sides, seconds=st.floats(0, 100))
    def look_back_in_time(self, side: int, seconds: float) -> None:
        self.pair.as_of_time(side, self.pair.now - seconds)

    @rule(side=sides, one=st.floats(0, 1), other=st.floats(0, 1), scope=scopes)
    def diff(self, side: int, one: float, other: float, scope: Scope) -> None:
        last = len(self.pair.model.entries) - 1
        self.pair.diff(side, round(one * last), round(other * last), scope)

    @invariant()
    def agree(self) -> None:
        for side in (0, 1):
            self.pair.agree(side)


States.TestCase.settings = settings(max_examples=25, stateful_step_count=30)
TestStates = pytest.mark.slow(States.TestCase)


class RecordTrace:
    """A life of random operations on a pair: the same again from the same seed."""

    def __init__(self, pair: Pair, seed: int) -> None:
        self.pair, self.chance = pair, random.Random(seed)
        self.side = 0

    def live(self, operations: int) -> None:
        """Do so many things; time goes on, and now and then a little back."""
        self.pair.store(0, [self.item() for _ in range(6)])
        doings = [self.store, self.update, self.update, self.away, self.back, self.judge, self.use]
        for _ in range(operations):
            self.side = self.chance.randrange(2)
            step = self.chance.choice((0.0, 0.5, 1.0, 7.0, 20.0, 62.0, -5.0))
            self.pair.now += step if self.chance.randrange(20) else 9.9 * DAY
            self.chance.choice(doings)()

    def store(self) -> None:
        """Store one or two records, which may supersede others."""
        if not self.chance.randrange(4):
            self.store_again()
            return
        items = [self.item() for _ in range(self.chance.choice((1, 1, 2)))]
        if not self.chance.randrange(4):
            items[0]["supersedes"] = self.one()
        self.pair.store(self.side, items)

    def store_again(self) -> None:
        """Say again what a record says."""
        known, item = self.pair.model.records.get(self.one()), {**self.item(), "thread": None}
        if known is not None and known.content:
            item |= {"content": known.content, "namespace": known.namespace}
            item |= {"author": known.author}
        self.pair.store_once(self.side, item, self.chance.choice(("merge", "merge", "raise")))

    def update(self) -> None:
        """Change a few fields of a record, or a value in place."""
        if not self.chance.randrange(5):
            self.pair.increment(self.side, self.chance.choice(SPACES), self.chance.choice("nk"))
            return
        given = self.item()
        names = self.chance.sample(sorted(given), min(2, len(given)))
        changes = {name: given[name] for name in names}
        self.do("update", self.one(), **changes)

    def away(self) -> None:
        """Take records out of the living."""
        match self.chance.randrange(9):
            case 0:
                self.do("expire")
            case 1:
                self.do("erase", self.some())
            case _:
                self.do(self.chance.choice(("forget", "archive")), self.some())

    def back(self) -> None:
        """Bring records back, or take an entry back."""
        if self.chance.randrange(3):
            self.do(self.chance.choice(("restore", "unarchive")), self.some())
        else:
            last = len(self.pair.model.entries) - 1
            self.do("undo", max(last - self.chance.randrange(5), 1))

    def judge(self) -> None:
        """Say of what use records were."""
        match self.chance.randrange(9):
            case 0:
                self.do(self.chance.choice(("mark_useful", "mark_useless")), self.some())
            case 1:
                self.do("reinforce", self.one(), 0.2)
            case 4:
                self.do("resolve", self.one(), self.some())
            case 5:
                self.pair.consolidate(self.side, self.chance.choice(SCOPES))
            case 6:
                self.pair.conflicts(self.side)
            case _:
                verdict = self.chance.choice(("worked", "failed"))
                self.do("record_outcome", self.one(), verdict, f"s{self.chance.randrange(9)}")

    def use(self) -> None:
        """Count accesses, and now and then have them written."""
        match self.chance.randrange(7):
            case 4 | 5:
                self.do("relate", self.one(), self.one(), self.chance.choice(WORDS[:3]))
            case 6:
                link = self.chance.choice([("none", "about", "one"), *self.pair.model.links])
                self.do("unrelate", link[0], link[2], link[1])
            case 0:
                self.do("snapshot", f"moment {len(self.pair.model.entries)}")
            case 1:
                self.pair.copy(self.side)
            case 2:
                self.pair.recall(self.side, self.chance.choice(ASKED), touch=True)
            case _:
                self.do("touch", self.some())

    def do(self, verb: str, *given: Any, **named: Any) -> None:
        self.pair.do(self.side, lambda it: getattr(it, verb)(*given, **named))

    def one(self) -> str:
        return self.pair.id(self.chance.randrange(16))

    def some(self) -> list[str]:
        return [self.one() for _ in range(self.chance.choice((1, 1, 1, 2, 3)))]

    def item(self) -> dict[str, Any]:
        """Return what to store."""
        some = self.chance.choice
        given = {
            name: some(choices) for name, choices in FIELDS.items() if self.chance.randrange(2)
        }
        return {
            **given,
            "content": " ".join(self.chance.choices(WORDS, k=self.chance.randint(1, 5))),
        }


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_every_moment_of_a_history_is_as_it_was(path: Path, seed: int) -> None:
    pair = Pair(path)
    RecordTrace(pair, seed).live(200)
    last = len(pair.model.entries) - 1
    for seq in random.Random(seed).sample(range(last + 1), last + 1):
        pair.as_of(seq % 2, seq, ASKED[seq % len(ASKED)])
    for time in sorted({entry.at for entry in pair.model.entries})[::20]:
        pair.as_of_time(0, time, ASKED[0])
    pair.agree(0)
    pair.close()
