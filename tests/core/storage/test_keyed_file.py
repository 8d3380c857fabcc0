"""A store with an integrity key: what was changed without it is refused, not returned."""

from __future__ import annotations

import random
import shutil
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from bethink import (
    EVERYWHERE,
    CorruptStoreError,
    HashEmbedder,
    IntegrityKeyError,
    MemoryStore,
    NotAnchoredError,
    TamperedError,
    ValidationError,
)
from bethink.storage.sql import group_commit

from ...stored import alter
from ..clock import Clock
from ..inside import connections_of
from .processes import Child, Say, forks
from .sharing import wait_until_left_open

KEY = b"sixteen bytes or more"


class MemoryAnchor:
    """An anchor in the memory of the test."""

    def __init__(self) -> None:
        self.line: str | None = None

    def read(self) -> str | None:
        return self.line

    def write(self, line: str) -> None:
        self.line = max(line, self.line or "")


def keyed(path: Path, **options: Any) -> MemoryStore:
    options = {"integrity_key": KEY, "embedder": HashEmbedder(16), **options}
    return MemoryStore(path, durability="normal", **options)


@pytest.fixture
def filled(path: Path) -> Path:
    """Return the path of a keyed store that has seen every verb."""
    with keyed(path) as store:
        store.store("The cat sleeps", id="cat", key="pet", vectors={"mine": [1, 2]})
        store.store("The dog barks", id="dog", key="pet")
        store.store("A secret", id="secret")
        store.update("dog", content="The dog sleeps", vectors={"mine": [3, 4]})
        store.update("dog", importance=0.9)
        store.snapshot("then")
        store.store("A whale sings", id="whale", namespace="sea")
        store.forget("whale")
        store.restore("whale")
        store.mark_useful("whale")
        store.touch(["dog", "whale"])
        store.erase("secret")
    return path


def test_a_keyed_store_works_like_any(filled: Path) -> None:
    with keyed(filled) as store:
        assert [hit.memory.id for hit in store.recall("dog sleeps")] == ["dog"]
        assert store.get("cat").state == "superseded"  # type: ignore[union-attr]
        assert store.as_of("then").get("dog").content == "The dog sleeps"  # type: ignore[union-attr]
        assert [version.content for version in store.audit("pet")] == [
            "The cat sleeps",
            "The dog barks",
            "The dog sleeps",
        ]
        assert len(store.log(limit=None)) == store.log()[0].seq
        assert list(store.vectors("dog", "mine")["dog"]) == [3, 4]


@pytest.mark.parametrize("options", [{"integrity_key": None}, {"integrity_key": b"x" * 16}])
def test_a_store_opens_only_with_its_own_key(filled: Path, options: dict[str, Any]) -> None:
    with pytest.raises(IntegrityKeyError, match=r"memory\.db"):
        keyed(filled, **options)
    with keyed(filled) as store:
        assert store.count() == 1


def test_a_key_is_for_new_files(path: Path) -> None:
    MemoryStore(path).close()
    with keyed(path) as store:  # nothing was ever in it
        store.store("one")
    other = path.with_name("other.db")
    with MemoryStore(other) as store:
        store.store("one")
    with pytest.raises(IntegrityKeyError, match="new files"):
        keyed(other)


@pytest.mark.parametrize(
    "options", [{"integrity_key": b"short"}, {"integrity_key": "a str of good length"}]
)
def test_a_bad_key_is_refused_before_the_file_is_made(path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="16 secret bytes"):
        keyed(path, **options)
    with pytest.raises(ValidationError, match="anchor needs"):
        MemoryStore(path, anchor=path.with_name("anchor"))
    with pytest.raises(ValidationError, match="anchor must be a path or an Anchor, not int"):
        keyed(path, anchor=5)
    assert not path.exists()


def read_all(store: MemoryStore) -> None:
    store.all()


READS: dict[str, tuple[str, Callable[[MemoryStore], object]]] = {
    "a text, listed": ("UPDATE records SET content = 'The cat barks'", read_all),
    "a text, got": (
        "UPDATE records SET content = 'x' WHERE id = 'cat'",
        lambda store: store.get("cat"),
    ),
    "a text, by key": (
        "UPDATE records SET content = 'x' WHERE id = 'dog'",
        lambda store: store.get(key="pet"),
    ),
    "a text, recalled": (
        "UPDATE records SET content = 'x' WHERE id = 'dog'",
        lambda store: store.recall("dog sleeps"),
    ),
    "a code": ("UPDATE records SET code = zeroblob(32)", read_all),
    "no code": ("UPDATE records SET code = NULL", read_all),
    "an owner": (
        "UPDATE records SET namespace = 'default' WHERE id = 'whale'",
        read_all,
    ),
    "a state": ("UPDATE records SET state = 'live', key = NULL WHERE id = 'cat'", read_all),
    "a source": ("UPDATE records SET source = 'user'", read_all),
    "a place": ("UPDATE records SET ordinal = 1 WHERE id = 'dog'", read_all),
    "a count of accesses": ("UPDATE records SET access_count = 9", read_all),
    "another's text and code": (
        "UPDATE records SET (content, code) = (SELECT content, code FROM records WHERE id = 'cat')"
        " WHERE id = 'dog'",
        read_all,
    ),
    "a filter's field": (
        "UPDATE records SET metadata = '{\"n\": 1}' WHERE id = 'dog'",
        lambda store: store.all(where={"metadata.n": 1}),
    ),
    "a vector, recalled": (
        "UPDATE vectors SET vector = zeroblob(64)",
        lambda store: store.recall("dog"),
    ),
    "a vector of one's own": (
        "UPDATE named_vectors SET vector = zeroblob(8)",
        lambda store: store.vectors("dog", "mine"),
    ),
    "a vector of one's own that is gone": (
        "DELETE FROM named_vectors",
        lambda store: store.get("dog"),
    ),
    "what an entry told": (
        "UPDATE journal SET changes = replace(changes, 'cat', 'cow')",
        lambda store: store.log(),
    ),
    "an entry made to look erased": (
        "UPDATE journal SET changes = NULL, salt = NULL WHERE seq = 1",
        lambda store: store.log(limit=None),
    ),
    "what an erased entry is made to tell": (
        "UPDATE journal SET changes = (SELECT changes FROM journal WHERE seq = 1) WHERE seq = 4",
        lambda store: store.log(limit=None),
    ),
    "when an entry was made": (
        "UPDATE journal SET at = at - 1 WHERE seq = 3",
        lambda store: store.log(limit=None),
    ),
    "the past": (
        "UPDATE journal SET changes = replace(changes, 'sleeps', 'barks')",
        lambda store: store.as_of("then").all(),
    ),
}


@pytest.mark.parametrize(("edit", "read"), READS.values(), ids=READS)
def test_what_was_changed_is_not_returned(
    filled: Path, edit: str, read: Callable[[MemoryStore], object]
) -> None:
    with keyed(filled) as store:
        read(store)
    with keyed(filled) as store:
        alter(filled, edit)
        with pytest.raises(TamperedError):
            read(store)


def test_a_vector_that_the_store_itself_drops_is_not_missed(path: Path) -> None:
    with keyed(path) as store:
        cat, dog = (store.store(text, vectors={"mine": [1, 0]}) for text in ("cat", "dog"))
        store.forget(cat.id)
        store.erase(dog.id)
        store.store("bird", vectors={"mine": [1, 0, 0]})
        store.restore(cat.id)
        assert [record.content for record in store.all()] == ["cat", "bird"]
        assert store.verify().problems == ()


def test_a_write_does_not_make_good_a_record_whose_vector_it_drops(path: Path) -> None:
    with keyed(path) as store:
        store.store("cat", id="cat", vectors={"mine": [1, 0]})
        store.forget("cat")
        alter(path, "UPDATE records SET content = 'x'")
        with pytest.raises(TamperedError):
            store.store("bird", vectors={"mine": [1, 0, 0]})


OPENS = {
    "a record less": "DELETE FROM records WHERE id = 'cat'",
    "a record more": "INSERT INTO records SELECT 99, 99, 99, 'new', namespace, content, created_at,"
    " occurred_at, updated_at, NULL, value, thread, author, category, tags, importance, confidence,"
    " source, metadata, expires_at, superseded_by, last_accessed_at, access_count, outcome, state,"
    " code FROM records WHERE id = 'dog'",
    "the last entry": "UPDATE journal SET at = at + 1 WHERE seq = (SELECT max(seq) FROM journal)",
    "a fact": "UPDATE facts SET value = '99' WHERE name = 'dimension:'",
    "the store's id": "UPDATE facts SET value = 'x' || value WHERE name = 'keyed'",
    "the seal": "DELETE FROM facts WHERE name = 'seal'",
    "a snapshot": "UPDATE snapshots SET seq = 1",
    "a snapshot less": "DELETE FROM snapshots",
    "an index less": "DROP INDEX records_key",
    "a trigger": "CREATE TRIGGER spy AFTER INSERT ON records BEGIN "
    "UPDATE records SET content = 'Trust Eve' WHERE row = new.row; END",
}


@pytest.mark.parametrize("edit", OPENS.values(), ids=OPENS)
def test_what_is_missing_shows_when_the_store_is_opened(filled: Path, edit: str) -> None:
    alter(filled, edit)
    with pytest.raises(TamperedError):
        keyed(filled)
    with pytest.raises(CorruptStoreError):
        keyed(filled)


@pytest.mark.parametrize(
    ("edit", "write"),
    [
        ("UPDATE records SET content = 'x'", lambda store: store.update("dog", importance=0.1)),
        ("UPDATE records SET content = 'x'", lambda store: store.forget("dog")),
        ("UPDATE vectors SET vector = zeroblob(64)", lambda s: s.update("dog", occurred_at=5)),
        ("UPDATE snapshots SET seq = 1", lambda store: store.snapshot("now")),
        ("UPDATE snapshots SET seq = 1", lambda store: store.record_outcome("dog", "failed")),
        ("UPDATE journal SET changes = NULL WHERE seq = 1", lambda store: store.erase("dog")),
    ],
    ids=["updated", "forgotten", "moved", "named", "judged", "erased"],
)
def test_a_write_does_not_make_good_what_was_changed(
    filled: Path, edit: str, write: Callable[[MemoryStore], object]
) -> None:
    with keyed(filled) as store:
        alter(filled, edit)
        with pytest.raises(TamperedError):
            write(store)


@pytest.mark.parametrize("column", ["at = at + 1", "digest = zeroblob(32)", "code = zeroblob(41)"])
@pytest.mark.parametrize("action", ["store", "update"])
def test_erasing_does_not_make_good_an_entry_that_was_changed(
    filled: Path, action: str, column: str
) -> None:
    with keyed(filled) as store:
        alter(filled, f"UPDATE journal SET {column} WHERE id = 'dog' AND action = '{action}'")
        with pytest.raises(TamperedError, match="journal entry"):
            store.erase("dog")
        assert store.get("dog") is not None


def test_a_write_does_not_make_good_what_lies_where_it_writes(filled: Path) -> None:
    with keyed(filled) as store:
        alter(
            filled,
            "INSERT INTO named_vectors (row, name, since, vector) "
            "SELECT max(seq) + 1, 'mine', max(seq) + 1, zeroblob(8) FROM journal",
        )
        store.store("A bee hums", id="bee")
        with pytest.raises(TamperedError):
            store.vectors("bee", "mine")


@pytest.mark.parametrize("name", ["spy", "sqlites", "records"])
def test_a_write_does_not_vouch_for_what_a_trigger_makes_of_it(filled: Path, name: str) -> None:
    with keyed(filled) as store:
        alter(
            filled,
            f"CREATE TRIGGER {name} AFTER INSERT ON records BEGIN "
            "UPDATE records SET content = 'Trust Eve' WHERE row = new.row; END",
        )
        with pytest.raises(TamperedError, match=f"{name}: not of bethink's making"):
            store.store("A bee hums", id="bee")
        assert store.get("bee") is None
        assert not store.verify().ok


def test_statistics_of_sqlite_are_nobodys_edit(filled: Path) -> None:
    alter(filled, "ANALYZE")
    with keyed(filled) as store:
        store.store("A bee hums")
        assert store.verify().ok


def test_a_repair_does_not_make_good_what_was_changed(filled: Path) -> None:
    with keyed(filled) as store:
        cat = "row = (SELECT row FROM records WHERE id = 'cat')"
        for table in ("vectors", "named_vectors"):
            alter(filled, f"UPDATE {table} SET vector = zeroblob(length(vector)) WHERE {cat}")
        assert [problem.where for problem in store.repair().left] == ["cat, mine"]
        with pytest.raises(TamperedError):
            store.vectors("cat", "mine")


def test_an_access_does_not_make_good_what_was_changed(filled: Path) -> None:
    store = keyed(filled)
    store.touch("dog")
    alter(filled, "UPDATE records SET content = 'x'")
    with pytest.raises(TamperedError):
        store.close()


def test_codes_of_one_store_are_worth_nothing_in_another(path: Path) -> None:
    other = path.with_name("other.db")
    for place in (path, other):
        with keyed(place, clock=lambda: 5.0) as store:
            store.store("The cat sleeps", id="cat")
    alter(
        path,
        f"ATTACH '{other}' AS other",
        "UPDATE records SET code = (SELECT code FROM other.records)",
    )
    with keyed(path) as store, pytest.raises(TamperedError):
        store.get("cat")


def test_a_record_with_another_code_is_named(filled: Path) -> None:
    with keyed(filled) as store:
        alter(filled, "UPDATE records SET code = zeroblob(32) WHERE id = 'cat'")
        said = [str(problem) for problem in store.verify().problems]
    assert "record cat: it was changed without the store's key" in said


@pytest.mark.slow
def test_a_segment_is_bound_to_the_key(path: Path) -> None:
    with keyed(path) as store:
        store.store_many(f"memory {n} of whales" for n in range(600))
    alter(path, "UPDATE segments SET head = head + 1")
    with keyed(path) as store:
        assert len(store.recall("whales", k=600)) == 600  # the damaged one is read anew


@pytest.mark.slow
def test_a_segment_that_is_there_twice_makes_no_memory_two(path: Path) -> None:
    with keyed(path) as store:
        store.store_many(f"memory {n} of whales" for n in range(600))
    alter(
        path,
        "INSERT INTO segments SELECT number + 1, format, namespace, first, last, count, head, "
        "checksum, data FROM segments",
    )
    with keyed(path) as store:
        assert len({hit.memory.id for hit in store.recall("whales", k=600)}) == 600


Anchored: TypeAlias = tuple[Path, MemoryAnchor, Path]


@pytest.fixture
def anchored(filled: Path) -> Anchored:
    """Return a store with an anchor, and a copy of it that is one entry older."""
    anchor, copy = MemoryAnchor(), filled.with_name("copy.db")
    keyed(filled, anchor=anchor).close()
    shutil.copy(filled, copy)
    with keyed(filled, anchor=anchor) as store:
        store.store("One more")
    return filled, anchor, copy


def test_a_file_put_back_to_an_earlier_state_is_refused(anchored: Anchored) -> None:
    path, anchor, copy = anchored
    keyed(path, anchor=anchor).close()
    shutil.copy(copy, path)
    with pytest.raises(TamperedError, match="earlier state"):
        keyed(path, anchor=anchor)
    with keyed(path, anchor=False) as store:
        store.store("Another")
    with pytest.raises(TamperedError, match="earlier state"):
        keyed(path, anchor=anchor)


def test_a_new_store_may_have_an_empty_file_as_its_anchor(path: Path) -> None:
    anchor = path.with_name("anchor")
    anchor.touch()
    with keyed(path, anchor=anchor) as store:
        store.store("One")
    assert anchor.read_text()


def test_an_emptied_file_is_refused(anchored: Anchored) -> None:
    path, anchor, _ = anchored
    path.unlink()
    with pytest.raises(TamperedError):
        keyed(path, anchor=anchor)


def test_an_anchor_that_lags_behind_is_brought_up_to_date(
    anchored: Anchored,
) -> None:
    path, anchor, _ = anchored
    before = anchor.line
    with keyed(path, anchor=anchor) as store:
        store.store("Lost to the anchor")
    anchor.line = before
    keyed(path, anchor=anchor).close()
    assert anchor.line is not None
    assert before is not None
    assert anchor.line > before


@pytest.mark.parametrize(
    "change",
    [str.upper, lambda line: line.replace(" 00000000000000", " 10000000000000"), lambda line: "x"],
    ids=["its words", "its number", "all of it"],
)
def test_an_anchor_that_was_changed_is_refused(
    anchored: Anchored, change: Callable[[str], str]
) -> None:
    path, anchor, _ = anchored
    anchor.line = change(str(anchor.line))
    with pytest.raises(TamperedError, match="anchor"):
        keyed(path, anchor=anchor)


def test_an_anchor_that_was_lost_is_begun_anew_only_on_purpose(
    anchored: Anchored,
) -> None:
    path, *_ = anchored
    with pytest.raises(TamperedError, match="empty"):
        keyed(path, anchor=MemoryAnchor())
    keyed(path, anchor=False).close()
    again = MemoryAnchor()
    keyed(path, anchor=again).close()
    assert again.line


def test_a_damaged_cut_is_reported_beside_an_anchor(anchored: Anchored) -> None:
    path, anchor, _ = anchored
    with keyed(path, anchor=anchor) as store:
        alter(path, "INSERT INTO facts VALUES ('cut', '[]')")
        assert "damaged JSON" in str(store.verify().problems)


def test_a_store_with_an_anchor_may_be_closed_before_anything_is_written(path: Path) -> None:
    anchor = MemoryAnchor()
    for _ in range(2):
        keyed(path, anchor=anchor).close()
    with keyed(path, anchor=anchor) as store, keyed(path, anchor=anchor) as other:
        store.store("One")
        other.store("Two")
        assert store.verify().ok
    with pytest.raises(TamperedError, match="empty"):
        keyed(path, anchor=MemoryAnchor())


def test_a_file_put_back_under_an_open_store_is_not_written_to(path: Path) -> None:
    with keyed(path) as store:
        store.store("One")
        before = len(store.log())
        store.store("Two")
        alter(path, f"DELETE FROM journal WHERE seq > {before}")
        with pytest.raises(TamperedError, match="entry 2"):
            store.store("Three")


class Slow(MemoryAnchor):
    """An anchor that keeps nothing until it is let go on."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go_on = threading.Semaphore(0), threading.Event()

    def write(self, line: str) -> None:
        self.asked.release()
        self.go_on.wait()
        super().write(line)


def test_each_of_the_threads_that_share_a_commit_waits_for_the_anchor(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "_TAKEOVER_SECONDS", 3600.0)
    anchor = Slow()
    with keyed(path, anchor=anchor) as store, ThreadPoolExecutor(2) as threads:
        opened = connections_of(store)._group_commit
        opened._waiting += 1
        first = threads.submit(store.store, "One")
        wait_until_left_open(opened, first)
        opened._waiting -= 1
        second = threads.submit(store.store, "Two")
        both = all(anchor.asked.acquire(timeout=10) for _ in range(2))
        waited = not (first.done() or second.done())
        anchor.go_on.set()
        assert (both, waited) == (True, True)
    assert " 0000000000000002 " in str(anchor.line)


class Failing(MemoryAnchor):
    """An anchor that cannot be written as long as it is told so."""

    broken = False

    def write(self, line: str) -> None:
        if self.broken:
            raise OSError("no route")
        super().write(line)


def test_what_was_written_but_not_anchored_is_written_once(path: Path, clock: Clock) -> None:
    anchor = Failing()
    with keyed(path, anchor=anchor, clock=clock) as store:
        store.store("red cat")
        store.recall("cat")
        clock.now += 100.0
        anchor.broken = True
        with pytest.raises(NotAnchoredError, match="not in its anchor: no route"):
            store.store("blue dog")
        anchor.broken = False
        store.store("green bird")
        assert [record.content for record in store.all()] == ["red cat", "blue dog", "green bird"]
    with keyed(path, anchor=anchor) as store:
        assert [record.access_count for record in store.all()] == [1, 0, 0]


def test_a_path_is_an_anchor_in_a_file(path: Path) -> None:
    anchor = path.with_name("anchor")
    with keyed(path, anchor=anchor) as store:
        for n in range(3):
            store.store(f"memory {n}")
            assert f" {n + 1:016d} " in anchor.read_text()
    with keyed(path, anchor=str(anchor)) as store:
        assert store.count() == 3


def test_a_transaction_that_fails_leaves_the_codes_as_they_were(filled: Path) -> None:
    with keyed(filled) as store:
        with pytest.raises(ValidationError):
            store.store_many(["one", {"content": "two", "id": "dog"}])
        store.store("three")
    with keyed(filled) as store:
        assert store.count() == 2


def write_anchored(path: Path, anchor: Path, name: str, say: Say) -> None:
    """Store without end, telling the id of each record that was acknowledged."""
    with keyed(path, anchor=anchor) as store:
        for number in range(200):
            say(store.store("A memory", id=f"{name} {number}").id)


@pytest.mark.slow
@forks
def test_a_kill_leaves_the_anchor_at_most_behind_what_was_acknowledged(tmp_path: Path) -> None:
    path, anchor = tmp_path / "memory.db", tmp_path / "elsewhere" / "anchor"
    chance, known = random.Random(3), set[str]()
    for turn in range(4):
        writers = [
            Child(partial(write_anchored, path, anchor, f"{name} {turn}"))
            for name in ("ann", "ben")
        ]
        for child in writers:
            child.wait_for(chance.randrange(1, 12))
            child.listen(chance.uniform(0, 0.01))
            child.kill()
        acknowledged = {id for child in writers for id in child.hear()}
        marked = int(anchor.read_text().split()[2])
        with closing(sqlite3.connect(path)) as connection:
            (head,) = connection.execute("SELECT max(seq) FROM journal").fetchone()
            seqs = dict(connection.execute("SELECT id, seq FROM journal"))
        assert max(seqs[id] for id in acknowledged) <= marked <= head
        with keyed(path, anchor=anchor) as store:
            known |= acknowledged
            assert known <= {record.id for record in store.all(namespace=EVERYWHERE)}
            assert store.verify().ok
            assert int(anchor.read_text().split()[2]) == head
