"""Undoing is tested on stores such as those of the tests of history."""

from ...memory.history.conftest import _whole_records_are_told_often, store

__all__ = ["_whole_records_are_told_often", "store"]
