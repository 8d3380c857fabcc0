"""Texts read as the search for conflicts reads them."""

from __future__ import annotations

from bethink import MemoryRecord
from bethink.features.statements import ParsedRecord, parse_record


def parsed_records(contents: list[str]) -> list[ParsedRecord]:
    """Return parsed records of texts that were stored one after the other."""
    return [
        parse_record(MemoryRecord(f"{number:03}", "default", text, number, number, number))
        for number, text in enumerate(contents)
    ]
