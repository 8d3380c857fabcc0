"""Texts read as the search for conflicts reads them."""

from __future__ import annotations

from bethink import MemoryRecord
from bethink.features.statements import ParsedRecord, read


def readings(contents: list[str]) -> list[ParsedRecord]:
    """Return readings of texts that were stored one after the other."""
    return [
        read(MemoryRecord(f"{number:03}", "default", text, number, number, number))
        for number, text in enumerate(contents)
    ]
