from __future__ import annotations

from datetime import UTC, datetime
from enum import Enum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink import EVERYWHERE, MemoryRecord, MemoryStore, ValidationError
from bethink.model.filters import NUMBER_FIELDS, TEXT_FIELDS, TIME_FIELDS, matches, parse

RECORD = MemoryRecord(
    "r1",
    "a/b",
    "text",
    created_at=10.0,
    occurred_at=5.0,
    updated_at=20.0,
    author="Ann",
    category="x",
    tags=("t", "u"),
    importance=0.5,
    access_count=2,
    metadata={"n": 1, "deep": {"er": ["e"]}, "a.b": "dotted", "a": {"b": "nested"}, "yes": True},
    value={"k": None, "list": [1, 2.0]},
)


def passes(where: Any, record: MemoryRecord = RECORD) -> bool:
    return matches(parse(where), record)


@pytest.mark.parametrize(
    "where",
    [
        None,
        {},
        {"category": "x"},
        {"category": "x", "author": "Ann"},
        {"id": "r1", "namespace": "a/b"},
        {"importance": {"$gte": 0.5, "$lt": 0.6}},
        {"access_count": 2},
        {"access_count": {"$in": [1, 2.0]}},
        {"author": {"$ne": "Bob"}},
        {"author": {"$nin": ["Bob", "Eve"]}},
        {"author": {"$contains": "nn"}},
        {"author": {"$contains_any": ["q", "A"]}},
        {"tags": {"$contains": "t"}},
        {"tags": {"$contains_any": ["z", "u"]}},
        {"tags": ["t", "u"]},
        {"tags": "t"},
        {"tags": {"$in": ["z", "u"]}},
        {"tags": {"$in": [["z"], ["t", "u"]]}},
        {"tags": {"$ne": "z"}},
        {"tags": {"$nin": ["z", ["t"]]}},
        {"thread": {"$exists": False}},
        {"thread": None},
        {"author": {"$exists": True}},
        {"metadata.n": 1.0},
        {"metadata.deep.er": {"$contains": "e"}},
        {"metadata.deep": {"er": ["e"]}},
        {"metadata.a.b": "dotted"},
        {"metadata.yes": True},
        {"value.list": [1.0, 2]},
        {"value": {"k": None, "list": [1, 2]}},
        {"created_at": {"$gt": datetime(1970, 1, 1, tzinfo=UTC)}},
        {"created_at": {"$gt": "1970-01-01"}},
        {"$and": [{"category": "x"}, {"author": "Ann"}]},
        {"$or": [{"category": "y"}, {"author": "Ann"}]},
        {"$not": {"category": "y"}},
        {"category": {"$not": "y"}},
        {"category": {"$not": {"$in": ["y"]}}},
        {"$and": []},
        {"$not": {"$or": []}},
        {"importance": {"$lt": 2**60}},
        {"occurred_at": {"$gt": -(10**12)}},
    ],
    ids=str,
)
def test_a_filter_lets_pass_what_it_says(where: Any) -> None:
    assert passes(where)
    assert not passes({"$not": where}) if where is not None else True


@pytest.mark.parametrize(
    "where",
    [
        {"category": "y"},
        {"category": "x", "author": "Bob"},
        {"thread": {"$ne": "s"}},
        {"thread": {"$nin": ["s"]}},
        {"thread": {"$contains": ""}},
        {"metadata.none": {"$ne": 1}},
        {"metadata.n.deeper": 1},
        {"metadata.n": True},
        {"value.list": [True, 2]},
        {"value": {"k": None, "list": [True, 2]}},
        {"author": {"$contains": "na"}},
        {"author": {"$contains_any": ["na", "B"]}},
        {"metadata.n": {"$in": [True, "1"]}},
        {"metadata.yes": {"$in": [1]}},
        {"metadata.n": "1"},
        {"metadata.yes": 1},
        {"author": {"$in": [None, 5]}},
        {"importance": {"$in": ["0.5", 1]}},
        {"author": {"$in": []}},
        {"tags": "z"},
        {"tags": "T"},
        {"tags": {"$ne": "t"}},
        {"tags": {"$in": ["z", ["t"]]}},
        {"tags": {"$nin": ["z", "u"]}},
        {"tags": {"$nin": [["t", "u"]]}},
        {"tags": {"$contains_any": [5, "z"]}},
        {"tags": ["u", "t"]},
        {"value.k": {"$exists": True}},
        {"author": {"$exists": False}},
        {"$or": []},
        {"importance": {"$gt": 2**60}},
    ],
    ids=str,
)
def test_a_filter_holds_back_what_it_does_not_say(where: Any) -> None:
    assert not passes(where)


@pytest.mark.parametrize(
    "where",
    [
        [],
        "category",
        {"colour": "red"},
        {"contents": "x"},
        {"": 1},
        {"metadata": 1},
        {"metadata.": 1},
        {"metadata.a..b": 1},
        {"tags.0": "t"},
        {"category": {"$like": "x"}},
        {"metadata.n": {"$gt": 1, "x": 2}},
        {"value": {"x": 2, "$eq": 1}},
        {"$nor": []},
        {"$and": {"category": "x"}},
        {"$or": "xy"},
        {"$and": b""},
        {"category": {"$in": b"xy"}},
        {"$and": [None]},
        {"$not": None},
        {"$not": []},
        {"category": {"$in": "xy"}},
        {"category": {"$in": {"x": 1}}},
        {"category": {"$exists": 1}},
        {"category": {"$gt": None}},
        {"importance": {"$gt": True}},
        {"importance": {"$gt": float("nan")}},
        {"importance": "0.5"},
        {"importance": {"$gt": "0"}},
        {"importance": {"$in": [True, "1"]}},
        {"importance": {"$ne": True}},
        {"occurred_at": True},
        {"author": 5},
        {"author": ["Ann"]},
        {"author": {}},
        {"author": {"$gt": 1}},
        {"author": {"$nin": [1, 2]}},
        {"author": {"$contains": 5}},
        {"author": {"$contains_any": [5, ["Ann"]]}},
        {"importance": {"$contains": 5}},
        {"importance": {"$contains_any": []}},
        {"occurred_at": {"$contains": 5}},
        {"tags": {"$gt": "a"}},
        {"tags": {"$lte": 1}},
        {"tags": {"$contains": 5}},
        {"tags": {"$contains_any": [["t"]]}},
        {"$not": {"key": {"$not": 1}}},
        {"metadata.n": {1, 2}},
        {"metadata.n": float("inf")},
        {"occurred_at": datetime(2020, 1, 1)},
        {"occurred_at": {"$gt": "last week"}},
        {"occurred_at": {"$gt": 1_763_000_000_000}},
        {"$not": {"expires_at": 1.763e12}},
        {"created_at": {"$in": [0, 1_763_000_000_000_000]}},
        {"created_at": {"$in": [0.0, "2020"]}},
        {"category": "\ud800"},
        {"tags": {"$contains": "\ud800"}},
        {"metadata.\ud800": "x"},
    ],
    ids=ascii,
)
def test_what_is_no_filter_is_refused_by_every_verb(store: MemoryStore, where: Any) -> None:
    store.store("x", category="x")
    for verb in (
        lambda: store.all(where=where),
        lambda: store.count(where=where),
        lambda: store.recall("x", where=where),
        lambda: store.forget(where=where),
    ):
        with pytest.raises(ValidationError):
            verb()
    assert store.count() == 1


def nested(depth: int) -> dict[str, Any]:
    where: dict[str, Any] = {"category": "x"}
    for _ in range(depth):
        where = {"$not": where}
    return where


@pytest.mark.parametrize("depth", [2, 20, 60, 100, 400, 5000])
def test_a_filter_is_answered_or_refused_at_any_depth(store: MemoryStore, depth: int) -> None:
    store.store("x", category="x")
    try:
        found = store.count(where=nested(depth))
    except ValidationError:
        assert depth > 20
    else:
        assert found == 1


@pytest.mark.slow
@pytest.mark.parametrize("size", [100, 1100, 40_000])
@pytest.mark.parametrize("word", ["$and", "$or"])
def test_a_filter_may_have_many_parts(store: MemoryStore, word: str, size: int) -> None:
    store.store("x", category="x")
    assert store.count(where={word: [{"category": "x"}] * size}) == 1
    assert store.count(where={"category": {"$in": [str(n) for n in range(size)]}}) == 0


words = st.sampled_from(["", "x", "y", "a/b", "é", "a\x00b", "x' OR 1 --", "%"])
labels = words.filter(str.strip)
numbers = st.sampled_from([0, 1, 0.0, 0.5, 1.0, -1, 5.5, 2**53, 2**60, -(2**60), 1e300, 10**40])
times = numbers.filter(lambda number: abs(number) <= 10**12)
scalars = words | numbers | st.booleans() | st.none()
keys = st.sampled_from(["k", "a", "b", "a.b", "é", "a\nb", 'q"', "\\", "x' ", "0", "$", "[0]"])
objects = st.dictionaries(keys, scalars | st.just("\ud800") | st.dictionaries(keys, scalars))
records = st.fixed_dictionaries(
    {"value": scalars | st.lists(scalars, max_size=2) | objects, "metadata": objects},
    optional={
        "namespace": st.sampled_from(["default", "a", "a/b", "é"]),
        "thread": words,
        "author": words,
        "category": labels,
        "source": words,
        "tags": st.lists(labels, max_size=3),
        "importance": st.sampled_from([0.0, 0.5, 1.0]),
        "occurred_at": st.sampled_from([-1.0, 0.0, 1.0, 5.5]),
        "expires_at": st.sampled_from([None, 1.0, 5.5]),
    },
)


def conditions(
    operands: st.SearchStrategy[Any], contained: Any, ordered: Any
) -> st.SearchStrategy[Any]:
    """Draw conditions on a field of the kind of *operands*; texts and lists have *contained*."""
    kinds = [
        operands,
        st.dictionaries(st.sampled_from(["$eq", "$ne"]), operands, min_size=1),
        st.dictionaries(
            st.sampled_from(["$in", "$nin"]), st.lists(operands, max_size=3), min_size=1
        ),
        st.builds(lambda operand: {"$exists": operand}, st.booleans()),
    ]
    if contained is not None:
        kinds.append(st.builds(lambda operand: {"$contains": operand}, contained))
        some = st.lists(contained, max_size=3)
        kinds.append(st.builds(lambda operand: {"$contains_any": operand}, some))
    if ordered is not None:
        orders = st.sampled_from(["$gt", "$gte", "$lt", "$lte"])
        kinds.append(st.dictionaries(orders, ordered, min_size=1))
    return st.one_of(kinds)


def clauses(
    names: st.SearchStrategy[str],
    operands: st.SearchStrategy[Any],
    contained: Any = None,
    ordered: Any = None,
) -> Any:
    drawn = conditions(operands, contained, ordered)
    return st.dictionaries(names, drawn, min_size=1, max_size=2)


paths = st.builds(
    lambda root, path: ".".join([root, *path]),
    st.sampled_from(["metadata", "value"]),
    st.lists(keys, min_size=1, max_size=2),
)
wheres = st.recursive(
    clauses(st.sampled_from(TEXT_FIELDS), words | st.none(), words | st.none(), words)
    | clauses(st.sampled_from(NUMBER_FIELDS), numbers | st.none(), ordered=numbers)
    | clauses(st.sampled_from(TIME_FIELDS), times | st.none(), ordered=times)
    | clauses(st.just("tags"), labels | st.lists(labels, max_size=2) | scalars, labels)
    | clauses(
        paths | st.just("value"),
        words | scalars | st.lists(words | scalars, max_size=3),
        scalars,
        words | numbers,
    ),
    lambda inner: (
        st.builds(lambda part: {"$not": part}, inner)
        | st.builds(
            lambda word, parts: {word: parts},
            st.sampled_from(["$and", "$or"]),
            st.lists(inner, max_size=3),
        )
    ),
    max_leaves=3,
)


@pytest.mark.slow
@settings(max_examples=90)
@given(st.lists(records, min_size=1, max_size=6), st.lists(wheres, min_size=1, max_size=8))
def test_storage_lets_pass_what_the_language_says(
    given: list[dict[str, Any]], filters: list[dict[str, Any]]
) -> None:
    with MemoryStore(clock=lambda: 1.0) as store:
        kept = store.store_many({"content": "x", **record} for record in given)
        for where in filters:
            passing = [record for record in kept if matches(parse(where), record)]
            expected = [record for record in passing if (record.expires_at or 2.0) > 1.0]
            assert store.all(namespace=EVERYWHERE, where=where) == expected
            assert store.count(namespace=EVERYWHERE, where=where) == len(expected)
            found = store.recall("x", namespace=EVERYWHERE, where=where, k=9, touch=False)
            assert {hit.memory.id for hit in found} == {record.id for record in expected}
        removed = store.forget(namespace=EVERYWHERE, where=filters[0])
        passing = [record for record in kept if matches(parse(filters[0]), record)]
        assert removed == sum((record.expires_at or 2.0) > 1.0 for record in passing)


@pytest.mark.parametrize(
    "where",
    [
        {"tags": {"$contains": "a\x00b"}},
        {"metadata.a\nb": "x"},
        {"metadata.é": "x"},
        {'metadata.q"': "x"},
        {"metadata.\\": "x"},
        {"metadata.a.b": "x"},
        {"metadata.nul": "a\x00b"},
        {"author": "a\x00b"},
        {"importance": {"$lt": 2**60}},
        {"importance": {"$nin": [2**60, 0.4]}},
        {"importance": {"$in": [2**60, 0.5]}},
        {"access_count": {"$gt": -(2**63) - 1}},
        {"occurred_at": {"$lte": 10**12}},
    ],
    ids=ascii,
)
def test_storage_finds_what_is_hard_to_spell(store: MemoryStore, where: dict[str, Any]) -> None:
    keys = ["a\nb", "é", 'q"', "\\", "a.b"]
    metadata = {**dict.fromkeys(keys, "x"), "nul": "a\x00b", "lone": "\ud800"}
    record = store.store("x", tags=["a\x00b"], author="a\x00b", metadata=metadata)
    assert matches(parse(where), record)
    assert store.all(where=where) == [record]


def test_pages_are_cut_after_filtering(store: MemoryStore) -> None:
    store.store_many({"content": "x", "metadata": {"n": n % 3}} for n in range(30))
    where = {"metadata.n": {"$gte": 1}}
    everything = store.all(where=where)
    assert len(everything) == 20
    assert store.all(where=where, limit=4, offset=3) == everything[3:7]
    assert store.all(where=where, order="newest", offset=15) == everything[4::-1]


class Field(str, Enum):  # noqa: UP042
    AUTHOR = "author"


class Operator(str, Enum):  # noqa: UP042
    IN = "$in"


def test_members_of_enums_spell_a_filter_by_their_values() -> None:
    with MemoryStore() as store:
        records = [store.store("x", author=author) for author in ("Ann", "Bob")]
        assert store.all(where={Field.AUTHOR: "Ann"}) == records[:1]
        assert store.all(where={Field.AUTHOR: {Operator.IN: ["Bob"]}}) == records[1:]


def test_superseded_by_lists_what_a_memory_replaced() -> None:
    with MemoryStore(":memory:") as store:
        one, two, _ = (store.store(text) for text in ("one", "two", "three"))
        new = store.store("new")
        store.resolve(new.id, [one.id, two.id])
        replaced = store.all(state="superseded", where={"superseded_by": new.id})
        assert {each.id for each in replaced} == {one.id, two.id}
        assert store.all(where={"superseded_by": None}) == store.all()


def test_an_unknown_field_is_answered_with_the_path_into_metadata() -> None:
    with pytest.raises(ValidationError, match=r"updated_at, tags, metadata\.lang, value\.lang$"):
        parse({"lang": "en"})
