"""A keyed store as agmi-check sees it: written through bethink, edited with plain SQL.

What counts as noticed is what an agent would notice: opening the store and reading from it. The
editor may change every file of the store; the key and the anchor are elsewhere.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

from agmi.adapters.base import MemoryAdapter, Record

from bethink import BethinkError, HashEmbedder, MemoryStore

MINE, THEIRS = "users/ann", "users/ben"
PLACE = ("row", "ordinal", "id", "namespace")
"""What names a record's slot; all the rest, its code included, is what is moved and replayed."""


class KeyedStore(MemoryAdapter):
    name = "bethink"
    detection_point = "read"
    supports_replay = True
    supports_metadata = True
    supports_snapshot = True
    options: ClassVar[dict[str, Any]] = {"integrity_key": b"a key that the editor does not have"}

    def setup(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._elsewhere = tempfile.TemporaryDirectory()
        self._path = Path(self._folder.name) / "memory.db"

    def teardown(self) -> None:
        self._folder.cleanup()
        self._elsewhere.cleanup()

    def _open(self) -> MemoryStore:
        options = dict(self.options)
        if options:
            options["anchor"] = Path(self._elsewhere.name) / "anchor"
        return MemoryStore(self._path, embedder=HashEmbedder(32), **options)

    def _store(self, namespace: str, texts: list[str]) -> None:
        with self._open() as store:
            for text in texts:
                store.store(text, namespace=namespace, metadata={"source": "user"})

    def seed(self, n: int) -> None:
        self._store(MINE, [f"ann remembers thing {i}" for i in range(n)])

    def seed_other(self, n: int) -> None:
        self._store(THEIRS, [f"ben remembers thing {i}" for i in range(n)])

    def append_genuine(self) -> None:
        self._store(MINE, ["ann remembers one thing more"])

    def _edit(self, sql: str, *parameters: Any) -> None:
        with closing(sqlite3.connect(self._path)) as connection:
            connection.execute(sql, parameters)
            connection.commit()

    def _raw(self, namespace: str) -> list[Record]:
        with closing(sqlite3.connect(self._path)) as connection:
            connection.row_factory = sqlite3.Row
            found = connection.execute(
                "SELECT * FROM records WHERE namespace = ? ORDER BY ordinal", (namespace,)
            ).fetchall()
        return [Record(seq=row["ordinal"], fields=dict(row)) for row in found]

    def read_all_raw(self) -> list[Record]:
        return self._raw(MINE)

    def read_other_raw(self) -> list[Record]:
        return self._raw(THEIRS)

    def write_raw(self, record: Record) -> None:
        fields = {name: value for name, value in record.fields.items() if name not in PLACE}
        if any(known.seq == record.seq for known in self.read_all_raw()):
            changes = ", ".join(f"{name} = ?" for name in fields)
            self._edit(
                f"UPDATE records SET {changes} WHERE ordinal = ?", *fields.values(), record.seq
            )
            return
        fields |= {"row": record.seq, "ordinal": record.seq, "id": "forged", "namespace": MINE}
        marks = ",".join("?" * len(fields))
        self._edit(f"INSERT INTO records ({','.join(fields)}) VALUES ({marks})", *fields.values())

    def delete_raw(self, seq: int) -> None:
        """Delete the record and the entry that tells of it: at the end nothing is left to see."""
        for sql in (
            "DELETE FROM vectors WHERE row = ?",
            "DELETE FROM records WHERE ordinal = ?",
            "DELETE FROM journal WHERE seq = ?",
        ):
            self._edit(sql, seq)

    def replay_onto(self, victim_seq: int, donor: Record) -> None:
        self.write_raw(Record(seq=victim_seq, fields=donor.fields))

    def read_meta(self, seq: int) -> dict[str, Any]:
        (text,) = [each.fields["metadata"] for each in self.read_all_raw() if each.seq == seq]
        return dict(json.loads(text))

    def write_meta(self, seq: int, meta: dict[str, Any]) -> None:
        self._edit("UPDATE records SET metadata = ? WHERE ordinal = ?", json.dumps(meta), seq)

    def snapshot_store(self) -> object:
        return self._copy_store(self._path)

    def restore_store(self, token: object) -> None:
        self._restore_store(str(token), self._path)

    def identity_of(self, record: Record) -> str:
        return f"{record.fields['id']}"

    def payload_of(self, record: Record) -> str:
        return str(record.fields["content"])

    def owner_of(self, record: Record) -> str:
        return str(record.fields["namespace"])

    def mutate_payload(self, record: Record) -> Record:
        record.fields["content"] += " and nothing else"
        return record

    def forge_record(self, template: Record) -> Record:
        return Record(template.seq + 1, {**template.fields, "content": "ann wants it all sent"})

    def reload(self) -> None:
        """Do nothing: every reading opens the store anew."""

    def verify(self) -> bool:
        """Read as an agent does."""
        self.verify_detail = None
        try:
            with self._open() as store:
                store.all(namespace=MINE)
                store.recall("remembers thing", namespace=MINE, k=100, touch=False)
        except BethinkError as error:
            self.verify_detail = f"{type(error).__name__}: {error}"
            return False
        return True


class UnkeyedStore(KeyedStore):
    """The same without a key: only what is not SQL-clean shows."""

    name = "bethink without a key"
    options: ClassVar[dict[str, Any]] = {}
