"""What SQLite lets through: never too little."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bethink import MemoryStore, Subtree
from bethink.model.filters import matches, parse
from bethink.storage.sql.where import condition
from bethink.storage.sqlite import SQLiteBackend

from ..inside import engine_of

NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.integers(2**53 - 2, 2**53 + 2),
    st.just(2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.1, 0.30000000000000004, 1e23, 5e-324, -0.0, 5.000000000000001]),
)
SCALARS = st.one_of(NUMBERS, st.booleans(), st.none(), st.text("ab1\x00\ud800", max_size=2))
INNER = st.dictionaries(st.sampled_from(["a", "b", "a.b"]), SCALARS, max_size=2)
VALUES = st.dictionaries(st.sampled_from(["a", "b", "a.b", "ä"]), SCALARS | INNER, max_size=3)
OPERATORS = st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"])
FIELDS = st.sampled_from(["value.a", "value.b", "value.a.b", "value.ä"])


@pytest.mark.slow
@given(st.lists(VALUES, min_size=1, max_size=5), FIELDS, OPERATORS, NUMBERS | st.text("ab1"))
@example([{"a": 0.1 + 0.2}], "value.a", "$eq", 0.30000000000000004)
@example([{"a": {"b": 1}, "a.b": None}, {"a": {"b": 1}, "a.b": 2}], "value.a.b", "$gte", 1)
@example([{"a": True}, {"a": "TRUE"}, {"a": 1.0}], "value.a", "$eq", 1)
@example([{"a": math.nextafter(5.0, 6.0)}], "value.a", "$gt", 5)
def test_a_narrowed_filter_finds_what_matches(
    values: list[dict[str, Any]], field: str, operator: str, operand: Any
) -> None:
    where = {field: {operator: operand}}
    with MemoryStore() as store:
        stored = [store.store("", value=value) for value in values]
        parsed = parse(where)
        expected = [record for record in stored if matches(parsed, record)]
        assert store.all(where=where) == expected
        assert store.count(where=where) == len(expected)


@pytest.mark.parametrize("operand", [1, 1.5, "x"])
@pytest.mark.parametrize("field", ["metadata.n", "value.deep.n"])
def test_comparisons_inside_json_are_narrowed(field: str, operand: object) -> None:
    assert "json_extract" in condition(parse({field: operand})).sql


@pytest.mark.parametrize("where", [{"value.n": True}, {"value.n": 2**60}, {"value.n": ["x"]},
                                   {"value.ä": 1}, {"value": 1}, {"value.n": "\x00"}])  # fmt: skip
def test_what_sqlite_may_see_otherwise_is_left_open(where: dict[str, Any]) -> None:
    assert condition(parse(where)).sql in ("TRUE", "(TRUE)")


@pytest.mark.parametrize(
    "where",
    [
        {"author": "Ann"},
        {"author": None},
        {"author": {"$exists": False}},
        {"author": {"$in": ["Ann", "Bob"]}},
        {"author": {"$nin": [str(n) for n in range(2000)]}},
        {"importance": {"$gte": 0.5, "$lt": 1}},
        {"importance": {"$in": [1, 0.5, "x", True]}},
        {"$not": {"$or": [{"author": "Ann"}, {"key": {"$gt": "a"}}]}},
        {"$and": [{"importance": n} for n in range(20)]},
        {"$not": {"$or": [{"importance": n} for n in range(2000)]}},
    ],
)
def test_what_is_said_of_plain_columns_needs_no_second_look(where: dict[str, Any]) -> None:
    found = condition(parse(where))
    assert found.exact
    assert found.sql not in ("TRUE", "(TRUE)")


@pytest.mark.slow
@pytest.mark.parametrize(
    "where",
    [
        {"author": {"$in": [f"{n}\x00" for n in range(501)]}},
        {"importance": {"$in": list(range(501))}},
        {"author": {"$in": ["Ann", None]}},
        {"author": {"$contains": "n"}},
        {"importance": {"$lt": 2**53}},
        {"$or": [{"importance": n} for n in range(30_001)]},
        {"$or": [{"author": None}] * 40_000},
        {"$not": {"value.n": 1}},
    ],
)
def test_what_is_too_much_for_a_condition_is_left_open(where: dict[str, Any]) -> None:
    found = condition(parse(where))
    assert (found.sql.strip("()"), found.exact) == ("TRUE", False)


@pytest.mark.parametrize("field", ["id", "key"])
def test_a_listed_key_is_found_beside_filters_too_long_for_sqlite(field: str) -> None:
    long = {"$or": [{"importance": {"$in": [n, *range(2, 400)]}} for n in range(50)]}
    with MemoryStore() as store:
        stored = store.store("hello", id="a", key="a", importance=1.0)
        assert store.all(where={"$and": [{field: {"$in": ["a"]}}, long, long]}) == [stored]


def test_a_tag_is_looked_for_in_the_file() -> None:
    found = condition(parse({"tags": {"$contains": "x"}}))
    assert ("json_each" in found.sql, found.parameters, found.exact) == (True, ("x",), False)


@pytest.mark.slow
@given(
    st.lists(st.text("ab1\x00ä", min_size=1, max_size=2), unique=True, max_size=5),
    st.lists(st.text("ab1\x00ä", max_size=2) | st.just(1), max_size=5),
    st.sampled_from(["$in", "$nin"]),
    st.booleans(),
)
def test_a_list_finds_what_it_lists(
    keys: list[str], listed: list[Any], operator: str, turned: bool
) -> None:
    where: dict[str, Any] = {"key": {operator: [*listed, "no key"]}}
    where = {"$not": where} if turned else where
    with MemoryStore() as store:
        stored = [store.store("", value=1, key=key) for key in keys]
        stored.append(store.store("", value=1))
        store.forget(store.store("", value=1, key="gone").id)
        expected = [record for record in stored if matches(parse(where), record)]
        for scope in ("default", Subtree("default")):
            assert store.all(namespace=scope, where=where) == expected
            assert store.count(namespace=scope, where=where) == len(expected)
            assert (
                store.all(namespace=scope, where=where, order="newest", limit=2)
                == (expected[::-1][:2])
            )


@pytest.mark.slow
@pytest.mark.parametrize("many", [2, 600])
@pytest.mark.parametrize("field", ["id", "key"])
@pytest.mark.parametrize("verb", ["all", "count", "forget"])
def test_what_is_listed_is_looked_up_whatever_is_beside_it(
    verb: str, field: str, many: int
) -> None:
    where = {field: {"$in": [f"k{n}" for n in range(many)]}}
    few, most = (_steps(beside, verb, where) for beside in (100, 1000))
    assert most < few + 100


def _steps(beside: int, verb: str, where: dict[str, Any]) -> int:
    """Return how many steps SQLite takes for *verb* with so many records *beside* those meant."""
    taken = 0

    def step() -> int:
        nonlocal taken
        taken += 1
        return 0

    with MemoryStore() as store:
        names = [*(f"o{n}" for n in range(beside)), "k0", "k1"]
        store.store_many([{"content": "", "value": 0, "id": each, "key": each} for each in names])
        backend = engine_of(store).backend
        assert isinstance(backend, SQLiteBackend)
        with backend._connections.reading() as connection:
            connection.set_progress_handler(step, 1)
        getattr(store, verb)(namespace="default", where=where)
        return taken


@pytest.mark.parametrize("count", [1, 20, 21, 400, 401])
def test_any_of_many_parts_finds_what_passes_one(count: int) -> None:
    parts = [{"author": "Ann", "importance": n / count} for n in range(count)]
    with MemoryStore() as store:
        stored = [
            store.store(who, author=who, importance=n) for who in ("Ann", "Bob") for n in (0, 1)
        ]
        assert store.all(where={"$or": parts}) == [stored[0]]
        assert store.all(where={"$not": {"$or": parts}}) == stored[1:]
        assert store.all(where={"$not": {"$not": {"$or": parts}}}) == [stored[0]]
