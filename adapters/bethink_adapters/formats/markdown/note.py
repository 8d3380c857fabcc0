"""A note: properties between two lines of "---", then the text.

A property is written as ``name: <JSON>`` on a single line: YAML, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from .properties import read_properties

_FENCE: Final = "---"

# What YAML calls unprintable or takes for a line's end, or no file can hold.
_ESCAPED: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")


def to_note(properties: Mapping[str, Any], text: str) -> str:
    """Return the note."""
    lines = [f"{name}: {_told(value)}\n" for name, value in properties.items()]
    return f"{_FENCE}\n{''.join(lines)}{_FENCE}\n{text}\n"


def from_note(note: str) -> tuple[dict[str, Any], str]:
    """Return a note's properties, none without a fence, and the text.

    ``ValueError`` names the unreadable line.
    """
    if note.startswith(f"{_FENCE}\r\n"):  # an editor has changed all ends of lines
        note = note.replace("\r\n", "\n")
    if not note.startswith(f"{_FENCE}\n"):
        return {}, note.removesuffix("\n")
    head, fence, text = f"{note[len(_FENCE) :]}\n".partition(f"\n{_FENCE}\n")
    if not fence:
        raise ValueError(f"its properties do not end with {_FENCE!r}")
    return read_properties(head.split("\n")[1:]), text.removesuffix("\n").removesuffix("\n")


def _told(value: object) -> str:
    written = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", written)
