"""Which segments an index starts from: none past a gap, and at the end only those worth merging."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from bethink.model.namespaces import check_scope
from bethink.storage import FullBackend as Backend
from bethink.storage import open_backend
from bethink.storage.sql.loading import _find_tail
from bethink.testing.contracts.samples import insert, record, segment


@pytest.fixture
def backend() -> Iterator[Backend]:
    with closing(open_backend(":memory:")) as backend:
        yield backend


@pytest.mark.parametrize("missing", range(4))
def test_where_a_row_is_in_no_segment_all_rows_are_loose(backend: Backend, missing: int) -> None:
    rows = insert(backend, *(record(f"r{n}") for n in range(5)))
    held = [row for n, row in enumerate(rows[:4]) if n != missing]
    backend.save([segment([row], 5) for row in held])
    loading = backend.load("default")
    whole = missing == 3
    assert len(loading.segments) == (3 if whole else 0)
    assert [row.row for row in loading.unindexed] == ([4, 5] if whole else [1, 2, 3, 4, 5])


def test_a_number_is_drawn_until_no_segment_has_it(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = insert(backend, *(record(f"r{n}") for n in range(2)))
    drawn = iter([b"\xff" * 4, b"\xff" * 4, b"\x00\x00\x00\x0e"])
    monkeypatch.setattr(os, "urandom", lambda size: next(drawn))
    numbers = backend.save([segment([row], 2) for row in rows])
    assert numbers == [2**31 - 1, 7]
    assert [each.number for each in backend.load("default").segments] == numbers


def test_where_a_row_is_in_two_segments_all_rows_are_loose(backend: Backend) -> None:
    rows = insert(backend, *(record(f"r{n}") for n in range(3)))
    backend.save([segment(rows, 3)])
    with backend.write() as writer:
        writer._connection.execute(  # type: ignore[attr-defined]
            "INSERT INTO segments SELECT number + 1, format, namespace, first, last, count, head, "
            "checksum, data FROM segments"
        )
    loading = backend.load("default")
    assert (loading.segments, [row.row for row in loading.unindexed]) == ((), [1, 2, 3])


@pytest.mark.parametrize("damaged", ["a", "b"])
def test_a_damaged_segment_leaves_those_of_other_namespaces_in_use(
    backend: Backend, damaged: str
) -> None:
    for number, name in enumerate("ab", 1):
        rows = insert(backend, record(name, namespace=name))
        backend.save([segment(rows, number)])
    with backend.write() as writer:
        writer._connection.execute(  # type: ignore[attr-defined]
            "UPDATE segments SET data = substr(data, 2) WHERE namespace = ?", (damaged,)
        )
    loading = backend.load(check_scope(["a", "b"]))
    assert [row.record.id for row in loading.unindexed] == [damaged]
    assert [each.namespace for each in loading.segments] == ["ab".replace(damaged, "")]


def test_an_end_without_segments_is_loose_as_far_as_is_asked(backend: Backend) -> None:
    assert backend.load("default", limit=2).unindexed == ()
    insert(backend, *(record(f"r{n}") for n in range(3)), record("other", namespace="b"))
    for limit, rows in ((2, [1, 2]), (3, [1, 2, 3]), (9, [1, 2, 3])):
        assert [row.row for row in backend.load("default", limit=limit).unindexed] == rows


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([], (1, 0)),
        ([9], (10, 9)),
        ([3, 3], (7, 6)),
        ([3, 4], (1, 7)),
        ([9, 3, 4], (10, 16)),
        ([5, 3, 3, 1], (6, 12)),
        ([4, 4, 4, 4], (5, 16)),
        ([4, 3, 3, 3], (5, 13)),
        ([9, 1], (11, 10)),
    ],
)
def test_small_segments_at_the_end_are_taken_once_they_hold_enough(
    counts: list[int], expected: tuple[int, int]
) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE segments (namespace, first, last, count)")
        connection.execute("INSERT INTO segments VALUES ('other', 90, 99, 4)")
        last = 0
        for count in counts:
            segment = ("default", last + 1, last + count, count)
            connection.execute("INSERT INTO segments VALUES (?, ?, ?, ?)", segment)
            last += count
        assert _find_tail(connection, "default", 8) == expected
