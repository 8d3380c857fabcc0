"""The journal, read anew: the records it tells of, and whether its chain holds."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace

from bethink import LogEntry, MemoryRecord, MemoryStore
from bethink.storage.journal import START, chain_hash, digest
from bethink.storage.sql.journal_reader import to_log_entry
from bethink.testing.contracts.samples import records_of

from ..inside import engine_of

COLUMNS = "seq, at, action, id, namespace, was, row, digest, link, salt, changes"


def replayed(entries: Iterable[LogEntry]) -> dict[str, MemoryRecord]:
    """Return the records that a journal, oldest entry first, tells of."""
    entries = list(entries)
    erased = {entry.id for entry in entries if entry.action == "erase"}
    records: dict[str, MemoryRecord] = {}
    for entry in entries:
        if entry.action == "touch":
            for id, (times, at) in entry.changes.get("accesses", {}).items():
                record = records.get(id)
                if record is not None and record.state == "live":
                    last = max(at, record.last_accessed_at or at)
                    count = record.access_count + times
                    records[id] = replace(record, access_count=count, last_accessed_at=last)
            continue
        if entry.action in ("relate", "unrelate"):  # a link changes no record
            continue
        assert entry.id is not None
        if entry.id in erased and entry.id not in records and entry.action != "erase":
            assert entry.changes == {}
            continue
        changes = {
            name: value for name, value in entry.changes.items() if name in MemoryRecord.__slots__
        }
        if "tags" in changes:
            changes["tags"] = tuple(changes["tags"])
        records[entry.id] = (
            MemoryRecord(**changes)
            if entry.action in ("store", "erase")
            else replace(records[entry.id], **changes, updated_at=entry.at)
        )
    return records


def table(store: MemoryStore) -> dict[str, MemoryRecord]:
    """Return all records as they are stored, in any state."""
    ids = [entry.id for entry in store.log(limit=None) if entry.id is not None]
    return records_of(engine_of(store).backend, ids)


def assert_journal_is_state(store: MemoryStore) -> None:
    with engine_of(store).backend.journal_reader.full_scan() as everything:  # with daily accesses
        entries = [to_log_entry(entry) for entry, _ in everything.entries()]
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    assert replayed(entries) == table(store)


def unverified(path: str | os.PathLike[str]) -> list[int]:
    """Return the entries that do not follow from the one before or do not match their changes."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(f"SELECT {COLUMNS} FROM journal ORDER BY seq").fetchall()
    wrong, previous = [], START
    for *columns, digested, linked, salt, changes in rows:
        erased = salt is None and changes is None
        told = erased or digest(salt, changes) == digested
        if not told or chain_hash(previous, tuple(columns), digested) != linked:
            wrong.append(columns[0])
        previous = linked
    return wrong
