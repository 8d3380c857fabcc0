"""A URL's scheme chooses the backend."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bethink import MemoryStore, MissingExtraError, StorageError, ValidationError
from bethink.storage import open_backend
from bethink.storage.sqlite import SQLiteBackend

PACKAGE = """
from bethink.storage import open_backend

def open_shelf(url, durability):
    return open_backend(url.removeprefix("shelf://"), durability)
"""


@pytest.fixture
def _package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package that offers a backend for the scheme "shelf"."""
    (tmp_path / "shelves.py").write_text(PACKAGE)
    metadata = tmp_path / "shelves-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: shelves\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[bethink.backends]\nshelf = shelves:open_shelf\n")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("_package")
def test_an_entry_point_brings_a_scheme(tmp_path: Path) -> None:
    with MemoryStore(f"shelf://{tmp_path}/a.db") as store:
        store.store("books stand in rows")
        assert [hit.record.content for hit in store.recall("books")] == ["books stand in rows"]
        assert store.location == f"{tmp_path}/a.db"


@pytest.mark.usefixtures("_package")
def test_a_key_is_refused_before_a_foreign_backend_is_opened(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="needs an SQLite file, not shelf://"):
        open_backend(f"shelf://{tmp_path}/a.db", integrity_key=bytes(16))
    assert not (tmp_path / "a.db").exists()


def test_an_unknown_scheme_is_refused_without_the_password() -> None:
    with pytest.raises(ValidationError, match="no backend for mongodb://") as caught:
        open_backend("mongodb://ann:hunter2@db/x")
    assert "hunter2" not in str(caught.value)


def test_a_url_of_sqlalchemy_hears_of_the_scheme_of_postgres() -> None:
    with pytest.raises(ValidationError, match="postgresql://, or a scheme"):
        open_backend("postgresql+psycopg://ann@db/x")


def test_sqlite_is_a_scheme_too(tmp_path: Path) -> None:
    backend = open_backend(f"sqlite:///{tmp_path}/a.db")
    backend.close()
    assert isinstance(backend, SQLiteBackend)
    with pytest.raises(StorageError):
        open_backend(f"sqlite:///{tmp_path}")


@pytest.mark.parametrize("scheme", ["postgres", "postgresql"])
def test_a_missing_driver_is_named_with_the_extra(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for name in [each for each in sys.modules if each.startswith("bethink.storage.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingExtraError, match=r"psycopg\[binary\].*\[postgres\]"):
        open_backend(f"{scheme}://host/db")
