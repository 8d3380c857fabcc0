"""A database that remembrane wrote arrives memory by memory, as the database is and as it was."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bethink import EVERYWHERE, MemoryStore, Subtree
from bethink_adapters.formats import import_from, read_remembrane

remembrane = pytest.importorskip("remembrane")


class Old:
    """An open remembrane store, and the times between its changes."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "old.db"
        self.store = remembrane.MemoryStore(self.path)
        self.times: list[float] = []
        self.marks = hasattr(self.store, "mark_useful")  # since 0.3

    def then(self) -> None:
        """Wait until the clock has moved on, and note the time."""
        before = time.time()
        while time.time() == before:
            pass
        self.times.append(time.time())
        while time.time() == self.times[-1]:
            pass

    def fill(self) -> None:
        """Use every verb that writes."""
        store = self.store
        theme = store.store("User prefers dark mode", importance=0.8, metadata={"topic": "ui"})
        london = store.store("User lives in London", namespace="users/ann", metadata={"n": [1]})
        many = store.store_many(["one cat", "two dogs", "three birds"], namespace="a//b")
        store.store("Hello", namespace="chat 1", metadata={"role": "human"})
        self.then()
        store.snapshot("start")
        for _ in range(3):
            store.recall("dark mode")
        store.recall("where does the user live?", namespace="users/ann")
        store.reinforce(theme.id, 0.1)
        self.then()
        if self.marks:
            for _ in range(4):
                store.mark_useful(theme.id)
            store.mark_useless(many[0].id, weight=0.5)
            store.mark_useless(many[1].id, weight=30)
        self.then()
        tokyo = store.store("User lives in Tokyo", namespace="users/ann", importance=0.7)
        if self.marks:
            store.resolve(tokyo.id, [london.id], "moved")
        self.then()
        store.snapshot("middle")
        store.forget(many[2].id)
        store.store("A fixed id", memory_id="fixed")
        store.recall("fixed id", now=time.time() + 60)
        self.then()
        store.store("A fixed id, stored again", memory_id="fixed", importance=0.1)
        store.store_many(["the same words again", "the same words, again"], namespace="copies")
        store.consolidate("copies")
        with remembrane.MemoryStore(self.path.with_name("other.db")) as other:
            other.store("From elsewhere", namespace="merged", metadata={"from": "other"})
            other.recall("elsewhere", namespace="merged")
            store.merge_from(other)
        self.then()
        store.snapshot("end")


@pytest.fixture
def old(tmp_path: Path) -> Iterator[Old]:
    old = Old(tmp_path)
    old.fill()
    yield old  # and open: the database is in use
    old.store.close()


@pytest.fixture
def new(tmp_path: Path) -> Iterator[MemoryStore]:
    with MemoryStore(tmp_path / "new.db") as new:
        yield new
        assert new.verify().problems == ()


def assert_all_arrived(old: Old, new: MemoryStore, above: str = "") -> None:
    records = {record.source: record for record in new.all(namespace=EVERYWHERE)}
    memories = old.store.all()
    assert len(records) == len(memories)
    for memory in memories:
        record = records[f"remembrane:{memory.id}"]
        usefulness = getattr(memory, "usefulness", 0.0)
        assert record.content == memory.content
        assert record.namespace == above + memory.namespace.replace("a//b", "a%2F%2Fb")
        assert (record.importance, record.created_at) == (memory.importance, memory.created_at)
        assert record.last_accessed_at == memory.last_accessed_at
        assert record.access_count == memory.access_count
        assert record.outcome == pytest.approx(max(math.tanh(usefulness / 2), -0.5))
        told = {"remembrane": {"usefulness": usefulness}} if usefulness else {}
        assert record.metadata == {**told, **memory.metadata}
        assert record.author == memory.metadata.get("role")


def told(records: list[Any]) -> list[tuple[str, str, float]]:
    found = [(record.source, record.content, record.importance) for record in records]
    return sorted((source.removeprefix("remembrane:"), *rest) for source, *rest in found)


def test_every_memory_arrives_as_it_is(old: Old, new: MemoryStore) -> None:
    report = import_from(new, read_remembrane(old.path))
    assert (report.imported, report.known, report.skipped) == (old.store.count(), 0, ())
    assert_all_arrived(old, new)


def test_every_moment_answers_as_the_old_store_does(old: Old, new: MemoryStore) -> None:
    import_from(new, read_remembrane(old.path))
    assert {each.name: each.at for each in new.snapshots()} == old.store.snapshots()
    for moment in ("start", "middle", "end", *old.times):
        then = new.as_of(moment).all(namespace=EVERYWHERE)
        assert told(then) == [
            (each["id"], each["content"], each["importance"]) for each in old.store.as_of(moment)
        ]
    then = old.store.diff("start", "end")
    changes = new.diff("start", "end", namespace=EVERYWHERE)
    for mine, theirs in [(changes.added, then["added"]), (changes.removed, then["removed"])]:
        assert {each.source for each in mine} == {f"remembrane:{each['id']}" for each in theirs}


def test_a_forgotten_memory_can_be_restored(old: Old, new: MemoryStore) -> None:
    import_from(new, read_remembrane(old.path))
    (bird,) = [each for each in new.all(namespace=EVERYWHERE, state="forgotten")
               if each.content == "three birds"]  # fmt: skip
    assert new.restore(bird.id) == 1


def test_a_second_import_takes_what_changed(old: Old, new: MemoryStore) -> None:
    import_from(new, read_remembrane(old.path))
    entries = len(new.log(limit=None))
    again = import_from(new, read_remembrane(old.path))
    assert (again.imported, again.changed, again.skipped) == (0, 0, ())
    assert len(new.log(limit=None)) == entries
    cat, dog, *_ = old.store.all("a//b")
    old.store.reinforce(cat.id, 0.3)
    old.store.recall("dogs", namespace="a//b")
    old.store.forget(dog.id)
    old.store.store("A newcomer")
    report = import_from(new, read_remembrane(old.path))
    assert (report.imported, report.skipped) == (1, ())
    assert_all_arrived(old, new)


def test_into_a_store_with_memories_only_the_past_stays_behind(old: Old, new: MemoryStore) -> None:
    own = new.store("own")
    report = import_from(new, read_remembrane(old.path), namespace="old")
    places = ["snapshot 'start'", "snapshot 'middle'", "snapshot 'end'"]
    assert [each.place for each in report.skipped] == places
    assert report.without_past > 0
    assert new.as_of(1).all() == [own]
    new.erase(own.id)
    assert_all_arrived(old, new, "old/")
    assert new.count(namespace=Subtree("old")) == old.store.count()


def test_the_lines_of_the_page_run(
    old: Old, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Path(__file__).parents[3] / "docs" / "migrating.md"
    blocks = page.read_text(encoding="utf-8").split("```python\n")
    [block] = [each for each in blocks if "read_remembrane" in each and "snapshots()" in each]
    monkeypatch.chdir(old.path.parent)
    exec(block.split("```")[0], {})
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == f"{old.store.count()} imported, 0 known, 0 skipped"
    assert [line.split()[0] for line in printed[1:]] == ["start", "middle", "end", "True"]
