from __future__ import annotations

import numpy as np

from bethink import MemoryRecord
from bethink.index.columns import FOREVER, NEVER, Columns, numbers, table
from bethink.model.port import Row

NO_AUTH = MemoryRecord("1", "a", "x", created_at=1.0, occurred_at=2.0, updated_at=3.0)
TOLD = MemoryRecord(
    "2", "a", "y", 1.0, 5.0, 3.0, expires_at=9.0, last_accessed_at=7.0, access_count=2
)


def test_columns_grow_and_keep_what_they_held() -> None:
    columns = Columns(room=2)
    columns.append(1, row=[1], importance=[0.5])
    columns.append(2, row=[2, 3], importance=0.25)
    columns.append(500, row=np.arange(4, 504), importance=np.linspace(0, 1, 500))
    assert columns.size == len(columns["row"]) == 503
    assert columns["row"].tolist() == list(range(1, 504))
    assert columns["importance"][:4].tolist() == [0.5, 0.25, 0.25, 0.0]


def test_a_column_can_be_written_in_place() -> None:
    columns = Columns()
    columns.append(3, row=[1, 2, 3], live=True)
    columns["live"][1] = False
    assert columns["live"].tolist() == [True, False, True]


def test_growing_at_least_doubles() -> None:
    columns = Columns(4, types={"code": (np.int8, (3,))})
    sizes = []
    for count in (4, 1, 45):
        columns.append(count, code=np.ones((count, 3)))
        sizes.append(columns.nbytes)
    assert sizes == [4 * 3, 8 * 3, 50 * 3]
    assert columns["code"].sum() == 50 * 3


def test_what_never_happened_is_infinitely_far() -> None:
    assert numbers(NO_AUTH)["accessed"] == NEVER == -np.inf
    assert numbers(NO_AUTH)["expires"] == FOREVER == np.inf
    assert (numbers(TOLD)["accessed"], numbers(TOLD)["expires"]) == (7.0, 9.0)


def test_rows_become_columns() -> None:
    found = table([Row(8, 3, NO_AUTH, {}), Row(9, 4, TOLD, {})])
    assert list(found["row"]) == [8, 9]
    assert list(found["ordinal"]) == [3, 4]
    assert list(found["occurred"]) == [2.0, 5.0]
    assert list(found["accesses"]) == [0, 2]


def test_what_is_kept_moves_up() -> None:
    columns = Columns()
    columns.append(40, row=np.arange(40), live=True)
    taken = columns.nbytes
    columns.keep(columns["row"] % 20 == 3)
    assert columns["row"].tolist() == [3, 23]
    assert columns.nbytes < taken / 8
    columns.append(1, row=[40], live=True)
    assert columns["row"].tolist() == [3, 23, 40]
