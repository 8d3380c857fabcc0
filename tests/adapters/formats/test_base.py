"""One import for all formats: what it adds, what it knows, what it leaves out."""

from __future__ import annotations

import pytest

from bethink import EVERYWHERE, KeyedMemory, MemoryStore, ValidationError
from bethink.model.fields import MAX_CONTENT
from bethink_adapters.formats import Found, Item, Link, Moment, Skipped, import_from
from bethink_adapters.formats.base import name_of, noted, own_namespace

from ...stored import contents


def said(content: object, name: str, **fields: object) -> Item:
    return Item(f"line {name}", {"content": content, "source": f"test:{name}", **fields})


THREE = [said("one", "1"), said("two", "2"), said("three", "3")]


@pytest.mark.parametrize("batch", [1, 2, 256])
def test_what_is_found_is_stored_in_its_order(store: MemoryStore, batch: int) -> None:
    report = import_from(store, THREE, batch=batch)
    assert (report.imported, report.known, report.skipped) == (3, 0, ())
    assert contents(store) == ["one", "two", "three"]


def test_progress_counts_findings_and_an_error_keeps_earlier_batches(store: MemoryStore) -> None:
    told: list[tuple[int, int | None]] = []

    def stop_at_last(done: int, total: int | None) -> None:
        told.append((done, total))
        raise KeyError(done)

    with pytest.raises(KeyError):
        import_from(store, THREE, batch=2, progress=stop_at_last)
    assert told == [(3, None)]
    assert contents(store) == ["one", "two"]


def test_a_second_import_adds_nothing(store: MemoryStore) -> None:
    import_from(store, THREE[:2])
    report = import_from(store, [*THREE, THREE[0], said("other", "3")])
    assert (report.imported, report.known) == (1, 4)
    assert [each.place for each in report.skipped] == ["line 3"]  # it says something else by now
    assert contents(store) == ["one", "two", "three"]


@pytest.mark.parametrize("verb", ["forget", "archive", "erase"])
def test_what_is_gone_by_now_does_not_come_back(store: MemoryStore, verb: str) -> None:
    import_from(store, THREE)
    getattr(store, verb)(store.all()[0].id)
    assert import_from(store, THREE).known == 3
    assert contents(store) == ["two", "three"]


def test_what_was_changed_here_stays_changed(store: MemoryStore) -> None:
    import_from(store, THREE)
    store.update(store.all()[0].id, content="one and a half")
    import_from(store, THREE)
    assert "one and a half" in contents(store)
    assert store.count() == 3


def test_what_the_store_refuses_is_listed_and_the_rest_imported(store: MemoryStore) -> None:
    found: list[Found] = [
        said("one", "1"),
        said("", "2"),
        Skipped("line x", "not JSON"),
        said("x" * (MAX_CONTENT + 1), "3"),
        said(None, "4"),
        said("lone \ud800", "5"),
        said("two", "6"),
        said("seven", "7", importance=2),
        said("", "8", key="k"),
    ]
    report = import_from(store, found)
    assert contents(store) == ["one", "two"]
    assert [each.place for each in report.skipped] == [
        *["line x", "line 2", "line 3", "line 4", "line 5", "line 7", "line 8"]
    ]
    assert "the limit is 524,288" in str(report)


@pytest.mark.slow
def test_many_bad_items_cost_no_good_one(store: MemoryStore) -> None:
    found = [said(f"good {n}" if n % 10 == 0 else "", str(n)) for n in range(1000)]
    report = import_from(store, found)
    assert (report.imported, len(report.skipped)) == (100, 900)


def test_namespaces_are_the_sources_or_below_the_one_that_is_given(store: MemoryStore) -> None:
    found = [said("a", "1"), said("b", "2", namespace="ops")]
    import_from(store, found)
    import_from(store, found, namespace="users/ann")
    assert store.namespaces() == {"default": 1, "ops": 1, "users/ann": 1, "users/ann/ops": 1}


def test_a_wrong_argument_reads_nothing(store: MemoryStore) -> None:
    found = iter(THREE)
    with pytest.raises(ValidationError, match="empty segment"):
        import_from(store, found, namespace="a//b")
    with pytest.raises(ValidationError, match="batch"):
        import_from(store, found, batch=0)
    assert next(found) is THREE[0]


@pytest.mark.parametrize("batch", [1, 256])
def test_what_was_superseded_or_archived_there_is_so_here(store: MemoryStore, batch: int) -> None:
    old, put_aside = said("old", "1"), said("aside", "3")
    found = [
        old,
        Item("line 3", put_aside.fields, archived=True),
        Item("line 2", said("new", "2").fields, replaces=("test:1",)),
    ]
    import_from(store, found, batch=batch)
    assert contents(store) == ["new"]
    states = {
        entry.changes["content"]: entry.id for entry in store.log() if "content" in entry.changes
    }
    gone = {content: store.get(id) for content, id in states.items() if id}
    assert {name: record.state for name, record in gone.items() if record} == {
        **{"old": "superseded", "aside": "archived", "new": "live"}
    }


def test_one_memory_may_supersede_several(store: MemoryStore) -> None:
    names = ("test:1", "test:2", "test:3")
    found = [*THREE, Item("line 4", said("all", "4").fields, replaces=names), said("next", "5")]
    assert str(import_from(store, found)) == "5 imported, 0 known, 0 skipped"
    assert contents(store) == ["all", "next"]
    ids = {entry.id for entry in store.log() if entry.id}
    states = [record.state for id in ids if (record := store.get(id))]
    assert sorted(states) == ["live", "live", "superseded", "superseded", "superseded"]


def test_what_replaces_something_that_is_gone_is_imported_all_the_same(store: MemoryStore) -> None:
    import_from(store, [said("old", "1")])
    store.forget(store.all()[0].id)
    report = import_from(store, [Item("line 2", said("new", "2").fields, replaces=("test:1",))])
    assert report.imported == 1
    assert contents(store) == ["new"]


@pytest.mark.parametrize("batch", [1, 2, 256])
def test_what_a_refused_memory_supersedes_is_superseded_by_the_next(
    store: MemoryStore, batch: int
) -> None:
    found = [
        *THREE[:2],
        Item("line 3", said("", "3").fields, replaces=("test:1", "test:2")),
        Item("line 4", said("", "4").fields, replaces=("test:3",)),
        Item("line 5", said("five", "5").fields, replaces=("test:4",)),
        Item("line 6", said("six", "6").fields, replaces=("test:5",)),
    ]
    report = import_from(store, found, batch=batch)
    assert (report.imported, len(report.skipped)) == (4, 2)
    assert contents(store) == ["six"]


def test_memories_that_supersede_each_other_may_be_refused(store: MemoryStore) -> None:
    found = [
        Item("line 1", said("", "1").fields, replaces=("test:2",)),
        Item("line 2", said("", "2").fields, replaces=("test:1",)),
        Item("line 3", said("three", "3").fields, replaces=("test:2", "test:1", "test:3")),
    ]
    assert import_from(store, found).imported == 1


@pytest.mark.parametrize("batch", [1, 256])
def test_a_key_may_hold_nothing(store: MemoryStore, batch: int) -> None:
    found = [
        said("text", "1", key="a"),
        said("", "2", key="a", value=None, importance=0.9),
        said("", "3", key="b", value=None),
        said("new", "4", key="b"),
        said("", "5", key="c", value=None, expires_at=-1e9),
        said("", "6", value=None),
    ]
    report = import_from(store, found, batch=batch)
    assert report.imported == 5
    assert [each.place for each in report.skipped] == ["line 6"]
    none, text = store.all()
    assert (none.key, none.content, none.value, none.importance) == ("a", "", None, 0.9)
    assert (text.key, text.content) == ("b", "new")
    assert KeyedMemory(store, namespace="default").keys() == ["a", "b"]


def test_links_are_made_once_all_is_there(store: MemoryStore) -> None:
    found: list[Found] = [
        Link("line 0", "test:1", "test:2", "explains"),
        Link("line 9", "test:1", "test:9", "explains"),
        Link("line 10", "test:1", "test:1", "explains"),
        *THREE,
    ]
    report = import_from(store, found, batch=1)
    one = store.all()[0]
    (relation,) = store.related(one.id)
    assert (relation.kind, relation.memory.content) == ("explains", "two")
    gone, itself = report.skipped
    assert str(gone) == "line 9: no live memory at one end of 'test:1' -> 'test:9'"
    assert itself.place == "line 10"
    import_from(store, found)
    assert len(store.related(one.id)) == 1


def test_an_id_that_is_given_is_kept_unless_another_namespace_is(store: MemoryStore) -> None:
    item = Item("note", {"content": "mine", "id": "my-id"})
    import_from(store, [item])
    import_from(store, [item], namespace="copy")
    first, copy = store.all(namespace=EVERYWHERE)
    assert first.id == "my-id" != copy.id


def test_what_brings_its_id_and_says_something_else_is_listed(store: MemoryStore) -> None:
    item = Item("note", {"content": "mine", "id": "my-id", "tags": ["x"]})
    edited = [
        Item("text", {**item.fields, "content": "edited"}),
        Item("tags", {**item.fields, "tags": ["y"]}),
        Item("bad", {**item.fields, "tags": "y"}),
    ]
    report = import_from(store, [item, item, edited[0]])
    assert (report.imported, report.known) == (1, 1)
    reason = "the memory with its id says something else here"
    assert [str(each) for each in report.skipped] == [f"text: {reason}"]
    store.reinforce("my-id")
    again = import_from(store, [item, *edited])
    assert (again.imported, again.known) == (0, 1)
    assert [each.place for each in again.skipped] == ["text", "tags", "bad"]
    assert contents(store) == ["mine"]


def test_a_made_id_stays_the_same_for_ever(store: MemoryStore) -> None:
    import_from(store, THREE[:1])
    import_from(store, THREE[:1], namespace="copy")
    assert [record.id for record in store.all(namespace=EVERYWHERE)] == [
        "b9b8912e92d359d1a3588d0b494f175e",
        "adee85a933fc56b4b32f7c834dac2bdf",
    ]


@pytest.mark.parametrize(("id", "reason"), [("\ud800", "lone surrogate"), ("a\0b", "NUL")])
def test_an_id_that_no_store_takes_is_listed(store: MemoryStore, id: str, reason: str) -> None:
    report = import_from(store, [Item("note", {"content": "mine", "id": id})])
    assert reason in report.skipped[0].reason


def test_foreign_namespaces_stay_apart() -> None:
    names = ["ops", "a/b", "a//b", "a%2F%2Fb", "/", "%", "tab\there", "\ud800", "日本"]
    own = [own_namespace(name) for name in names]
    assert own[:2] == ["ops", "a/b"]
    assert len(set(own)) == len(names)


def test_names_tell_their_parts_apart() -> None:
    assert name_of("f", "a/b", "c") != name_of("f", "a", "b/c")


def test_what_else_a_source_tells_gives_way_to_its_own_metadata() -> None:
    assert noted("f", {"f": "mine"}, {"count": 3}) == {"f": "mine"}
    empty: dict[str, object] = {"none": None, "text": "", "number": 0, "list": [], "object": {}}
    assert noted("f", {"a": 1}, {"count": 1, **empty}) == {"f": {"count": 1}, "a": 1}


def test_two_sources_may_name_their_moments_alike(store: MemoryStore) -> None:
    found = [Moment("a", "start", 1.0), Moment("b", "start", 2.0), Moment("c", "", 3.0)]
    report = import_from(store, found)
    assert [each.place for each in report.skipped] == ["b", "c"]
    assert [(each.name, each.at) for each in store.snapshots()] == [("start", 1.0)]
