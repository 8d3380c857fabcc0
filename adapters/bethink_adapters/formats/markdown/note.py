"""A note: properties between two lines of "---", then the text.

A property is written as ``name: <JSON>`` on a single line: YAML, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from .properties import is_property, readable_properties

_FENCE: Final = "---"

# What YAML calls unprintable or takes for a line's end, or no file can hold.
_ESCAPED: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")


def to_note(properties: Mapping[str, Any], text: str) -> str:
    """Return the note."""
    lines = [f"{name}: {_told(value)}\n" for name, value in properties.items()]
    return f"{_FENCE}\n{''.join(lines)}{_FENCE}\n{text}\n"


def from_note(note: str) -> tuple[dict[str, Any], str, list[str]]:
    """Return a note's properties, none without a fence, the text, and the unreadable lines.

    A first line of "---" without properties below is a rule, and belongs to the text. Properties
    without an end raise ``ValueError``.
    """
    if note.startswith(f"{_FENCE}\r\n"):  # an editor has changed all ends of lines
        note = note.replace("\r\n", "\n")
    head, fence, text = f"{note[len(_FENCE) :]}\n".partition(f"\n{_FENCE}\n")
    lines = head.split("\n")[1:]
    first = next((line for line in lines if line.strip() and line[0] != "#"), None)
    begun = first is not None and is_property(first)
    if not note.startswith(f"{_FENCE}\n") or not (begun or (fence and first is None)):
        return {}, note.removesuffix("\n"), []
    if not fence:
        raise ValueError(f"its properties do not end with {_FENCE!r}")
    properties, unread = readable_properties(lines)
    return properties, text.removesuffix("\n").removesuffix("\n"), unread


def _told(value: object) -> str:
    written = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", written)
