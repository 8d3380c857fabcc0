"""One table of a TOML file, changed in place; the rest of the file stays as written."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Final

_TOKEN: Final = re.compile(
    r"""("{3}(?:\\.|[^\\])*?"{3}|'{3}.*?'{3})|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|\#[^\n]*""", re.DOTALL
)
"""A text of several lines (the group), a text of a line, or a comment."""


class TomlError(ValueError):
    """A text that is no TOML, or holds the table in a form that cannot be changed in place."""


def read(text: str) -> dict[str, Any]:
    """Return the values of *text*; raise ``TomlError`` with the line of a fault."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise TomlError(str(error)) from None


def put(text: str, path: Sequence[str], values: Mapping[str, Any]) -> str:
    """Return *text* with the table at *path* holding *values*; nested mappings are subtables."""
    found, newline = find(text, path), _newline(text)
    if found == values:
        return text
    block = newline.join(_lines(path, values)) + newline
    if found is None:
        gap = "" if text.endswith("\n") or not text else newline
        return _checked(text + gap + (newline if text else "") + block)
    start, end = _span(text, path)
    return _checked(text[:start] + block + text[end:])


def restore(text: str, path: Sequence[str], first: str) -> str:
    """Return *text* with the table at *path* as in *first*: as written, or missing."""
    if find(text, path) is None:
        return text
    (start, end), newline = _span(text, path), _newline(text)
    head, block, tail = text[:start], "", text[end:]
    if find(first, path) is not None:
        block = first[slice(*_span(first, path))]
        if tail and not block.endswith("\n"):
            block += newline
    elif re.search(r"\n\r?\n$", head):  # the line before the table came with the table
        head = head.removesuffix(newline)
        if first and not first.endswith("\n") and not tail:
            head = head.removesuffix(newline)
    return _checked(head + block + tail)


def find(text: str, path: Sequence[str]) -> Any:
    """Return the value at *path*, None if there is none."""
    found: Any = read(text)
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _checked(text: str) -> str:
    read(text)
    return text


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _span(text: str, path: Sequence[str]) -> tuple[int, int]:
    """Return where the table at *path* begins, and where the last value ends, also of subtables."""
    names = r"\s*\.\s*".join(
        f"(?:{re.escape(key)}|\"{re.escape(key)}\"|'{re.escape(key)}')" for key in path
    )
    plain = _TOKEN.sub(lambda found: "-" * len(found[0]) if found[1] else found[0], text)
    heads = list(re.finditer(r"^[ \t]*\[[^\r\n]*", plain, re.MULTILINE))
    own = re.compile(rf"[ \t]*\[\s*{names}\s*(?:\.[^\]]*)?\]")
    inside = [place for place, head in enumerate(heads) if own.match(head[0])]
    if not inside or inside != list(range(inside[0], inside[-1] + 1)):
        raise TomlError(f"[{'.'.join(path)}] is not one block; change it by hand")
    start, after = heads[inside[0]].start(), inside[-1] + 1
    stop = heads[after].start() if after < len(heads) else len(text)
    *_, last = re.finditer(r"^[ \t]*[^\s#].*\n?", plain[start:stop], re.MULTILINE)
    return start, start + last.end()


def _lines(path: Sequence[str], values: Mapping[str, Any]) -> list[str]:
    plain = {key: value for key, value in values.items() if not isinstance(value, Mapping)}
    lines = [f"[{'.'.join(path)}]"]
    lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in plain.items()]
    for key, value in values.items():
        if isinstance(value, Mapping):
            lines += ["", *_lines([*path, key], value)]
    return lines
