"""Archiving: a namespace goes to a second store with all history, and is forgotten here.

The second store is complete before anything is forgotten here. So after a crash each record is in
the first store, and perhaps in both: the next call finds the copy and continues.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import compress
from tempfile import TemporaryDirectory
from typing import Final

from ...errors import NotFoundError, StorageError, ValidationError
from ...memory.engine import Engine
from ...memory.writing import retire
from ...model.namespaces import Scope
from ...model.port import Page, Stored
from ...model.progress import Tell
from ...model.records import State, different
from ...model.values import Value
from ...storage import ACCESS_FIELDS, FullBackend
from ..sources import check_whole
from .exporter import dump
from .importer import load
from .merge import check_other

_MOVED: Final[tuple[State, ...]] = ("live", "superseded", "archived")
_BATCH_RECORDS: Final = 256


@dataclass(frozen=True, slots=True)
class Archived(Value):
    """The result of ``archive_to``.

    ``records``, in any state, were copied by this call. ``forgotten`` are forgotten here, and
    ``changed`` are not, since they changed while the copy was made.
    """

    records: int
    forgotten: int
    changed: int


def check_source(engine: Engine, scope: Scope) -> None:
    """Refuse a store that cannot be written, or has no record in *scope* to be archived."""
    check_whole(engine)
    if engine.backend.read_only:
        raise StorageError(engine.backend.location, "it is read only, so nothing can be moved")
    one = Page(limit=1)
    if not any(engine.backend.select(scope, None, one, (state,)) for state in _MOVED):
        raise NotFoundError("memory in the namespace", str(scope))


def archive(engine: Engine, other: Engine, scope: Scope, tell: Tell | None) -> Archived:
    """Copy the records in *scope* with all history to the empty store *other*; forget them here.

    If *other* holds the records already, as a copy of an earlier call, nothing is copied.
    """
    check_other(engine, other.backend.location, itself=other is engine, what="archived to")
    copies, is_new = 0, not other.backend.head()
    if is_new:
        check_source(engine, scope)
        copies = copy_records(engine, other, scope, tell)
    with engine.writing(closing=True) as transaction:
        found = transaction.writer.select(scope, None, states=_MOVED)
        same = list(compress(found, _compared(found, other.backend)))
        changed = len(found) - len(same)
        if changed and not is_new:
            reason = f"holds no copy of {changed} of the memories; archive into a new file"
            raise ValidationError(f"{other.backend.location} {reason}")
        retire(transaction, same)
    return Archived(copies, len(same), changed)


def copy_records(engine: Engine, other: Engine, scope: Scope, tell: Tell | None) -> int:
    """Copy the records in *scope*, with all history, to the empty store *other*; return a count."""
    with TemporaryDirectory(prefix="bethink-") as folder:
        path = os.path.join(folder, "records.jsonl")
        copies = dump(engine, path, scope, None, tell)
        load(other, path, sys.maxsize - 1)
    return copies


def _compared(found: list[Stored], backend: FullBackend) -> Iterator[bool]:
    """Yield for each record whether *backend* holds the record, accesses aside."""
    for start in range(0, len(found), _BATCH_RECORDS):
        batch = [record for _, record in found[start : start + _BATCH_RECORDS]]
        copies = backend.find([record.id for record in batch])
        for record in batch:
            copy = copies.get(record.id)
            yield copy is not None and ACCESS_FIELDS.issuperset(different(copy.record, record))
