"""Many records at once: written in one call, and taken into an index without being read again."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from bethink import MemoryStore, ValidationError
from bethink.model.fields import to_json
from bethink.model.port import EMBEDDED, LogQuery
from bethink.model.records import non_empty_fields
from bethink.storage import FullBackend as Backend
from bethink.storage import open_backend
from bethink.testing.contracts.samples import (
    EVERY_FIELD,
    insert,
    move,
    patch,
    record,
    records_of,
    vector,
)


@pytest.fixture(params=[None, b"a key of some bytes"], ids=["plain", "keyed"])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    with closing(open_backend(":memory:", integrity_key=request.param)) as backend:
        yield backend


def test_many_are_inserted_with_their_entries(backend: Backend) -> None:
    insert(backend, record("r0"))
    records = [record("r1"), record("r2"), EVERY_FIELD]
    vectors = [{EMBEDDED: vector(1, 0)}, {}, {"mine": vector(1, 2), EMBEDDED: vector(0, 1)}]
    with backend.write() as writer:
        rows = writer.insert_all(records, vectors, 0.5)  # earlier than what is there
        assert writer.head() == 4
    assert [(row.row, row.ordinal, row.record) for row in rows] == [
        (number, number, each) for number, each in enumerate(records, start=2)
    ]
    assert backend.by_row([2, 3, 4]) == dict(enumerate(records, start=2))
    assert {row: list(own) for row, own in backend.vectors([2, 3, 4], EMBEDDED).items()} == {
        2: [1, 0],
        4: [0, 1],
    }
    assert list(backend.vectors([2, 3, 4], "mine")) == [4]
    entries = backend.log(LogQuery(3))[::-1]
    assert [(each.action, each.at, each.id) for each in entries] == [
        ("store", 0.5, each.id) for each in records
    ]
    assert dict(entries[2].changes) == json.loads(json.dumps(non_empty_fields(EVERY_FIELD)))
    with backend.inspect() as inspection:
        assert "journal" not in [problem.kind for problem in inspection.damage()]


def test_of_many_none_is_inserted_if_one_exists_already(backend: Backend) -> None:
    insert(backend, record("r1"))
    given = [record("r2"), record("r1"), record("r3")]

    def insert_all() -> None:
        with backend.write() as writer:
            writer.insert_all(given, [{}, {}, {}], 1.0)

    with pytest.raises(ValidationError, match="'r1' exists already"):
        insert_all()
    assert list(records_of(backend, ["r1", "r2", "r3"])) == ["r1"]


def test_many_are_retired_with_their_entries(backend: Backend) -> None:
    insert(backend, record("r1"), record("r2", key="k"), EVERY_FIELD, record("r3"))
    with backend.write() as writer:
        found = writer.find(["r1", "r2", EVERY_FIELD.id])
        writer.retire_all(list(found.values()), "archived", 0.5, "archive")  # earlier, too
        assert writer.head() == 7
    assert records_of(backend, [*found]) == {
        id: replace(each, state="archived", updated_at=0.5) for id, (_, each) in found.items()
    }
    assert [each.record.id for each in backend.select("default", None)] == ["r3"]
    entries = backend.log(LogQuery(3))[::-1]
    assert [(each.action, each.at, each.id, each.changes) for each in entries] == [
        ("archive", 0.5, id, {"state": "archived"}) for id in found
    ]
    with backend.inspect() as inspection:
        assert "journal" not in [problem.kind for problem in inspection.damage()]


def test_retiring_none_writes_nothing(backend: Backend) -> None:
    insert(backend, record("r1"))
    with backend.write() as writer:
        writer.retire_all([], "forgotten", 0.5, "forget")
    assert backend.head() == 1


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (lambda store: None, "exists already; use update"),
        (lambda store: store.forget("a"), "exists already, but is forgotten; use another id"),
        (lambda store: store.erase("a"), "exists already, but is erased; use another id"),
    ],
    ids=["live", "forgotten", "erased"],
)
def test_an_id_that_is_taken_is_refused_with_what_became_of_its_record(
    end: Callable[[MemoryStore], object], said: str
) -> None:
    with MemoryStore() as store:
        store.store("one", id="a")
        end(store)
        with pytest.raises(ValidationError, match=f"^a record with id 'a' {said}$"):
            store.store("two", id="a")


def test_loading_some_takes_what_is_held_and_has_not_changed(backend: Backend) -> None:
    insert(backend, *(record(f"r{n}") for n in range(6)), vectors={EMBEDDED: vector(1, 0)})
    recent = {row.row: row for row in backend.load("default").unindexed}
    insert(backend, record("r6"))
    patch(backend, 1, record("r0", importance=1.0))
    patch(backend, 2, record("r1", state="forgotten"), "forget")
    move(backend, 3, record("r2", content="moved"))
    recent[4] = replace(recent[4], record=record("another"))
    loose = backend.load("default", limit=9, recent=recent).unindexed
    read = backend.load("default").unindexed
    assert [row.record for row in loose] == [row.record for row in read]
    assert [row.row for row in loose] == [row.row for row in read] == [1, 4, 5, 6, 7, 10]
    assert [row.row for row in loose if row is recent.get(row.row)] == [5, 6]


def test_what_many_share_is_told_as_of_each_alone(tmp_path: Path) -> None:
    path, alike = tmp_path / "a.db", ["", 'a "b"', "né\u2028\0", "x"]
    items: list[str | Mapping[str, object]] = [
        *({"content": content, "value": 0} for content in alike),
        *alike[1:],
        *({"content": content, "importance": zero} for content in "ab" for zero in (0.0, -0.0)),
        *({"content": content, "author": "Ann"} for content in alike[1:]),
        *({"content": content, "metadata": {"a": "\ud800"}} for content in alike[1:]),
        *({"content": content, "metadata": {"a": "\0"}} for content in alike[1:]),
    ]
    with MemoryStore(path) as store:
        records = store.store_many(items, namespace='"a"/b%s')
    with closing(sqlite3.connect(path)) as connection:
        spelled = connection.execute("SELECT changes FROM journal ORDER BY seq").fetchall()
    alone = [to_json(non_empty_fields(record)) for record in records]
    assert [repr(json.loads(text)) for (text,) in spelled] == [repr(json.loads(a)) for a in alone]


def salts(path: Path) -> list[bytes]:
    with closing(sqlite3.connect(path)) as connection:
        return [salt for (salt,) in connection.execute("SELECT salt FROM journal ORDER BY seq")]


@pytest.mark.parametrize("key", [None, b"a key of some bytes"], ids=["plain", "keyed"])
def test_each_entry_has_a_salt_of_its_own(path: Path, key: bytes | None) -> None:
    with MemoryStore(path, integrity_key=key) as store:
        stored = store.store_many(["the same text"] * 3)
        store.store("the same text")
        store.forget([each.id for each in stored])
        store.restore([each.id for each in stored])
        found = salts(path)
    assert list(map(len, found)) == [16] * 10
    assert len(set(found)) == 10
