"""Records as Markdown notes, and back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink import EVERYWHERE, KeyedMemory, MemoryRecord, MemoryStore, StorageError, Subtree
from bethink.model.records import Changes, Fields
from bethink.testing import FrozenClock
from bethink_adapters.formats import export_markdown, import_from, read_markdown
from bethink_adapters.formats.markdown.note import from_note, to_note

from ...stored import contents

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return tmp_path / "vault"


@pytest.fixture
def other() -> Iterator[MemoryStore]:
    with MemoryStore() as store:
        yield store


def notes(vault: Path) -> list[Path]:
    return sorted(vault.rglob("*.md"))


def exact(store: MemoryStore) -> dict[str, MemoryRecord]:
    """Return the live records, the times aside at which this store learned of them."""
    found = store.all(namespace=EVERYWHERE)
    return {record.id: replace(record, created_at=0, updated_at=0) for record in found}


def test_everything_comes_back_as_it_was(
    store: MemoryStore, other: MemoryStore, vault: Path
) -> None:
    every = Fields(
        namespace="users/ann", author="Ann", key="drink", thread="t", category="preference",
        tags=["a: b", "#c", "日本"], importance=0.1, confidence=0.3, source="chat",
        occurred_at=1700000000.1234567, expires_at=4.1e9, value={"count": 0}, id="r1",
        metadata={"a": {"b": [1, None, "\ud800\x85\u2028"]}},
    )  # fmt: skip
    assert Fields.__annotations__.keys() - every.keys() == {"vectors", "supersedes"}
    store.store("Ann likes *tea*\n\n---\n# not a head\r\n  ", **every)
    store.store("", value={"count": 0})
    store.store("", value=False, id="id: [1]\n../../x")
    store.store("plain")
    assert export_markdown(store, vault, namespace=EVERYWHERE) == 4
    report = import_from(other, read_markdown(vault))
    assert (report.imported, report.skipped) == (4, ())
    assert exact(other) == exact(store)
    assert import_from(other, read_markdown(vault)).known == 4
    assert import_from(store, read_markdown(vault)).known == 4


def test_a_key_with_nothing_under_it_comes_back(
    store: MemoryStore, other: MemoryStore, vault: Path
) -> None:
    store.store("Earl Grey", key="tea", namespace="working")
    KeyedMemory(store).remember("tea", None)
    KeyedMemory(store).remember("milk", None)
    store.update(store.all(namespace="working")[1].id, tags=["x"])
    assert export_markdown(store, vault, namespace="working", history=True) == 3
    report = import_from(other, read_markdown(vault))
    assert (report.imported, report.skipped) == (3, ())
    assert exact(other) == exact(store)


def test_a_note_is_read_easily(vault: Path) -> None:
    with MemoryStore(clock=FrozenClock(1700000000.0), new_id=lambda: "id1") as store:
        store.store("Standup is at 9:30", key="standup", namespace="team/ops", tags=["daily"])
        export_markdown(store, vault, namespace=Subtree("team"))
    (path,) = notes(vault)
    assert path.relative_to(vault).parts[:2] == ("team", "ops")
    assert path.name.startswith("standup ")
    assert path.read_text(encoding="utf-8") == (
        '---\nid: "id1"\nnamespace: "team/ops"\nkey: "standup"\naliases: ["standup"]\n'
        'tags: ["daily"]\nimportance: 0.5\nconfidence: 1.0\n'
        'occurred_at: "2023-11-14T22:13:20Z"\ncreated_at: "2023-11-14T22:13:20Z"\n'
        'updated_at: "2023-11-14T22:13:20Z"\n---\nStandup is at 9:30\n'
    )


def test_what_was_superseded_stays_so_and_is_linked(
    store: MemoryStore, other: MemoryStore, vault: Path
) -> None:
    first = store.store("at 9:00", key=None)
    second = store.store("at 9:30", key="standup", supersedes=first.id)
    third = store.store("at 10:00", key="standup")
    assert export_markdown(store, vault) == 1
    assert export_markdown(store, vault, history=True) == 3
    names = {each.read_text().splitlines()[-1]: each.stem for each in notes(vault)}
    assert f'superseded_by: "[[{names["at 10:00"]}]]"' in (
        (vault / "default" / f"{names['at 9:30']}.md").read_text()
    )
    assert import_from(other, read_markdown(vault), batch=1).imported == 3
    assert [record.id for record in other.all()] == [third.id]
    versions = [other.get(id) for id in (first.id, second.id)]
    assert [record and record.superseded_by for record in versions] == [second.id, third.id]


def test_one_that_superseded_several_still_does(
    store: MemoryStore, other: MemoryStore, vault: Path
) -> None:
    keep = store.store("at 10:00", key="standup")
    dropped = [store.store(f"at 9:0{number}").id for number in range(3)]
    store.resolve(keep.id, dropped)
    keyed = store.store("at 11:00", key="standup")
    export_markdown(store, vault, history=True)
    assert import_from(other, read_markdown(vault)).imported == 5
    assert [record.id for record in other.all()] == [keyed.id]
    gone = [other.get(id) for id in (*dropped, keep.id)]
    assert [one and one.superseded_by for one in gone] == [*[keep.id] * 3, keyed.id]


@pytest.mark.parametrize("id", ["1", "2", "3", "4"])
def test_a_fact_whose_key_was_anothers_holds_it(
    store: MemoryStore, other: MemoryStore, vault: Path, id: str
) -> None:
    old = store.store("in Lyon", key="office", id="old")
    left = store.store("in Graz", key="office")
    store.update(left.id, key="old office")
    now = store.store("in Wien", key="office", id=id)
    assert export_markdown(store, vault, history=True) == 3
    assert import_from(other, read_markdown(vault)).imported == 3
    assert {record.id for record in other.all()} == {left.id, now.id}
    gone = other.get(old.id)
    assert gone
    assert gone.superseded_by == left.id


def test_what_was_superseded_in_another_namespace_has_a_note(
    store: MemoryStore, other: MemoryStore, vault: Path
) -> None:
    old = store.store("old", namespace="a")
    new = store.store("new", namespace="b", supersedes=old.id)
    assert export_markdown(store, vault, namespace="b", history=True) == 2
    assert import_from(other, read_markdown(vault)).imported == 2
    assert [record.id for record in other.all(namespace=EVERYWHERE)] == [new.id]
    gone = other.get(old.id)
    assert gone is not None
    assert (gone.namespace, gone.superseded_by) == ("a", new.id)


def texts(vault: Path) -> list[str]:
    return sorted(from_note(path.read_text(encoding="utf-8"))[1] for path in notes(vault))


@pytest.mark.parametrize(
    "change", [{"content": "new"}, {"key": "k"}, {"namespace": "other"}, {"tags": ["x"]}]
)
def test_what_has_changed_since_has_one_note(
    store: MemoryStore, other: MemoryStore, vault: Path, change: Changes
) -> None:
    record = store.store("old")
    export_markdown(store, vault)
    (vault / "default" / "renamed.md").write_bytes(notes(vault)[0].read_bytes())
    store.update(record.id, **change)
    assert export_markdown(store, vault, namespace=EVERYWHERE) == len(notes(vault)) == 1
    import_from(other, read_markdown(vault))
    assert exact(other) == exact(store)


@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize("verb", ["forget", "archive", "erase"])
def test_what_is_no_longer_live_has_no_note(
    store: MemoryStore, vault: Path, verb: str, history: bool
) -> None:
    store.store("stays")
    store.store("old", key="k")
    store.store("new", key="k")
    export_markdown(store, vault, history=True)
    getattr(store, verb)(store.all()[1].id)
    export_markdown(store, vault, history=history)
    assert texts(vault) == ["stays"]


def test_a_fact_that_was_superseded_since_does_not_come_back(
    store: MemoryStore, other: MemoryStore, vault: Path
) -> None:
    for text in ("at 9:00", "at 9:30", "at 10:00"):
        store.store(text, key="standup")
        export_markdown(store, vault)
        assert texts(vault) == [text]
    export_markdown(store, vault, history=True)
    assert len(notes(vault)) == 3
    export_markdown(store, vault)
    import_from(other, read_markdown(vault))
    assert exact(other) == exact(store)


def test_a_note_of_what_went_elsewhere_takes_no_key(
    store: MemoryStore, other: MemoryStore, vault: Path
) -> None:
    gone = store.store("in Lyon", key="office", namespace="team")
    export_markdown(store, vault, namespace="team")
    store.update(gone.id, namespace="archive")
    store.store("in Graz", key="office", namespace="team")
    export_markdown(store, vault, namespace="team")
    assert texts(vault) == ["in Graz"]
    import_from(other, read_markdown(vault))
    assert [record.content for record in other.all(namespace="team")] == ["in Graz"]


def test_a_note_that_was_edited_by_hand_is_listed(store: MemoryStore, vault: Path) -> None:
    store.store("at nine")
    store.store("daily", tags=["x"])
    export_markdown(store, vault)
    (edited,) = (path for path in notes(vault) if "at nine" in path.read_text())
    edited.write_text(edited.read_text().replace("at nine", "at ten"))
    report = import_from(store, read_markdown(vault))
    assert (report.imported, report.known) == (0, 1)
    reason = "the memory with its id says something else here"
    assert [str(each) for each in report.skipped] == [f"default/{edited.name}: {reason}"]


def test_a_property_that_was_added_by_hand_is_metadata(
    store: MemoryStore, other: MemoryStore, vault: Path
) -> None:
    store.store("at nine", key="standup", metadata={"lang": "en"})
    export_markdown(store, vault)
    (note,) = notes(vault)
    note.write_text(note.read_text().replace("---\n", "---\nrating: 5\nlang: de\n", 1))
    assert import_from(other, read_markdown(vault)).imported == 1
    assert other.all()[0].metadata == {"rating": 5, "lang": "en"}
    assert [each.place for each in import_from(store, read_markdown(vault)).skipped] == [
        f"default/{note.name}"
    ]


def test_notes_of_what_is_not_exported_are_left(store: MemoryStore, vault: Path) -> None:
    for name in ("a", "b"):
        for text in ("old", "newer", "newest"):
            store.store(f"{text} {name}", key="k", namespace=name)
        export_markdown(store, vault, namespace=name, history=True)
    assert export_markdown(store, vault, namespace="b", where={"key": "none"}) == 0
    assert len(notes(vault)) == 6
    export_markdown(store, vault, namespace="b")
    assert texts(vault) == ["newer a", "newest a", "newest b", "old a"]


def test_notes_that_no_export_wrote_are_left(
    store: MemoryStore, other: MemoryStore, vault: Path
) -> None:
    other.store("of another store")
    export_markdown(other, vault)
    gone = store.store("gone")
    store.forget(gone.id)
    for name, id in (("mine", "mine"), ("about", gone.id)):
        (vault / f"{name}.md").write_text(f'---\nid: "{id}"\n---\n{name}')
    (vault / "broken.md").write_text("---\nnever closed")
    before = notes(vault)
    export_markdown(store, vault)
    assert notes(vault) == before


def test_what_is_exported_can_be_chosen(store: MemoryStore, vault: Path) -> None:
    store.store("a", tags=["x"])
    store.store("b")
    store.store("c", namespace="other", tags=["x"])
    assert export_markdown(store, vault, where={"tags": {"$contains": "x"}}) == 1
    assert [path.read_text().splitlines()[-1] for path in notes(vault)] == ["a"]


@pytest.mark.parametrize(
    "name",
    [
        "..",
        "../..",
        "a/../../b",
        "con",
        "~",
        "-rf",
        "C:\\x",
        ".git",
        "é" * 900,
        "x/" * 500 + "x",
    ],
)
def test_no_name_leads_out_of_the_folder(store: MemoryStore, vault: Path, name: str) -> None:
    store.store("x", namespace=name, key=name, id=name)
    assert export_markdown(store, vault, namespace=EVERYWHERE) == 1
    everything = [each for each in vault.parent.rglob("*") if each != vault]
    assert all(each.is_relative_to(vault) for each in everything)
    assert len(notes(vault)) == 1
    assert not any(part.startswith(".") for part in notes(vault)[0].relative_to(vault).parts)


def test_no_folder_is_called_like_a_device(store: MemoryStore, vault: Path) -> None:
    store.store("x", namespace="users/Aux")
    export_markdown(store, vault, namespace="users/Aux")
    assert [each.parent.name for each in notes(vault)] == ["Aux_"]


def test_a_link_in_the_folder_leads_no_export_out(
    store: MemoryStore, vault: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    vault.mkdir()
    (vault / "default").symlink_to(tmp_path / "outside")
    store.store("x")
    with pytest.raises(StorageError, match="leads out of"):
        export_markdown(store, vault)
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_note_that_is_a_link_is_replaced_not_followed(
    store: MemoryStore, vault: Path, tmp_path: Path
) -> None:
    store.store("x")
    export_markdown(store, vault)
    target = tmp_path / "precious"
    target.write_text("mine")
    (note,) = notes(vault)
    note.unlink()
    note.symlink_to(target)
    export_markdown(store, vault)
    assert target.read_text() == "mine"
    assert not note.is_symlink()


def test_links_and_hidden_files_are_not_read(
    store: MemoryStore, vault: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.md").write_text("secret")
    (vault / ".trash").mkdir(parents=True)
    (vault / ".trash" / "old.md").write_text("old")
    (vault / "link.md").symlink_to(tmp_path / "secret.md")
    (vault / "folder").symlink_to(tmp_path)
    (vault / "picture.png").write_bytes(b"\x89PNG")
    os.mkfifo(vault / "pipe.md")
    assert import_from(store, read_markdown(vault)).imported == 0


def test_notes_of_others_are_memories_named_by_their_place(store: MemoryStore, vault: Path) -> None:
    (vault / "people").mkdir(parents=True)
    (vault / "people" / "Ann.md").write_text(
        "---\ntags:\n  - friend\n- 'it''s'\nstatus: open: yes\ndate: 2024-01-15\n---\nLikes tea.\n"
    )
    (vault / "Idea.md").write_text("Just text")
    report = import_from(store, read_markdown(vault))
    assert (report.imported, report.skipped) == (2, ())
    ann, idea = store.all(namespace="people")[0], store.all()[0]
    assert (ann.content, ann.tags, ann.source) == (
        *("Likes tea.", ("friend", "it's")),
        "markdown:people/Ann.md",
    )
    assert ann.metadata == {"title": "Ann", "status": "open: yes", "date": "2024-01-15"}
    assert ann.occurred_at == 1705276800.0
    assert idea.content == "Just text"
    assert import_from(store, read_markdown(vault)).known == 2


@pytest.mark.parametrize(
    ("name", "properties", "at"),
    [
        ("a", "created: 20240430", 1714435200.0),
        ("a", "date: 30 April 2024", 1714435200.0),
        ("a", "date created: 2024/04/30", 1714435200.0),
        ("2024-04-30 Standup", "rating: 5", 1714435200.0),
        ("a", "date: someday\ncreated: 2024-04-30", 1714435200.0),
        ("2024-04-30", "date: 2024-05-01", 1714521600.0),
        ("a", "created: 2024", None),
        ("a", "date: 04/05/2024", None),
    ],
)
def test_a_date_is_found_where_notes_have_dates_or_there_is_none(
    vault: Path, store: MemoryStore, name: str, properties: str, at: float | None
) -> None:
    vault.mkdir(exist_ok=True)
    (vault / f"{name}.md").write_text(f"---\n{properties}\n---\nStandup is at 9:30")
    import_from(store, read_markdown(vault))
    (record,) = store.all(namespace=EVERYWHERE)
    assert record.occurred_at == (record.created_at if at is None else at)


def test_an_id_in_a_note_of_others_is_metadata(store: MemoryStore, vault: Path) -> None:
    (vault / "W").mkdir(parents=True)
    (vault / "W" / "a.md").write_text("---\nid: n1\nproject: Ferry\ncreated: 2023-05-01\n---\nAnn")
    (vault / "b.md").write_text("---\nid: n1\nsource: https://e.org\nsupersedes: '[[a]]'\n---\nBob")
    report = import_from(store, read_markdown(vault))
    assert (report.imported, report.skipped) == (2, ())
    ann, bob = store.all(namespace="W")[0], store.all()[0]
    assert ann.metadata == {"title": "a", "id": "n1", "project": "Ferry", "created": "2023-05-01"}
    assert (ann.content, ann.source, ann.occurred_at) == ("Ann", "markdown:W/a.md", 1682899200.0)
    assert bob.metadata == {
        **{"title": "b", "id": "n1", "source": "https://e.org", "supersedes": "[[a]]"}
    }
    assert (bob.content, bob.source) == ("Bob", "markdown:b.md")
    assert import_from(store, read_markdown(vault)).known == 2


def test_what_fits_no_field_is_metadata(store: MemoryStore, vault: Path) -> None:
    unfit: dict[str, object] = {
        **{"namespace": "a//b", "author": ["Ann", "Bob"], "importance": 7, "metadata": [1]},
        **{"tags": ["x", 1], "occurred_at": "soon", "category": " ", "id": 12345},
    }
    vault.mkdir()
    (vault / "a.md").write_text(to_note({**unfit, "thread": "t", "key": None}, "x"))
    report = import_from(store, read_markdown(vault))
    assert (report.imported, report.skipped) == (1, ())
    (record,) = store.all()
    assert (record.metadata, record.thread) == ({"title": "a", **unfit}, "t")


def test_tags_on_one_line_are_several(store: MemoryStore, vault: Path) -> None:
    vault.mkdir()
    (vault / "a.md").write_text("---\ntags: ferry, two words,\n---\nx")
    import_from(store, read_markdown(vault))
    assert store.all()[0].tags == ("ferry", "two words")


@pytest.mark.parametrize(
    "written",
    [
        b"---\nnever: closed",
        b"---\nid: x\nnamespace: n\ncreated_at:\ntopic: {broken\n---\nx",
        b"---\nid: x\nnamespace: n\ncreated_at:\nmetadata: [1]\n---\nx",
        b"---\nid: x\nnamespace: n\ncreated_at:\nmetadata: [1]\nrating: 5\n---\nx",
        b"---\nid: x\nnamespace: n\ncreated_at:\noccurred_at: soon\n---\nx",
        b"---\nid: x\nnamespace: n\ncreated_at:\nimportance: 7\n---\nx",
        b'---\nid: "\\ud800"\nnamespace: n\ncreated_at:\n---\nx',
        b"caf\xe9",
        b"",
        b"x" * 600_000,
        b"x" * 4_000_000,
    ],
)
def test_bad_notes_are_listed(store: MemoryStore, vault: Path, written: bytes) -> None:
    vault.mkdir()
    (vault / "bad.md").write_bytes(written)
    (vault / "good.md").write_text("good")
    report = import_from(store, read_markdown(vault))
    assert [record.content for record in store.all()] == ["good"]
    assert [each.place for each in report.skipped] == ["bad.md"]


@pytest.mark.parametrize(
    "broken",
    [
        "title: @home",
        "title: [draft] Plan",
        "id: {broken",
        "id: 'x'\n  deep: 1",
        "topic: tea\n- cake",
        "topic: '",
    ],
)
def test_an_unreadable_property_is_listed_and_the_rest_kept(
    store: MemoryStore, vault: Path, broken: str
) -> None:
    vault.mkdir()
    (vault / "a.md").write_text(f"---\nauthor: Ann\n{broken}\nthread: t\n---\nDentist at ten.")
    report = import_from(store, read_markdown(vault))
    (record,) = store.all()
    assert (record.content, record.author, record.thread) == ("Dentist at ten.", "Ann", "t")
    line = broken.partition("\n")[0]
    assert report.skipped == ()
    assert [str(each) for each in report.incomplete] == [f"a.md: property cannot be read: {line!r}"]


def test_of_a_note_with_many_unreadable_properties_the_text_is_kept(
    store: MemoryStore, vault: Path
) -> None:
    vault.mkdir()
    (vault / "a.md").write_text("---\n" + "title: @home\n" * 500 + "---\nDentist at ten.")
    report = import_from(store, read_markdown(vault))
    assert (contents(store), len(report.incomplete)) == (["Dentist at ten."], 20)


@pytest.mark.parametrize("text", ["---\nUnder a rule", "---\n\nBetween\n\n---\n\nrules", "---\n"])
def test_a_rule_on_top_belongs_to_the_text(store: MemoryStore, vault: Path, text: str) -> None:
    vault.mkdir()
    (vault / "a.md").write_text(text)
    assert import_from(store, read_markdown(vault)).skipped == ()
    assert contents(store) == [text.removesuffix("\n")]


def test_notes_that_supersede_each_other_are_both_read(store: MemoryStore, vault: Path) -> None:
    vault.mkdir()
    (vault / "a.md").write_text('---\nid: "a"\nsupersedes: ["[[b]]"]\n---\nA')
    (vault / "b.md").write_text('---\nid: "b"\nsupersedes: ["[[a|first]]"]\n---\nB')
    assert import_from(store, read_markdown(vault)).imported == 2


def test_a_note_that_an_editor_wrote_anew_comes_back(other: MemoryStore, vault: Path) -> None:
    with MemoryStore(new_id=lambda: "id1") as written:
        metadata = {"lang": "en", "n": {"a": 1, "list": [[1], {}]}, "é": "two\nlines"}
        written.store("at six", key="ferry", tags=["a: b"], value=[1, 2], metadata=metadata,
                      occurred_at=1700000000.5)  # fmt: skip
        expected = exact(written)
    vault.mkdir()
    (vault / "ferry.md").write_text(
        "---\nid: id1\nnamespace: default\nkey: ferry\naliases:\n- ferry\ntags:\n- 'a: b'\n"
        "importance: 0.5\nconfidence: 1.0\noccurred_at: '2023-11-14T22:13:20.5Z'\n"
        "created_at: '2024-01-01T00:00:00Z'\nupdated_at: '2024-01-01T00:00:00Z'\n"
        "value:\n- 1\n- 2\nmetadata:\n  lang: en\n  n:\n    a: 1\n    list:\n    - - 1\n    - {}\n"
        "  \"\\xE9\": 'two\n\n    lines'\n---\nat six\n"
    )
    assert import_from(other, read_markdown(vault)).skipped == ()
    assert exact(other) == expected


def test_a_single_note_is_read(vault: Path, store: MemoryStore) -> None:
    (vault / "work").mkdir(parents=True)
    note = vault / "work" / "tea.md"
    note.write_text("Tea at five")
    (vault / "work" / "other.md").write_text("Coffee at six")
    assert import_from(store, read_markdown(note)).imported == 1
    assert [each.content for each in store.all(namespace=EVERYWHERE)] == ["Tea at five"]


def test_a_folder_that_is_not_there_is_an_error(vault: Path) -> None:
    with pytest.raises(StorageError, match="no such folder"):
        list(read_markdown(vault))


@pytest.mark.slow
@given(st.dictionaries(st.text("abc_", min_size=1), TEXT | st.lists(TEXT) | st.floats(-9, 9)), TEXT)
@settings(max_examples=50)
def test_any_note_is_read_as_it_was_written(properties: dict[str, object], text: str) -> None:
    assert from_note(to_note(properties, text)) == (properties, text, [])


def test_other_ends_of_lines_are_understood() -> None:
    assert from_note('---\r\nkey: "k"\r\n---\r\none\r\ntwo\r\n') == ({"key": "k"}, "one\ntwo", [])
    assert from_note("---\nkey: k\n---") == ({"key": "k"}, "", [])
