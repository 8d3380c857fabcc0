"""One note: properties between two lines of "---", then the text.

A property is written as ``name: <JSON>`` on one line, which is YAML, too. Read is that, and what
editors make of it: plain and single-quoted text, and lists with an item to a line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

_FENCE: Final = "---"
_PROPERTY: Final = re.compile(r"([^\s:#-][^:]*):(?:[ \t]+(.*))?")
_ITEM: Final = re.compile(r"[ \t]*-[ \t]+(.*)")
_STRUCTURED: Final = tuple("[{\"'&*!|>%@`")

# What YAML calls unprintable or takes for a line's end, or no file can hold.
_ESCAPED: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")


def to_note(properties: Mapping[str, Any], text: str) -> str:
    """Return the note."""
    lines = [f"{name}: {_told(value)}\n" for name, value in properties.items()]
    return f"{_FENCE}\n{''.join(lines)}{_FENCE}\n{text}\n"


def from_note(note: str) -> tuple[dict[str, Any], str]:
    """Return a note's properties, none if it has no fence, and its text.

    ``ValueError`` says which property cannot be read.
    """
    if note.startswith(f"{_FENCE}\r\n"):  # an editor has changed all ends of lines
        note = note.replace("\r\n", "\n")
    if not note.startswith(f"{_FENCE}\n"):
        return {}, note.removesuffix("\n")
    head, fence, text = f"{note[len(_FENCE) :]}\n".partition(f"\n{_FENCE}\n")
    if not fence:
        raise ValueError(f"its properties do not end with {_FENCE!r}")
    return _properties(head.split("\n")[1:]), text.removesuffix("\n").removesuffix("\n")


def _properties(lines: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    name = ""
    for line in lines:
        if match := _PROPERTY.fullmatch(line):
            name = match[1]
            found[name] = _value(name, match[2] or "")
        elif (item := _ITEM.fullmatch(line)) and name and isinstance(found[name], list | None):
            found[name] = [*(found[name] or ()), _value(name, item[1])]
        elif line.strip():
            raise ValueError(f"property {name or line!r}: only name: JSON can be read")
    return found


def _value(name: str, written: str) -> Any:
    given = written.strip()
    if not given:
        return None
    try:
        return json.loads(given, parse_constant=str)
    except (ValueError, RecursionError):
        if len(given) > 1 and given[0] == given[-1] == "'":
            return given[1:-1].replace("''", "'")
        if given.startswith(_STRUCTURED):
            raise ValueError(f"property {name!r}: {given[:40]!r} is not JSON") from None
        return given


def _told(value: object) -> str:
    written = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", written)
