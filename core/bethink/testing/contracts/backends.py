"""What every backend promises.

A backend's test file has ``class TestMine(BackendContract)`` with the fixture ``backend``, or
``class TestMine(DurableContract)`` with ``location``, and ``open`` for locations of its own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest

from ...errors import DimensionError, StoreClosedError, ValidationError
from ...model.filters import lookup, matches, parse, unexpired
from ...model.namespaces import EVERYWHERE, Scope, Subtree
from ...model.port import EMBEDDED, LogQuery, Page
from ...model.records import SortField, State
from ...storage import FullBackend as Backend
from ...storage import open_backend
from .journals import JournalContract
from .keys import KeyContract
from .samples import (
    EVERY_FIELD,
    FILTERS,
    NAMESPACES,
    erase,
    insert,
    move,
    outline,
    patch,
    record,
    records_of,
    segment,
    touch,
    vector,
    zoo,
)


class BackendContract(JournalContract, KeyContract):
    """The tests that need one backend, new and empty."""

    def test_a_new_backend_holds_nothing(self, backend: Backend) -> None:
        assert (backend.head(), backend.namespaces(EVERYWHERE)) == (0, {})
        assert backend.count(EVERYWHERE, None) == 0
        assert backend.log(LogQuery()) == []
        assert (backend.setting("embedder"), backend.dimension(EMBEDDED)) == (None, None)
        assert backend.load("default").unindexed == ()

    def test_a_record_comes_back_as_it_was(self, backend: Backend) -> None:
        (row,) = insert(backend, EVERY_FIELD, vectors={EMBEDDED: vector(1, 0), "mine": vector(2)})
        assert records_of(backend, ["all"]) == {"all": EVERY_FIELD}
        (whole,) = backend.rows([99, row.row])
        assert (whole.row, whole.ordinal, whole.record) == (1, 1, EVERY_FIELD)
        assert {name: each.tolist() for name, each in whole.vectors.items()} == {
            EMBEDDED: [1, 0],
            "mine": [2],
        }
        assert backend.by_row([row.row]) == {row.row: EVERY_FIELD}
        assert backend.rows_of(["all", "none"]) == {"all": row.row}

    def test_what_is_unknown_is_absent(self, backend: Backend) -> None:
        insert(backend, record("r1"))
        assert list(backend.find(["none", "r1"])) == ["r1"]
        assert (backend.find([]), backend.by_row([99]), backend.rows([99])) == ({}, {}, [])
        assert backend.vectors([1], "none") == {}
        assert backend.by_key("default", "none") is None

    def test_every_entry_moves_the_head_by_one(self, backend: Backend) -> None:
        rows = insert(backend, record("r1"), record("r2"))
        assert ([row.row for row in rows], backend.head()) == ([1, 2], 2)
        patch(backend, 1, record("r1", importance=0.9))
        assert backend.head() == 3
        assert insert(backend, record("r3"))[0].row == 4

    def test_an_exception_rolls_everything_back(self, backend: Backend) -> None:
        insert(backend, record("r1"))

        def fail_half_way() -> None:
            with backend.write() as writer:
                writer.set_setting("embedder", "x")
                row = writer.insert(record("r2"), {"named": vector(1, 2)})
                writer.journal("store", 1.0, record("r2"), None, row.row, {})
                raise KeyError

        with pytest.raises(KeyError):
            fail_half_way()
        assert (backend.head(), backend.count(EVERYWHERE, None)) == (1, 1)
        assert (backend.setting("embedder"), backend.dimension("named")) == (None, None)
        assert insert(backend, record("r2"))[0].row == 2

    def test_a_writer_sees_its_own_writes(self, backend: Backend) -> None:
        with backend.write() as writer:
            row = writer.insert(record("r1", key="k"), {})
            writer.journal("store", 1.0, record("r1", key="k"), None, row.row, {})
            writer.set_setting("name", "value")
            assert writer.find(["none", "r1"]) == {"r1": (row.row, record("r1", key="k"))}
            assert writer.by_key("default", "k") == (row.row, record("r1", key="k"))
            assert writer.select(EVERYWHERE, None) == [(row.row, record("r1", key="k"))]
            assert (writer.head(), writer.setting("name")) == (1, "value")

    def test_a_writer_tells_what_was_added_since(self, backend: Backend) -> None:
        insert(backend, record("r1"), record("r2"), record("r3", namespace="a"))
        move(backend, 1, record("r1", content="other"), {EMBEDDED: vector(1, 0)})
        with backend.write() as writer:
            row = writer.insert(record("r4"), {EMBEDDED: vector(0, 1)})
            writer.journal("store", 1.0, record("r4"), None, row.row, {})
            writer.patch(2, record("r2", state="forgotten"))
            writer.journal("forget", 1.0, record("r2", state="forgotten"), 2, 2, {})
            added = writer.added("default", 1)
            assert [each.record.id for each in writer.added("default", 0)] == ["r1", "r4"]
            assert not writer.added("default", writer.head())
        assert [each.record.content for each in added] == ["other", "words"]
        assert [each.vectors[EMBEDDED].tolist() for each in added] == [[1, 0], [0, 1]]

    def test_an_id_that_exists_is_refused(self, backend: Backend) -> None:
        insert(backend, record("r1"))
        with pytest.raises(ValidationError, match="'r1' exists"):
            insert(backend, record("r1", content="other"))
        assert records_of(backend, ["r1"])["r1"].content == "words"

    def test_a_patch_keeps_the_row(self, backend: Backend) -> None:
        (row,) = insert(backend, record("r1"), vectors={EMBEDDED: vector(1, 0)})
        patched = record("r1", importance=0.9, tags=("t",), updated_at=101.0)
        patch(backend, row.row, patched)
        assert backend.by_row([row.row]) == {row.row: patched}
        assert backend.vectors([row.row], EMBEDDED)[row.row].tolist() == [1, 0]

    def test_zeros_for_a_record_without_content_are_not_kept(self, backend: Backend) -> None:
        zeros = {EMBEDDED: vector(0, 0)}
        first, second = insert(backend, record("r1", ""), record("r2"), vectors=zeros)
        assert list(backend.vectors([first.row, second.row], EMBEDDED)) == [second.row]
        assert move(backend, second.row, record("r2", ""), zeros).vectors == {}

    def test_a_replaced_record_has_a_new_row_and_its_old_place(self, backend: Backend) -> None:
        first, _ = insert(backend, record("r1"), record("r2"))
        moved = move(backend, first.row, record("r1", content="other"))
        assert (moved.row, moved.ordinal) == (3, first.ordinal)
        assert list(backend.by_row([1, 2, 3])) == [2, 3]
        assert [each.record.id for each in backend.select("default", None)] == ["r1", "r2"]

    def test_a_replaced_record_keeps_the_vectors_that_are_not_given(self, backend: Backend) -> None:
        given = {EMBEDDED: vector(1, 0), "mine": vector(1, 2, 3)}
        (row,) = insert(backend, record("r1"), vectors=given)
        moved = move(backend, row.row, record("r1"), {"mine": vector(4, 5, 6)})
        found = {name: numbers.tolist() for name, numbers in moved.vectors.items()}
        assert found == {EMBEDDED: [1, 0], "mine": [4, 5, 6]}
        assert backend.vectors([moved.row], "mine")[moved.row].tolist() == [4, 5, 6]
        assert backend.vectors([row.row], EMBEDDED) == {}

    def test_touching_counts_for_live_records_only(self, backend: Backend) -> None:
        insert(backend, record("r1", last_accessed_at=50.0, access_count=2), record("r2"))
        patch(backend, 2, record("r2", state="forgotten"), "forget")
        assert touch(backend, {"r1": (3, 40.0), "r2": (1, 40.0), "none": (1, 40.0)}) == [1]
        found = records_of(backend, ["r1", "r2"])
        assert (found["r1"].access_count, found["r1"].last_accessed_at) == (5, 50.0)
        assert (found["r2"].access_count, found["r2"].last_accessed_at) == (0, None)
        touch(backend, {"r1": (1, 60.0)})
        assert records_of(backend, ["r1"])["r1"].last_accessed_at == 60.0

    @pytest.mark.parametrize(
        "scope", [*NAMESPACES, "none", *map(Subtree, (*NAMESPACES, "none")), EVERYWHERE], ids=repr
    )
    def test_a_scope_sees_whole_segments(self, backend: Backend, scope: Scope) -> None:
        insert(backend, *(record(name, namespace=name) for name in NAMESPACES))
        insert(backend, record("dead", namespace="a", state="forgotten"))
        wanted = [
            name
            for name in NAMESPACES
            if scope in (EVERYWHERE, name)
            or (isinstance(scope, Subtree) and f"{name}/".startswith(f"{scope.path}/"))
        ]
        assert [each.record.id for each in backend.select(scope, None)] == wanted
        assert backend.namespaces(scope) == dict.fromkeys(sorted(wanted), 1)
        assert backend.count(scope, None) == len(wanted)
        assert {each.record.id for each in backend.load(scope).unindexed} == set(wanted)
        assert {each.record.id for each in backend.changes(0, [scope]).live} == set(wanted)

    def test_namespaces_come_sorted(self, backend: Backend) -> None:
        insert(backend, *(record(name, namespace=name) for name in reversed(NAMESPACES)))
        assert list(backend.namespaces(EVERYWHERE)) == sorted(NAMESPACES)

    @pytest.mark.parametrize("where", FILTERS, ids=lambda where: str(where)[-60:])
    def test_a_filter_means_the_same_everywhere(
        self, backend: Backend, where: dict[str, Any]
    ) -> None:
        rows = insert(backend, *zoo(), record("elsewhere", namespace="b"))
        passing = parse(where)
        assert passing is not None
        wanted = [row for row in rows[:8] if matches(passing, row.record)]
        ids = [row.record.id for row in wanted]
        assert backend.matching("default", passing).tolist() == [row.row for row in wanted]
        assert backend.count("default", passing) == len(wanted)
        values = [(row.row, lookup(row.record, ("metadata", "n"))) for row in wanted]
        assert backend.values("default", passing, path=("metadata", "n")) == values
        found = backend.select("default", passing, Page(2, 1, True))
        assert [each.record.id for each in found] == ids[::-1][1:3]
        with backend.write() as writer:
            read = [of("default", passing) for of in (writer.select, writer.outlines)]
        assert [[*map(outline, found)] for found in read] == [[*map(outline, wanted)]] * 2

    def test_pages_follow_insertion(self, backend: Backend) -> None:
        insert(backend, *(record(f"r{n}") for n in range(5)))
        asked = ((2, 0, False), (2, 4, False), (None, 3, True), (0, 0, True))
        pages = [backend.select("default", None, Page(*each)) for each in asked]
        ids = [[each.record.id for each in page] for page in pages]
        assert ids == [["r0", "r1"], ["r4"], ["r1", "r0"], []]

    def test_records_can_be_listed_by_their_rows(self, backend: Backend) -> None:
        insert(backend, *(record(f"r{n}") for n in range(4)))
        move(backend, 2, record("r1", content="other"))
        found = backend.select("default", None, Page(3, 0, True, "row"))
        assert [each.record.id for each in found] == ["r1", "r3", "r2"]

    @pytest.mark.parametrize("by", get_args(SortField))
    @pytest.mark.parametrize("where", [None, {"metadata.kind": "a"}], ids=["all", "inexact"])
    def test_pages_can_be_sorted_by_a_field(
        self, backend: Backend, by: SortField, where: dict[str, Any] | None
    ) -> None:
        least = None if by == "last_accessed_at" else 0
        values = (1, 3, least, 2, 3) if by == "access_count" else (0.25, 0.75, least, 0.5, 0.75)
        given: list[dict[str, Any]] = [{"metadata": {"kind": "a"}, by: value} for value in values]
        insert(backend, *(record(f"r{n}", **each) for n, each in enumerate(given)))
        found = backend.select("default", parse(where), Page(4, 0, True, by))
        assert [each.record.id for each in found] == ["r4", "r1", "r3", "r0"]
        found = backend.select("default", parse(where), Page(4, 3, True, by))
        assert [each.record.id for each in found] == ["r0", "r2"]

    def test_changes_tell_what_happened_since(self, backend: Backend) -> None:
        insert(backend, record("r1"), record("r2"), record("r3"))
        move(backend, 1, record("r1", content="moved"))
        patch(backend, 2, record("r2", state="forgotten"), "forget")
        touch(backend, {"r3": (1, 5.0)})
        changes = backend.changes(3, ["default"])
        assert (changes.base, changes.head, changes.rows) == (3, 6, frozenset((1, 2, 3, 4)))
        assert [(row.row, row.record.id) for row in changes.live] == [(3, "r3"), (4, "r1")]
        assert changes.live[0].record.access_count == 1
        assert backend.changes(6, ["default"]).rows == frozenset()

    def test_changes_name_the_namespaces_of_before_and_after(self, backend: Backend) -> None:
        insert(backend, record("r1"), record("r2", namespace="b"), record("r3", namespace="c"))
        assert backend.changes(0, []).namespaces == {"default", "b", "c"}
        with backend.write() as writer:
            new = writer.replace(1, moved := record("r1", namespace="d"), {})
            writer.journal("update", 1.0, moved, 1, new.row, {"namespace": "d"})
        assert backend.changes(3, []).namespaces == {"default", "d"}
        patch(backend, 2, record("r2", namespace="b", state="forgotten"), "forget")
        assert backend.changes(4, ["c"]).namespaces == {"b"}
        touch(backend, {"r3": (1, 5.0)})
        assert backend.changes(5, []).namespaces == {"c"}
        erase(backend, 4, record("r1", "", namespace="d", state="erased"))
        assert backend.changes(6, []).namespaces == {"default", "d"}
        assert backend.changes(7, ["b"]).namespaces == frozenset()

    def test_changes_carry_data_for_the_scopes_asked_for(self, backend: Backend) -> None:
        given = {EMBEDDED: vector(1, 0), "mine": vector(2, 3)}
        insert(backend, record("r1"), vectors=given)
        insert(backend, record("r2", namespace="b/c"))
        assert [row.record.id for row in backend.changes(0, [Subtree("b")]).live] == ["r2"]
        assert backend.changes(0, []).live == ()
        many = backend.changes(0, ["default", *(f"n{n}" for n in range(200))]).live
        assert many[0].vectors["mine"].tolist() == [2, 3]
        assert many[0].vectors[EMBEDDED].tolist() == [1, 0]

    def test_loading_gives_the_live_rows_with_their_vectors(self, backend: Backend) -> None:
        insert(backend, record("r1"), record("r2"), vectors={EMBEDDED: vector(1, 0)})
        insert(backend, record("r3"), vectors={"mine": vector(1, 2, 3)})
        patch(backend, 1, record("r1", state="forgotten"), "forget")
        move(backend, 2, record("r2", content="moved"))
        loading = backend.load("default")
        assert [(row.row, row.ordinal) for row in loading.unindexed] == [(3, 3), (5, 2)]
        assert [list(row.vectors) for row in loading.unindexed] == [["mine"], [EMBEDDED]]
        assert (loading.head, loading.segments, loading.changed) == (5, (), ())
        assert loading.embedder is None
        with backend.write() as writer:
            writer.set_setting("embedder", "of words")
        assert backend.load("default").embedder == "of words"

    def test_loading_some_gives_the_first_unindexed_rows(self, backend: Backend) -> None:
        rows = insert(backend, *(record(f"r{n}") for n in range(6)))
        insert(backend, record("elsewhere", namespace="b"))
        backend.save([segment(rows[:2], 6)])
        patch(backend, 4, record("r3", state="forgotten"), "forget")
        loading = backend.load("default", limit=3)
        assert [row.row for row in loading.unindexed] == [3, 5, 6]
        assert loading.segments == ()
        assert backend.load("none", limit=3).unindexed == ()

    def test_vectors_are_float32_by_name(self, backend: Backend) -> None:
        given = {EMBEDDED: vector(0.1, 0.2), "mine": vector(1e-30, 1e30, 3)}
        rows = insert(backend, record("r1"), record("r2"), vectors=given)
        insert(backend, record("r3"))
        found = backend.vectors([row.row for row in rows] + [3], "mine")
        assert list(found) == [1, 2]
        assert np.array_equal(found[2], given["mine"])
        assert found[2].dtype == np.float32

    def test_vectors_of_a_name_have_one_dimension(self, backend: Backend) -> None:
        insert(backend, record("r1"), vectors={"mine": vector(1, 2, 3)})
        assert (backend.dimension("mine"), backend.dimension("other")) == (3, None)
        with pytest.raises(DimensionError, match="expected 3"):
            insert(backend, record("r2"), vectors={"mine": vector(1, 2)})
        assert records_of(backend, ["r2"]) == {}

    def test_a_dimension_that_no_live_record_has_can_change(self, backend: Backend) -> None:
        insert(backend, record("r1"), vectors={"mine": vector(1, 2, 3)})
        patch(backend, 1, record("r1", state="forgotten"), "forget")
        insert(backend, record("r2"), vectors={"mine": vector(1, 2)})
        assert backend.dimension("mine") == 2

    def test_a_setting_is_the_last_value_given(self, backend: Backend) -> None:
        for value in ("one", "two", ""):
            with backend.write() as writer:
                writer.set_setting("name", value)
        assert (backend.setting("name"), backend.setting("other")) == ("", None)

    def test_saved_segments_are_loaded(self, backend: Backend) -> None:
        rows = insert(backend, *(record(f"r{n}") for n in range(6)))
        numbers = backend.save([segment(rows[:2], 6, b"\x00one"), segment(rows[2:4], 6, b"two")])
        loading = backend.load("default")
        assert [each.number for each in loading.segments] == numbers
        spans = [(each.first, each.last, each.count) for each in loading.segments]
        assert spans == [(1, 2, 2), (3, 4, 2)]
        assert [each.data for each in loading.segments] == [b"\x00one", b"two"]
        assert [row.row for row in loading.unindexed] == [5, 6]
        assert (loading.live_rows, loading.changed) == ({}, ())

    def test_a_segment_belongs_to_its_namespace(self, backend: Backend) -> None:
        rows = insert(backend, *(record(name, namespace=name) for name in ("a", "a/b", "b")))
        backend.save([segment([row], 3, row.record.id.encode()) for row in rows])
        assert [each.data for each in backend.load(Subtree("a")).segments] == [b"a", b"a/b"]
        assert backend.load("b").segments[0].data == b"b"
        assert len(backend.load(EVERYWHERE).segments) == 3

    def test_an_overlapping_segment_comes_too_late(self, backend: Backend) -> None:
        rows = insert(backend, *(record(f"r{n}") for n in range(6)))
        (number,) = backend.save([segment(rows[:3], 6, b"mine")])
        assert number is not None
        assert backend.save([segment(rows[1:5], 6)]) == [None]
        assert backend.save([segment(rows[:3], 6)]) == [None]
        assert [each.data for each in backend.load("default").segments] == [b"mine"]

    def test_no_segment_is_saved_past_one_that_came_too_late(self, backend: Backend) -> None:
        rows = insert(backend, *(record(f"r{n}") for n in range(6)))
        backend.save([segment(rows[:1], 6)])
        assert backend.save([segment(rows[:3], 6), segment(rows[3:], 6)]) == [None, None]
        loading = backend.load("default")
        assert [row.row for row in loading.unindexed] == [2, 3, 4, 5, 6]

    def test_a_segment_replaces_others(self, backend: Backend) -> None:
        rows = insert(backend, *(record(f"r{n}") for n in range(6)))
        numbers = backend.save([segment(rows[:2], 6), segment(rows[2:4], 6)])
        replaced = tuple(number for number in numbers if number is not None)
        merged = segment(rows[:4], 6, b"merged", replaces=replaced)
        (number,) = backend.save([merged])
        assert [each.data for each in backend.load("default").segments] == [b"merged"]
        assert number is not None
        assert backend.save([merged]) == [None]

    def test_deaths_after_saving_are_in_the_data(self, backend: Backend) -> None:
        rows = insert(backend, *(record(f"r{n}") for n in range(4)))
        backend.save([segment(rows, 4)])
        patch(backend, 1, record("r0", state="forgotten"), "forget")
        move(backend, 2, record("r1", namespace="b"))
        move(backend, 3, record("r2", content="moved"))
        loading = backend.load("default")
        assert loading.live_rows == {"default": frozenset((4,))}
        assert [row.record.content for row in loading.unindexed] == ["moved"]
        assert backend.load("b").unindexed[0].record.id == "r1"

    def test_patches_after_saving_are_in_the_data(self, backend: Backend) -> None:
        rows = insert(backend, *(record(f"r{n}") for n in range(4)))
        patch(backend, 1, record("r0", importance=0.1))
        backend.save([segment(rows, 5)])
        patch(backend, 2, record("r1", importance=0.2))
        touch(backend, {"r2": (4, 9.0)})
        changed = {each.row: each.record for each in backend.load("default").changed}
        told = {row: (each.importance, each.access_count) for row, each in changed.items()}
        assert told == {2: (0.2, 0), 3: (0.5, 4)}

    def test_what_comes_back_after_saving_is_unindexed(self, backend: Backend) -> None:
        rows = insert(backend, record("r0"), record("r1"))
        patch(backend, 1, record("r0", state="forgotten"), "forget")
        backend.save([segment(rows[1:], 3)])
        back = move(backend, 1, record("r0"))
        loading = backend.load("default")
        assert [row.row for row in loading.unindexed] == [back.row]
        assert loading.unindexed[0].ordinal == 1

    def test_what_has_expired_is_left_out_from_its_moment_on(self, backend: Backend) -> None:
        insert(backend, record("r1", expires_at=5.0), record("r2", expires_at=6.0), record("r3"))
        insert(backend, record("r4", expires_at=5.0, namespace="b"))
        insert(backend, record("dead", expires_at=1.0, state="forgotten"))
        for now, left in ((None, "r1 r2 r3 r4"), (4.9, "r1 r2 r3 r4"), (5.0, "r2 r3"), (9.0, "r3")):
            where = None if now is None else unexpired(None, now)
            found = backend.select(EVERYWHERE, where, Page(4))
            assert [each.record.id for each in found] == left.split()
            assert backend.count(EVERYWHERE, None, now) == len(found)
            for name, count in backend.namespaces(EVERYWHERE, now).items():
                assert count == backend.count(name, None, now) > 0
            passing = parse({"id": {"$ne": "r3"}})
            assert backend.count("default", passing, now) == left.count("r1") + left.count("r2")

    def test_erasing_leaves_a_tombstone_only(self, backend: Backend) -> None:
        given = {EMBEDDED: vector(1, 0), "mine": vector(1, 2)}
        kept, first = insert(backend, record("kept"), record("r1", key="k"), vectors=given)
        more = record("r1", "more", namespace="b")
        second = move(backend, first.row, more, {"mine": vector(3, 4)})
        touch(backend, {"r1": (1, 5.0)})
        backend.save([segment([kept, first], 4), segment([second], 4)])
        tombstone = record("r1", "", namespace="b", state="erased")
        assert erase(backend, second.row, tombstone) == {"default", "b"}
        assert records_of(backend, ["kept", "r1"]) == {"kept": kept.record, "r1": tombstone}
        assert backend.vectors([first.row, second.row], "mine") == {}
        told = [entry.changes for entry in backend.log(LogQuery(id="r1"))]
        assert told == [{"left": "r1"}, {}, {}]
        assert backend.load(EVERYWHERE).segments == ()
        reader = backend.journal_reader
        (story,) = reader.histories(reader.current(["r1"]), 4)
        assert {each.changes is None for each in story.entries} == {True}
        assert (story.accessed, reader.key_holders("default", "k", 9)) == (None, [])
        assert backend.vectors([kept.row], "mine")[kept.row].tolist() == [1, 2]

    def test_erasing_is_told_with_the_namespaces_it_reached(self, backend: Backend) -> None:
        (row,) = insert(backend, record("r1"))
        move(backend, row.row, record("r1", namespace="b"))
        assert backend.changes(0, []).erased == frozenset()
        erase(backend, 2, record("r1", "", namespace="b", state="erased"))
        changes = backend.changes(2, [EVERYWHERE])
        assert (changes.erased, changes.rows) == (frozenset(("default", "b")), frozenset((2,)))
        assert changes.live == ()
        assert backend.changes(3, [EVERYWHERE]).erased == frozenset()

    def test_a_segment_from_before_an_erasing_comes_too_late(self, backend: Backend) -> None:
        rows = insert(backend, *(record(f"r{n}") for n in range(3)))
        erase(backend, 2, record("r1", "", state="erased"))
        assert backend.save([segment([rows[0], rows[2]], 3)]) == [None]
        assert backend.save([segment([rows[0], rows[2]], 4)]) != [None]

    def test_erasing_keeps_the_segments_that_never_held_it(self, backend: Backend) -> None:
        rows = insert(backend, *(record(f"r{n}") for n in range(6)))
        elsewhere = insert(backend, record("other", namespace="b"))
        backend.save([segment(rows[:2], 7, b"one"), segment(rows[2:4], 7), segment(rows[4:], 7)])
        backend.save([segment(elsewhere, 7, b"b")])
        erase(backend, 4, record("r3", "", state="erased"))
        loading = backend.load("default")
        assert [each.data for each in loading.segments] == [b"one"]
        assert [row.row for row in loading.unindexed] == [3, 5, 6]
        assert backend.load("b").segments[0].data == b"b"

    def test_records_are_chosen_by_state(self, backend: Backend) -> None:
        states: tuple[State, ...] = ("live", "archived", "forgotten", "erased")
        insert(backend, *(record(state, state=state) for state in states))
        with backend.write() as writer:
            living = writer.select(EVERYWHERE, None)
            others = writer.select("default", None, states=states[1:3])
        assert [each.id for _, each in living] == ["live"]
        assert [each.id for _, each in others] == ["archived", "forgotten"]

    def test_scrubbing_goes_unnoticed(self, backend: Backend) -> None:
        rows = insert(backend, record("r1"), record("r2"))
        backend.scrub()
        erase(backend, rows[0].row, record("r1", "", state="erased"))
        for _ in range(2):
            backend.scrub()
        assert (backend.head(), backend.count(EVERYWHERE, None)) == (3, 1)
        assert insert(backend, record("r3"))[0].row == 4

    def test_the_journal_is_told_newest_first(self, backend: Backend) -> None:
        insert(backend, record("r1"), record("r2", namespace="a/b"))
        patch(backend, 1, record("r1", updated_at=200.0))
        told = backend.log(LogQuery())
        assert [(entry.seq, entry.at, entry.action, entry.id) for entry in told] == [
            (3, 200.0, "update", "r1"),
            (2, 100.0, "store", "r2"),
            (1, 100.0, "store", "r1"),
        ]
        assert (told[1].namespace, told[1].changes) == ("a/b", {"id": "r2"})

    @pytest.mark.parametrize("in_child", [False, True])
    def test_a_backend_goes_on_after_a_sleep(self, backend: Backend, in_child: bool) -> None:
        insert(backend, record("r1"))
        for _ in range(2):
            backend.sleep()
            backend.resume(in_child=in_child)
        assert list(records_of(backend, ["r1"])) == ["r1"]
        assert insert(backend, record("r2"))[0].row == 2
        backend.sleep()
        backend.resume(in_child=in_child)
        backend.close()
        with pytest.raises(StoreClosedError):
            backend.head()

    def test_a_closed_backend_refuses_every_call(self, backend: Backend) -> None:
        backend.close()
        backend.close()
        for call in (
            backend.head,
            lambda: records_of(backend, ["r1"]),
            lambda: backend.load("default"),
            lambda: backend.save([]),
            lambda: insert(backend, record("r1")),
        ):
            with pytest.raises(StoreClosedError):
                call()


class DurableContract(BackendContract):
    """The tests that open the same location again, beside the first or after it."""

    @pytest.fixture
    @abstractmethod
    def location(self) -> str:
        """Return where a new backend can be made."""

    def open(self, location: str) -> Backend:
        """Open the backend at *location*, each time anew."""
        return open_backend(location, "normal")

    @pytest.fixture
    def backend(self, location: str) -> Iterator[Backend]:
        """Yield a new backend at *location* and close it."""
        backend = self.open(location)
        yield backend
        backend.close()

    @pytest.fixture
    def other(self, backend: Backend) -> Iterator[Backend]:
        """Yield another at the location of *backend* and close it."""
        other = self.open(backend.location)
        yield other
        other.close()

    def test_everything_is_there_after_reopening(self, backend: Backend) -> None:
        rows = insert(backend, EVERY_FIELD, record("r1"), vectors={"mine": vector(1, 2)})
        backend.save([segment(rows[1:], 2, b"saved")])
        with backend.write() as writer:
            writer.set_setting("name", "value")
        told = backend.log(LogQuery())
        backend.close()
        again = self.open(backend.location)
        assert records_of(again, ["all", "r1"]) == {"all": EVERY_FIELD, "r1": record("r1")}
        assert (again.head(), again.setting("name"), again.dimension("mine")) == (2, "value", 2)
        assert again.load("default").segments[0].data == b"saved"
        assert again.log(LogQuery()) == told
        again.close()

    def test_another_sees_what_is_committed(self, backend: Backend, other: Backend) -> None:
        insert(backend, record("r1"))
        assert (other.head(), other.count("default", None)) == (1, 1)
        insert(other, record("r2"))
        assert [row.record.id for row in backend.changes(1, ["default"]).live] == ["r2"]

    def test_another_sees_nothing_that_is_not_committed(
        self, backend: Backend, other: Backend
    ) -> None:
        with backend.write() as writer:
            row = writer.insert(record("r1"), {})
            writer.journal("store", 1.0, record("r1"), None, row.row, {})
            seen = other.head(), other.find(["r1"]), other.load("default").unindexed
            assert seen == (0, {}, ())
        assert other.head() == 1

    def test_rows_of_two_writers_never_collide(self, backend: Backend, other: Backend) -> None:
        turns = enumerate([backend, other, other, backend, other])
        assert [insert(each, record(f"r{n}"))[0].row for n, each in turns] == [1, 2, 3, 4, 5]

    def test_a_loading_is_one_state(self, backend: Backend, other: Backend) -> None:
        rows = insert(backend, record("r1"), record("r2"))
        other.save([segment(rows, 2)])
        patch(other, 1, replace(record("r1"), state="forgotten"), "forget")
        loading = backend.load("default")
        assert (loading.head, loading.live_rows) == (3, {"default": frozenset((2,))})
