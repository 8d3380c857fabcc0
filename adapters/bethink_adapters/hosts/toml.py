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
    found: Any = read(text)
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    if found == values:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    block = newline.join(_lines(path, values)) + newline
    if found is None:
        gap = "" if not text.strip() else ("" if text.endswith("\n") else newline) + newline
        changed = text + gap + block
    else:
        start, end = _span(text, path)
        changed = text[:start] + block + (newline if end < len(text) else "") + text[end:]
    read(changed)
    return changed


def drop(text: str, path: Sequence[str]) -> str:
    """Return *text* without the table at *path*; a missing table changes nothing."""
    found: Any = read(text)
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    if found is None:
        return text
    start, end = _span(text, path)
    kept = text[:start]
    if end == len(text):
        kept = re.sub(r"(\r?\n)(\r?\n)$", r"\1", kept)
    changed = kept + text[end:]
    read(changed)
    return changed


def _span(text: str, path: Sequence[str]) -> tuple[int, int]:
    """Return where the table at *path*, and its subtables behind, begin and end."""
    names = r"\s*\.\s*".join(
        f"(?:{re.escape(key)}|\"{re.escape(key)}\"|'{re.escape(key)}')" for key in path
    )
    plain = _TOKEN.sub(lambda found: "-" * len(found[0]) if found[1] else found[0], text)
    heads = list(re.finditer(r"^[ \t]*\[[^\r\n]*", plain, re.MULTILINE))
    own = re.compile(rf"[ \t]*\[\s*{names}\s*(?:\.[^\]]*)?\]")
    inside = [place for place, head in enumerate(heads) if own.match(head[0])]
    if not inside or inside != list(range(inside[0], inside[-1] + 1)):
        raise TomlError(f"[{'.'.join(path)}] is not one block; change it by hand")
    after = inside[-1] + 1
    return heads[inside[0]].start(), heads[after].start() if after < len(heads) else len(text)


def _lines(path: Sequence[str], values: Mapping[str, Any]) -> list[str]:
    plain = {key: value for key, value in values.items() if not isinstance(value, Mapping)}
    lines = [f"[{'.'.join(path)}]"]
    lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in plain.items()]
    for key, value in values.items():
        if isinstance(value, Mapping):
            lines += ["", *_lines([*path, key], value)]
    return lines
