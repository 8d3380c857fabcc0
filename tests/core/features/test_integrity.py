"""What is damaged is named, what is made from texts is made again, and nothing else is changed."""

from __future__ import annotations

import contextlib
import io
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from bethink import EVERYWHERE, BethinkError, CorruptStoreError, HashEmbedder, MemoryStore, index
from bethink.features.integrity import MAX_PROBLEMS, _ReplayedRecord
from bethink.storage import Entry, RecordTrace
from bethink.storage.replay import record_of, replayed
from bethink.testing.contracts.samples import records_of

from ...stored import alter
from ..clock import Clock
from ..inside import engine_of

KEY = b"sixteen bytes or more"
EMBEDDER = HashEmbedder(16)
TABLES = ("records", "journal", "accesses", "departures", "clock_steps", "segments", "links")
KEYED_TABLES = (*TABLES, "vectors", "named_vectors", "snapshots", "facts")
FISH = 16
"""Enough for a saved index once ``_a_small_index_is_saved``."""


def opened(path: Path | str, key: bytes | None = None, **options: Any) -> MemoryStore:
    options = {"embedder": EMBEDDER, "clock": Clock(5e9), "durability": "normal", **options}
    return MemoryStore(path, integrity_key=key, **options)


def live_through_everything(store: MemoryStore, clock: Clock) -> None:
    """Leave something in every table."""

    def later(seconds: float = 10.0) -> None:
        clock.now += seconds

    store.store("The cat sleeps", id="cat", key="pet", vectors={"mine": [1, 2]})
    later()
    store.store("The dog barks", id="dog", key="pet", metadata={"n": 1}, tags=["animal"])
    store.store("A secret", id="secret")
    later()
    store.update("dog", content="The dog sleeps", vectors={"mine": [3, 4]})
    store.update("dog", importance=0.9)
    store.snapshot("then")
    later()
    store.store("A whale sings", id="whale", namespace="sea")
    store.update("whale", namespace="sea/deep", key="voice")
    store.touch(["dog", "whale"])
    later(100)
    store.forget("whale")
    later(-50)
    store.restore("whale")
    store.relate("dog", "whale", "hears")
    store.record_outcome("whale", "worked")
    store.touch(["dog", "whale"])
    later(100)
    store.store_many(f"memory {n}" for n in range(3))
    store.unrelate("dog", "whale", "hears")
    store.relate("whale", "dog", "is heard by")
    store.erase("secret")
    store.store_many(({"content": f"fish {n}"} for n in range(FISH)), namespace="shoal")


@pytest.fixture(scope="module", autouse=True)
def _a_small_index_is_saved() -> Iterator[None]:
    """Let few records do for a saved index: no option sets how many, and 512 cost a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "_MIN_SAVED_ROWS", FISH)
        yield


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[bytes | None, Path]:
    """Return the paths of two such stores, by their key."""
    folder = tmp_path_factory.mktemp("samples")
    found: dict[bytes | None, Path] = {None: folder / "plain.db", KEY: folder / "keyed.db"}
    for key, path in found.items():
        clock = Clock()
        with opened(path, key, clock=clock) as store:
            live_through_everything(store, clock)
    return found


@pytest.fixture
def sample(samples: dict[bytes | None, Path], path: Path) -> Path:
    """Return the path of a copy of the store without a key."""
    return Path(shutil.copy(samples[None], path))


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "keyed"])
@pytest.mark.parametrize("where", ["file", ":memory:"])
def test_nothing_is_wrong_with_what_bethink_wrote(
    path: Path, where: str, key: bytes | None
) -> None:
    clock = Clock()
    with opened(path if where == "file" else where, key, clock=clock) as store:
        assert store.verify().ok
        live_through_everything(store, clock)
        assert store.verify().problems == ()
    if where == "file":
        with opened(path, key) as store:
            assert store.verify().problems == ()


def test_the_sample_has_something_in_every_table(sample: Path) -> None:
    with closing(sqlite3.connect(sample)) as connection:
        counts = {
            table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in KEYED_TABLES
        }
    assert all(counts.values()), counts


def test_checking_changes_nothing(sample: Path) -> None:
    with opened(sample) as store:
        before = {file.name: file.read_bytes() for file in sample.parent.iterdir()}
        store.verify()
        after = {file.name: file.read_bytes() for file in sample.parent.iterdir()}
        assert {name for name in before if before[name] != after[name]} <= {f"{sample.name}-shm"}


EDITS = {
    "a text": ("UPDATE records SET content = 'x' WHERE id = 'dog'", "record dog: content"),
    "a name": ("UPDATE records SET id = 'cow' WHERE id = 'dog'", "record cow: "),
    "an unreadable field": ("UPDATE records SET tags = '[torn' WHERE id = 'dog'", "cannot be read"),
    "an owner": ("UPDATE records SET namespace = 'x' WHERE id = 'cat'", "record cat: namespace"),
    "a record": ("DELETE FROM records WHERE id = 'cat'", "the record that it stored is missing"),
    "a row": ("UPDATE records SET row = 9999 WHERE id = 'dog'", "row or revision"),
    "a place": ("UPDATE records SET ordinal = 4 WHERE id = 'dog'", "entry that stored it"),
    "a heir": (
        "UPDATE records SET superseded_by = 'none' WHERE id = 'cat'",
        "record cat: superseded_by: not what the journal tells",
    ),
    "an entry's time": ("UPDATE journal SET at = at + 1 WHERE seq = 3", "entry 3: it does not fol"),
    "an entry's changes": (
        "UPDATE journal SET changes = replace(changes, 'cat', 'cow')",
        "it tells what it did not tell",
    ),
    "an entry told no more": (
        "UPDATE journal SET changes = NULL, salt = NULL WHERE seq = 1",
        "not erased",
    ),
    "a salt": ("UPDATE journal SET salt = NULL WHERE seq = 3", "entry 3: it tells what it did not"),
    "a touch told no more": (
        "UPDATE journal SET changes = NULL, salt = NULL "
        "WHERE seq = (SELECT max(seq) FROM journal WHERE action = 'touch')",
        "no journal entry tells of its access",
    ),
    "an entry": ("DELETE FROM journal WHERE seq = 5", "entry 6: it follows entry 4"),
    "the last entry": (
        "DELETE FROM journal WHERE seq = (SELECT max(seq) FROM journal)",
        "entry that stored it is missing",
    ),
    "a moved entry": ("UPDATE journal SET row = row + 1 WHERE seq = 6", "row"),
    "an access": ("UPDATE accesses SET count = count + 1", "access whale, entry"),
    "a lost access": ("DELETE FROM accesses", "access_count"),
    "an access of nobody": ("INSERT INTO accesses VALUES (9999, 5, 1, 1.0)", "access entry 5"),
    "a departure": ("DELETE FROM departures", "departure whale"),
    "a departure of nobody": (
        "INSERT INTO departures VALUES ('a', 'b', 'nobody')",
        "departure nobody",
    ),
    "a clock step": ("DELETE FROM clock_steps", "clock went back"),
    "a link": ("UPDATE links SET kind = 'eats' WHERE until IS NULL", "link whale eats dog"),
    "the end of a link": ("UPDATE links SET until = NULL", "the link that it tells of is missing"),
    "a snapshot": ("UPDATE snapshots SET seq = 9999", "snapshot then"),
    "a snapshot's name": ("UPDATE snapshots SET name = 'now'", "snapshot then: it is not what"),
    "a snapshot's place": ("UPDATE snapshots SET seq = 1", "snapshot then: it is not what"),
    "a snapshot's time": ("UPDATE snapshots SET at = at + 1", "snapshot then: it is not what"),
    "no snapshot": ("DELETE FROM snapshots", "snapshot then: it is not what"),
    "a snapshot of nobody": (
        "INSERT INTO snapshots SELECT 'now', max(seq), 1.0 FROM journal",
        "snapshot now: no journal entry tells of it",
    ),
    "a segment": ("UPDATE segments SET data = zeroblob(length(data))", "segment shoal"),
    "a segment's place": ("UPDATE segments SET head = head + 1", "segment shoal"),
    "a second segment": (
        "INSERT INTO segments SELECT 99, format, namespace, first, last, count, head, checksum, "
        "data FROM segments",
        "overlaps",
    ),
    "no vector": ("DELETE FROM vectors WHERE row = (SELECT min(row) FROM vectors)", "vector cat"),
    "a vector's length": ("UPDATE vectors SET vector = x'00000000'", "vector dog: it is damaged"),
    "a vector's numbers": (
        "UPDATE vectors SET vector = CAST(x'0000c07f' || substr(vector, 5) AS BLOB)",
        "vector dog: it is damaged",
    ),
    "a vector of nobody": ("UPDATE vectors SET row = 9999 WHERE row = 1", "belongs to no record"),
    "a named vector": ("UPDATE named_vectors SET vector = zeroblob(4)", "dog, mine: it is damaged"),
    "an index": ("DROP INDEX records_key", "records_key: missing"),
    "a trigger": (
        "CREATE TRIGGER spy AFTER INSERT ON records BEGIN DELETE FROM snapshots; END",
        "spy: not of bethink's making",
    ),
}


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "keyed"])
@pytest.mark.parametrize(("edit", "said"), EDITS.values(), ids=EDITS)
def test_what_was_edited_is_named(
    samples: dict[bytes | None, Path], path: Path, key: bytes | None, edit: str, said: str
) -> None:
    shutil.copy(samples[key], path)
    with opened(path, key) as store:
        alter(path, edit)
        found = store.verify()
        assert said in "\n".join(map(str, found.problems))
        assert not found


@pytest.mark.parametrize("erased", [True, False])
def test_what_was_erased_excuses_only_what_was_told_before(path: Path, erased: bool) -> None:
    with opened(path) as store:
        store.store_many([{"content": "one", "id": "a"}, {"content": "two", "id": "b"}])
        store.relate("a", "b", "precedes")
        if erased:
            store.erase("b")
        store.touch("a")
        store.snapshot("after")
        assert store.verify().ok
        touch = store.log(limit=2)[1].seq
        alter(path, f"UPDATE journal SET changes = NULL, salt = NULL WHERE seq = {touch}")
        told = f"journal entry {touch}: what it told is gone, though nothing was erased"
        assert told in map(str, store.verify().problems)


def test_an_entry_that_tells_its_record_in_two_ways_is_named() -> None:
    told: dict[str, Any] = {"id": "a", "namespace": "b", "content": "c", "state": "live"}
    told |= dict.fromkeys(("created_at", "occurred_at"), 1.0)
    found = []
    for whole in (told, {**told, "content": "d"}):
        step = Entry(1, 1.0, "store", "a", "b", None, 1, told, {**whole, "updated_at": 1.0})
        life = RecordTrace("a", 1, 1, 1, 0, 0, record_of(replayed({}, told, 1.0)), (step,), ())
        found.append([str(problem) for problem in _ReplayedRecord(life).problems])
    assert found == [[], ["journal entry 1: it tells its record in two ways"]]


READS: tuple[Callable[[MemoryStore], object], ...] = (
    lambda store: store.verify(),
    lambda store: store.log(limit=None),
    lambda store: store.all(namespace=EVERYWHERE),
    lambda store: store.recall("the dog sleeps", namespace=EVERYWHERE),
    lambda store: store.as_of(8).all(namespace=EVERYWHERE),
    lambda store: store.as_of("then").get("dog"),
    lambda store: store.as_of(1150.0).seq,
    lambda store: store.audit("pet"),
    lambda store: store.diff("then", namespace=EVERYWHERE),
    lambda store: [store.related("whale"), store.vectors(["dog"], "mine")],
    lambda store: [store.outcomes("whale"), store.conflicts()],
    lambda store: store.export(io.StringIO()),
)
WRITES: tuple[Callable[[MemoryStore], object], ...] = (
    lambda store: store.store("The cat purrs", key="pet", vectors={"mine": [1, 2]}),
    lambda store: store.touch(["dog", "whale"]),
    lambda store: store.record_outcome("dog", "failed"),
    lambda store: store.undo(7),
    lambda store: store.undo(len(store.log(limit=None))),
    lambda store: store.erase("whale"),
    lambda store: store.repair(),
)


@pytest.mark.parametrize(
    "told",
    ['{"namespace":["x"]}', '{"key":{}}', '{"access_count":"x"}', '{"last_accessed_at":"x"}',
     '{"accesses":5}', '{"accesses":{"dog":5,"whale":[1]}}', '{"whole":5}', "[]", "null"],
)  # fmt: skip
def test_what_makes_no_sense_is_named(sample: Path, told: str) -> None:
    with opened(sample) as store:
        alter(sample, f"UPDATE journal SET changes = '{told}' WHERE changes IS NOT NULL")
        problems = {(problem.kind, problem.where) for problem in store.verify().problems}
        assert {("journal", "entry 1"), ("record", "dog")} <= problems
        for read in READS:
            with contextlib.suppress(CorruptStoreError):
                read(store)


@pytest.mark.slow
@pytest.mark.parametrize("table", KEYED_TABLES)
def test_a_value_of_another_type_is_without_effect_or_damage(
    samples: dict[bytes | None, Path], views: dict[bytes | None, str], path: Path, table: str
) -> None:
    with closing(sqlite3.connect(samples[None])) as connection:
        columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
    for _, column, kind, *_ in columns:
        copy = Path(shutil.copy(samples[None], path.with_name(f"{column}.db")))
        foreign = "'5'" if kind == "BLOB" else "x'ff'"
        with contextlib.suppress(sqlite3.IntegrityError):
            alter(copy, f"UPDATE OR IGNORE {table} SET {column} = {foreign}")
        assert noticed(copy, None, views[None]), column
        with contextlib.suppress(BethinkError), opened(copy) as store:
            for call in (*READS, *WRITES):
                with contextlib.suppress(BethinkError):
                    call(store)


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE records SET importance = 1e999",
        "UPDATE journal SET at = -1e999",
        "UPDATE snapshots SET at = 1e999",
        """UPDATE records SET metadata = '{"n":1e999}'""",
    ],
)
def test_a_number_that_is_none_is_damage(sample: Path, edit: str) -> None:
    with opened(sample) as store:
        alter(sample, edit)
        with pytest.raises(CorruptStoreError, match=r"memory\.db: .* number"):
            store.export(io.StringIO())


def test_a_number_too_large_to_count_on_is_damage(sample: Path) -> None:
    with opened(sample) as store:
        alter(sample, f"UPDATE records SET access_count = {2**63 - 1}")
        store.touch("dog")
        with pytest.raises(CorruptStoreError, match=r"memory\.db: .* number"):
            store.snapshot("now")
        alter(sample, "UPDATE records SET access_count = 1")


def test_a_vector_that_lost_its_name_is_damage(sample: Path) -> None:
    with opened(sample) as store, MemoryStore(embedder=EMBEDDER) as other:
        alter(sample, "UPDATE named_vectors SET name = '' WHERE row IN (SELECT row FROM records)")
        with pytest.raises(CorruptStoreError, match=r"memory\.db: damaged vector"):
            other.merge_from(store)


def test_a_journal_that_lost_an_entry_is_damaged(sample: Path) -> None:
    with opened(sample) as store:
        alter(sample, "DELETE FROM journal WHERE seq = 3")
        for read in (lambda: store.as_of(2.5), lambda: store.as_of(4).all()):
            with pytest.raises(CorruptStoreError, match="missing"):
                read()


@pytest.mark.parametrize("read", READS[3:], ids=range(3, len(READS)))
def test_an_error_that_is_kept_keeps_nothing_open(
    sample: Path, read: Callable[[MemoryStore], object]
) -> None:
    kept = []
    with opened(sample) as store:
        alter(sample, "UPDATE records SET tags = '[torn' WHERE id = 'dog'")
        try:
            read(store)
        except CorruptStoreError as error:
            kept.append(error)
        assert store.erase("cat") == 1


def test_an_index_that_lost_an_entry_is_named(sample: Path) -> None:
    with opened(sample) as store:
        alter(
            sample,
            "PRAGMA writable_schema = ON",
            "UPDATE sqlite_master SET sql = replace(sql, 'state <> ''live''', 'id <> ''cat''') "
            "WHERE name = 'records_held'",
        )
        assert any(problem.kind == "file" for problem in store.verify().problems)


def test_a_record_that_a_damaged_index_lost_is_not_looked_for_for_ever(sample: Path) -> None:
    whole = "CREATE INDEX records_scope ON records (namespace, state, ordinal)"
    change = "UPDATE sqlite_master SET sql = '{}' WHERE name = 'records_scope'"
    alter(
        sample,
        "PRAGMA writable_schema = ON",
        change.format(f"{whole} WHERE id <> ''dog''"),
        "PRAGMA writable_schema = RESET",
        "REINDEX records_scope",
        "PRAGMA writable_schema = ON",
        change.format(whole),
    )
    with opened(sample) as store, pytest.raises(CorruptStoreError):
        store.why_not("dog", "the dog sleeps")


@pytest.mark.parametrize("name", ["records", "journal", "records_scope", "vectors"])
def test_a_file_with_a_torn_page_is_named(sample: Path, name: str) -> None:
    with closing(sqlite3.connect(sample)) as connection:
        (page,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)
        ).fetchone()
    data = bytearray(sample.read_bytes())
    data[(page - 1) * 4096 : page * 4096] = bytes(4096)
    sample.write_bytes(data)
    try:
        store = opened(sample)
    except CorruptStoreError:
        assert name == "journal"  # which opening has to read
        return
    assert any(problem.kind == "file" for problem in store.verify().problems)
    with contextlib.suppress(CorruptStoreError):
        store.close()


@pytest.mark.slow
def test_only_so_much_is_told(sample: Path) -> None:
    with opened(sample) as store:
        store.store_many(str(n) for n in range(MAX_PROBLEMS))
        alter(sample, "UPDATE records SET importance = 0.7")
        assert len(store.verify().problems) == MAX_PROBLEMS


def test_a_damaged_index_is_made_again(sample: Path) -> None:
    with opened(sample) as store:
        alter(sample, "UPDATE segments SET data = zeroblob(length(data))")
        repaired = store.repair()
        assert [problem.kind for problem in repaired.mended] == ["segment"]
        assert repaired
        assert store.verify().ok
    with opened(sample) as store:
        assert len(store.recall("fish", k=600, namespace="shoal")) == FISH


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "keyed"])
@pytest.mark.parametrize(
    "damage",
    ["DELETE FROM vectors", "UPDATE vectors SET vector = x'00'", "UPDATE vectors SET row = -row"],
    ids=["missing", "torn", "astray"],
)
def test_vectors_are_made_again_from_texts(
    samples: dict[bytes | None, Path], path: Path, damage: str, key: bytes | None
) -> None:
    sample = Path(shutil.copy(samples[key], path))
    with opened(sample, key) as store:
        before = [hit.explain() for hit in store.recall("dog sleeps", touch=False)]
        texts = {record.id: record.content for record in store.all(namespace=EVERYWHERE)}
    with opened(sample, key) as store:
        alter(sample, damage)
        repaired = store.repair()
        assert {problem.kind for problem in repaired.mended} == {"vector"}
        assert repaired.ok
        assert {record.id: record.content for record in store.all(namespace=EVERYWHERE)} == texts
        assert [hit.explain() for hit in store.recall("dog sleeps", touch=False)] == before
        assert store.log(id="dog", limit=1)[0].action == "repair"
        assert store.verify().ok


def test_what_nobody_can_make_again_is_left_and_named(sample: Path) -> None:
    with opened(sample) as store:
        alter(
            sample,
            "UPDATE records SET content = 'x' WHERE id = 'whale'",
            "UPDATE named_vectors SET vector = zeroblob(4)",
            "DELETE FROM vectors WHERE row = (SELECT row FROM records WHERE id = 'dog')",
        )
        repaired = store.repair()
        assert not repaired
        assert {(problem.kind, problem.where) for problem in repaired.mended} == {("vector", "dog")}
        assert {problem.where for problem in repaired.left} >= {"whale", "dog, mine"}
        assert store.get("whale").content == "x"  # type: ignore[union-attr]


def test_a_repair_with_nothing_to_do_writes_nothing(sample: Path) -> None:
    with opened(sample) as store:
        head = store.log(limit=1)
        assert store.repair().ok
        alter(sample, "UPDATE records SET content = 'x' WHERE id = 'whale'")
        assert not store.repair().ok
        assert store.log(limit=1) == head


def seen(store: MemoryStore) -> str:
    """Return a digest of what can be read of the sample."""
    records = records_of(
        engine_of(store).backend, [entry.id for entry in store.log(limit=None) if entry.id]
    )
    moments = [store.as_of(when) for when in ("then", 4, 9, 1050.0, 1150.0)]
    found = [
        records,
        store.log(limit=None),
        store.all(namespace=EVERYWHERE),
        [store.get(key="pet"), store.audit("pet"), store.get("cat"), store.namespaces()],
        [[moment.seq, moment.all(namespace=EVERYWHERE), moment.get("cat")] for moment in moments],
        [store.snapshots(), store.related("dog"), store.diff("then", namespace=EVERYWHERE)],
        {id: found.tolist() for id, found in store.vectors(list(records), "mine").items()},
        store.recall("the dog sleeps", namespace=EVERYWHERE, touch=False, k=3),
        store.recall("fish 7", namespace="shoal", touch=False, k=3),
    ]
    return sha256(repr(found).encode()).hexdigest()


def noticed(path: Path, key: bytes | None, before: str) -> bool:
    """Tell whether opening, reading or checking the store tells that something is wrong."""
    try:
        with opened(path, key) as store:
            return not store.verify().ok or seen(store) == before
    except BethinkError:
        return True


def changed(value: Any, chance: int) -> Any:
    """Return another value of the same type, or of none."""
    if chance % 11 == 0:
        return None if value is not None else "x"
    match value:
        case bytes() if value:
            flipped = bytearray(value)
            flipped[chance % len(value)] ^= 1 << chance % 8
            return bytes(flipped)
        case str() if value and chance % 2:
            place = chance % len(value)
            return value[:place] + chr(ord(value[place]) ^ 1) + value[place + 1 :]
        case str():
            return value + "0"
        case int() | float():
            return value + (1, -1, 1000)[chance % 3]
    return chance


@pytest.fixture(scope="module")
def views(samples: dict[bytes | None, Path]) -> dict[bytes | None, str]:
    found = {}
    for key, path in samples.items():
        with opened(path, key) as store:
            found[key] = seen(store)
    return found


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    folder = tmp_path_factory.mktemp("copies")

    def copy(path: Path) -> Path:
        for old in folder.iterdir():
            old.unlink()
        return Path(shutil.copy(path, folder / "copy.db"))

    return copy


def edit(path: Path, table: str, column: int, row: int, chance: int) -> bool:
    """Change one field of *table*; tell whether SQLite has let it."""
    with closing(sqlite3.connect(path)) as connection:
        columns = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
        name = columns[column % len(columns)]
        found = connection.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()
        values = found[row % len(found)]
        place = " AND ".join(f"{column} IS ?" for column in columns)
        value = changed(values[columns.index(name)], chance)
        try:
            connection.execute(f"UPDATE {table} SET {name} = ? WHERE {place}", (value, *values))
        except (sqlite3.IntegrityError, OverflowError):
            return False
        connection.commit()
    return True


NUMBERS = st.integers(0, 2**16)
PATIENT = settings(max_examples=60, suppress_health_check=[HealthCheck.filter_too_much])


@pytest.mark.slow
@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "keyed"])
@given(table=NUMBERS, column=NUMBERS, row=NUMBERS, chance=NUMBERS)
@PATIENT
def test_a_field_that_was_edited_is_noticed_or_without_effect(
    samples: dict[bytes | None, Path],
    views: dict[bytes | None, str],
    copies: Callable[[Path], Path],
    key: bytes | None,
    table: int,
    column: int,
    row: int,
    chance: int,
) -> None:
    path = copies(samples[key])
    tables = TABLES if key is None else KEYED_TABLES
    assume(edit(path, tables[table % len(tables)], column, row, chance))
    assert noticed(path, key, views[key])


@pytest.mark.slow
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@PATIENT
def test_a_bit_of_a_keyed_file_that_was_flipped_is_noticed_or_without_effect(
    samples: dict[bytes | None, Path],
    views: dict[bytes | None, str],
    copies: Callable[[Path], Path],
    place: float,
    bit: int,
) -> None:
    path = copies(samples[KEY])
    data = bytearray(path.read_bytes())
    data[int(place * len(data))] ^= 1 << bit
    path.write_bytes(data)
    assert noticed(path, KEY, views[KEY])
