"""Random histories of a store, with what was seen of it after every step."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bethink import EVERYWHERE, KeyedMemory, MemoryRecord, MemoryStore, Subtree, ValidationError
from bethink.namespaces import Scope
from bethink.outcomes import Verdict

from .twin import Answer, Asked

SPACES = ("a", "a/b", "c")
SCOPES: tuple[Scope, ...] = ("a", "a/b", Subtree("a"), EVERYWHERE)
WORDS = (
    "red",
    "blue",
    "cat",
    "dog",
    "house",
    "tree",
    "runs",
    "sleeps",
    "Paris",
    "London",
    "7",
    "8",
)
ASKED = (
    Asked("red cat in Paris", k=8, namespace=EVERYWHERE, now=5000.0),
    Asked("the dog sleeps", k=3, namespace="a", mode="keyword", now=5000.0),
    Asked("tree house", k=8, namespace=Subtree("a"), mode="semantic", now=1500.0),
    Asked("blue", k=8, namespace=EVERYWHERE, where={"importance": {"$gt": 0.4}}, now=5000.0),
    Asked(None, k=8, namespace=EVERYWHERE, vector=("mine", (1.0, 0.5)), now=5000.0),
)


@dataclass
class Seen:
    """What a store showed of itself at a journal position."""

    seq: int
    records: list[MemoryRecord]
    spaces: dict[str, int]
    known: dict[str, MemoryRecord | None]
    answers: list[Answer]

    @classmethod
    def of(cls, store: MemoryStore, ids: list[str]) -> Seen:
        """Look at *store*."""
        return cls(
            store.log(limit=1)[0].seq,
            store.all(namespace=EVERYWHERE),
            store.namespaces(),
            {id: store.get(id) for id in ids},
            [asked.of(store) for asked in ASKED],
        )

    @classmethod
    def again(cls, store: MemoryStore, seq: int, ids: list[str]) -> Seen:
        """Look at the past of *store*."""
        past = store.as_of(seq)
        return cls(
            past.seq,
            past.all(namespace=EVERYWHERE),
            past.namespaces(),
            {id: past.get(id) for id in ids},
            [asked.of(store, as_of=seq) for asked in ASKED],
        )


@dataclass
class Life:
    """A life of so many random *steps* on a *store* whose clock is ``tick``."""

    random: random.Random
    now: float = 1000.0
    ids: list[str] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)

    def clock(self) -> float:
        """Return the time: a little later at every step, and now and then a little earlier."""
        return self.now

    def live(self, store: MemoryStore, steps: int) -> None:
        """Do so many things, and look at the store after each that left an entry."""
        doings: list[Callable[[MemoryStore], object]] = [
            self.store,
            self.store,
            self.update,
            self.update,
            self.away,
            self.back,
            self.touch,
            self.judge,
            self.count,
            self.undo,
        ]
        head = 0
        for _ in range(steps):
            self.now += self.random.choice((0.0, 0.5, 1.0, 1.0, 7.0, 20.0, -5.0))
            try:
                self.random.choice(doings)(store)
            except (ValidationError, LookupError):
                continue
            if entries := store.log(limit=1, since=head):
                head = entries[0].seq
                self.seen.append(Seen.of(store, list(self.ids)))

    def store(self, store: MemoryStore) -> None:
        """Store one or two records, which may supersede others."""
        items = [
            {**self.fields(), "content": self.text()} for _ in range(self.random.choice((1, 1, 2)))
        ]
        if not self.random.randrange(4):
            items[0]["supersedes"] = self.one()
        self.ids += [record.id for record in store.store_many(items)]

    def update(self, store: MemoryStore) -> None:
        """Change some fields of a record."""
        fields = self.fields() | {"content": self.text(), "value": self.value()}
        chosen = self.random.sample(sorted(fields), self.random.choice((1, 1, 2, 3)))
        store.update(self.one(), **{name: fields[name] for name in chosen})

    def away(self, store: MemoryStore) -> None:
        """Take a record out of the living."""
        if self.random.randrange(4):
            self.random.choice((store.forget, store.archive))(self.one())
        else:
            store.expire()

    def back(self, store: MemoryStore) -> None:
        """Bring a record back."""
        self.random.choice((store.restore, store.unarchive))(self.one())

    def judge(self, store: MemoryStore) -> None:
        """Raise a record's importance, or move its outcome."""
        verdict: Verdict = self.random.choice(("worked", "failed"))
        if self.random.randrange(3):
            store.record_outcome(self.one(), verdict, session=f"s{self.random.random()}")
        else:
            store.reinforce(self.one(), 0.2)

    def touch(self, store: MemoryStore) -> None:
        """Count accesses, and have them written by naming the moment."""
        store.touch([self.one() for _ in range(3)])
        store.snapshot(f"moment {len(store.snapshots())}")

    def count(self, store: MemoryStore) -> None:
        """Change a value in place, or write it anew."""
        memory = KeyedMemory(store, namespace=self.random.choice(SPACES))
        doing = self.random.choice((memory.increment, lambda key: memory.remember(key, 3)))
        doing(self.random.choice(("n", "m")))
        self.ids += [each.id for each in store.all(namespace=EVERYWHERE) if each.id not in self.ids]

    def undo(self, store: MemoryStore) -> None:
        """Take back one of the last entries."""
        store.undo(store.log(limit=1)[0].seq - self.random.randrange(4))

    def one(self) -> str:
        """Return the id of a record."""
        return self.random.choice(self.ids[-12:] or ["none"])

    def text(self) -> str:
        """Return a few words."""
        return " ".join(self.random.choices(WORDS, k=self.random.randint(1, 5)))

    def value(self) -> Any:
        """Return some JSON."""
        return self.random.choice((1, 2.5, [1, {"x": None}], "text"))

    def fields(self) -> dict[str, Any]:
        """Return some fields of a record."""
        some = self.random.choice
        vectors = {"mine": [self.random.uniform(-1, 1), 1.0], "other": [1.0, 2.0, 3.0]}
        return {
            "namespace": some(SPACES),
            "key": some((None, None, "k", "theme")),
            "thread": some((None, "t1", "t2")),
            "author": some((None, "Ann", "Ben")),
            "tags": some(((), ("x", "y"))),
            "metadata": some(({}, {"a": [1]})),
            "importance": some((0.1, 0.5, 0.9)),
            "occurred_at": some((None, 900.0)),
            "expires_at": some((None, None, 1050.0, 1200.0)),
            "vectors": some(({}, {"mine": vectors["mine"]}, vectors)),
        }
