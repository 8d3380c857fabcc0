"""Files of schema version 1, opened by this bethink and by a bethink with one field more."""

from __future__ import annotations

import gzip
import importlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import bethink
from bethink import CorruptStoreError, HashEmbedder, MemoryRecord, MemoryStore
from bethink.storage.sql.authenticator import CODED_COLUMNS
from bethink.storage.sqlite import schema

from ...stored import alter

TESTS = Path(__file__).parents[2]
DATA = TESTS / "data"
MAKING = TESTS / "making"
ANSWERS = json.loads((DATA / "version_1_answers.json").read_text(encoding="utf-8"))
"""The answers of the code that wrote the files; scores of records with outcomes are of today."""
ADDED = (
    ("model/records.py", "    category: str | None\n", "    mood: str | None\n"),
    ("model/records.py", "    outcome: float = 0.0\n", "    mood: str | None = None\n"),
    (
        "model/records.py",
        '    "outcome": RecordField(_outcome, _NUMBER, "number", given=False),\n',
        '    "mood": RecordField(_label, str | None, "text", merged="filled"),\n',
    ),
    (
        "storage/sqlite/schema.py",
        "    for number in (1, 2)\n)",
        ' + ("ALTER TABLE records ADD COLUMN mood TEXT",)',
    ),
    (
        "storage/sql/authenticator.py",
        '"last_accessed_at, access_count, outcome, state",\n',
        '    3: "id, namespace, content, created_at, occurred_at, updated_at, key, value, thread, '
        "author, category, tags, importance, confidence, source, metadata, expires_at, "
        'superseded_by, last_accessed_at, access_count, outcome, mood, state",\n',
    ),
)
"""The lines that a new field takes: the file, and the text before."""

OPEN = "from version_1_files import KEY, answers, opened\nimport sys, json, os\n"
ANSWER = (
    "store = opened(path, key)\n"
    "print(json.dumps([[p.where for p in store.verify().problems], answers(store)]))\n"
    "store.close()\n"
)


@pytest.fixture(params=["plain", "keyed"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def old(tmp_path: Path, name: str) -> Path:
    """Return the path of a file of version 1."""
    path = tmp_path / "old.db"
    path.write_bytes(gzip.decompress((DATA / f"version_1_{name}.db.gz").read_bytes()))
    return path


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a bethink of schema version 3, whose records have a field ``mood``."""
    folder = tmp_path_factory.mktemp("newer")
    core = folder / "bethink"
    shutil.copytree(
        Path(bethink.__file__).parent, core, ignore=shutil.ignore_patterns("__pycache__")
    )
    for file, before, line in ADDED:
        text = (core / file).read_text(encoding="utf-8")
        assert text.count(before) == 1, (file, before)
        (core / file).write_text(text.replace(before, before + line), encoding="utf-8")
    return folder


def run(core: Path, path: Path, name: str, code: str = ANSWER, status: int = 0) -> Any:
    """Return what *code* prints, run with the bethink in *core* on the file at *path*."""
    key = "KEY" if name == "keyed" else "None"
    # The code of the copy, which is gone after the tests, must not count as covered.
    environment = {name: text for name, text in os.environ.items() if "COVERAGE" not in name}
    done = subprocess.run(
        [sys.executable, "-c", f"{OPEN}path, key = {str(path)!r}, {key}\n{code}"],
        env={**environment, "PYTHONPATH": f"{core}{os.pathsep}{MAKING}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout) if done.stdout else None


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def without_mood(answers: dict[str, Any]) -> dict[str, Any]:
    assert [record.pop("mood", "missing") for record in answers["records"]] == [None] * 7
    return answers


def test_codes_cover_every_field_of_today() -> None:
    coded = CODED_COLUMNS[schema.code_version()].split(", ")
    assert coded == [field.name for field in fields(MemoryRecord)]


def test_a_file_of_version_1_answers_as_ever(
    old: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(MAKING)
    making = importlib.import_module("version_1_files")
    with making.opened(old, making.KEY if name == "keyed" else None) as store:
        assert store.verify().ok
        assert making.answers(store) == ANSWERS


def test_a_file_without_a_table_of_its_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    old = tmp_path / "old.db"
    old.write_bytes(gzip.decompress((DATA / "version_1_plain.db.gz").read_bytes()))
    alter(old, "DROP TABLE accesses", "DROP TABLE links")
    with pytest.raises(CorruptStoreError, match="its version are missing: accesses, links"):
        MemoryStore(old, embedder=HashEmbedder(16))
    assert version(old) == 1
    assert [each.name for each in tmp_path.glob("*.backup")] == []


def test_a_compacted_file_of_version_1_keeps_its_tombstones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(MAKING)
    making = importlib.import_module("version_1_files")
    path = tmp_path / "cut.db"
    path.write_bytes(gzip.decompress((DATA / "version_1_cut.db.gz").read_bytes()))
    with making.opened(path, making.KEY) as store, MemoryStore(embedder=HashEmbedder(16)) as old:
        assert store.verify().ok
        old.store("The password is swordfish", id="secret")
        assert store.merge_from(old).erased == 1
        store.erase("cat")
        store.compact(keep=0)
        assert store.verify().ok
        assert store.merge_from(old).erased == 1


@pytest.mark.slow
def test_a_new_field_leaves_old_files_as_they_were(old: Path, name: str, newer: Path) -> None:
    problems, answers = run(newer, old, name)
    assert (problems, without_mood(answers), version(old)) == ([], ANSWERS, 3)
    written = run(
        newer,
        old,
        name,
        "with opened(path, key) as store:\n"
        "    store.store('A new song', id='new', mood='calm')\n"
        "    store.update('cat', importance=0.75)\n"
        "with opened(path, key) as store:\n"
        "    ids = [hit.memory.id for hit in store.recall('a new song', k=1)]\n"
        "    calm = [record.id for record in store.all(where={'mood': 'calm'})]\n"
        "    moved = opened(path + '.moved', None)\n"
        "    store.export(path + '.lines')\n"
        "    moved.import_(path + '.lines')\n"
        "    moods = [store.get('cat').mood, moved.get('new').mood]\n"
        "    print(json.dumps([store.verify().ok, ids, calm, moods]))\n",
    )
    assert written == [True, ["new"], ["new"], [None, "calm"]]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["keyed"], indirect=True)
@pytest.mark.parametrize("change", ["content = 'forged'", "importance = 0.9, code = zeroblob(32)"])
def test_what_was_forged_before_an_upgrade_is_found_after(
    old: Path, name: str, newer: Path, change: str
) -> None:
    alter(old, f"UPDATE records SET {change} WHERE id = 'cat'")
    code = (
        "store = opened(path, key)\nprint(json.dumps([p.where for p in store.verify().problems]))"
    )
    assert "cat" in run(newer, old, name, code)
    assert version(old) == 3
    read = (
        "import bethink\ntry:\n    opened(path, key).get('cat')\n"
        "except bethink.TamperedError as error:\n    print(json.dumps(str(error)))\n"
    )
    assert "record 'cat' was changed" in run(newer, old, name, read)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["keyed"], indirect=True)
@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("UPDATE facts SET value = '2' WHERE name = 'embedder'", "facts or snapshots"),
        ("INSERT INTO facts VALUES ('coded', '3')", "facts or snapshots"),
        (
            "CREATE TRIGGER forge AFTER UPDATE ON records BEGIN "
            "UPDATE records SET content = 'forged' WHERE row = new.row; END",
            "not of bethink's making",
        ),
    ],
)
def test_a_file_that_was_changed_is_not_upgraded(
    old: Path, name: str, newer: Path, sql: str, told: str
) -> None:
    alter(old, sql)
    code = (
        "import bethink\ntry:\n    opened(path, key)\n"
        "except bethink.TamperedError as error:\n    print(json.dumps(str(error)))\n"
    )
    assert told in run(newer, old, name, code)
    assert version(old) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["keyed"], indirect=True)
@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE records SET mood = 'forged' WHERE id = 'cat'",
        "UPDATE records SET content = 'forged' WHERE id = 'cat'",
        "UPDATE facts SET value = '1' WHERE name = 'coded'",
        "DELETE FROM facts WHERE name = 'coded'",
    ],
)
def test_what_is_forged_after_an_upgrade_is_found(
    old: Path, name: str, newer: Path, sql: str
) -> None:
    assert run(newer, old, name)[0] == []
    alter(old, sql)
    code = (
        "import bethink\ntry:\n"
        "    found = [p.where for p in opened(path, key).verify().problems]\n"
        "except bethink.TamperedError as error:\n"
        "    found = ['seal' * ('facts and snapshots' in str(error))]\n"
        "print(json.dumps(found))\n"
    )
    assert {"cat", "seal"} & set(run(newer, old, name, code))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["keyed"], indirect=True)
def test_only_the_key_upgrades(old: Path, newer: Path) -> None:
    code = (
        "import bethink\ntry:\n    opened(path, key)\n"
        "except bethink.IntegrityKeyError as error:\n    print(json.dumps(str(error)))\n"
    )
    assert "authenticated" in run(newer, old, "plain", code)
    assert "another" in run(newer, old, "plain", f"key = b'x' * 16\n{code}")
    assert version(old) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["keyed"], indirect=True)
def test_an_upgrade_cut_short_is_made_again(old: Path, name: str, newer: Path) -> None:
    cut = (
        "from bethink.storage.sqlite import keyed_file\n"
        "keyed_file._note_version = lambda *_: os._exit(9)\nopened(path, key)"
    )
    run(newer, old, name, cut, status=9)
    assert version(old) == 1
    problems, answers = run(newer, old, name)
    assert (problems, without_mood(answers), version(old)) == ([], ANSWERS, 3)


@pytest.mark.slow
def test_a_new_file_of_version_3_is_whole(tmp_path: Path, newer: Path) -> None:
    code = (
        "with opened(path, KEY) as store:\n    store.store('one', id='one')\n"
        "with opened(path, KEY) as store:\n"
        "    print(json.dumps([store.verify().ok, store.get('one').mood]))\n"
    )
    assert run(newer, tmp_path / "new.db", "keyed", code) == [True, None]
