"""The columns of the fields in filters tell who passes, whatever the operand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bethink import MemoryRecord
from bethink.index import field_columns
from bethink.index.field_columns import FieldColumns
from bethink.model import filters
from bethink.model.filters import Filter, lookup, matches, parse
from bethink.testing.contracts.samples import FILTERS, zoo

RECORD = MemoryRecord("1", "a", "x", 1.0, 1.0, 1.0)
HUGE = 10**400


def filter_of(where: dict[str, Any]) -> Filter:
    found = parse(where)
    assert found is not None
    return found


def passing(
    columns: FieldColumns, where: dict[str, Any], records: Sequence[MemoryRecord] = ()
) -> list[int] | None:
    """Return the positions that pass, None without columns; read missing columns of *records*."""
    columns.missing(filter_of(where))
    for path in columns.missing(filter_of(where)):
        values = [lookup(record, path) for record in records]
        columns.add(path, len(records), np.arange(len(records)), values)
    size = len(records)
    found = columns.passing(filter_of(where), size)
    return None if found is None else found.nonzero()[0].tolist()


CONDITIONS = (
    None,
    0.25,
    {"$ne": None},
    {"$ne": 0.25},
    {"$gt": 0.25, "$lte": 500},
    {"$in": [0.25, 500.0, True, None]},
    {"$nin": [0.25, 500.0]},
    {"$exists": True},
    {"$exists": False},
    {"$not": {"$gt": 0.25}},
)
ODD_CONDITIONS = (
    {"$gte": -HUGE},
    {"$lt": HUGE},
    {"$lt": -HUGE},
    {"$in": [HUGE, 0.25]},
)
WHERE = (
    *FILTERS,
    *({field: each} for field in ("importance", "expires_at") for each in CONDITIONS),
    *({field: each} for field in ("importance", "metadata.n") for each in ODD_CONDITIONS),
    *(
        {"metadata.n": each}
        for each in ({"$ne": "text"}, {"$eq": True}, {"$gt": "text"}, {"$contains": 0.25})
    ),
)


@pytest.mark.parametrize("where", WHERE, ids=range(len(WHERE)))
def test_a_filter_means_the_same_as_for_records(where: dict[str, Any]) -> None:
    records = zoo()
    wanted = [at for at, each in enumerate(records) if matches(filter_of(where), each)]
    found = passing(FieldColumns(), where, records)
    assert found == wanted or (found is None and "access_count" in str(where))


def test_appended_and_patched_records_are_known() -> None:
    columns, english = FieldColumns(), {"metadata.lang": "en"}
    speaker = replace(RECORD, metadata={"lang": "en"}, importance=0.9)
    assert passing(columns, english, [RECORD, speaker]) == [1]
    assert passing(columns, {"importance": 0.9}, [RECORD, speaker]) == [1]
    columns.append([speaker, RECORD, speaker])
    columns.patch(1, RECORD)
    columns.keep(np.array([True, False, True, True, True]))
    columns.append([speaker])
    for where in (english, {"importance": {"$gt": 0.5}}):
        assert passing(columns, where, [RECORD] * 5) == [1, 3, 4]


def test_the_second_filter_on_a_field_is_worth_a_column() -> None:
    columns = FieldColumns()
    assert columns.missing(filter_of({"author": "Ann"})) == []
    assert columns.missing(filter_of({"author": "Bob", "thread": "t"})) == []
    assert columns.missing(filter_of({"author": "Bob", "thread": "u"})) == [
        ("author",),
        ("thread",),
    ]


def test_one_is_not_true() -> None:
    columns = FieldColumns()
    values: list[Any] = [1, True, 1.0, "1", [1], [True]]
    records = [replace(RECORD, metadata={"n": value}) for value in values]
    for operand, found in ((1, [0, 2]), (True, [1]), ("1", [3]), ([True], [5])):
        assert passing(columns, {"metadata.n": operand}, records) == found
    for several, found in (([1], [0, 2]), ([1.0, True], [0, 1, 2]), (["1", True, 7], [1, 3])):
        where = {"metadata.n": {"$in": several}}
        assert passing(columns, where, records) == found
        assert [n for n, each in enumerate(records) if matches(filter_of(where), each)] == found


@pytest.mark.parametrize("operand", [7, 7.0, True, "7"], ids=repr)
def test_texts_and_numbers_are_looked_up(operand: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = FieldColumns()
    records = [replace(RECORD, metadata={"n": each}) for each in (7, 8, True, "7")]
    passing(columns, {"metadata.n": 8}, records)
    monkeypatch.setattr(field_columns, "RELATIONS", {})
    assert passing(columns, {"metadata.n": {"$in": [operand]}}, records)


def test_a_number_is_compared_with_its_like_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    equal = filters._equal

    def noting(found: Any, operand: Any) -> bool:
        compared.append(operand)
        return equal(found, operand)

    monkeypatch.setattr(filters, "_equal", noting)
    where = filter_of({"metadata.n": {"$in": [*range(1000), True]}})
    assert matches(where, replace(RECORD, metadata={"n": 999}))
    assert compared == [999]
    assert matches(where, replace(RECORD, metadata={"n": True}))


def test_records_outside_the_index_are_left_out() -> None:
    columns = FieldColumns()
    columns.add(("author",), 3, np.array([2, -1, 0]), ["Ann", "Bob", "Ann"])
    assert passing(columns, {"author": "Ann"}, [RECORD] * 3) == [0, 2]
    assert passing(columns, {"author": "Bob"}, [RECORD] * 3) == []


def test_only_the_fields_of_the_last_filters_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(field_columns, "MAX_FIELDS", 2)
    columns = FieldColumns()
    for field in ("author", "category", "author", "thread"):
        assert passing(columns, {field: "a"}, [RECORD]) == []
    assert columns.missing(filter_of({"author": "b", "thread": "c"})) == []
    assert columns.missing(filter_of({"category": "b"})) == [("category",)]
    assert passing(columns, {name: "a" for name in ("author", "category", "key")}) is None


@pytest.mark.parametrize("field", ["content", "access_count", "last_accessed_at", "metadata.long"])
def test_some_fields_have_no_column(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(field_columns, "MAX_VALUE_BYTES", 1000)
    record = replace(RECORD, metadata={"long": "a" * 1000})
    columns = FieldColumns()
    for where in ({field: {"$ne": None}}, {"$or": [{field: {"$exists": True}}, {"author": "a"}]}):
        assert passing(columns, where, [record]) is None
    assert columns.nbytes == 0
    assert columns.missing(filter_of({field: {"$exists": True}})) == []


@pytest.mark.parametrize("write", ["patch", "append"])
def test_values_of_former_records_do_not_pile_up(
    write: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(field_columns, "MAX_VALUE_BYTES", 10_000)
    columns, where = FieldColumns(), {"metadata.seen": {"$gt": 900}}
    record = RECORD
    for number in range(1000):
        record = replace(RECORD, metadata={"seen": number})
        if write == "patch":
            columns.patch(0, record)
        else:
            columns.append([record])
            columns.keep(np.array([False, True]))
        assert passing(columns, where, [record]) in ([0] if number > 900 else [], None)
        assert columns.nbytes < 30_000
    assert passing(columns, where, [record]) == [0]
