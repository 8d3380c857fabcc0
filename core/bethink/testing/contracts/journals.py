"""What every backend promises about its past; ``BackendContract`` has these tests, too."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from ...errors import ValidationError
from ...model.arrays import Vector
from ...model.namespaces import EVERYWHERE, Scope, Subtree
from ...model.port import EMBEDDED, LogQuery, entry_at
from ...model.records import Snapshot, non_empty_fields
from ...storage import Current, Link
from ...storage import FullBackend as Backend
from .samples import (
    EVERY_FIELD,
    erase,
    insert,
    move,
    patch,
    record,
    records_of,
    segment,
    touch,
    vector,
)


def relate(backend: Backend, link: str, *, holds: bool, at: float = 100.0) -> None:
    """Make a link such as "a1b", of kind 1 from a to b, or take it back."""
    source, kind, target = tuple(link)
    held = records_of(backend, [source])[source]
    with backend.write() as writer:
        assert writer.link(source, kind, target, holds=holds)
        assert not writer.link(source, kind, target, holds=holds)
        writer.journal("relate", at, held, None, None, {"kind": kind})


def ids(found: list[Current]) -> list[str]:
    """Return the ids of what was found, sorted."""
    return sorted(each.record.id for each in found)


def damage(backend: Backend) -> list[str]:
    """Return the damage that an inspection finds."""
    with backend.inspect() as inspection:
        return [str(problem) for problem in inspection.damage()]


class JournalContract(ABC):
    """The tests that ask a backend about its past."""

    @pytest.fixture
    @abstractmethod
    def backend(self) -> Iterator[Backend]:
        """Yield a new backend and close it."""

    def test_nothing_has_no_past(self, backend: Backend) -> None:
        reader = backend.journal_reader
        assert (reader.seq_at(1e9), entry_at(backend, 1), reader.snapshots()) == (0, None, [])
        assert (reader.current(["r1"]), reader.ids_of_rows([1])) == ([], {})
        assert not reader.erased(0)
        assert reader.candidates(EVERYWHERE, 5) == reader.key_holders("default", "k", 99) == []

    @pytest.mark.parametrize(
        "times", [(1.0, 2.0, 2.0, 5.0), (5.0, 1.0, 3.0, 2.0, 2.0, 9.0), (4.0, 3.0, 2.0, 1.0), ()]
    )
    def test_a_time_is_the_last_entry_made_by_then(
        self, backend: Backend, times: tuple[float, ...]
    ) -> None:
        insert(backend, *(record(f"t{n}", created_at=at) for n, at in enumerate(times)))
        for time in (0.5, *times, 2.5, 99.0):
            last = max((seq for seq, at in enumerate(times, 1) if at <= time), default=0)
            assert backend.journal_reader.seq_at(time) == last

    def test_an_entry_is_found_by_its_number(self, backend: Backend) -> None:
        insert(backend, record("r1"))
        patch(backend, 1, record("r1", importance=0.9), importance=0.9)
        entry = entry_at(backend, 2)
        assert entry is not None
        assert entry == backend.log(LogQuery(1))[0]
        assert (entry.seq, entry.action, entry.changes) == (2, "update", {"importance": 0.9})

    def test_the_current_form_tells_its_row_and_last_change(self, backend: Backend) -> None:
        insert(backend, record("r1"), EVERY_FIELD)
        moved = record("r1", content="moved")
        move(backend, 1, moved)
        assert backend.journal_reader.current(["r1", "none"]) == [Current(3, 1, 3, moved)]
        assert backend.journal_reader.ids_of_rows([1, 2, 3, 4]) == {1: "r1", 2: "all", 3: "r1"}

    def test_candidates_are_the_living_and_who_died_or_left_since(self, backend: Backend) -> None:
        insert(backend, *(record(f"r{n}", namespace="a/b") for n in range(5)))
        patch(backend, 1, record("r0", namespace="a/b", state="forgotten"), "forget")
        seq = backend.head()
        patch(backend, 2, record("r1", namespace="a/b", state="superseded"), "supersede")
        move(backend, 3, record("r2", namespace="c"))
        patch(backend, 4, record("r3", namespace="a/b", importance=0.9))
        insert(backend, record("new", namespace="a/b"))
        candidates = backend.journal_reader.candidates
        for scope in ("a/b", Subtree("a"), EVERYWHERE):
            assert ids(candidates(scope, seq)) == ["r1", "r2", "r3", "r4"]
            assert ids(candidates(scope, seq, seq)) == ["r1", "r2", "r3"]
            assert ids(candidates(scope, backend.head(), seq)) == ["new", "r1", "r2", "r3"]
        assert ids(candidates("a", seq)) == []

    def test_holders_are_all_who_ever_held_a_key(self, backend: Backend) -> None:
        insert(backend, record("r1", key="k"), record("r2", key="other"), record("r3", key=None))
        patch(backend, 1, record("r1", key="k", state="superseded"), "supersede")
        insert(backend, record("r4", key="k"))
        patch(backend, 2, record("r2", key="k2"))
        holders = backend.journal_reader.key_holders
        for key, seq, held in (("k", 99, ["r1", "r4"]), ("k", 4, ["r1"]), ("other", 99, ["r2"])):
            assert ids(holders("default", key, seq)) == held
        assert ids(holders("default", "k2", 99)) == ["r2"]
        assert holders("elsewhere", "k", 99) == []

    def test_expiring_are_the_living_whose_time_lies_in_a_span(self, backend: Backend) -> None:
        insert(backend, *(record(f"r{n}", expires_at=100.0 + n) for n in range(4)), record("r4"))
        insert(backend, record("other", namespace="b", expires_at=102.0))
        patch(backend, 3, record("r2", state="forgotten", expires_at=102.0), "forget")
        assert ids(backend.journal_reader.expiring("default", 100.0, 103.0)) == ["r1", "r3"]
        assert ids(backend.journal_reader.expiring(EVERYWHERE, 101.0, 102.0)) == ["other"]

    def test_a_story_begins_with_all_of_the_record(self, backend: Backend) -> None:
        living, last = replace(EVERY_FIELD, state="live"), 1500
        insert(backend, living)
        for n in range(2, last + 1):
            patch(backend, 1, replace(living, importance=n / last), importance=n / last)
        (current,) = backend.journal_reader.current(["all"])
        (story,) = backend.journal_reader.histories([current], last)
        first, *later = story.entries
        whole = non_empty_fields(replace(living, importance=first.seq / last))
        assert first.full_record == {**whole, "tags": [*EVERY_FIELD.tags]}
        assert [(each.seq, each.changes) for each in later] == [
            (seq, {"importance": seq / last}) for seq in range(first.seq + 1, last + 1)
        ]
        (story,) = backend.journal_reader.histories([current], 1)
        assert [(each.seq, each.changes) for each in story.entries] == [(1, {"id": "all"})]

    def test_a_story_knows_the_last_touch(self, backend: Backend) -> None:
        insert(backend, record("r1", access_count=2), record("r2"))
        touch(backend, {"r1": (1, 50.0), "none": (1, 1.0)})
        touch(backend, {"r1": (2, 40.0), "r2": (1, 60.0)})
        found = backend.journal_reader.current(["r1"])
        accessed = [backend.journal_reader.histories(found, seq)[0].accessed for seq in (2, 3, 4)]
        assert accessed == [None, (3, 3, 50.0), (4, 5, 50.0)]

    def test_vectors_are_found_in_every_row_that_had_them(self, backend: Backend) -> None:
        insert(backend, record("r1"), vectors={"mine": vector(1, 0)})
        move(backend, 1, record("r1", content="moved"))
        move(backend, 2, record("r1", content="moved"), {"mine": vector(0, 1), "new": vector(7)})
        move(backend, 3, record("r1", content="again"))
        reader, rows = backend.journal_reader, (1, 2, 3, 4)
        mine = {row: found.tolist() for row, found in reader.former_vectors(rows, "mine").items()}
        assert mine == {1: [1, 0], 2: [1, 0], 3: [0, 1], 4: [0, 1]}
        assert list(reader.former_vectors(rows, "new")) == [3, 4]
        assert [reader.vector_names(row) for row in rows] == [[], [], ["mine", "new"], []]
        assert [reader.had_vector("new", seq) for seq in (2, 3, 4)] == [False, True, True]
        assert list(backend.vectors([4], "mine")) == [4]

    def test_a_link_holds_from_one_entry_to_another(self, backend: Backend) -> None:
        insert(backend, *map(record, "abc"))
        for at, link in enumerate(("a1b", "c1a", "a1b", "a1b", "b2c"), 4):
            relate(backend, link, holds=at != 6, at=float(at))
        first, second = Link("a", "1", "b", 4, 4.0), Link("c", "1", "a", 5, 5.0)
        links = backend.journal_reader.links
        assert [links(["a", "b"], seq) for seq in (3, 4)] == [[], [first]]
        assert (links(["a"], 5), links(["a", "c"], 6)) == ([first, second], [second])
        assert [link.seq for link in links(["a"], 8)] == [5, 7]
        assert links([], 8) == links(["none"], 8) == []

    def test_a_link_is_no_part_of_the_stories_of_its_ends(self, backend: Backend) -> None:
        insert(backend, *map(record, "ab"))
        relate(backend, "a1b", holds=True)
        histories = backend.journal_reader.histories(backend.journal_reader.current(["a", "b"]), 3)
        assert [[told.seq for told in story.entries] for story in histories] == [[1], [2]]
        assert backend.changes(2, []).rows == frozenset()

    @pytest.mark.parametrize("end", "ab")
    def test_erasing_an_end_ends_a_link_in_the_past_too(self, backend: Backend, end: str) -> None:
        rows = {row.record.id: row.row for row in insert(backend, *map(record, "abc"))}
        for link, holds in (("a1b", True), ("a1b", False), ("a1b", True), ("b1c", True)):
            relate(backend, link, holds=holds)
        erase(backend, rows[end], record(end, "", state="erased"))
        assert [backend.journal_reader.links([end], seq) for seq in range(3, 9)] == [[]] * 6
        assert len(backend.journal_reader.links(["c"], 8)) == (1 if end == "a" else 0)
        assert [entry.changes for entry in backend.log(LogQuery(id="a", since=3))[-3:]] == [{}] * 3

    def test_snapshots_are_kept_with_their_position(self, backend: Backend) -> None:
        for name in ("one", "two"):
            insert(backend, record(name))
            with backend.write() as writer:
                writer.snapshot(name, 7.5)
        told = [Snapshot("one", 1, 7.5), Snapshot("two", 2, 7.5)]
        assert backend.journal_reader.snapshots() == told
        with pytest.raises(ValidationError, match="'one' exists"), backend.write() as writer:
            writer.snapshot("one", 8.0)
        assert backend.head() == 2

    def test_the_journal_can_be_cut(self, backend: Backend) -> None:
        assert backend.journal_reader.cut() is None
        vectors = {EMBEDDED: vector(1, 2)}
        first, second, _ = insert(backend, *map(record, "abc"), vectors=vectors)
        patch(backend, first.row, record("a", importance=0.9))
        patch(backend, second.row, record("b", state="forgotten"))
        before = damage(backend)
        with backend.write() as writer:
            done = writer.compact(5, 700.0)
        assert (done.entries, done.records, backend.head()) == (3, 1, 6)
        cut = backend.journal_reader.cut()
        assert cut is not None
        assert (cut.seq, backend.journal_reader.seq_at(cut.at)) == (5, 5)
        patch(backend, first.row, record("a", importance=0.1))
        (history,) = backend.journal_reader.histories(backend.journal_reader.current(["a"]), 5)
        assert [(each.action, each.seq) for each in history.entries] == [("base", 1)]
        assert records_of(backend, ["b"]) == {}
        with backend.journal_reader.full_scan() as everything:
            told = [(each.action, each.id) for each, _ in everything.entries()]
            assert told == [("store", "a"), ("store", "c"), ("update", "a")]
            assert everything.cut() == cut
        assert damage(backend) == before

    def test_of_an_erased_record_a_cut_leaves_what_no_find_shows(self, backend: Backend) -> None:
        insert(backend, *map(record, "abc"), vectors={EMBEDDED: vector(1, 2)})
        before = damage(backend)
        erase(backend, 1, record("a", "", state="erased"))
        erase(backend, 2, record("b", "", key="turn", state="erased"))
        with backend.write() as writer:
            assert [each.row for each in writer.find_ever("ab").values()] == [1, 2]
            assert writer.compact(5, 70.0).records == 1
            assert list(writer.find("abd")) == ["b"]
            found = writer.find_ever("abcd")
        assert {id: (row, told.state) for id, (row, told) in found.items()} == {
            "a": (0, "erased"),
            "b": (2, "erased"),
            "c": (3, "live"),
        }
        assert damage(backend) == before

    def test_everything_is_told_in_its_order(self, backend: Backend) -> None:
        insert(backend, record("r1"), vectors={EMBEDDED: vector(1, 2), "mine": vector(3)})
        insert(backend, EVERY_FIELD)
        move(backend, 1, record("r1", "moved"), {"mine": vector(4), "new": vector(5, 6)})
        touch(backend, {"r1": (1, 50.0)})
        with backend.write() as writer:
            writer.snapshot("named", 60.0)
        with backend.journal_reader.full_scan() as everything:
            first, second = everything.records()
            told, snapshots = list(everything.entries()), everything.snapshots()
            assert everything.head() == 4
        assert (first.row, first.ordinal, first.record.content) == (3, 1, "moved")
        assert told_vectors(first.vectors) == {"": [1, 2], "mine": [4], "new": [5, 6]}
        assert (second.row, second.record, second.vectors) == (2, EVERY_FIELD, {})
        assert [(each.action, each.id, each.was, each.row) for each, _ in told] == [
            ("store", "r1", None, 1),
            ("store", "all", None, 2),
            ("update", "r1", 1, 3),
            ("touch", None, None, None),
        ]
        vectors = [told_vectors(each) for _, each in told]
        assert vectors == [{"mine": [3]}, {}, {"mine": [4], "new": [5, 6]}, {}]
        assert snapshots == backend.journal_reader.snapshots() == [Snapshot("named", 4, 60.0)]

    @pytest.mark.parametrize("compacted", [False, True])
    def test_everything_can_be_narrowed(self, backend: Backend, compacted: bool) -> None:
        first = insert(backend, record("r1"), vectors={"mine": vector(1)})[0]
        insert(backend, record("r2", namespace="a/b"), vectors={"mine": vector(2)})
        insert(backend, record("r3"), vectors={"mine": vector(3)})
        move(backend, first.row, record("r1", "moved"), {"mine": vector(4)})
        insert(backend, record("r4"))
        if compacted:
            with backend.write() as writer:
                writer.compact(4, 70.0)
        touch(backend, {"r2": (1, 50.0), "r3": (1, 60.0)})
        with backend.journal_reader.full_scan() as everything:
            scopes: dict[Scope, list[str]] = {"default": ["r1", "r3", "r4"], Subtree("a"): ["r2"]}
            for scope, inside in (*scopes.items(), ("b", [])):
                assert [each.record.id for each in everything.records(scope)] == inside
                told, part = (
                    [(entry, told_vectors(vectors)) for entry, vectors in everything.entries(ids)]
                    for ids in (None, set(inside))
                )
                assert part == [each for each in told if each[0].id in (None, *inside)]
                assert {entry.id for entry, _ in part} == {None, *inside}

    def test_everything_stays_what_it_was_while_others_write(self, backend: Backend) -> None:
        insert(backend, *(record(f"r{n}") for n in range(600)))
        with backend.journal_reader.full_scan() as everything:
            records = everything.records()
            seen = [next(records)]
            patch(backend, 600, record("r599", state="forgotten"), "forget")
            seen += records
            assert everything.head() == len(list(everything.entries())) == 600
        assert {each.record.state for each in seen} == {"live"}
        assert backend.head() == 601

    def test_an_entry_may_tell_nothing(self, backend: Backend) -> None:
        insert(backend, record("r1"))
        erase(backend, 1, record("r1", "", state="erased"))
        with backend.write() as writer:
            writer.journal("update", 5.0, record("r1", "", state="erased"), 1, 1, None)
        with backend.journal_reader.full_scan() as everything:
            changes = [entry.changes for entry, _ in everything.entries()]
        assert changes == [None, {"left": "r1"}, None]
        assert backend.log(LogQuery(1))[0].changes == {}

    def test_the_journal_can_be_narrowed(self, backend: Backend) -> None:
        insert(backend, record("r1"), record("r2", namespace="a/b"), record("r3"))

        def told(*asked: Any, **more: Any) -> list[int]:
            return [entry.seq for entry in backend.log(LogQuery(*asked, **more))]

        assert (told(2), told(0), told(None, "r2"), told(None, "none")) == ([3, 2], [], [2], [])
        assert (told(None, None, Subtree("a")), told(1, None, "default")) == ([2], [3])
        assert (told(None, None, None, 2), told(None, "r1", "default", 1)) == ([3], [])
        assert (told(1, until=2), told(None, since=1, until=2), told(2, until=0)) == ([2], [2], [])
        assert (told(None, until=2**63 - 1), told(None, "r2", until=1)) == ([3, 2, 1], [])

    def test_nothing_is_wrong_with_what_was_written(self, backend: Backend) -> None:
        with backend.write() as writer:
            writer.set_setting("embedder", "x")
            writer.dimension(EMBEDDED, 2)
        insert(backend, EVERY_FIELD, record("r2"), vectors={EMBEDDED: vector(1, 0)})
        touch(backend, {"r2": (2, 150.0)})
        left = replace(records_of(backend, ["r2"])["r2"], namespace="b", state="forgotten")
        move(backend, 2, left)
        with backend.inspect() as inspection:
            first, second = inspection.traces()
            moves, damage = inspection.moves(), list(inspection.damage())
            assert inspection.usual_dimension(EMBEDDED) == 2
            assert inspection.usual_dimension("none") is None
        assert (first.id, first.record, len(first.entries)) == ("all", EVERY_FIELD, 1)
        assert [step.action for step in second.entries] == ["store", "update"]
        assert [(each.count, each.journaled) for each in second.accesses] == [(2, (2, 150.0))]
        assert moves == {("r2", "default", None): 1}
        assert [problem for problem in damage if problem.kind != "vector"] == []

    def test_a_vector_is_given_again_to_a_record_that_is_not_live(self, backend: Backend) -> None:
        (row,) = insert(backend, record("r1", state="archived"), vectors={EMBEDDED: vector(1, 0)})
        with backend.write() as writer:
            writer.repairer.embed(row.row, vector(0, 1))
        assert backend.vectors([row.row], EMBEDDED)[row.row].tolist() == [0, 1]

    def test_indexes_that_are_whole_are_left(self, backend: Backend) -> None:
        insert(backend, EVERY_FIELD)
        with backend.write() as writer:
            assert not writer.repairer.repair_indexes()

    def test_segments_can_be_discarded(self, backend: Backend) -> None:
        rows = insert(backend, record("r1"), vectors={EMBEDDED: vector(1, 0)})
        backend.save([segment(rows, backend.head())])
        with backend.write() as writer:
            assert writer.repairer.discard() == {"default"}
        assert backend.load("default").segments == ()
        assert [row.record.id for row in backend.load("default").unindexed] == ["r1"]


def told_vectors(vectors: Mapping[str, Vector]) -> dict[str, list[float]]:
    """Return *vectors* as lists."""
    return {name: found.tolist() for name, found in vectors.items()}
