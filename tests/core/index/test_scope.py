from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bethink import EVERYWHERE, MemoryRecord, Subtree
from bethink.index import keyword, scope
from bethink.index.keyword_scoring import MISMATCH_FACTOR, PERIOD_BONUS, keyword_scores
from bethink.index.scope import ScopeIndex
from bethink.index.segments import unsaved_segments
from bethink.model.filters import Compare, Filter
from bethink.model.namespaces import Scope
from bethink.model.port import EMBEDDED, IndexData, Row, Segment
from bethink.model.records import with_accesses
from bethink.text import Period, Query

from .shelf import Shelf

TEXTS = ("red cat", "red dog", "a long story of a cat", "blue ferry", "cat", "dog")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyword, "BLOCK_DOCUMENTS", 3)
    monkeypatch.setattr(keyword, "MERGED_BLOCKS", 2)


def row(number: int, text: str = "", namespace: str = "a", thread: str | None = "s") -> Row:
    record = MemoryRecord(
        str(number), namespace, text or TEXTS[number % len(TEXTS)], 1.0, 1.0, 1.0, thread=thread
    )
    vector = np.array([1, number], dtype=np.float32)
    return Row(number, number, record, {EMBEDDED: vector, "v": vector[::-1]})


ROWS = [row(number) for number in range(1, 12)]


def loaded(rows: Sequence[Row], of: Scope = "a", **given: tuple[Segment, ...]) -> ScopeIndex:
    return opened(Shelf(rows, of), rows, **given)


def opened(shelf: Shelf, rows: Sequence[Row], **given: tuple[Segment, ...]) -> ScopeIndex:
    alive: dict[str, frozenset[int]] = {}
    return ScopeIndex.of(shelf, 2, IndexData(0, given.get("segments", ()), alive, tuple(rows), ()))


def told(index: ScopeIndex) -> dict[int, float]:
    """Return the keyword score of every live row."""
    found = keyword_scores(index, Query(["cat", "red"], about_replies=True))
    living = index.columns["live"]
    return dict(zip(index.columns["row"][living].tolist(), found[living].tolist(), strict=True))


def test_what_is_written_one_by_one_is_as_if_loaded_at_once() -> None:
    index = loaded(ROWS[:2])
    for each in ROWS[2:]:
        index.apply([each], [])
    assert told(index) == pytest.approx(told(loaded(ROWS)))
    assert (index.live_count, index.live_terms) == (11, loaded(ROWS).live_terms)


def test_where_a_time_is_asked_for_what_tells_none_counts_less() -> None:
    index = loaded([row(1, "red cat of last Friday"), row(2, "red cat of Ann's aunt")])
    query = Query(["cat", "red"], about_replies=True)
    plain, timed = (keyword_scores(index, query._replace(about_times=on)) for on in (False, True))
    assert timed.tolist() == (plain * [1.0, MISMATCH_FACTOR]).tolist()


@pytest.mark.parametrize(
    ("query", "shares"),
    [
        (Query(["cat"], True), [0, 0.5, 1, 1, 1, 0.5, 0.75]),
        (Query(["ship"], True, is_question=True), [0, 0, 1, 1, 1, 0, 0]),
        (Query(["ship"], True), [0] * 7),
    ],
    ids=["word in common", "question", "no question"],
)
def test_a_period_lifts_what_occurred_there_and_less_what_occurred_just_before_or_after(
    query: Query, shares: list[float]
) -> None:
    times = [500.0, 750.0, 1000.0, 1500.0, 2000.0, 2250.0, 2450.0]
    spread = [row(number, "cat", thread=None) for number in range(len(times))]
    dated = [
        replace(each, record=replace(each.record, occurred_at=at, created_at=at))
        for each, at in zip(spread, times, strict=True)
    ]
    index = loaded(dated)
    periods = Period(1000.0, 2000.0), Period(2500.0, 2900.0)
    plain = keyword_scores(index, query)
    lifted = keyword_scores(index, query._replace(periods=periods))
    assert (lifted - plain) / (1 - plain) == pytest.approx(PERIOD_BONUS * np.array(shares))


def test_what_died_leaves_no_trace_in_the_scores() -> None:
    index = loaded(ROWS)
    index.apply([], [2, 5, 11, 99])
    rest = [each for each in ROWS if each.row not in (2, 5, 11)]
    assert told(index) == pytest.approx(told(loaded(rest)))


def test_taking_changes_in_twice_does_no_harm() -> None:
    index = loaded(ROWS[:9])
    for _ in range(2):
        index.apply(ROWS[8:], [1, 3])
    rest = [each for each in ROWS if each.row not in (1, 3)]
    assert told(index) == pytest.approx(told(loaded(rest)))
    assert index.live_count == 9


def test_a_patched_row_keeps_its_place() -> None:
    index = loaded(ROWS)
    patched = replace(ROWS[4].record, importance=0.9, expires_at=7.0)
    index.apply([replace(ROWS[4], record=patched)], [])
    assert index.size == index.live_count == 11
    position = index.positions([5])[0]
    assert index.columns["importance"][position] == 0.9
    assert index.columns["expires"][position] == 7.0


def test_rows_have_positions_whatever_order_they_were_loaded_in() -> None:
    mixed = [row(3, namespace="a"), row(9, namespace="a"), row(2, namespace="b")]
    index = loaded(mixed, EVERYWHERE)
    index.apply([row(10)], [])
    positions = index.positions([10, 2, 9, 3, 1, 5, 99])
    assert [int(index.columns["row"][at]) if at >= 0 else None for at in positions] == [
        10,
        2,
        9,
        3,
        None,
        None,
        None,
    ]
    assert loaded([]).positions([1]).tolist() == [-1]


def judged_and_mortal() -> Iterator[ScopeIndex]:
    """Yield scopes made in several ways, of which one record expires and has an outcome."""
    plain, other = ROWS[:2]
    told = replace(other, record=replace(other.record, outcome=0.5, expires_at=7.0))
    yield loaded([plain, told])
    index = loaded([plain])
    index.apply([told], [])
    yield index
    index = loaded([plain, other])
    index.apply([told], [])
    yield index
    index.keyword.freeze()
    yield loaded([], segments=saved(index))
    yield index.copy(Shelf(ROWS))
    former = loaded([plain, other]).copy(Shelf(ROWS))
    former.rewind(2, [2], [told])
    former.complete([])
    yield former


def test_a_scope_knows_of_outcomes_and_ends_however_it_was_made() -> None:
    found = [(index.has_outcomes, index.mortal) for index in judged_and_mortal()]
    assert found == [(True, True)] * 6
    plain = loaded(ROWS)
    plain.apply([ROWS[0]], [])
    assert (plain.has_outcomes, plain.mortal) == (False, False)


def test_a_copy_goes_back_to_a_moment() -> None:
    index = loaded(ROWS[:4])
    patched = replace(ROWS[0], record=replace(ROWS[0].record, importance=0.9))
    index.apply([patched, ROWS[4]], [2])
    now = told(index)
    past, later = index.copy(Shelf(ROWS)), index.copy(Shelf(ROWS))
    missing = past.rewind(4, [1, 5], [ROWS[0], ROWS[1], row(0)])
    assert [each.row for each in missing] == [0]
    past.complete(missing)
    assert told(past) == pytest.approx(told(loaded([*ROWS[:4], row(0)])))
    assert past.columns["importance"].tolist() == [0.5] * 6
    assert past.positions([0, 1, 2]).tolist() == [5, 0, 1]
    assert later.rewind(9, [1], []) == []
    later.complete([])
    assert told(later) == pytest.approx(told(loaded(ROWS[2:5])))
    assert (told(index), index.columns["importance"][0]) == (now, 0.9)


def test_an_access_counts_in_place() -> None:
    index = loaded(ROWS)
    index.touch([1, 99], 2, 50.0)
    index.touch([1], 1, 40.0)
    assert index.columns["accesses"].tolist() == [3] + [0] * 10
    assert index.columns["accessed"][0] == 50.0


def saved(index: ScopeIndex) -> tuple[Segment, ...]:
    """Return the sealed blocks as segments, as if a backend had kept them."""
    segments = []
    for number, segment in unsaved_segments(index, 1, {}):
        index.keyword.mark_saved(number, number + 1)
        segments.append(replace(segment, number=number + 1))
    return tuple(segments)


def recalled(index: ScopeIndex, *positions: int) -> dict[int, MemoryRecord]:
    found = index.accessed(np.array(positions))
    return {positions[place]: with_accesses(*each) for place, each in found.items()}


def test_records_are_read_once_and_tell_every_access() -> None:
    shelf = Shelf(ROWS[:3])
    index = opened(shelf, ROWS[:3])
    one, two, three = (each.record for each in ROWS[:3])
    assert recalled(index, 0, 1) == {0: one, 1: two}
    index.touch([2], 1, at=9.0)
    used = replace(two, access_count=1, last_accessed_at=9.0)
    assert recalled(index, 2, 1) == {1: used, 2: three}
    assert shelf.read == [[1, 2], [3]]
    shelf.rows[1] = replace(ROWS[0], record=replace(one, importance=0.9))
    index.apply([shelf.rows[1]], [3])
    del shelf.rows[3]
    assert recalled(index, 0, 1, 2) == {0: shelf.rows[1].record, 1: used}
    assert sorted(number for rows in shelf.read[2:] for number in rows) == [1, 3]


def test_whoever_gets_a_record_may_change_what_it_holds() -> None:
    told = replace(ROWS[0].record, metadata={"a": [{"b": 1}]}, value=["c"])
    index = opened(Shelf([replace(ROWS[0], record=told)]), ROWS[:1])
    mine = recalled(index, 0)[0]
    mine.metadata["a"][0]["b"] = 2
    mine.value.append("d")
    assert recalled(index, 0) == {0: replace(told, metadata={"a": [{"b": 1}]}, value=["c"])}


def test_what_is_saved_is_as_if_loaded_at_once() -> None:
    index = loaded(ROWS)
    index.keyword.freeze()
    segments = saved(index)
    assert sum(segment.count for segment in segments) == 11
    again = loaded([], segments=segments)
    assert told(again) == pytest.approx(told(index))
    assert (again.live_count, again.live_terms) == (index.live_count, index.live_terms)
    query = np.array([0.6, 0.8])
    for one, other in zip(
        again.vectors[EMBEDDED].scan(query), index.vectors[EMBEDDED].scan(query), strict=True
    ):
        assert one == pytest.approx(other, abs=1e-6)
    assert unsaved_segments(index, 1, {}) == []


def test_what_died_since_it_was_saved_stays_dead() -> None:
    index = loaded(ROWS[:6])
    loading = IndexData(0, saved(index), {"a": frozenset({1, 2, 4})}, (row(12),), ())
    again = ScopeIndex.of(Shelf(), 2, loading)
    assert told(again) == pytest.approx(told(loaded([row(n) for n in (1, 2, 4, 12)])))


def test_what_was_patched_since_it_was_saved_is_patched() -> None:
    index = loaded(ROWS[:6])
    patched = replace(ROWS[0], record=replace(ROWS[0].record, importance=0.9))
    other = replace(row(50), record=replace(row(50).record, importance=0.1))
    again = ScopeIndex.of(Shelf(), 2, IndexData(0, saved(index), {}, (), (patched, other)))
    assert again.columns["importance"].tolist() == [0.9, 0.5, 0.5, 0.5, 0.5, 0.5]


def test_what_was_touched_is_saved_as_the_file_has_it_and_nothing_else_is() -> None:
    index = loaded(ROWS[:3])
    index.touch([1, 3], 1, 50.0)
    touched = {1: ROWS[0].record, 99: replace(ROWS[2].record, access_count=7)}
    ((_, segment),) = unsaved_segments(index, 1, touched)
    again = loaded([], segments=(replace(segment, number=1),))
    assert again.columns["accesses"].tolist() == [0, 0, 1]


def test_threads_of_several_namespaces_stay_apart_in_segments() -> None:
    one = loaded([row(n, namespace="a") for n in (1, 2, 3)])
    other = loaded([row(n, namespace="b") for n in (4, 5, 6)], "b")
    index = loaded([], EVERYWHERE, segments=saved(one) + saved(other))
    names = index.threads.names(index.columns["thread"])
    assert names == [("a", "s")] * 3 + [("b", "s")] * 3


def test_only_a_single_namespace_is_saved() -> None:
    index = loaded(ROWS, EVERYWHERE)
    index.keyword.freeze()
    assert index.keyword.has_new_blocks
    assert not index.has_new_blocks


def test_nothing_is_saved_after_a_block_that_came_too_late() -> None:
    index = loaded(ROWS[:3])
    ((number, _),) = unsaved_segments(index, 1, {})
    index.keyword.mark_saved(number, None)
    index.apply([ROWS[3]], [])
    index.keyword.freeze()
    assert unsaved_segments(index, 1, {}) == []


def test_named_vectors_are_read_on_first_use_and_kept_current() -> None:
    first = replace(ROWS[0], vectors={"v": np.array([3, 4], np.float32)})
    shelf = Shelf([first, replace(ROWS[1], vectors={})])
    index = opened(shelf, ROWS[:2])
    assert index.vector_column("v", 2)._columns.size == 2
    index.apply([ROWS[2]], [])
    column = index.vector_column("v", 2)
    assert (column._columns.size, shelf.read) == (3, [[1, 2]])
    near = column.scan(np.array([0.6, 0.8]))
    cosines = [1.0, 0.0, (3 * 0.6 + 0.8) / 10**0.5]
    assert near.raw * near.unit == pytest.approx(cosines, abs=near.margin)
    assert index.vector_column("v", 5).dimension == 5


@pytest.fixture
def few_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scope, "MIN_DEAD", 4)


@pytest.mark.usefixtures("few_dead")
def test_the_dead_are_left_out_once_they_outnumber_the_living() -> None:
    index = loaded(ROWS)
    index.apply([], [1, 2, 3, 4, 6])
    assert index.size == 11
    index.apply([], [8])
    rest = [each for each in ROWS if each.row in (5, 7, 9, 10, 11)]
    assert index.size == index.live_count == 5
    assert index.columns["row"].tolist() == [5, 7, 9, 10, 11]
    assert told(index) == pytest.approx(told(loaded(rest)))
    index.apply([row(12)], [8, 1])
    assert told(index) == pytest.approx(told(loaded([*rest, row(12)])))
    assert index.positions([5, 8, 12]).tolist() == [0, -1, 5]


@pytest.mark.usefixtures("few_dead")
def test_a_few_dead_are_left_where_they_are() -> None:
    index = loaded(ROWS[:3])
    index.apply([], [1, 2, 3])
    assert (index.size, index.live_count) == (3, 0)


@pytest.mark.usefixtures("few_dead")
def test_leaving_out_the_dead_keeps_threads_and_namespaces_apart() -> None:
    mixed = [
        row(number, namespace="ab"[number % 2], thread=None if number % 5 == 0 else f"t{number}")
        for number in (*range(8, 16), *range(8))
    ]
    index = loaded(mixed, EVERYWHERE)
    index.apply([], [*range(1, 7), *range(9, 15)])
    names = [
        index.threads.names(np.array([code]))[0] for code in index.columns["thread"] if code >= 0
    ]
    assert names == [("a", "t8"), ("b", "t7")]
    assert len(index.threads.codes) == 2
    assert index.columns["row"].tolist() == [8, 15, 0, 7]
    assert index.positions([0, 7, 8, 15, 1]).tolist() == [2, 3, 0, 1, -1]
    assert told(index) == pytest.approx(
        told(loaded([mixed[0], *mixed[7:9], mixed[15]], EVERYWHERE))
    )


@pytest.mark.usefixtures("few_dead")
def test_the_dead_of_segments_are_left_out_on_loading() -> None:
    segments = saved(loaded(ROWS[:9]))
    loading = IndexData(0, segments, {"a": frozenset({2, 9})}, (row(12),), ())
    index = ScopeIndex.of(Shelf(), 2, loading)
    assert index.columns["row"].tolist() == [2, 9, 12]
    assert told(index) == pytest.approx(told(loaded([row(2), row(9), row(12)])))
    ((_, segment),) = unsaved_segments(index, 2, {})
    assert (segment.first, segment.last, segment.count) == (2, 12, 3)
    assert set(segment.replaces) == {each.number for each in segments}


@pytest.mark.slow
@pytest.mark.parametrize("count", [0, 10, 500])
def test_the_bytes_told_are_about_those_taken(count: int) -> None:
    rows = [row(number, f"text {number} about {number % 7}") for number in range(count)]
    taken = []
    for _ in range(3):  # what other threads, or caches, take meanwhile is not the index's
        tracemalloc.start()
        index = loaded(rows)
        taken.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    beside = 3_000  # of the allocator, told and not traced
    assert 0.6 * min(taken) < index.nbytes < 1.4 * min(taken) + beside


def test_threads_and_what_is_kept_of_answers_count_among_the_bytes() -> None:
    apart = [row(number, thread=f"t{number}") for number in range(9)]
    shelf = Shelf(apart)
    index = opened(shelf, apart)
    sizes = [loaded([row(number, thread=None) for number in range(9)]).nbytes, index.nbytes]
    answers: list[Callable[[], object]] = [
        lambda: [index.passing(Compare(("category",), "$eq", "gotcha")) for _ in range(2)],
        lambda: recalled(index, 0),
        lambda: index.vector_column("v", 2),
        lambda: index.directions("v", np.array([0])),
    ]
    for answer in answers:
        answer()
        sizes.append(index.nbytes)
    assert sizes == sorted(set(sizes))


def test_a_field_is_read_at_its_second_use_and_then_known_of_what_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scope, "MIN_DEAD", 3)
    gotcha = Compare(("category",), "$eq", "gotcha")
    rows = [row(number) for number in (2, 4, 99)]
    shelf = Shelf(replace(one, record=replace(one.record, category="gotcha")) for one in rows)
    index = opened(shelf, ROWS[:4])

    def of(where: Filter) -> list[int]:
        told: list[int] = index.columns["row"][index.passing(where)].tolist()
        return told

    assert of(gotcha) == of(gotcha) == [2, 4]
    index.apply([replace(ROWS[5], record=replace(ROWS[5].record, category="gotcha"))], [])
    index.apply([replace(ROWS[0], record=replace(ROWS[0].record, category="gotcha"))], [])
    index.apply([replace(ROWS[3], record=replace(ROWS[3].record, category="else"))], [])
    assert of(gotcha) == [1, 2, 6]
    index.apply([], [1, 3, 4])
    assert index.size == 2
    assert of(gotcha) == [2, 6]
    assert of(Compare(("category",), "$ne", "gotcha")) == []
    assert (shelf.paths, shelf.filters) == ([("category",)], [gotcha])


def test_a_segment_is_let_go_as_soon_as_it_is_taken_in(monkeypatch: pytest.MonkeyPatch) -> None:
    gone: list[int] = []
    noted: list[int] = []

    class Watched(bytes):
        def __del__(self) -> None:
            gone.append(len(self))

    adopt = ScopeIndex._adopt

    def noting(self: ScopeIndex, *given: Any) -> None:
        noted.append(len(gone))
        adopt(self, *given)

    def loading() -> IndexData:
        segments = saved(loaded(ROWS[:9]))
        watched = tuple(replace(each, data=Watched(each.data)) for each in segments)
        return IndexData(0, watched, {}, (), ())

    monkeypatch.setattr(keyword, "MERGED_BLOCKS", 9)
    monkeypatch.setattr(ScopeIndex, "_adopt", noting)
    index = ScopeIndex.of(Shelf(), 2, loading())
    assert (index.live_count, noted) == (9, [0, 1, 2])


@pytest.mark.parametrize(
    ("asked", "expected"),
    [("a", [1, 4, 7]), (Subtree("a"), [1, 2, 4, 5, 7]), ("ab", [3, 6]), (Subtree("b"), [])],
    ids=repr,
)
def test_each_memory_knows_its_namespace(asked: Scope, expected: list[int]) -> None:
    spread = [row(number, namespace=("ab", "a", "a/b")[number % 3]) for number in range(1, 8)]
    parts = [loaded([each for each in spread if each.row in rows]) for rows in ((3, 6), (2, 5))]
    for part, name in zip(parts, ("ab", "a/b"), strict=True):
        part.scope = name
        part.keyword.freeze()
    saved = tuple(segment for part in parts for _, segment in unsaved_segments(part, 7, {}))
    alone = [each for each in spread if each.row in (1, 4)]
    index = loaded(alone, EVERYWHERE, segments=saved)
    index.apply([spread[6]], [])
    everything = np.arange(index.size)
    found = index.columns["row"][index.within(asked, everything)]
    assert sorted(found.tolist()) == expected
    assert (
        index.within(asked, everything[::2]).tolist()
        == np.isin(index.columns["row"][::2], expected).tolist()
    )


def test_a_small_scope_is_soon_read_in_full() -> None:
    shelf = Shelf(ROWS)
    index = opened(shelf, ROWS)
    index.apply([], [4])
    for position in (0, 1, 2, 5):
        assert recalled(index, position)[position].id == str(position + 1)
    rest = [3, 5, 6, 7, 8, 9, 10, 11]
    assert shelf.read == [[1], [2], rest]
    index.vector_column("v", 2)
    shelf.read.clear()
    for position in (0, 1, 2, 5):
        towards = index.directions("v", np.array([position]))[0]
        assert towards[0] / towards[1] == pytest.approx(position + 1)
    assert shelf.read == [[1], [2], rest]
