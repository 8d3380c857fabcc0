"""What is damaged is made again whatever it belongs to, and nothing else is."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from bethink import CallableEmbedder, HashEmbedder, MemoryStore
from bethink.features.integrity import MAX_PROBLEMS, Repair

KEY = b"sixteen bytes or more"


def opened(path: Path, key: bytes | None = None) -> MemoryStore:
    return MemoryStore(path, integrity_key=key, embedder=HashEmbedder(16), durability="normal")


def alter(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def lose_from_index(path: Path, name: str, row: int) -> None:
    """Have the index called *name* hold all rows of records but one."""
    with closing(sqlite3.connect(path)) as connection:
        whole = "SELECT sql FROM sqlite_master WHERE name = ?"
        (sql,) = connection.execute(whole, (name,)).fetchone()
    change = "UPDATE sqlite_master SET sql = '{}' WHERE name = '" + name + "'"
    alter(
        path,
        "PRAGMA writable_schema = ON",
        change.format(f"{sql} WHERE row <> {row}"),
        "PRAGMA writable_schema = RESET",
        f"REINDEX {name}",
        "PRAGMA writable_schema = ON",
        change.format(sql),
    )


def test_where_nothing_is_damaged_nothing_is_made_again(path: Path) -> None:
    with opened(path) as store:
        store.store_many(f"memory {n}" for n in range(600))
    with closing(sqlite3.connect(path)) as connection, opened(path) as store:
        segments = "SELECT number, first, last FROM segments"
        before = connection.execute(segments).fetchall()
        assert before
        assert store.repair() == Repair()
        assert connection.execute(segments).fetchall() == before


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "keyed"])
def test_the_vector_of_a_record_without_a_text_is_made_again(path: Path, key: bytes | None) -> None:
    with opened(path, key) as store:
        store.store("", value=1, id="live")
        store.store("", value=2, id="gone")
        cat = store.store("The cat sleeps")
        store.forget("gone")
    with opened(path, key) as store:
        alter(  # earlier versions kept zeros where there is no text
            path,
            "DELETE FROM vectors",
            "INSERT INTO vectors (row, vector) SELECT row, x'00' FROM records",
        )
        repaired = store.repair()
        assert (len(repaired.mended), repaired.left) == (3, ())
        assert [hit.memory.id for hit in store.recall("cat")] == [cat.id]
        store.restore("gone")
        assert store.verify().ok


def test_what_was_erased_gets_no_vector_again(path: Path) -> None:
    with opened(path) as store:
        store.store("A secret", id="secret")
        store.erase("secret")
        alter(path, "INSERT INTO vectors (row, vector) SELECT row, x'00' FROM records")
        assert [str(problem) for problem in store.repair().left] == ["vector secret: it is damaged"]
        assert store.log(limit=1)[0].action == "erase"


@pytest.mark.slow
def test_more_is_repaired_than_is_told_of(path: Path) -> None:
    with opened(path) as store:
        store.store_many(f"memory {n}" for n in range(MAX_PROBLEMS + 1))
        alter(path, "UPDATE vectors SET vector = x'00'")
        assert len(store.verify().problems) == MAX_PROBLEMS
        repaired = store.repair()
        assert (len(repaired.mended), repaired.left) == (MAX_PROBLEMS + 1, ())


def test_a_vector_is_made_again_whatever_the_id(path: Path) -> None:
    with opened(path) as store:
        store.store("The cat sleeps", id="cat, mine", vectors={"mine": [1, 2]})
        alter(path, "UPDATE vectors SET vector = x'00'")
        assert store.repair().ok


def test_what_gets_another_text_while_it_is_embedded_keeps_the_vector_of_that(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(path) as store, opened(path) as other:
        store.store("The cat sleeps", id="cat")
        alter(path, "UPDATE vectors SET vector = x'00'")
        embed = store.embedder.embed

        def after_an_update(texts: Sequence[str]) -> object:
            other.update("cat", content="The dog barks")
            return embed(texts)

        with monkeypatch.context() as patch:
            patch.setattr(store.embedder, "embed", after_an_update)
            assert store.repair().ok
        assert [entry.action for entry in store.log()] == ["update", "store"]
        (hit,) = store.recall("The dog barks", mode="semantic")
        assert hit.explain().signals["vector"] == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "keyed"])
@pytest.mark.parametrize("many", [20, 600], ids=["few", "saved"])
def test_an_index_of_the_file_that_lost_a_row_is_made_again(
    path: Path, key: bytes | None, many: int
) -> None:
    with opened(path, key) as store:
        store.store_many({"content": f"memory {n}", "id": f"r{n}"} for n in range(1, many + 1))
    lose_from_index(path, "records_scope", 4)
    with opened(path, key) as store:
        assert len(store.all()) == many - 1
        store.recall("memory 4")
        repaired = store.repair()
        told = {str(each) for each in repaired.mended}
        assert f"file {path}: row 4 missing from index records_scope" in told
        assert repaired.left == ()
        assert store.verify().ok
        assert len(store.all()) == many
        assert store.recall("memory 4", k=1)[0].memory.id == "r4"
        assert store.log(limit=1)[0].action == "store"


@pytest.mark.parametrize(
    "name", ["records_scope", "records_key", "records_held", "journal_id", "links_held"]
)
def test_an_index_of_the_file_that_is_missing_is_made_again(path: Path, name: str) -> None:
    with opened(path) as store:
        store.store_many(({"content": f"memory {n}"} for n in range(20)), key="k")
        alter(path, f"DROP INDEX {name}")
        repaired = store.repair()
        assert f"file {name}: missing" in map(str, repaired.mended)
        assert repaired.left == ()
        assert store.repair() == Repair()
        assert len(store.all()) == 1


def test_an_index_that_the_records_contradict_is_left_and_named(path: Path) -> None:
    with opened(path) as store:
        store.store("one", id="a", key="k")
        store.store("two", id="b", key="l")
        alter(path, "DROP INDEX records_key", "DROP INDEX records_held")
        alter(path, "UPDATE records SET key = 'k'")
        repaired = store.repair()
        assert "file records_held: missing" in map(str, repaired.mended)
        assert "file records_key: missing" in map(str, repaired.left)


def test_an_index_of_a_keyed_store_that_is_missing_is_left(path: Path) -> None:
    with opened(path, KEY) as store:
        store.store("one")
        alter(path, "DROP INDEX records_held")
        assert [str(each) for each in store.repair().left] == ["file records_held: missing"]


def test_nothing_is_written_to_a_file_whose_pages_are_damaged(path: Path) -> None:
    with opened(path) as store:
        store.store("one")
    alter(path, "DROP INDEX records_key")
    data = bytearray(path.read_bytes())
    data[36:40] = (9).to_bytes(4, "big")  # of its pages are said to be free
    path.write_bytes(data)
    with opened(path) as store:
        repaired = store.repair()
        assert repaired.mended == ()
        assert "file records_key: missing" in map(str, repaired.left)


def no_embedding(store: MemoryStore, patch: pytest.MonkeyPatch) -> None:
    def embed(texts: Sequence[str]) -> object:
        raise AssertionError("nothing is to be embedded")

    patch.setattr(store.embedder, "embed", embed)


DIMENSION_EDITS = {
    "lost": ("DELETE FROM facts WHERE name = 'dimension:'", "missing"),
    "another": (
        "UPDATE facts SET value = '17' WHERE name = 'dimension:'",
        "not how long these vectors are",
    ),
    "none": (
        "UPDATE facts SET value = 'x' WHERE name = 'dimension:'",
        "not how long these vectors are",
    ),
    "negative": (
        "UPDATE facts SET value = '-16' WHERE name = 'dimension:'",
        "not how long these vectors are",
    ),
}


@pytest.mark.parametrize(("edit", "what"), DIMENSION_EDITS.values(), ids=DIMENSION_EDITS)
def test_the_fact_of_how_long_vectors_are_is_named_and_noted_again(
    path: Path, monkeypatch: pytest.MonkeyPatch, edit: str, what: str
) -> None:
    with opened(path) as store:
        store.store_many(f"memory {n}" for n in range(5))
        before = [hit.score for hit in store.recall("memory 3", mode="semantic", touch=False)]
    alter(path, edit)
    with opened(path) as store:
        told = [f"fact dimension:: it is {what}"]
        assert [str(each) for each in store.verify().problems] == told
        with monkeypatch.context() as patch:
            no_embedding(store, patch)
            repaired = store.repair()
        assert [str(each) for each in repaired.mended] == told
        assert repaired.left == ()
        assert store.verify().ok
        after = [hit.score for hit in store.recall("memory 3", mode="semantic", touch=False)]
        assert after == pytest.approx(before)
        assert [entry.action for entry in store.log()] == ["store"] * 5


@pytest.mark.parametrize(("edit", "what"), DIMENSION_EDITS.values(), ids=DIMENSION_EDITS)
def test_how_long_vectors_are_is_left_where_the_embedder_is_not_known(
    path: Path, monkeypatch: pytest.MonkeyPatch, edit: str, what: str
) -> None:
    with opened(path) as store:
        store.store_many(f"memory {n}" for n in range(5))
    alter(path, edit, "DELETE FROM facts WHERE name = 'embedder'")
    with opened(path) as store:
        no_embedding(store, monkeypatch)
        repaired = store.repair()
        assert repaired.mended == ()
        assert "fact embedder: it is missing" in map(str, repaired.left)
        assert len(store.log()) == 5


def test_a_vector_is_made_again_after_the_fact_of_how_long_it_is(path: Path) -> None:
    with opened(path) as store:
        store.store_many({"content": f"memory {n}", "id": f"r{n}"} for n in range(5))
    alter(path, "UPDATE facts SET value = '17' WHERE name = 'dimension:'")
    alter(path, "UPDATE vectors SET vector = x'00000000' WHERE row = 2")
    with opened(path) as store:
        repaired = store.repair()
        assert [each.where for each in repaired.mended] == ["dimension:", "r1"]
        assert repaired.left == ()


def test_a_keyed_store_is_not_told_anew_how_long_vectors_are(path: Path) -> None:
    with opened(path, KEY) as store:
        store.store("one")
        alter(path, "DELETE FROM facts WHERE name = 'dimension:'")
        repaired = store.repair()
        assert repaired.mended == ()
        assert [each.where for each in repaired.left] == ["dimension:", "seal"]


def test_what_an_embedder_that_fails_would_say_is_not_needed_to_check(path: Path) -> None:
    with opened(path) as store:
        store.store("one")
    alter(path, "UPDATE facts SET value = '17' WHERE name = 'dimension:'")

    def fail(texts: Sequence[str]) -> list[list[float]]:
        raise RuntimeError("no route")

    with MemoryStore(path, embedder=CallableEmbedder(fail, name="hash-16")) as store:
        assert [each.kind for each in store.verify().problems] == ["vector"]
