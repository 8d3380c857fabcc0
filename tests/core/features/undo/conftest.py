"""Undoing is tested on stores such as those of the tests of moments."""

from ..past.conftest import _whole_records_are_told_often, store

__all__ = ["_whole_records_are_told_often", "store"]
