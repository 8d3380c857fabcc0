"""Filters that were asked for are known from then on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bethink import MemoryRecord
from bethink.index import caches
from bethink.index.caches import FilterCache
from bethink.model.filters import Filter, parse

RECORD = MemoryRecord("1", "a", "x", 1.0, 1.0, 1.0)


def spelled(where: dict[str, Any]) -> Filter:
    found = parse(where)
    assert found is not None
    return found


def asked(
    filters: FilterCache, where: dict[str, Any], found: list[int], size: int
) -> list[int] | None:
    """Return who passes; None if that was not known, and is now *found*."""
    passing = filters.get(spelled(where), size)
    if passing is not None:
        told: list[int] = passing.nonzero()[0].tolist()
        return told
    filters.add(spelled(where), np.isin(np.arange(size), found))
    return None


def test_what_is_appended_and_patched_is_known() -> None:
    filters, where = FilterCache(), {"metadata.lang": "en"}
    english = replace(RECORD, metadata={"lang": "en"})
    assert asked(filters, where, [1], 2) is None
    filters.append([english, RECORD, english], 2)
    filters.patch(1, RECORD)
    assert asked(filters, where, [], 5) == [2, 4]
    filters.keep(np.array([True, False, True, True, True]))
    filters.append([english], 4)
    assert asked(filters, where, [], 5) == [1, 3, 4]


def test_one_is_not_true() -> None:
    filters = FilterCache()
    assert asked(filters, {"metadata.n": 1}, [0], 2) is None
    assert asked(filters, {"metadata.n": True}, [1], 2) is None
    assert asked(filters, {"metadata.n": 1.0}, [0], 2) is None
    assert asked(filters, {"metadata.n": True}, [], 2) == [1]


def test_only_the_filters_asked_for_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "MAX_FILTERS", 2)
    filters, (a, b, c) = FilterCache(), ({"author": name} for name in "abc")
    for where in (a, b):
        asked(filters, where, [0], 1)
    assert asked(filters, a, [], 1) == [0]
    assert filters.nbytes == 2
    assert asked(filters, c, [0], 1) is None
    assert asked(filters, a, [], 1) == [0]
    assert asked(filters, b, [0], 1) is None


@pytest.mark.parametrize(
    "where",
    [{"access_count": {"$gt": 1}}, {"$not": {"last_accessed_at": 3.0}}, {"author": "a" * 2000}],
)
def test_some_filters_are_looked_up_every_time(where: dict[str, Any]) -> None:
    filters = FilterCache()
    assert asked(filters, where, [0], 1) is None
    assert asked(filters, where, [], 1) is None
