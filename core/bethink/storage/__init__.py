"""Storage: the backend for a location, such as an SQLite file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final, Literal

from ..errors import MissingExtraError, ValidationError
from ..model import fields
from .abilities import Access as Access
from .abilities import Current as Current
from .abilities import Entry as Entry
from .abilities import FullBackend as FullBackend
from .abilities import FullScan as FullScan
from .abilities import FullWriter as FullWriter
from .abilities import Inspection as Inspection
from .abilities import JournalReader as JournalReader
from .abilities import Link as Link
from .abilities import Move as Move
from .abilities import Problem as Problem
from .abilities import ProblemKind as ProblemKind
from .abilities import RecordTrace as RecordTrace
from .abilities import Tally as Tally
from .abilities import Totals as Totals
from .abilities import VectorIndexes as VectorIndexes
from .abilities import is_changed as is_changed
from .anchors import Anchor as Anchor
from .anchors import FileAnchor as FileAnchor
from .folders import make_folder as make_folder
from .folders import replace_file as replace_file
from .journal import BASE as BASE
from .journal import PART as PART
from .journal import is_well_formed as is_well_formed
from .past import PastBackend as PastBackend
from .replay import ACCESS_FIELDS as ACCESS_FIELDS
from .replay import SILENT_FIELDS as SILENT_FIELDS
from .replay import RecordAt as RecordAt
from .replay import changed_fields as changed_fields
from .replay import record_of as record_of
from .replay import records_at as records_at
from .replay import refuse_compacted as refuse_compacted
from .replay import replayed as replayed
from .similar import similar_scopes as similar_scopes
from .urls import split
from .urls import without_password as without_password

if TYPE_CHECKING:
    from .postgres import PostgresBackend, ShardServers

_MIN_KEY_BYTES: Final = 16


def open_backend(
    location: str | os.PathLike[str],
    durability: Literal["full", "normal"] = "full",
    integrity_key: bytes | None = None,
    anchor: str | os.PathLike[str] | Anchor | Literal[False] | None = None,
) -> FullBackend:
    """Open the backend for *location*, a path or a URL.

    A path, ":memory:" and the scheme sqlite stand for SQLite. Any other scheme names an entry point
    of the group ``bethink.backends``: a function of the URL and the *durability* that returns a
    ``FullBackend``. With *integrity_key* the content is authenticated, and compared with *anchor*;
    False gives up the file's anchor. With an anchor every write is synced, whatever the
    *durability*. Raises ``ValidationError`` for an invalid location, ``MissingExtraError`` for a
    missing driver, ``StorageError`` for an unusable store, and ``IntegrityKeyError`` for a wrong
    key or a missing anchor.
    """
    from ..storage.sqlite import SQLiteBackend

    fields.one_of("durability", durability, ("full", "normal"))
    if not isinstance(location, str | os.PathLike):
        kind = type(location).__name__
        raise ValidationError(f"location must be a path, a URL or ':memory:', not {kind}")
    if anchor is not None and integrity_key is None:
        raise ValidationError("an anchor needs an integrity_key")
    if not (url := str(os.fspath(location))):
        raise ValidationError("location must not be empty")
    if url.startswith("file:") or (url.startswith("sqlite:///") and "?" in url):
        raise ValidationError(f"{url!r}: a file is a path or sqlite:///path, without parameters")
    path = file_of(url)
    if path is None:
        scheme = url.partition("://")[0]
        if integrity_key is not None:
            raise ValidationError(f"an integrity_key needs an SQLite file, not {scheme}://")
        if scheme in ("postgres", "postgresql"):
            return _open_postgres(url, durability)
        return _find_backend(scheme)(url, durability)
    if anchor is not False and not isinstance(anchor, str | os.PathLike | Anchor | None):
        raise ValidationError(f"anchor must be a path or an Anchor, not {type(anchor).__name__}")
    if isinstance(anchor, str | os.PathLike):
        anchor = FileAnchor(anchor)
    return SQLiteBackend(
        fields.path("location", path or os.curdir),
        durability=durability if anchor in (None, False) else "full",  # or the anchor may lead
        integrity_key=None if integrity_key is None else _checked_key(integrity_key),
        anchor=anchor,
    )


def file_of(location: str | os.PathLike[str]) -> str | None:
    """Return the path of the file at *location*, None for the URL of a database."""
    path = str(os.fspath(location)).removeprefix("sqlite:///")
    return None if "://" in path else path


def tenant_of(location: str | os.PathLike[str]) -> str | None:
    """Return the namespace that is all that the store at *location* shows, None for no limit."""
    url = os.fspath(location)
    return split(url)[1].get("tenant") if _is_postgres(url) else None


def database_exists(url: str) -> bool:
    """Return whether there is a store in the database at *url*, before the store is opened.

    A database other than Postgres counts as a store.
    """
    if not _is_postgres(url):
        return True
    with _needs_psycopg():
        from .postgres import has_tables
    return has_tables(url)


def migrate_database(
    url: str,
    *,
    writers: Iterable[str] = (),
    readers: Iterable[str] = (),
    tenant_writers: Iterable[str] = (),
) -> str:
    """Make or update the tables of the Postgres database at *url*; return the shown location.

    The roles *writers* may then use the store, the roles *readers* only the views. The roles
    *tenant_writers* use the store for one tenant at a time, ``?tenant=NAMESPACE`` in the URL.
    """
    if not _is_postgres(url):
        raise ValidationError(
            "migrate takes the URL of a Postgres database; the next opening upgrades a file"
        )
    with closing(_open_postgres(url)) as backend:
        for role in writers:
            backend.grant(role, "write")
        for role in readers:
            backend.grant(role, "read")
        for role in tenant_writers:
            backend.grant(role, "tenant")
        return backend.location


def shard_servers(servers: Mapping[str, str], schema: str) -> ShardServers:
    """Return the shards named *schema* on *servers*, the URLs of Postgres databases by name."""
    if not isinstance(servers, Mapping) or not servers:
        raise ValidationError("servers must be a mapping from names to the URLs of databases")
    for name, url in servers.items():
        if not isinstance(name, str) or not name:
            raise ValidationError("the name of a server must be a text that is not empty")
        if not isinstance(url, str) or not _is_postgres(url):
            raise ValidationError(f"the server {name!r} needs the URL of a Postgres database")
    with _needs_psycopg():
        from .postgres import ShardServers
    return ShardServers(servers, schema)


def let_move(backend: FullBackend, find: Callable[[], str]) -> None:
    """Let the *backend* of a shard move between servers: *find* returns the URL of the place."""
    from .postgres import PostgresBackend

    assert isinstance(backend, PostgresBackend)
    backend.follow(find)


def _is_postgres(url: str) -> bool:
    return url.startswith(("postgres://", "postgresql://"))


def _open_postgres(url: str, durability: Literal["full", "normal"] = "full") -> PostgresBackend:
    with _needs_psycopg():
        from .postgres import PostgresBackend
    return PostgresBackend(url, durability)


@contextmanager
def _needs_psycopg() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "psycopg":
            raise
        raise MissingExtraError("psycopg[binary]>=3.2.1", "postgres") from error


def _find_backend(scheme: str) -> Callable[[str, str], FullBackend]:
    """Return the function that opens URLs of *scheme*; an error never shows the URL's password."""
    from importlib.metadata import entry_points

    for entry in entry_points(group="bethink.backends", name=scheme):
        opener: Callable[[str, str], FullBackend] = entry.load()
        return opener
    raise ValidationError(
        f"no backend for {scheme}://; use a path, sqlite:///path, ':memory:', postgresql://, or a "
        "scheme that a package offers as an entry point of the group bethink.backends"
    )


def _checked_key(key: object) -> bytes:
    if not isinstance(key, bytes) or len(key) < _MIN_KEY_BYTES:
        given = len(key) if isinstance(key, bytes) else type(key).__name__
        raise ValidationError(
            f"integrity_key must be at least {_MIN_KEY_BYTES} secret bytes, not {given}"
        )
    return key
