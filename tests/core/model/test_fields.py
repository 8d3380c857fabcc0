from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from enum import Enum, IntEnum
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import Files, KeyedMemory, MemoryStore, ValidationError
from bethink.model import fields
from bethink.model.fields import MAX_CONTENT, MAX_LABEL, plain, timestamp, vector
from bethink.model.records import CHECKS, checked_fields

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters() | st.sampled_from("\ud800\x00")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)  # fmt: skip


@pytest.mark.slow
@given(json_values)
def test_any_json_is_stored_as_it_is(value: Any) -> None:
    with MemoryStore() as store:
        id = store.store("x", value=value, metadata={"held": value}).id
        found = store.get(id)
        assert found is not None
        assert (found.value, found.metadata) == (value, {"held": value})
        assert store.log()[0].changes["metadata"] == {"held": value}


def test_a_value_is_copied() -> None:
    given: dict[str, list[int]] = {"list": [1]}
    with MemoryStore() as store:
        record = store.store("x", value=given, metadata=given)
        given["list"].append(2)
        assert record.value == record.metadata == {"list": [1]}


def test_tuples_become_lists() -> None:
    assert plain("value", {"a": (1, (2,))}) == {"a": [1, [2]]}


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble])
def test_a_number_of_numpy_is_a_number(kind: Any) -> None:
    given = {"value": [kind(0.5)], "metadata": {"half": kind(0.5)}, "importance": kind(0.25)}
    with MemoryStore(clock=lambda: 9e3) as store:
        record = store.store("x", **given, occurred_at=kind(8e3))
        assert (record.value, record.metadata) == ([0.5], {"half": 0.5})
        for number in (record.importance, record.occurred_at, record.metadata["half"]):
            assert type(number) is float
        assert store.get(record.id) == record
        assert store.all(where={"importance": {"$lt": kind(0.5)}, "occurred_at": kind(8e3)})
        assert store.as_of(kind(8.5e3)).all() == []


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64, np.uint16])
def test_an_integer_of_numpy_is_an_integer(kind: Any) -> None:
    with MemoryStore() as store:
        record = store.store("a cat", value={"n": kind(3)}, metadata={"yes": np.True_}, thread="t")
        assert (record.value, record.metadata) == ({"n": 3}, {"yes": True})
        assert store.recall("cat", k=kind(1))[0].memory.id == record.id
        assert store.all(limit=kind(1), where={"value.n": kind(3), "metadata.yes": np.True_})
        assert store.as_of(kind(1)).count() == 1
        assert KeyedMemory(store).increment("n", kind(2)) == 2
        Files(store).write("/a", "one\ntwo\n")
        assert Files(store).view("/a", (kind(2), kind(2))) == "     2\ttwo"
        assert store.undo(kind(1)).state == "forgotten"


def test_what_is_no_number_of_numpy_is_refused() -> None:
    wrong: list[Any] = [np.complex64(1), np.timedelta64(1, "s"), np.arange(2), np.True_]
    with MemoryStore() as store:
        for value in wrong:
            with pytest.raises(ValidationError, match="importance must be a number"):
                store.store("x", importance=value)
        for value in wrong[:3]:
            with pytest.raises(ValidationError, match="which JSON cannot"):
                store.store("x", value=value)


def test_a_date_is_midnight_in_utc() -> None:
    day, midnight = date(2026, 11, 24), datetime(2026, 11, 24, tzinfo=UTC).timestamp()
    assert timestamp("time", day) == timestamp("time", day.isoformat()) == midnight
    with MemoryStore(clock=lambda: midnight + 1) as store:
        record = store.store("x", occurred_at=day, expires_at=date(2026, 11, 25))
        assert (record.occurred_at, record.expires_at) == (midnight, midnight + 86_400)
        assert store.all(where={"occurred_at": day, "created_at": {"$gt": day}}) == [record]
        assert store.as_of(day).all() == []
        assert store.recall("x", now=date(2026, 11, 26)) == []


class Kind(str, Enum):  # noqa: UP042
    RULE = "rule"


class Level(IntEnum):
    HIGH = 3


def test_a_member_of_an_enum_is_stored_as_its_value() -> None:
    texts = ("id", "key", "namespace", "category", "thread", "author", "source")
    named: dict[str, Any] = dict.fromkeys(texts, Kind.RULE)
    held: dict[Any, Any] = {Kind.RULE: [Kind.RULE, Level.HIGH]}
    with MemoryStore() as store:
        record = store.store("x", **named, tags=[Kind.RULE], value=held, metadata=held)
        assert {f"{getattr(record, name)}" for name in texts} == {"rule"}
        assert repr((record.value, record.metadata)) == repr(({"rule": ["rule", 3]},) * 2)
        passing = {"category": Kind.RULE, "tags": {"$contains": Kind.RULE}}
        assert store.all(namespace="rule", where=passing) == [record]
        assert store.get(namespace=Kind.RULE, key=Kind.RULE) == record


@pytest.mark.parametrize("depth", [50, 200, 450, 700, 980, 5000])
def test_deep_values_are_refused_or_held_for_good(depth: int) -> None:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    with MemoryStore() as store:
        try:
            store.store("x", value=value)
        except ValidationError:
            assert depth > 100
        else:
            assert store.count(where={"value": value}) == 1


def test_a_value_may_not_contain_itself() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(ValidationError, match="itself"):
        checked_fields({"value": value})


def test_times_are_numbers_or_aware_datetimes() -> None:
    east = timezone(timedelta(hours=9))
    assert timestamp("at", 12) == 12.0
    assert timestamp("at", datetime(1970, 1, 1, 9, 0, 1, tzinfo=east)) == 1.0
    assert timestamp("at", datetime(1, 1, 1, tzinfo=UTC)) < 0
    with pytest.raises(ValidationError, match="naive"):
        timestamp("at", datetime(1970, 1, 1))


def test_a_time_may_be_an_iso_text_in_utc() -> None:
    day, noon = (datetime(2026, 11, 24, hour, tzinfo=UTC).timestamp() for hour in (0, 12))
    assert timestamp("at", "2026-11-24") == day
    texts = ("2026-11-24T12:00", "2026-11-24 12:00Z", "2026-11-24T21:00+09:00")
    assert [timestamp("at", text) for text in texts] == [noon] * 3


@pytest.mark.parametrize("text", ["1712010112345", "1712010112", "5", "202611241"])
def test_digits_that_are_no_date_are_no_time(text: str) -> None:
    with pytest.raises(ValidationError, match="is no text such as"):
        timestamp("at", text)
    assert timestamp("at", "20261124") == timestamp("at", "2026-11-24")


@pytest.mark.parametrize("milliseconds", [1_763_000_000_000, -1.763e12, 1_763_000_000_000_000_000])
def test_milliseconds_are_told_from_seconds(milliseconds: float) -> None:
    with pytest.raises(ValidationError, match="at must be in seconds, not milliseconds"):
        timestamp("at", milliseconds)


def test_blank_content_counts_as_none() -> None:
    assert checked_fields({"content": " \n\t"}) == {"content": ""}


def test_tags_are_unique_and_keep_their_order() -> None:
    assert checked_fields({"tags": ["b", "a", "b"]}) == {"tags": ("b", "a")}


def test_the_longest_texts_are_stored_whole() -> None:
    with MemoryStore() as store:
        record = store.store("é " * (MAX_CONTENT // 2), key="k" * MAX_LABEL)
        assert store.get(record.id) == record


def test_a_vector_is_float32() -> None:
    assert vector("v", [1, 2.5]).dtype == np.float32
    assert vector("v", np.array([1, 2], dtype=np.int8)).tolist() == [1.0, 2.0]
    assert vector("v", [1e-300, 1e18]).tolist() == [0.0, float(np.float32(1e18))]


NAN, INF = float("nan"), float("inf")
NO_MAPPINGS: list[Any] = ["x", 3, []]
NO_VECTORS: list[Any] = [
    [1],
    "v",
    {"v": []},
    {"v": None},
    {"v": 3},
    {"": [1]},
    {3: [1]},
    {"a\0": [1]},
]
BAD: list[tuple[str, Any]] = [
    *(("content", value) for value in (None, 3, b"x", ["x"], "\ud800", "x" * (MAX_CONTENT + 1))),
    *(("id", value) for value in ("", "  ", 3, "x" * (MAX_LABEL + 1), "\ud800", "a\0b")),
    *(("namespace", value) for value in (None, "", "a//b", 3, "\x00")),
    *(("key", value) for value in ("", 3, "\ud800")),
    *(("category", value) for value in ("", 3)),
    *((name, value) for name in ("thread", "author", "source") for value in (3, b"x", "\ud800")),
    *(("tags", value) for value in (None, "ab", 3, [3], [""], [None], b"ab")),
    *(
        (name, value)
        for name in ("importance", "confidence")
        for value in (None, -0.1, 1.1, NAN, INF, -INF, True, "1", 10**400, 1j)
    ),
    *(
        (name, value)
        for name in ("occurred_at", "expires_at")
        for value in (NAN, INF, 1e13, True, "now", datetime(2020, 1, 1))
    ),
    *(
        (name, value)
        for name in ("value", "metadata")
        for value in ({"a": NAN}, {"a": [INF]}, {1: 2}, {"a": {2}}, {"a": b"x"}, {"a": 10**5000})
    ),
    *(("metadata", value) for value in NO_MAPPINGS),
    *(("vectors", value) for value in NO_VECTORS),
    *(
        ("vectors", {"v": value})
        for value in ([NAN], [INF], [1e19], ["a"], [[1]], [[1], [1, 2]], [1j], [10**400], {1: 2})
    ),
    ("colour", "red"),
]


@pytest.mark.parametrize(("name", "value"), BAD, ids=map(str, range(len(BAD))))
def test_a_wrong_field_is_one_clear_error_before_anything_is_written(name: str, value: Any) -> None:
    with MemoryStore() as store:
        kept = store.store("kept")
        writes: list[Callable[[], object]] = [
            lambda: store.store(**{"content": "x", name: value}),
            lambda: store.store_many(["fine", {"content": "x", name: value}]),
            lambda: store.store_many(["fine"], **{name: value}),
            lambda: store.update(kept.id, **{name: value}),
        ]
        for write in writes[: 2 if name == "id" else 4]:
            with pytest.raises(ValidationError) as caught:
                write()
            assert len(str(caught.value)) < 500
        assert store.all() == [kept]
        assert len(store.log()) == 1


ALWAYS = {"content", "namespace", "tags", "importance", "confidence"}


@pytest.mark.parametrize("name", sorted(set(CHECKS) - ALWAYS))
def test_none_is_how_a_field_is_left_out(store: MemoryStore, name: str) -> None:
    given: Any = {name: None}
    record, plainly = store.store("x", **given), store.store("x")
    if name not in ("id", "vectors", "occurred_at", "supersedes"):
        assert getattr(record, name) == getattr(plainly, name)
    assert store.get(record.id) == record


def test_a_record_holds_something() -> None:
    with MemoryStore() as store:
        with pytest.raises(ValidationError, match="empty"):
            store.store("  ")
        assert store.store("", value=0).value == 0


def test_ids_are_one_text_or_several() -> None:
    assert fields.ids("a") == ["a"]
    assert fields.ids(id for id in "ab") == ["a", "b"]
    wrong: Any
    for wrong in (3, None, [3], [None], ""):
        with pytest.raises(ValidationError):
            fields.ids(wrong)


def test_an_id_does_not_end_at_a_nul() -> None:
    with MemoryStore() as store:
        store.store("x", id="a", vectors={"v": [1.0]})
        for ask in (store.get, store.touch, lambda id: store.vectors(id, "v")):
            with pytest.raises(ValidationError, match="NUL"):
                ask("a\0b")
